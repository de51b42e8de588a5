//! Why tasks ended, on reports that `plimsoll run` wrote of real ends (names and paths made
//! neutral): each has the answer that is expected. `BLESS=1` writes the answers; what the cause is,
//! and how sure it is, stands here.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads what was recorded, and fails by panicking"
)]

use record::report::Report;
use reduce::request::{TARGETS, target_of};
use reduce::why::{CAUSES, Certainty, answer, judge};
use std::collections::BTreeSet;
use std::path::PathBuf;

use Certainty::{Known, Likely, Unknown};

/// Each end, its cause, how sure that is, and what is seen beside it.
const ENDS: &[(&str, &str, Certainty, &[&str])] = &[
    ("cpu_limit", "limit", Known, &[]),
    ("disk_full", "disk_full", Likely, &[]),
    ("disk_full_syscalls", "exit_code", Known, &["disk_full"]),
    ("disk_full_unseen", "success", Known, &["disk_full"]),
    ("exit_1", "exit_code", Known, &[]),
    ("exit_126", "missing", Likely, &[]),
    ("exit_127", "missing", Likely, &[]),
    ("exit_137", "shell_signal", Likely, &[]),
    ("exit_139", "shell_signal", Likely, &[]),
    ("exit_2", "exit_code", Known, &[]),
    ("exit_75", "exit_code", Known, &[]),
    ("files_limit", "limit", Known, &[]),
    ("footprint_limit", "limit", Known, &[]),
    ("idle_cores", "success", Known, &["idle_cores"]),
    ("measured", "success", Known, &["limit"]),
    ("memory_limit", "limit", Known, &[]),
    ("missing_library", "missing", Likely, &[]),
    ("no_interpreter", "not_started", Known, &[]),
    ("not_ended", "not_ended", Known, &["limit"]),
    ("not_ended_child", "limit", Known, &["not_ended"]),
    ("not_executable", "not_started", Known, &[]),
    ("not_found", "not_started", Known, &[]),
    ("oom_child", "memory_kill", Likely, &[]),
    ("oom_group", "memory_kill", Known, &[]),
    ("oom_survived", "success", Known, &["memory_kill"]),
    ("oom_user", "memory_kill", Likely, &[]),
    ("output_missing", "exit_code", Known, &["files_missing"]),
    ("rss_limit", "limit", Known, &[]),
    ("running", "running", Unknown, &[]),
    ("sigabrt", "crash", Likely, &[]),
    ("sigbus", "crash", Likely, &[]),
    ("sigbus_fault", "crash", Known, &[]),
    ("sigkill", "signal", Unknown, &[]),
    ("sigkill_front", "signal", Known, &[]),
    ("sigkill_sender", "signal", Known, &[]),
    ("sigsegv", "crash", Likely, &[]),
    ("sigsegv_fault", "crash", Known, &[]),
    ("sigterm_deaf", "signal", Known, &[]),
    ("sigterm_slurmstepd", "signal", Known, &[]),
    ("sigterm_trapped", "signal", Likely, &[]),
    ("sigterm_user", "signal", Known, &[]),
    ("sigxcpu", "crash", Likely, &[]),
    ("success", "success", Known, &[]),
    ("success_plain", "success", Known, &[]),
    ("success_slurm", "success", Known, &["waits"]),
    ("survivors", "success", Known, &["survivors"]),
    ("survivors_failed", "exit_code", Known, &["survivors"]),
    ("throttled", "success", Known, &["waits", "throttled"]),
    ("time_limit", "time_limit", Likely, &["waits", "idle_cores"]),
    ("wall_limit", "limit", Known, &[]),
];

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/why"]
        .iter()
        .collect()
}

fn recorded(name: &str) -> Report {
    let path = folder().join(format!("{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn every_recorded_end_has_its_cause() {
    for (name, cause, certainty, beside) in ENDS {
        let why = judge(&recorded(name));
        let found: Vec<_> = why.also.iter().map(|verdict| verdict.cause).collect();
        assert_eq!(
            (why.main.cause, why.main.certainty, found.as_slice()),
            (*cause, *certainty, *beside),
            "{name}: {}",
            why.main.sentence
        );
    }
}

#[test]
fn no_recorded_end_is_left_out() {
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<_> = names
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .filter(|name| !name.ends_with(".why"))
        .collect();
    let listed: BTreeSet<_> = ENDS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}

#[test]
fn every_answer_is_as_expected() {
    for (name, ..) in ENDS {
        let report = recorded(name);
        let answer = answer(&report, target_of(&report));
        let text = serde_json::to_string_pretty(&answer).unwrap() + "\n";
        let path = folder().join(format!("{name}.why.json"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, expected, "{name}: BLESS=1 writes it");
    }
}

/// Whatever is likely says so, whatever is not known too; each sentence is one and has evidence.
#[test]
fn sentences_keep_to_what_is_known() {
    for (name, ..) in ENDS {
        let why = judge(&recorded(name));
        for verdict in std::iter::once(&why.main).chain(&why.also) {
            let sentence = &verdict.sentence;
            assert!(
                sentence.ends_with('.') && !sentence.contains(". "),
                "{sentence}"
            );
            assert!(!verdict.evidence.is_empty(), "{name}: {sentence}");
            assert!(CAUSES.iter().any(|cause| cause.name == verdict.cause));
            let hedges = ["likely", "not known", "does not have"];
            let hedged = hedges.iter().any(|word| sentence.contains(word));
            match verdict.certainty {
                Certainty::Known => assert!(!sentence.contains("likely"), "{name}: {sentence}"),
                _ => assert!(hedged, "{name}: {sentence}"),
            }
        }
    }
}

/// What is pasted asks for more than what was not enough, and for less than what was too much.
#[test]
fn requests_go_the_right_way() {
    for (name, cause, ..) in ENDS {
        let why = judge(&recorded(name));
        for change in &why.main.requests {
            let Some(from) = change.from else { continue };
            let (from, to) = (from.as_f64(), change.to.as_f64());
            let is_less = *cause == "success";
            assert!(from != to && (to < from) == is_less, "{name}: {change:?}");
        }
        for target in TARGETS {
            let answer = answer(&recorded(name), target);
            for line in answer.paste.iter().flat_map(|paste| &paste.lines) {
                assert!(!line.is_empty() && line.len() < 100, "{name}: {line}");
            }
        }
    }
}
