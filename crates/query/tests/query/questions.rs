//! SQL: live and compacted rows as one, and what is said of a wrong question.

use crate::dataset::{Agent, MIB, ask, engine, engine_with, lines, make, to_parquet};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use query::{Engine, Error, FORMATS, Heed, Look, Options, Writing};
use record::unit::{Bytes, Nanos};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};
use store::compact;
use store::disk::RealDisk;

fn wrong(dataset: &Path, question: &str) -> (String, String, Vec<String>) {
    match ask(dataset, question, "csv") {
        Err(Error::Question {
            message,
            place,
            similar,
        }) => {
            let place = place.map_or(String::new(), |place| place.to_string());
            (message, place, similar)
        }
        other => panic!("{question}: {other:?}"),
    }
}

#[test]
fn each_row_is_there_once_whether_compacted_or_live() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let of = |question| lines(folder.path(), question);
    let counts =
        "SELECT pid, count(*), min(at_ns), max(at_ns) FROM sample GROUP BY pid ORDER BY pid";
    assert_eq!(
        of(counts),
        [
            "100,120,940000000000,1059000000000",
            "300,80,980000000000,1059000000000"
        ]
    );
    let folders =
        "SELECT date, hour, count(*), min(time) FROM sample GROUP BY date, hour ORDER BY hour";
    assert_eq!(
        of(folders),
        [
            "2026-11-20,12,80,2026-11-20T12:59:00Z",
            "2026-11-20,13,120,2026-11-20T13:00:00Z"
        ]
    );
    let list = "SELECT command FROM process WHERE pid = 200";
    assert_eq!(of(list), [r#""[""sh"",""-c"",""echo 'a b'""]""#]);
    let files =
        "SELECT pid, path, is_read, is_written, first_seen, last_seen FROM file ORDER BY path";
    assert_eq!(
        of(files),
        [
            "100,/home/eva/in,1,0,2026-11-20T12:59:00Z,2026-11-20T13:00:00Z",
            "100,/scratch/out,0,1,2026-11-20T12:59:00Z,2026-11-20T13:00:00Z"
        ]
    );
    // Only what the condition needs is opened: the other hour's file may be anything.
    let hour = "kind=sample/date=2026-11-20/hour=12";
    for entry in fs::read_dir(folder.path().join(hour)).unwrap() {
        fs::write(entry.unwrap().path(), "no Parquet").unwrap();
    }
    let later = "SELECT count(*) FROM sample WHERE time >= TIMESTAMP '2026-11-20T13:00:00Z'";
    assert_eq!(of(later), ["120"]);
    assert_eq!(of("SELECT count(*) FROM sample WHERE hour = 13"), ["120"]);
    assert!(ask(folder.path(), counts, "csv").is_err());
}

#[test]
fn a_folder_may_be_called_anything() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("a b%20c/d'x é?");
    fs::create_dir_all(&dataset).unwrap();
    make(&dataset);
    assert_eq!(lines(&dataset, "SELECT count(*) FROM sample"), ["200"]);
}

#[test]
fn a_wrong_question_is_shown_its_place() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let (message, place, similar) = wrong(folder.path(), "SELECT pid,\n  cpu_tim FROM sample");
    assert_eq!(message, "no column `cpu_tim`");
    assert_eq!(place, "    cpu_tim FROM sample\n    ^^^^^^^");
    assert_eq!(similar[0], "cpu_time");
    let (message, _, similar) = wrong(folder.path(), "SELECT job FROM exit");
    assert_eq!(message, "no column `job`: DESCRIBE exit lists the columns");
    assert!(similar.is_empty());
    assert!(!lines(folder.path(), "DESCRIBE exit").is_empty());
    let (message, place, similar) = wrong(folder.path(), "SELECT 1 FROM sampel");
    assert_eq!(message, "no table `sampel`");
    assert_eq!(place, "  SELECT 1 FROM sampel\n                ^^^^^^");
    assert_eq!(similar, ["sample"]);
    let (message, place, _) = wrong(folder.path(), "SELEC 1");
    assert!(message.contains("SELEC"), "{message}");
    assert_eq!(place, "  SELEC 1\n  ^");
    let (_, place, _) = wrong(folder.path(), "SELECT 1 FROM");
    assert_eq!(place, "  SELECT 1 FROM\n               ^");
    let (message, _, _) = wrong(folder.path(), "SELECT summ(pid) FROM sample");
    assert!(message.contains("summ"), "{message}");
    let (message, _, _) = wrong(folder.path(), "SELECT pid FROM sample GROUP BY comm");
    assert!(message.contains("comm"), "{message}");
}

#[test]
fn nothing_can_be_changed_by_asking() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    for question in [
        "COPY (SELECT 1) TO '/tmp/x.csv'",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "INSERT INTO sample SELECT * FROM sample",
        "DROP TABLE sample",
        "SET datafusion.execution.batch_size = 1",
    ] {
        let (message, _, _) = wrong(folder.path(), question);
        assert!(message.starts_with("a dataset is for reading"), "{message}");
    }
    let file = ask(folder.path(), "SELECT * FROM '/etc/passwd'", "csv");
    assert!(file.is_err());
    let (message, _, _) = wrong(folder.path(), "SELECT 1; SELECT 2");
    assert!(message.starts_with("these are several"), "{message}");
    let (message, _, _) = wrong(folder.path(), " ");
    assert!(message.starts_with("the question is empty"), "{message}");
}

#[test]
fn a_folder_that_is_none_and_an_empty_one_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| {
        let options = query::Options {
            memory: record::unit::Bytes(1 << 26),
            spill: std::env::temp_dir(),
            threads: std::num::NonZeroUsize::MIN,
        };
        query::Engine::open(path, options).map(|_| ())
    };
    assert!(matches!(open(folder.path()), Err(Error::NoDataset { .. })));
    let missing = folder.path().join("missing");
    assert!(matches!(open(&missing), Err(Error::Folder { .. })));
    fs::create_dir(folder.path().join("live")).unwrap();
    assert!(open(folder.path()).is_ok());
    assert_eq!(lines(folder.path(), "SELECT count(*) FROM sample"), ["0"]);
    assert!(lines(folder.path(), "SELECT host, command FROM process").is_empty());
}

#[test]
fn half_a_frame_is_no_damage_and_damage_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let live = fs::read_dir(folder.path().join("live")).unwrap();
    let segment = live
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "segment"))
        .unwrap();
    let whole = fs::read(&segment).unwrap();
    let count = "SELECT count(*) FROM sample WHERE hour = 13";
    let met = |expected: &str| {
        let engine = engine(folder.path());
        let kept = tempfile::NamedTempFile::new().unwrap();
        let out = Box::new(kept.reopen().unwrap());
        let mut writing = FORMATS[1].begin(out, Look::default());
        engine
            .ask(count, writing.as_mut(), &mut |_| Heed::Go)
            .unwrap();
        let text = fs::read_to_string(kept.path()).unwrap();
        assert_eq!(text.lines().nth(1), Some(expected));
        engine.met()
    };
    assert_eq!(met("120").damaged, 0);
    // What a writer is just writing.
    let mut file = OpenOptions::new().append(true).open(&segment).unwrap();
    file.write_all(&whole[whole.len() - 200..whole.len() - 100])
        .unwrap();
    file.write_all(b"PLFR").unwrap();
    fs::write(&segment, &whole[..whole.len() - 3]).unwrap();
    assert_eq!(met("120").damaged, 0);
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    fs::write(&segment, &damaged).unwrap();
    let engine_of = engine(folder.path());
    let kept = tempfile::NamedTempFile::new().unwrap();
    let mut writing = FORMATS[1].begin(Box::new(kept.reopen().unwrap()), Look::default());
    engine_of
        .ask("SELECT count(*) FROM node", writing.as_mut(), &mut |_| {
            Heed::Go
        })
        .unwrap();
    assert!(engine_of.met().damaged > 0);
    fs::write(&segment, b"no segment at all").unwrap();
    let engine_of = engine(folder.path());
    let mut writing = FORMATS[1].begin(Box::new(kept.reopen().unwrap()), Look::default());
    engine_of
        .ask(count, writing.as_mut(), &mut |_| Heed::Go)
        .unwrap();
    assert_eq!(engine_of.met().passed_over, 1);
}

/// Counts rows. Once the question is under way, a compaction takes the files away.
struct Merging<'a> {
    dataset: &'a Path,
    begun: u32,
    rows: usize,
}

impl Writing for Merging<'_> {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        self.begun += 1;
        let merge = compact::Merge {
            files: 2,
            now: Nanos(u64::MAX),
        };
        let options = compact::Options {
            merge: Some(merge),
            ..compact::Options::default()
        };
        let merged = compact::compact(&RealDisk, self.dataset, options, &mut |_| {}).unwrap();
        assert!(merged.files_merged > 1);
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.rows += batch.num_rows();
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn a_compaction_during_a_question_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    to_parquet(folder.path());
    let mut third = Agent::new(folder.path(), 3);
    third.reading(100, &[((400, 7), vec![("rss", MIB)])], &[]);
    third.close();
    to_parquet(folder.path());
    let mut merging = Merging {
        dataset: folder.path(),
        begun: 0,
        rows: 0,
    };
    // One thread opens no file before the answer is begun.
    let rows = engine_with(folder.path(), Bytes(64 << 20), 1)
        .ask(
            "SELECT pid FROM sample ORDER BY pid",
            &mut merging,
            &mut |_| Heed::Go,
        )
        .unwrap();
    assert_eq!((rows, merging.rows, merging.begun), (201, 201, 1));
}

#[test]
fn many_rows_in_order_need_no_more_memory_than_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let question = "SELECT value, repeat('x', 400) AS long FROM generate_series(1, 300000) \
                    ORDER BY value % 1000, value LIMIT 250000";
    let mut writing = FORMATS[1].begin(Box::new(std::io::sink()), Look::default());
    let rows = engine_with(folder.path(), Bytes(48 << 20), 2)
        .ask(question, writing.as_mut(), &mut |_| Heed::Go)
        .unwrap();
    assert_eq!(rows, 250_000);
}

/// Every CPU joins without a pause.
#[test]
fn who_asks_may_stop() {
    let folder = tempfile::tempdir().unwrap();
    let spill = tempfile::tempdir().unwrap();
    make(folder.path());
    let options = Options {
        memory: Bytes(64 << 20),
        spill: spill.path().to_owned(),
        threads: NonZeroUsize::new(2).unwrap(),
    };
    let engine = Engine::open(folder.path(), options).unwrap();
    let mut writing = FORMATS[1].begin(Box::new(std::io::sink()), Look::default());
    let endless = "SELECT count(*) FROM generate_series(1, 20000) a, \
                   generate_series(1, 20000) b, generate_series(1, 20000) c";
    let mut asked = Vec::new();
    let answered = engine.ask(endless, writing.as_mut(), &mut |_| {
        asked.push(Instant::now());
        let long = asked.len() > 5;
        if long { Heed::Stop } else { Heed::Go }
    });
    assert!(matches!(answered, Err(Error::Interrupted)), "{answered:?}");
    // A machine that is busy may hold us up, but not as long as the join.
    let last = asked.last().unwrap();
    assert!(last.elapsed() < Duration::from_secs(60));
    drop(engine);
    assert!(last.elapsed() < Duration::from_secs(60));
    assert_eq!(spill.path().read_dir().unwrap().count(), 0);
}
