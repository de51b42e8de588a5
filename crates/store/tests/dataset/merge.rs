//! Merging: what several nodes and compactions wrote for an hour is one file, and each row once.

use crate::compact::{SMALL, files, long, read, run, samples, write_passes};
use crate::disks::Dying;
use crate::passes::{origin, origin_of, rows_of, when, write_pass};
use parquet::data_type::Int64Type;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use record::codec::cells::{Cell, put_row};
use record::table;
use record::unit::Nanos;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::compact::{Merge, Options, Step, Summary, compact};
use store::disk::{Disk, RealDisk};
use store::segment::{self, Sheet, Writer};

/// A row of `process`: pid, comm and arguments.
type Named<'a> = (i64, &'a [u8], &'a [&'a [u8]]);

/// Later than every hour here.
const LATER: Nanos = Nanos::from_secs(100_000);

fn options() -> Options {
    Options {
        merge: Some(Merge {
            files: 2,
            now: LATER,
        }),
        ..Options::default()
    }
}

fn merge(dataset: &Path) -> Summary {
    compact(&RealDisk, dataset, options(), &mut |_| {}).unwrap()
}

/// The passes of a node of this name, compacted into `dataset`.
fn record(dataset: &Path, host: &str, passes: impl Iterator<Item = u32>) {
    let options = segment::Options::default();
    let mut writer = Writer::new(RealDisk, dataset, origin_of(host), options).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    for pass in passes {
        assert!(write_pass(&mut writer, &mut sheet, pass));
    }
    writer.close().unwrap();
    run(dataset);
}

/// Copies the files of one dataset into another, as somebody does who gathers those of all nodes.
fn gather(from: &Path, to: &Path) {
    for file in files(from) {
        let place = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        assert!(!place.exists(), "{} is another's", place.display());
        fs::copy(&file, place).unwrap();
    }
}

fn host(row: &[(String, Field)]) -> String {
    row[0].1.to_string()
}

#[test]
fn the_files_of_several_nodes_become_one_sorted_file() {
    let all = tempfile::tempdir().unwrap();
    for (name, compactions) in [("b", 1), ("a", 2), ("c", 1)] {
        let node = tempfile::tempdir().unwrap();
        // Of one hour, and some rows in both.
        record(node.path(), name, 10..30);
        if compactions == 2 {
            record(node.path(), name, 20..40);
        }
        gather(
            &node.path().join("kind=sample"),
            &all.path().join("kind=sample"),
        );
    }
    assert_eq!(files(&all.path().join("kind=sample")).len(), 4);
    let summary = merge(all.path());
    assert_eq!((summary.files_merged, summary.files_of_merges), (4, 1));
    assert_eq!((summary.rows_merged, summary.duplicates), (800, 100));
    assert_eq!(files(&all.path().join("kind=sample")).len(), 1);
    let rows = read(all.path(), "sample");
    let key = |row: &Vec<(String, Field)>| (host(row), long(row, "pid"), long(row, "at_ns"));
    let keys: Vec<_> = rows.iter().map(key).collect();
    let mut sorted = keys.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!((keys.len(), keys), (700, sorted));
    let mut of_one = samples(all.path());
    of_one.truncate(300);
    of_one.sort();
    assert_eq!(of_one, rows_of(10..40));
    // There is nothing left to do.
    assert_eq!(merge(all.path()), Summary::default());
}

#[test]
fn a_merged_file_is_what_one_compaction_would_have_written() {
    let whole = tempfile::tempdir().unwrap();
    // More than a row group.
    record(whole.path(), "n", 0..3500);
    let parts = tempfile::tempdir().unwrap();
    for third in 0..3 {
        record(
            parts.path(),
            "n",
            (0..3500).filter(|pass| pass % 3 == third),
        );
    }
    assert_eq!(merge(parts.path()).files_merged, 3);
    let bytes = |dataset: &Path| fs::read(files(&dataset.join("kind=sample")).remove(0)).unwrap();
    assert_eq!(bytes(parts.path()), bytes(whole.path()));
}

#[test]
fn a_file_that_is_in_another_leaves_the_other() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "n", 10..40);
    record(folder.path(), "n", 15..25);
    let summary = merge(folder.path());
    assert_eq!((summary.files_merged, summary.duplicates), (2, 100));
    let mut rows = samples(folder.path());
    rows.sort();
    assert_eq!(rows, rows_of(10..40));
}

#[test]
fn an_hour_that_goes_on_stays() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "n", 10..20);
    record(folder.path(), "n", 20..30);
    let now = Some(Merge {
        files: 2,
        now: Nanos::from_secs(3599),
    });
    let options = Options {
        merge: now,
        ..Options::default()
    };
    let summary = compact(&RealDisk, folder.path(), options, &mut |_| {}).unwrap();
    assert_eq!(summary.files_merged, 0);
    assert_eq!(merge(folder.path()).files_merged, 2);
}

#[test]
fn rows_of_one_instant_are_kept_in_their_order_and_once() {
    let write = |dataset: &Path, rows: &[Named<'_>]| {
        let options = segment::Options::default();
        let mut writer = Writer::new(RealDisk, dataset, origin(), options).unwrap();
        writer.begin(Nanos(1)).unwrap();
        for (pid, comm, arguments) in rows {
            let mut payload = Vec::new();
            let cells = [
                (0, Cell::Int(*pid)),
                (1, Cell::Int(5)),
                (4, Cell::Text(comm)),
                (5, Cell::List(arguments.to_vec())),
            ];
            put_row(&mut payload, cells.into_iter());
            let what = (table::process::TABLE.id, true);
            writer.frame(what, (0, 0), when(9), (&payload, 1)).unwrap();
        }
        writer.close().unwrap();
        run(dataset);
    };
    let folder = tempfile::tempdir().unwrap();
    let strange_list: &[&[u8]] = &[b"z", b"", b"\xff"];
    write(
        folder.path(),
        &[
            (1, b"sh", &[]),
            (2, b"b", &[]),
            (2, b"a", strange_list),
            (4, b"x", &[]),
        ],
    );
    write(
        folder.path(),
        &[
            (2, b"a", strange_list),
            (2, b"c", &[b"1"]),
            (3, b"\xff", &[b"\n"]),
        ],
    );
    let summary = merge(folder.path());
    assert_eq!((summary.rows_merged, summary.duplicates), (7, 1));
    let rows = read(folder.path(), "process");
    let of = |row: &Vec<(String, Field)>| {
        let column = |name| row.iter().find(|(n, _)| n == name).unwrap().1.to_string();
        format!(
            "{} {} {}",
            long(row, "pid"),
            column("comm"),
            column("command")
        )
    };
    let told: Vec<_> = rows.iter().map(of).collect();
    let strange = "[\"z\", \"\", \"\u{fffd}\\xff\"]";
    let mut of_two = told[1..4].to_vec();
    of_two.sort();
    assert_eq!(told[0], "1 \"sh\" []");
    assert_eq!(of_two[0], format!("2 \"a\" {strange}"));
    assert_eq!(of_two[1..], ["2 \"b\" []", "2 \"c\" [\"1\"]"]);
    let place = |text: &str| told.iter().position(|one| one.starts_with(text)).unwrap();
    // The programs that a process executed one after another.
    assert!(place("2 \"b\"") < place("2 \"a\""));
    assert_eq!(told[4], "3 \"\u{fffd}\\xff\" [\"\n\"]");
    assert_eq!(told[5], "4 \"x\" []");
}

#[test]
fn each_row_is_there_once_after_a_death_at_any_step_of_a_merge() {
    let mut deaths = 0;
    for steps in 0..14 {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "n", 10..20);
        record(folder.path(), "n", 15..25);
        let disk = Dying::after(steps, 50);
        let done = compact(&disk, folder.path(), options(), &mut |_| {});
        deaths += usize::from(done.is_err());
        merge(folder.path());
        let mut rows = samples(folder.path());
        rows.sort();
        assert_eq!(rows, rows_of(10..25), "died after {steps} steps");
        assert_eq!(files(&folder.path().join("aside")), Vec::<PathBuf>::new());
    }
    assert!(deaths > 8, "{deaths}");
}

/// A file of the table `sample` with the columns of its key, and one more.
fn other_version(place: &Path, column: &str, host: &str) {
    let schema = format!(
        "message sample {{ required binary host (STRING); required binary boot_id (STRING);
         required int64 pid; required int64 start_ns;
         required int64 time (TIMESTAMP(MICROS,true)); required int64 at_ns;
         optional int64 {column}; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let file = RealDisk.create(place).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for text in [host, "01234567-89ab"] {
        let mut column = group.next_column().unwrap().unwrap();
        let values = [text.into()];
        column
            .typed::<parquet::data_type::ByteArrayType>()
            .write_batch(&values, None, None)
            .unwrap();
        column.close().unwrap();
    }
    for value in [1, 1000, 7_000_000, 7_000_000_000, 77] {
        let mut column = group.next_column().unwrap().unwrap();
        let levels = (value == 77).then_some(&[1i16][..]);
        column
            .typed::<Int64Type>()
            .write_batch(&[value], levels, None)
            .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn an_older_file_is_merged_and_a_later_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "n", 10..20);
    let part = files(&folder.path().join("kind=sample")).remove(0);
    other_version(&part.with_file_name("part-older.parquet"), "cpu_time", "m");
    let summary = merge(folder.path());
    assert_eq!((summary.files_merged, summary.files_later), (2, 0));
    let rows = read(folder.path(), "sample");
    assert_eq!((rows.len(), host(&rows[0])), (101, "\"m\"".to_owned()));
    assert_eq!(
        (long(&rows[0], "cpu_time"), long(&rows[0], "at_ns")),
        (77, 7_000_000_000)
    );
    assert!(
        rows[0]
            .iter()
            .any(|(name, value)| name == "rss" && *value == Field::Null)
    );

    let part = files(&folder.path().join("kind=sample")).remove(0);
    let later = part.with_file_name("part-later.parquet");
    other_version(&later, "of_a_later_version", "m");
    let summary = merge(folder.path());
    assert_eq!((summary.files_merged, summary.files_later), (0, 2));
    assert!(later.exists() && part.exists());
}

#[test]
fn a_damaged_file_is_told_of_and_the_others_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "n", 10..20);
    record(folder.path(), "n", 20..30);
    let part = files(&folder.path().join("kind=sample")).remove(0);
    let bad = part.with_file_name("part-bad.parquet");
    let mut bytes = fs::read(&part).unwrap();
    bytes.truncate(bytes.len() - 100);
    fs::write(&bad, bytes).unwrap();
    let mut told = Vec::new();
    let summary = compact(&RealDisk, folder.path(), options(), &mut |step| {
        if let Step::Unread(error) = step {
            told.push(error.to_string());
        }
    });
    let summary = summary.unwrap();
    assert_eq!((summary.files_unread, summary.files_merged), (1, 2));
    assert_eq!(told, [format!("cannot read {}", bad.display())]);
    fs::remove_file(bad).unwrap();
    assert_eq!(samples(folder.path()).len(), 200);
}

#[test]
fn many_files_are_merged_in_several_turns() {
    let folder = tempfile::tempdir().unwrap();
    for node in 0..40 {
        record(folder.path(), &format!("n{node}"), 10..12);
    }
    let summary = merge(folder.path());
    assert_eq!(summary.duplicates, 0);
    let left = files(&folder.path().join("kind=sample"));
    assert_eq!(left.len(), 1);
    let file = SerializedFileReader::new(File::open(&left[0]).unwrap()).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows(), 40 * 20);
    let sorted = file.metadata().row_group(0).sorting_columns().unwrap();
    assert_eq!(sorted.len(), 5);
}

#[test]
fn segments_of_several_nodes_in_one_folder_are_one_file() {
    let folder = tempfile::tempdir().unwrap();
    write_passes(folder.path(), SMALL, 10..20);
    let options = segment::Options::default();
    let mut writer = Writer::new(RealDisk, folder.path(), origin_of("a"), options).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    assert!(write_pass(&mut writer, &mut sheet, 10));
    writer.close().unwrap();
    let summary = run(folder.path());
    assert_eq!((summary.files, summary.rows_out), (1, 110));
}

/// Writes what an agent tells of one end, read at `at_s`: its columns behind the key.
fn tell_end(dataset: &Path, at_s: u32, columns: &[(&str, i64)]) {
    let table = table::exit::TABLE;
    let options = segment::Options::default();
    let mut writer = Writer::new(RealDisk, dataset, origin(), options).unwrap();
    writer.begin(Nanos(1)).unwrap();
    let place = |name| table.columns.iter().position(|column| column.name == name);
    let rest = columns
        .iter()
        .map(|(name, value)| (place(*name).unwrap() as u8 + 2, Cell::Int(*value)));
    let mut payload = Vec::new();
    let key = [(0, Cell::Int(5)), (1, Cell::Int(10_000_000))];
    put_row(&mut payload, key.into_iter().chain(rest));
    let what = (table.id, false);
    writer
        .frame(what, (0, 0), when(at_s), (&payload, 1))
        .unwrap();
    writer.close().unwrap();
}

#[test]
fn the_end_of_a_process_that_two_agents_told_is_one_row() {
    // The hour is over between the two readings. Both mechanisms have a time of their own.
    const END: i64 = 3_599_000_000_000;
    let least = [
        ("end_ns", END + 7),
        ("uid", 0),
        ("cpu_time_min", 1),
        ("reads", 2),
    ];
    let whole = [("end_ns", END), ("uid", 0), ("cpu_time", 3), ("writes", 4)];
    for first_is_whole in [true, false] {
        let (first, second) = match first_is_whole {
            true => (&whole, &least),
            false => (&least, &whole),
        };
        let told_of = |dataset: &Path| {
            let rows = read(dataset, "exit");
            let told: Vec<_> = rows.iter().map(|row| long(row, "writes")).collect();
            assert_eq!(told, [4]);
        };
        let both = tempfile::tempdir().unwrap();
        tell_end(both.path(), 3599, first);
        tell_end(both.path(), 3601, second);
        let summary = run(both.path());
        assert_eq!((summary.duplicates, summary.rows_out), (1, 1));
        told_of(both.path());

        let apart = tempfile::tempdir().unwrap();
        tell_end(apart.path(), 3599, first);
        run(apart.path());
        tell_end(apart.path(), 3601, second);
        run(apart.path());
        let summary = merge(apart.path());
        assert_eq!((summary.files_merged, summary.duplicates), (2, 1));
        told_of(apart.path());
        let hour = apart.path().join("kind=exit/date=1970-01-01/hour=0");
        assert_eq!(files(&hour).len(), 1);
    }
}

#[test]
fn of_two_rows_that_say_as_much_of_an_end_the_first_stays() {
    let end = |value| [("end_ns", 9), ("reads", value)];
    for turned in [false, true] {
        let mut readings = [(10, end(1)), (20, end(2))];
        if turned {
            readings.reverse();
        }
        let folder = tempfile::tempdir().unwrap();
        for (at, columns) in &readings {
            tell_end(folder.path(), *at, columns);
            run(folder.path());
        }
        merge(folder.path());
        let rows = read(folder.path(), "exit");
        let told: Vec<_> = rows.iter().map(|row| long(row, "reads")).collect();
        assert_eq!(told, [1]);
    }
}
