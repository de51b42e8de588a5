//! A full report against the file that readers have; `BLESS=1` rewrites it.

use record::report::{
    Claim, Evidence, Exceeded, Exit, ExitType, Host, Job, LimitSet, Monitor, Process, Report,
    SCHEMA, Task, Usage, serde_free::Scalar,
};
use record::unit::{Bytes, Nanos, Unit};
use record::value::{Absent, Field, Method, Number, Value};
use std::path::PathBuf;
use store::export::{Details, Record};

fn number(value: u64, unit: Unit, method: Method, source: &str) -> Field {
    Field::Present(Value::new(Number::Whole(value), unit, method, source))
}

/// A field of every kind, in the order of the table of metrics.
fn usage() -> Usage {
    let mut usage = Usage::default();
    for (index, metric) in reduce::METRICS.iter().enumerate() {
        let value = 1_000_000 + index as u64;
        let method = match index % 4 {
            0 => Method::Exact,
            1 => Method::LowerBound {
                upper: Some(value + 9),
            },
            2 => Method::LowerBound { upper: None },
            _ => Method::Sampled {
                period_ns: Nanos::from_secs(1),
            },
        };
        let field = match metric.name {
            "gpu_time" | "gpu_memory_peak" | "gpu_utilisation" => Field::absent(Absent::NoDevice),
            "footprint_peak" => Field::absent(Absent::Off),
            "cores_mean" => Field::Present(Value::new(
                Number::Real(1.25),
                metric.unit,
                Method::Exact,
                "cpu_time / wall_time",
            )),
            "rss_peak" => Field::Present(
                Value::new(
                    Number::Whole(value),
                    metric.unit,
                    method,
                    "some kernel file",
                )
                .at(Some(Nanos(5))),
            ),
            _ => number(value, metric.unit, method, "some kernel file"),
        };
        usage.set(metric.name, field);
    }
    usage
}

fn claim(value: u64, source: &str) -> Claim {
    Claim {
        value: Number::Whole(value),
        unit: Unit::Bytes,
        source: source.to_owned(),
    }
}

fn task() -> Task {
    Task {
        id: "t-1".into(),
        command: vec!["sh".into(), "-c".into(), "make \"all\"\n".into()],
        cwd: "/home/ada".into(),
        user: "ada".into(),
        uid: 1000,
        category: Some("build".into()),
        labels: [("stage".to_owned(), "1".to_owned())].into(),
        attempt: 2,
        inputs_bytes: None,
        image: None,
        job: Job {
            scheduler: Some("slurm".into()),
            id: Some("42".into()),
            array: None,
            step: Some("0".into()),
        },
    }
}

fn report() -> Report {
    Report {
        containers: Vec::new(),
        survivors: Vec::new(),
        schema: SCHEMA.into(),
        task: task(),
        request: [("memory".to_owned(), claim(512 << 20, "--limit"))].into(),
        allocation: [("memory".to_owned(), claim(8 << 30, "MemTotal"))].into(),
        host: Host {
            name: "node1".into(),
            kernel: "6.12.0".into(),
            boot_id: "0-1".into(),
            cpus: 2,
            memory_bytes: 8 << 30,
            cpu_model: None,
            architecture: Some("x86_64".into()),
        },
        start: "2026-11-21T01:02:03.000004Z".into(),
        end: "2026-11-21T01:02:04.000004Z".into(),
        exit: Exit {
            kind: ExitType::Limit,
            code: None,
            status: Some(137),
            signal: Some(9),
            cause: Some("memory went over its limit".into()),
            evidence: vec![Evidence {
                kind: "oom_kill".into(),
                value: Scalar::Whole(1),
                source: "memory.events".into(),
            }],
        },
        limits: vec![LimitSet {
            resource: "memory".into(),
            limit: Number::Whole(512 << 20),
            unit: Unit::Bytes,
        }],
        exceeded: vec![Exceeded {
            resource: "memory".into(),
            limit: Number::Whole(512 << 20),
            value: Number::Whole(513 << 20),
            unit: Unit::Bytes,
            at_ns: Some(Nanos(9)),
            pid: Some(7),
            process: Some("cc1".into()),
            enforced: true,
            source: "cgroup".into(),
        }],
        usage: usage(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        gpus: Vec::new(),
        footprint: Vec::new(),
        file_systems: Vec::new(),
        system_calls: Vec::new(),
        monitor: Monitor {
            version: "0.1.0".into(),
            level: "events".into(),
            mechanism: "bpf".into(),
            interval_ns: Nanos::from_secs(1),
            cpu_time_ns: Nanos(8),
            memory_peak_bytes: Bytes(9),
            events_lost: 0,
            notes: vec!["a note".into()],
        },
    }
}

#[allow(
    clippy::unwrap_used,
    reason = "a test without its golden file must fail"
)]
fn compare(name: &str, text: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read(&path).unwrap();
    assert_eq!(
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(&golden)
    );
}

fn record(report: &Report) -> Record<'_> {
    const DETAILS: &Details = &Details {
        page_bytes: None,
        executable: None,
        time_format: None,
        time_quiet: false,
        kickstart_brief: false,
        environment: None,
        outputs: Vec::new(),
    };
    Record {
        report,
        processes: &[],
        series: None,
        details: DETAILS,
    }
}

#[test]
fn a_full_report_reads_as_it_always_has() {
    for name in ["json", "jsonl"] {
        let format = store::export::format(name).unwrap();
        let text = (format.encode)(&record(&report())).unwrap();
        assert!(text.ends_with(b"}\n"));
        compare(&format!("report.{}", format.extension), &text);
        assert_eq!(serde_json::from_slice::<Report>(&text).unwrap(), report());
    }
    let line = store::export::format("jsonl").unwrap();
    let text = (line.encode)(&record(&report())).unwrap();
    assert_eq!(text.iter().filter(|b| **b == b'\n').count(), 1);
}

#[test]
fn processes_are_a_line_each() {
    let process = Process {
        pid: 7,
        ppid: Some(1),
        start_ns: Nanos(0),
        end_ns: None,
        command: vec!["cc1".into(), "a b\n".into()],
        exec_history: vec![vec!["sh".into()]],
        code: Some(0),
        signal: None,
        folded: 3,
        usage: usage(),
    };
    let mut text = Vec::new();
    store::export::processes::write([process.clone(), process.clone()].into_iter(), &mut text)
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<Process> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines, [process.clone(), process]);
}
