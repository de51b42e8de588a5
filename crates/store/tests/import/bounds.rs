//! What is too large, too deep or packed to be so is refused, and the rest is read.

use crate::{accounted, named, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{BufReader, Read, Write};
use std::ops::ControlFlow;
use store::Error;
use store::import::{self, FORMATS, Options, Row};

/// A row or object before and one behind so many bytes without an end.
fn around(format: &str) -> Option<(&'static str, u8, &'static str)> {
    Some(match format {
        "nextflow" => ("hash\tname\nab\ta\n", b'x', "\ncd\tb\n"),
        "snakemake" => ("s\th:m:s\n1\t0:00:01\n", b'1', "\n2\t0:00:02\n"),
        "sacct" => ("JobID|JobName\n1|a\n", b'x', "\n2|b\n"),
        "csv" => ("src,workflow,run,task\na,b,c,d\n", b'x', "\na,b,c,e\n"),
        "cctools" => (
            "{\"wall_time\":[1,\"s\"]}\n{\"command\":\"",
            b'x',
            "\"}\n{\"wall_time\":[2,\"s\"]}\n",
        ),
        "kickstart" => (
            "- version: 3.0\n- version: 3.0\n  cwd: \"",
            b'x',
            "\"\n- version: 3.0\n  pid: 7\n",
        ),
        "time" => (
            "\tCommand being timed: \"a\"\n\tExit status: 0\n\tCommand being timed: \"b\"\n",
            b'x',
            "\n\tExit status: 0\n",
        ),
        _ => return None,
    })
}

#[test]
fn a_record_of_a_hundred_megabytes_is_passed_over() {
    for format in FORMATS {
        let Some((before, byte, behind)) = around(format.name) else {
            continue;
        };
        let middle = std::io::repeat(byte).take(100 << 20);
        let input = before.as_bytes().chain(middle).chain(behind.as_bytes());
        let mut rows = Vec::new();
        let mut sink = |row: Row| {
            rows.push(row);
            ControlFlow::Continue(())
        };
        let options = Options::default();
        let input = BufReader::with_capacity(1 << 16, input);
        let summary = import::read(format, input, &options, &mut sink).unwrap();
        // What the tasks of `time` write in between is no record.
        let rejected = u64::from(format.name != "time");
        assert_eq!(summary.attempts, 2, "{}: {rows:?}", format.name);
        assert_eq!(summary.rejected, rejected, "{}", format.name);
        for row in &rows {
            if let Row::Rejected(one) = row {
                assert!(one.text.len() <= 800, "{}", format.name);
                assert!(
                    one.why.contains("longer than") || one.why.contains("too large"),
                    "{}",
                    one.why
                );
            }
        }
    }
}

#[test]
fn a_text_of_a_workflow_without_an_end_is_refused() {
    let before = "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtime\": 1}, {\"name\": \"";
    let middle = std::io::repeat(b'x').take(100 << 20);
    let input = BufReader::new(before.as_bytes().chain(middle));
    let mut rows = Vec::new();
    let mut sink = |row: Row| {
        rows.push(row);
        ControlFlow::Continue(())
    };
    let summary = import::read(named("wfformat"), input, &Options::default(), &mut sink).unwrap();
    assert_eq!((summary.attempts, summary.rejected), (1, 1), "{rows:?}");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + "1" + &close.repeat(100_000);
    for (format, text) in [
        ("cctools", deep("{\"a\":", "}")),
        ("cctools", deep("{\"a\":[", "]}")),
        ("plimsoll", deep("{\"a\":", "}")),
        ("kickstart", format!("- {}", deep("[", "]"))),
        ("kickstart", format!("- {}", deep("{a: ", "}"))),
        ("kickstart", deep("<invocation><a>", "</a>")),
        ("kickstart", format!("<invocation>{}", deep("<a>", "</a>"))),
        ("wfformat", deep("{\"workflow\":", "}")),
        ("wfformat", deep("[", "]")),
    ] {
        let told = read(named(format), text.as_bytes(), &Options::default()).unwrap();
        accounted(&told);
        assert_eq!(told.summary.attempts, 0, "{format}");
        assert!(told.summary.rejected > 0, "{format}");
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_is_compressed_is_unpacked() {
    let text = "hash\tname\nab\ta\ncd\tb\n";
    // One member behind the other is what `cat a.gz b.gz` makes.
    let input = [
        packed(&text.as_bytes()[..10]),
        packed(&text.as_bytes()[10..]),
    ]
    .concat();
    let told = read(named("nextflow"), input.as_slice(), &Options::default()).unwrap();
    assert_eq!(told.summary.attempts, 2);
    let first = import::unpacked(input.as_slice()).unwrap();
    assert_eq!(first.beginning(), text.as_bytes());
    let found = import::detect("TRACE.CSV.GZ", b"a,b\n1,2\n");
    assert_eq!(found, Some(named("csv")));
    let cut = &input[..input.len() - 9];
    let error = read(named("nextflow"), cut, &Options::default());
    assert!(matches!(error, Err(Error::Import { .. })), "{error:?}");
}

#[test]
fn a_file_that_unpacks_to_too_much_is_stopped() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(b"hash\tname\nab\ta\n").unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..200 {
        encoder.write_all(&zeros).unwrap();
    }
    let input = encoder.finish().unwrap();
    assert!(input.len() < 1 << 20);
    for format in FORMATS {
        let mut count = 0;
        let mut sink = |_: Row| {
            count += 1;
            ControlFlow::Continue(())
        };
        let error = import::read(format, input.as_slice(), &Options::default(), &mut sink);
        let is_refused = matches!(
            error,
            Err(Error::Unpacked { .. } | Error::NotOfFormat { .. })
        );
        let is_read = format.name == "wfformat" && error.is_ok();
        assert!(is_refused || is_read, "{}: {error:?}", format.name);
        if format.name == "nextflow" {
            assert!(matches!(error, Err(Error::Unpacked { .. })));
            assert_eq!(count, 1, "what came before is there");
        }
    }
}

#[test]
fn whoever_takes_the_rows_may_stop() {
    let input = b"hash\tname\nab\ta\ncd\tb\nef\tc\n";
    let mut count = 0;
    let mut sink = |_: Row| {
        count += 1;
        match count {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let options = Options::default();
    let summary = import::read(named("nextflow"), &input[..], &options, &mut sink).unwrap();
    assert_eq!((count, summary.attempts), (2, 2));
}

#[test]
fn a_record_of_kickstart_that_is_cut_off_is_no_attempt() {
    let file = std::fs::read_to_string(crate::fixtures().join("kickstart/jobs.yml")).unwrap();
    let read_all = |text: &str| {
        let options = Options::default();
        let told = read(named("kickstart"), text.as_bytes(), &options).unwrap();
        accounted(&told);
        told
    };
    let whole = read_all(&file);
    let (_, last) = file
        .match_indices("- invocation:")
        .nth(2)
        .map(|(at, _)| file.split_at(at))
        .unwrap();
    let before = file.len() - last.len();
    let status = before + last.find("status:").unwrap();
    let (mut within, mut ends) = (0, 0);
    for at in before + "- invocation: True\n  version".len()..file.len() {
        let told = read_all(&file[..at]);
        let is_line = file[..at].ends_with('\n');
        // A whole line behind the beginning of the status may be the last.
        if told.attempts.len() == 3 {
            assert!(is_line, "{:?}", &file[at - 20..at]);
            let main = file[before..at].contains("mainjob");
            assert!(!main || at > status, "{:?}", &file[at - 20..at]);
            ends += 1;
        } else {
            assert_eq!(
                told.attempts,
                whole.attempts[..2],
                "{:?}",
                &file[at - 20..at]
            );
            assert_eq!(told.rejected.len(), 1);
            within += 1;
        }
        if at > status + 80 {
            assert_eq!(told.attempts.len() == 3, is_line);
            if is_line {
                assert_eq!(told.attempts[2].used, whole.attempts[2].used);
            }
        }
    }
    assert!(within > ends && ends > 9, "{within} {ends}");
}

#[test]
fn a_line_of_json_that_is_cut_off_takes_no_other_with_it() {
    for (format, file) in [
        ("plimsoll", "plimsoll/report.jsonl"),
        ("attempts", "attempts/export.jsonl"),
        ("snakemake", "snakemake/benchmarks/longer.jsonl"),
    ] {
        let file = std::fs::read_to_string(crate::fixtures().join(file)).unwrap();
        let line = file.lines().next().unwrap();
        let options = Options::default();
        let whole = read(named(format), line.as_bytes(), &options).unwrap();
        assert_eq!(whole.attempts.len(), 1, "{format}");
        for (at, _) in line.match_indices([':', '[', ',', '{', '"']).skip(1) {
            let text = format!("{}\n{line}\n", &line[..=at]);
            let told = read(named(format), text.as_bytes(), &options).unwrap();
            accounted(&told);
            assert_eq!(told.attempts, whole.attempts, "{format}: {text}");
            assert_eq!(told.rejected.len(), 1, "{format}: {text}");
        }
    }
}

#[test]
fn a_file_without_a_record_of_the_format_is_none_of_it() {
    let wrong = "hello\n\nworld: 1\n";
    for format in FORMATS {
        let told = read(format, wrong.as_bytes(), &Options::default());
        match told {
            Err(Error::NotOfFormat { .. }) => {}
            told => assert!(told.unwrap().summary.rejected > 0, "{}", format.name),
        }
        let nothing = read(format, &b" \n\n"[..], &Options::default());
        if let Ok(told) = nothing {
            accounted(&told);
        }
    }
    for (format, text) in [
        ("time", wrong),
        ("kickstart", "---\n# nothing\n"),
        ("kickstart", "<?xml version=\"1.0\"?>\n"),
    ] {
        let told = read(named(format), text.as_bytes(), &Options::default());
        assert!(matches!(told, Err(Error::NotOfFormat { .. })), "{format}");
    }
    for (format, text) in [
        ("time", "\n \n"),
        ("kickstart", "\n"),
        ("nextflow", "hash\tname\n"),
    ] {
        let told = read(named(format), text.as_bytes(), &Options::default()).unwrap();
        assert_eq!(told.summary, import::Summary::default(), "{format}");
    }
}
