//! Each format on files as its tool writes them, and on a hostile one; `BLESS=1` rewrites what is
//! expected.

use crate::{Told, accounted, fixtures, read};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use store::import::{ColumnMap, FORMATS, Options};

/// What stands beside a fixture: what is expected of it, and its column map.
const BESIDE: &[&str] = &["expected", "columns"];

/// Every fixture of a format, by its path.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|end| end.to_str());
        if path.is_dir() {
            all.extend(inputs(&path));
        } else if !extension.is_some_and(|end| BESIDE.contains(&end)) {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

fn options(path: &Path) -> Options {
    let file = path.strip_prefix(fixtures()).unwrap().to_str().unwrap();
    let map = fs::read_to_string(beside(path, "columns")).ok();
    Options {
        file: Some(file.to_owned()),
        columns: map.map(|text| ColumnMap::parse(text.trim()).unwrap()),
        ..Options::default()
    }
}

/// Attempts without what is not known of them, what was rejected, and the counts.
fn text(told: &Told) -> String {
    let mut text = String::new();
    for attempt in &told.attempts {
        let mut value = serde_json::to_value(attempt).unwrap();
        let members = value.as_object_mut().unwrap();
        members.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(list) => !list.is_empty(),
            Value::Object(object) => !object.is_empty(),
            _ => true,
        });
        for amounts in ["used", "requested"] {
            let Some(Value::Object(amounts)) = members.get_mut(amounts) else {
                continue;
            };
            for amount in amounts.values_mut() {
                if amount["known"] == "claimed" {
                    *amount = amount["value"].take();
                }
            }
        }
        text.push_str(&format!("{value}\n"));
    }
    for one in &told.rejected {
        text.push_str(&format!("{}: {} | {:?}\n", one.place, one.why, one.text));
    }
    text.push_str(&format!("{:?}\n", told.summary));
    text
}

#[test]
fn every_format_reads_as_it_always_has() {
    for format in FORMATS {
        let inputs = inputs(&fixtures().join(format.name));
        let is_hostile = |path: &PathBuf| path.file_stem().is_some_and(|name| name == "hostile");
        assert!(inputs.len() > 1, "{} has no fixtures", format.name);
        assert!(inputs.iter().any(is_hostile), "{}", format.name);
        for path in inputs {
            let input = fs::read(&path).unwrap();
            let told = read(format, input.as_slice(), &options(&path)).unwrap();
            accounted(&told);
            let golden = beside(&path, "expected");
            let text = text(&told);
            if std::env::var_os("BLESS").is_some() {
                fs::write(&golden, &text).unwrap();
            }
            let expected = fs::read_to_string(&golden).unwrap_or_default();
            assert!(text == expected, "{}:\n{text}\n{expected}", path.display());
        }
    }
}

#[test]
fn a_format_is_told_by_how_a_file_begins() {
    for format in FORMATS {
        for path in inputs(&fixtures().join(format.name)) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let input = fs::read(&path).unwrap();
            let input = store::import::unpacked(input.as_slice()).unwrap();
            let found = store::import::detect(name, input.beginning());
            let is_plain = !name.starts_with("hostile");
            assert!(
                found == Some(*format) || !is_plain,
                "{}: {:?}",
                path.display(),
                found.map(|format| format.name)
            );
        }
    }
    assert_eq!(store::import::detect("a.txt", b"hello\n"), None);
    assert_eq!(store::import::detect("", b""), None);
}

#[test]
fn the_same_file_has_the_same_ids_wherever_it_is() {
    for format in FORMATS {
        for path in inputs(&fixtures().join(format.name)) {
            let input = fs::read(&path).unwrap();
            let here = options(&path);
            let there = Options {
                file: here.file.as_ref().map(|file| format!("/elsewhere/{file}")),
                set: Some("another".to_owned()),
                ..here.clone()
            };
            let ids = |options| {
                let told = read(format, input.as_slice(), options).unwrap();
                let ids = told.attempts.into_iter().map(|one| one.id);
                ids.collect::<Vec<_>>()
            };
            assert_eq!(ids(&here), ids(&there), "{}", path.display());
        }
    }
}

#[test]
fn local_times_are_ahead_of_utc_by_what_is_said() {
    let options = |utc_offset_seconds| Options {
        utc_offset_seconds,
        ..Options::default()
    };
    for (format, file) in [("nextflow", "trace.txt"), ("sacct", "jobs.txt")] {
        let input = fs::read(fixtures().join(format).join(file)).unwrap();
        let at = |offset| {
            let told = read(crate::named(format), input.as_slice(), &options(offset)).unwrap();
            told.attempts[0].submitted.unwrap()
        };
        assert_eq!(at(0) - at(3600), 3_600_000_000_000, "{format}");
    }
}
