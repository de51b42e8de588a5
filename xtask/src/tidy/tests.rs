//! Each check is proved by a small tree that breaks its rule, and a clean one that does not.

use super::{CHECKS, Exception, Tree, examine};
use std::path::Path;

/// A tree without a fault, as small as the checks allow.
const CLEAN: &[(&str, &str)] = &[
    ("clippy.toml", "a = 1\n"),
    ("METRICS.md", "# Metrics\n"),
    (
        "crates/record/Cargo.toml",
        "[package]\nname = \"plimsoll-record\"\n[lints]\nworkspace = true\n",
    ),
    ("crates/record/clippy.toml", "a = 1\nb = 2\n"),
    ("crates/record/src/lib.rs", "//! Records.\npub mod limit;\n"),
    (
        "crates/record/src/limit.rs",
        "//! Limits.\n// not unsafe: \"unsafe\"\n",
    ),
    (
        "crates/sys/Cargo.toml",
        "[package]\nname = \"plimsoll-sys\"\n",
    ),
    (
        "crates/sys/src/lib.rs",
        "//! Kernel.\nfn a() {\n    // SAFETY: nothing is passed.\n    unsafe { b() }\n}\n",
    ),
    (
        "crates/sys/src/a.c",
        "// A.\nint a(void)\n{\n\treturn 0;\n}\n",
    ),
    (
        "crates/store/src/export/mod.rs",
        "//! Formats.\nmod json;\npub const FORMATS: &[&Format] = &[&json::FORMAT];\n",
    ),
    ("crates/store/src/export/files.rs", "//! Files.\n"),
    ("crates/store/src/export/json.rs", "//! JSON.\n"),
    ("crates/store/src/export/processes.rs", "//! Processes.\n"),
    ("crates/store/src/export/quantities.rs", "//! Quantities.\n"),
    ("crates/store/src/export/series.rs", "//! Series.\n"),
    ("crates/store/src/export/sockets.rs", "//! Sockets.\n"),
    ("crates/store/src/export/syscalls.rs", "//! Calls.\n"),
];

/// The report on [`CLEAN`] with these files added or replaced.
fn report_with(files: &[(&str, &str)], exceptions: &[Exception]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in CLEAN.iter().chain(files) {
        write(&folder.path().join(path), text);
    }
    let mut tree = Tree::read(folder.path()).unwrap();
    tree.fresh_metrics = Some("# Metrics\n".to_owned());
    examine(&tree, exceptions)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// One file makes exactly one line of the report, which begins so.
#[track_caller]
fn breaks(path: &str, text: &str, line: &str) {
    let report = report_with(&[(path, text)], &[]);
    assert_eq!(report.len(), 1, "{report:#?}");
    assert!(report[0].starts_with(line), "{report:#?}");
}

const RECORD: &str = "crates/record/src/limit.rs";
const SYS: &str = "crates/sys/src/lib.rs";

#[test]
fn a_clean_tree_has_no_fault() {
    assert_eq!(report_with(&[], &[]), [""; 0]);
}

#[test]
fn every_check_is_named_after_its_file_and_says_its_rule() {
    let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
    assert!(CHECKS.iter().all(|check| !check.rule.is_empty()));
}

#[test]
fn an_edge_that_is_not_allowed() {
    let head = "[package]\nname = \"plimsoll-sys\"\n";
    for tail in [
        "[dependencies]\nrecord.workspace = true\n",
        "[dependencies]\nrecord = { path = \"../record\" }\n",
        "[dev-dependencies]\nvocabulary = { path = \"../record\" }\n",
        "[target.'cfg(unix)'.build-dependencies]\nr = { package = \"plimsoll-record\" }\n",
    ] {
        let text = format!("{head}{tail}");
        let line = "crates/sys/Cargo.toml:4: edges: sys may not use record";
        breaks("crates/sys/Cargo.toml", &text, line);
    }
}

#[test]
fn a_crate_without_a_row() {
    let text = "[lints]\nworkspace = true\n";
    let line = "crates/new/Cargo.toml:1: edges: new has no row";
    breaks("crates/new/Cargo.toml", text, line);
}

#[test]
fn a_file_that_is_too_long() {
    let long = format!("//! Long.\n{}", "// a\n".repeat(500));
    breaks(
        RECORD,
        &long,
        "crates/record/src/limit.rs:1: file_length: 501 lines",
    );
    breaks(
        "crates/sys/src/a.c",
        &long.replace("//!", "//"),
        "crates/sys/src/a.c:1: file_length:",
    );
    let tests = format!(
        "//! T.\n#[cfg(test)]\nmod tests {{\n{}}}\n",
        "// a\n".repeat(600)
    );
    assert_eq!(report_with(&[(RECORD, &tests)], &[]), [""; 0]);
}

#[test]
fn a_function_that_is_too_long() {
    let rust = format!("//! F.\nfn long() {{\n{}}}\n", "    a();\n".repeat(69));
    breaks(
        RECORD,
        &rust,
        "crates/record/src/limit.rs:2: function_length: `long` has 71",
    );
    let c = format!("// F.\nint long_c(void)\n{{\n{}}}\n", "\ta();\n".repeat(68));
    breaks(
        "crates/sys/src/a.c",
        &c,
        "crates/sys/src/a.c:2: function_length: `long_c` has 71",
    );
    let fits = format!("//! F.\nfn long() {{\n{}}}\n", "    a();\n".repeat(68));
    assert_eq!(report_with(&[(RECORD, &fits)], &[]), [""; 0]);
}

#[test]
fn a_file_without_a_header() {
    breaks(
        RECORD,
        "// Limits.\n",
        "crates/record/src/limit.rs:1: header:",
    );
    breaks(
        "crates/sys/src/a.c",
        "int a;\n",
        "crates/sys/src/a.c:1: header:",
    );
}

#[test]
fn a_line_that_is_too_wide() {
    let fits = format!("//! W.\n// {}\n", "é".repeat(97));
    assert_eq!(report_with(&[(RECORD, &fits)], &[]), [""; 0]);
    let wide = format!("//! W.\n// {}\n", "é".repeat(98));
    breaks(
        RECORD,
        &wide,
        "crates/record/src/limit.rs:2: line_width: 101 columns",
    );
}

#[test]
fn a_crate_that_escapes_the_lints() {
    let manifest = "[package]\nname = \"plimsoll-record\"\n";
    breaks(
        "crates/record/Cargo.toml",
        manifest,
        "crates/record/Cargo.toml:1: lints:",
    );
    breaks(
        "crates/record/clippy.toml",
        "b = 2\n",
        "crates/record/clippy.toml:1: lints: does not",
    );
}

#[test]
fn metrics_that_are_not_those_of_the_tables() {
    breaks("METRICS.md", "# Metrics\nold\n", "METRICS.md:2: metrics:");
    breaks("METRICS.md", "", "METRICS.md:1: metrics:");
}

#[test]
fn a_name_that_says_nothing() {
    let line = "crates/record/src/io_utils.rs:1: module_names:";
    breaks("crates/record/src/io_utils.rs", "//! U.\n", line);
    let line = "crates/record/src/limit.rs:2: module_names:";
    breaks(RECORD, "//! L.\nmod helper {\n}\n", line);
}

#[test]
fn unsafe_code_outside_its_crate() {
    let text = "//! L.\n// SAFETY: none.\nunsafe fn a() {}\n";
    breaks(RECORD, text, "crates/record/src/limit.rs:3: unsafe_place:");
}

#[test]
fn an_unsafe_block_without_its_reason() {
    let text =
        "//! L.\nfn a() {\n    // SAFETY: one.\n    unsafe { b() };\n    unsafe { c() }\n}\n";
    breaks(SYS, text, "crates/sys/src/lib.rs:5: safety:");
    let text = "//! L.\nfn a() {\n    // SAFETY: it\n    // is.\n    \
                let a =\n        unsafe { b() };\n}\n";
    assert_eq!(report_with(&[(SYS, text)], &[]), [""; 0]);
}

#[test]
fn a_plug_in_that_its_table_lacks() {
    let line = "crates/store/src/export/mod.rs:3: tables: FORMATS lacks csv";
    breaks("crates/store/src/export/csv.rs", "//! CSV.\n", line);
    breaks("crates/store/src/export/csv/mod.rs", "//! CSV.\n", line);
    let line = "crates/store/src/export/mod.rs:1: tables: no table FORMATS";
    breaks(
        "crates/store/src/export/mod.rs",
        "//! Formats.\nmod json;\n",
        line,
    );
}

#[test]
fn unfinished_code() {
    let marks = [
        concat!("todo", "!()"),
        concat!("unimplemented", "!()"),
        concat!("// FIX", "ME"),
        concat!("// XX", "X: later"),
        concat!("#[", "ignore]"),
    ];
    for mark in marks {
        let text = format!("//! L.\n{mark}\n");
        breaks(RECORD, &text, "crates/record/src/limit.rs:2: unfinished:");
    }
    let template = format!("//! L.\n// name.{}\n", "X".repeat(6));
    assert_eq!(report_with(&[(RECORD, &template)], &[]), [""; 0]);
}

#[test]
fn text_that_speaks_of_something_else() {
    let texts = [
        concat!("see /wo", "rk/main"),
        concat!("https://crates", ".io/x"),
        concat!("https://pypi", ".org/x"),
        concat!("an AI ", "assistant"),
        concat!("a session ", "of"),
    ];
    for text in texts {
        breaks("docs/a.md", text, "docs/a.md:1: scope:");
    }
}

#[test]
fn an_exception_excuses_its_fault_alone_and_is_refused_when_stale() {
    let exception = Exception {
        check: "line_width",
        path: RECORD,
        what: "",
        reason: "a table of the kernel",
    };
    let wide = format!("//! W.\n// {}\n", "w".repeat(100));
    assert_eq!(report_with(&[(RECORD, &wide)], &[exception]), [""; 0]);
    let stale = report_with(&[], &[exception]);
    assert_eq!(stale.len(), 1);
    assert!(
        stale[0].contains("exceptions: nothing to excuse"),
        "{stale:?}"
    );
    let both = report_with(
        &[(RECORD, &wide), ("crates/record/src/lib.rs", &wide)],
        &[exception],
    );
    assert_eq!(both.len(), 1, "{both:?}");
}
