//! Reports for the tests of views, and the comparison with recorded screens.

use record::report::serde_free::Scalar;
use record::report::{Evidence, Exceeded, ExitType, LimitSet, Report};
use record::unit::{Nanos, Unit};
use record::value::Number;
use std::path::Path;

/// A parallel build that used much.
pub(super) fn build() -> Report {
    read("build")
}

/// `true`.
pub(super) fn small() -> Report {
    read("small")
}

fn read(name: &str) -> Report {
    serde_json::from_str(&std::fs::read_to_string(file(&format!("{name}.json"))).unwrap()).unwrap()
}

fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/view")
        .join(name)
}

/// Makes `report` end by its memory limit.
pub(super) fn break_limit(report: &mut Report) {
    report.exit.kind = ExitType::Limit;
    report.exit.code = None;
    report.exit.status = Some(137);
    report.exit.cause = Some("the memory limit of 512 MiB was reached".to_owned());
    report.exit.evidence = vec![Evidence {
        kind: "oom_kill".to_owned(),
        value: Scalar::Whole(1),
        source: "memory.oom_control".to_owned(),
    }];
    report.limits = vec![LimitSet {
        resource: "memory".to_owned(),
        limit: Number::Whole(512 << 20),
        unit: Unit::Bytes,
    }];
    report.exceeded = vec![Exceeded {
        resource: "memory".to_owned(),
        limit: Number::Whole(512 << 20),
        value: Number::Whole(513 << 20),
        unit: Unit::Bytes,
        at_ns: Some(Nanos::from_millis(1200)),
        pid: Some(4242),
        process: Some("cc1plus".to_owned()),
        enforced: true,
        source: "memory.oom_control".to_owned(),
    }];
}

/// Compares `text` with the recorded screen `NAME.txt`; `BLESS=1` records it.
pub(super) fn compare(name: &str, text: &str) {
    let path = file(&format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert!(
        golden == text,
        "{name} changed:\n{text}\nrecorded:\n{golden}"
    );
    assert!(
        text.lines().skip(1).all(|line| line.chars().count() <= 80),
        "{text}"
    );
}
