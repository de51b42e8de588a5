//! Any bytes, and fixtures with some of theirs changed: nothing panics, nothing is lost.

use crate::{accounted, fixtures, named, read};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use std::fs;
use std::io::BufReader;
use std::path::PathBuf;
use store::import::{ColumnMap, FORMATS, Options};

fn options() -> Options {
    Options {
        file: Some("benchmarks/a.txt".to_owned()),
        columns: ColumnMap::parse("memory=a:MB,category=b,began=c").ok(),
        ..Options::default()
    }
}

fn files(folder: PathBuf) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(files(path)),
            false => all.push(fs::read(path).unwrap()),
        }
    }
    all
}

/// What a byte becomes.
#[derive(Debug, Clone, Copy)]
enum Change {
    Other(u8),
    Gone,
    Twice,
    CutHere,
}

fn change(bytes: &mut Vec<u8>, place: usize, kind: u8, byte: u8) {
    if bytes.is_empty() {
        return;
    }
    let place = place % bytes.len();
    let change = match kind % 8 {
        0 => Change::Gone,
        1 => Change::Twice,
        2 if byte < 8 => Change::CutHere,
        // What means something to one of the formats.
        3 | 4 => Change::Other(b"\t|,;\n\r\"{}[]:-<>/&\\ 0"[usize::from(byte) % 20]),
        _ => Change::Other(byte),
    };
    match change {
        Change::Other(byte) => bytes[place] = byte,
        Change::Gone => {
            bytes.remove(place);
        }
        Change::Twice => {
            let again = bytes[place..].iter().take(40).copied().collect::<Vec<_>>();
            bytes.splice(place..place, again);
        }
        Change::CutHere => bytes.truncate(place),
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in vec(any::<u8>(), 0..400)) {
        for format in FORMATS {
            if let Ok(told) = read(format, bytes.as_slice(), &options()) {
                accounted(&told);
            }
        }
        store::import::detect("a.txt", &bytes);
    }

    #[test]
    fn any_text_of_signs_is_read(text in "[\t|,;:{}\\[\\]\"\\\\\n<>/ a0-9.-]{0,300}") {
        for format in FORMATS {
            if let Ok(told) = read(format, text.as_bytes(), &options()) {
                accounted(&told);
            }
        }
    }

    #[test]
    fn changed_files_are_read(
        which in any::<usize>(),
        changes in vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..12),
    ) {
        for format in FORMATS {
            let files = files(fixtures().join(format.name));
            let mut bytes = files[which % files.len()].clone();
            for (place, kind, byte) in &changes {
                change(&mut bytes, *place, *kind, *byte);
            }
            let options = Options { columns: None, ..options() };
            if let Ok(told) = read(format, bytes.as_slice(), &options) {
                accounted(&told);
                // The same bytes tell the same, in any pieces.
                let pieces = BufReader::with_capacity(2 + which % 11, bytes.as_slice());
                assert_eq!(read(format, pieces, &options).unwrap(), told);
            }
        }
    }

    /// A line each: as many records as lines, whatever is in them.
    #[test]
    fn no_line_of_a_table_is_lost(lines in vec("[^\n\r]{1,60}", 0..20)) {
        for (format, header) in [
            ("nextflow", "task_id\thash\tname\tpeak_rss"),
            ("snakemake", "s\th:m:s\tmax_rss"),
            ("sacct", "JobID|State|MaxRSS"),
        ] {
            let blank = |line: &&String| !line.trim_ascii().is_empty() && line.as_str() != header;
            let count = lines.iter().filter(blank).count() as u64;
            let text = format!("{header}\n{}\n", lines.join("\n"));
            let told = read(named(format), text.as_bytes(), &options()).unwrap();
            accounted(&told);
            proptest::prop_assert_eq!(told.summary.records, count);
        }
    }
}

/// Every prefix of every fixture.
#[test]
fn files_may_end_anywhere() {
    for format in FORMATS {
        for file in files(fixtures().join(format.name)) {
            let step = (file.len() / 60).max(1);
            for end in (0..file.len()).step_by(step) {
                let options = Options {
                    columns: None,
                    ..options()
                };
                if let Ok(told) = read(format, &file[..end], &options) {
                    accounted(&told);
                }
            }
        }
    }
}
