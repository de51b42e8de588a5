//! Every source of the table parses its recorded input, and a hostile one, as its goldens say.
//!
//! `tests/fixtures/NAME/input` is recorded (see `tests/fixtures/README.md` for the kernels),
//! `hostile` is truncated, renamed, huge or no UTF-8. `BLESS=1` rewrites the goldens.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use source::query::{SOURCES, Source};
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn compare(source: &Source, input: &str, golden: &str) {
    let folder = fixtures().join(source.name);
    let text = fs::read(folder.join(input))
        .unwrap_or_else(|error| panic!("{} has no {input}: {error}", source.name));
    let digest = (source.digest)(&text) + "\n";
    let path = folder.join(golden);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &digest).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; BLESS=1 writes it", path.display()));
    assert_eq!(digest, expected, "{}", path.display());
}

#[test]
fn every_source_reads_its_fixtures() {
    for source in SOURCES {
        compare(source, "input", "golden");
        compare(source, "hostile", "hostile.golden");
    }
}

#[test]
fn every_source_survives_any_cut_and_any_flip() {
    for source in SOURCES {
        let text = fs::read(fixtures().join(source.name).join("input")).unwrap();
        let step = text.len() / 64 + 1;
        for end in (0..text.len()).step_by(step) {
            (source.digest)(&text[..end]);
            let mut flipped = text.clone();
            flipped[end] ^= 0x80;
            (source.digest)(&flipped);
        }
    }
}

#[test]
fn every_source_is_named_once_and_its_metrics_too() {
    let mut names: Vec<_> = SOURCES.iter().map(|source| source.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SOURCES.len());
    let metrics = SOURCES.iter().flat_map(|source| source.metrics);
    let mut metrics: Vec<_> = metrics
        .map(|metric| (metric.name, format!("{:?}", metric.scope)))
        .collect();
    let declared = metrics.len();
    metrics.sort_unstable();
    metrics.dedup();
    assert_eq!(metrics.len(), declared, "a metric is declared twice");
}
