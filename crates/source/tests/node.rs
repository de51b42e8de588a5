//! Every source of the machine makes of its recorded files, and of hostile ones, what the goldens
//! say.
//!
//! `tests/fixtures/node/NAME/input` holds files behind one another, as `tail -n +1 FILE...` writes
//! them: `==> sys/class/x <==`, then what is in it; `==> link -> target <==` is a link. `hostile`
//! is truncated, renamed, huge or no UTF-8. `BLESS=1` rewrites the goldens.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use record::unit::Nanos;
use source::node::{Ambient, SOURCES, Source};
use source::root::Root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder_of(source: &Source) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/node");
    folder.join(source.name)
}

/// The files of a text: the name, and what is in it.
fn files(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let name = line
            .strip_prefix(b"==> ")
            .and_then(|rest| rest.strip_suffix(b" <==\n"));
        match (name, files.last_mut()) {
            (Some(name), _) => {
                files.push((String::from_utf8(name.to_vec()).unwrap(), Vec::new()));
            }
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => panic!("text before the first file"),
        }
    }
    files
}

fn unpack(files: &[(String, Vec<u8>)], tree: &Path) {
    for (name, content) in files {
        let (name, target) = match name.split_once(" -> ") {
            Some((name, target)) => (name, Some(target)),
            None => (name.as_str(), None),
        };
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match target {
            Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            None => fs::write(path, content).unwrap(),
        }
    }
}

/// What is read of a tree, twice, the second time long after: what the files are tells the same.
fn digest(source: &'static Source, files: &[(String, Vec<u8>)]) -> String {
    let tree = tempfile::tempdir().unwrap();
    unpack(files, tree.path());
    let mut ambient = Ambient::of(&Root::at(tree.path()), std::slice::from_ref(source));
    ambient.read(Nanos(1));
    let mut text = String::new();
    for row in ambient.read(Nanos::from_secs(250)).iter() {
        let instance = row.instance.escape_ascii();
        text.push_str(&format!("{} [{instance}] {}\n", row.metric, row.value));
        let metrics: Vec<_> = source.metrics().map(|metric| metric.name).collect();
        assert!(
            metrics.contains(&row.metric) || row.metric == "node_left_out",
            "{} does not declare {}",
            source.name,
            row.metric
        );
    }
    for (_, absent) in ambient.absent() {
        text.push_str(&format!("absent: {}\n", absent.words()));
    }
    text
}

fn compare(source: &'static Source, input: &str, golden: &str) -> String {
    let folder = folder_of(source);
    let text = fs::read(folder.join(input))
        .unwrap_or_else(|error| panic!("{} has no {input}: {error}", source.name));
    let digest = digest(source, &files(&text));
    let path = folder.join(golden);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &digest).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; BLESS=1 writes it", path.display()));
    assert_eq!(digest, expected, "{}", path.display());
    digest
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
        let text = fs::read(folder_of(source).join("input")).unwrap();
        let whole = files(&text);
        for (which, (_, content)) in whole.iter().enumerate().take(24) {
            let step = content.len() / 12 + 1;
            for end in (0..content.len()).step_by(step) {
                let mut cut = whole.clone();
                cut[which].1.truncate(end);
                digest(source, &cut);
                let mut flipped = whole.clone();
                flipped[which].1[end] ^= 0x80;
                digest(source, &flipped);
            }
        }
    }
}

#[test]
fn every_source_and_every_metric_is_named_once() {
    let names: BTreeSet<_> = SOURCES.iter().map(|source| source.name).collect();
    assert_eq!(names.len(), SOURCES.len());
    let metrics: Vec<_> = SOURCES.iter().flat_map(Source::metrics).collect();
    let once: BTreeSet<_> = metrics.iter().map(|metric| metric.name).collect();
    assert_eq!(once.len(), metrics.len(), "a metric is declared twice");
}

#[test]
fn what_is_not_there_is_absent_with_a_reason() {
    let nowhere = Root::at(Path::new("/nowhere"));
    let mut ambient = Ambient::open(&nowhere);
    assert!(ambient.read(Nanos(1)).is_empty());
    assert_eq!(ambient.absent().count(), SOURCES.len());
}
