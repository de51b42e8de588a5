//! What a monitor told of a run: read from the file that it wrote.

use super::experiments::{DATA, Quantity};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Who writes the report, in the folder that the run is started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// `plimsoll run --output report`.
    Plimsoll,
    /// `time -v -o time.out`.
    Time,
    /// `resource_monitor -O monitored`.
    ResourceMonitor,
    /// `pegasus-kickstart -l kickstart.out`.
    Kickstart,
}

/// A number as it was told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Told {
    /// In ns or bytes.
    pub(super) value: f64,
    /// `~`, `>=` or `<=` where the monitor itself says that it is not exact; else empty.
    pub(super) mark: &'static str,
}

/// What was told of each quantity.
pub(super) type Answers = BTreeMap<Quantity, Told>;

/// The files that reports are in.
const FILES: &[&str] = &[
    "report.json",
    "report.files.jsonl",
    "time.out",
    "monitored.summary",
    "kickstart.out",
];

/// Removes what an earlier run left in `folder`.
///
/// # Errors
/// When a file is there and cannot be removed.
pub(super) fn clear(folder: &Path) -> Result<()> {
    for name in FILES {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).context(*name);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads the report in `folder`.
///
/// # Errors
/// When there is none, or not in the form that is known here.
pub(super) fn read(report: Report, folder: &Path) -> Result<Answers> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| name.to_owned());
    match report {
        Report::Plimsoll => {
            let files = match fs::read_to_string(folder.join("report.files.jsonl")) {
                Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
                other => other?,
            };
            plimsoll(&text("report.json")?, &files)
        }
        Report::Time => time(&text("time.out")?),
        Report::ResourceMonitor => resource_monitor(&text("monitored.summary")?),
        Report::Kickstart => kickstart(&text("kickstart.out")?),
    }
}

fn exact(value: f64) -> Told {
    Told { value, mark: "" }
}

fn plimsoll(report: &str, files: &str) -> Result<Answers> {
    let report: Value = serde_json::from_str(report)?;
    let mut answers = Answers::new();
    for (quantity, metric) in [
        (Quantity::CpuTime, "cpu_time"),
        (Quantity::Memory, "memory_peak"),
        (Quantity::Resident, "rss_peak_process"),
        (Quantity::BytesRead, "bytes_read"),
        (Quantity::BytesWritten, "bytes_written"),
    ] {
        let field = report
            .pointer(&format!("/usage/{metric}"))
            .with_context(|| metric.to_owned())?;
        let Some(value) = field.get("value").and_then(Value::as_f64) else {
            continue;
        };
        let mark = match field.get("method").and_then(Value::as_str) {
            Some("exact") => "",
            Some("sampled") => "~",
            Some("lower_bound") => ">=",
            Some("upper_bound") => "<=",
            other => anyhow::bail!("{metric}: method {other:?}"),
        };
        answers.insert(quantity, Told { value, mark });
    }
    for line in files.lines() {
        let line: Value = serde_json::from_str(line)?;
        let path = line.get("path").and_then(Value::as_str).unwrap_or_default();
        if !Path::new(path).ends_with(DATA) {
            continue;
        }
        for (quantity, name) in [
            (Quantity::FileRead, "bytes_read"),
            (Quantity::FileWritten, "bytes_written"),
        ] {
            let bytes = line.get(name).and_then(Value::as_f64);
            answers.insert(quantity, exact(bytes.with_context(|| name.to_owned())?));
        }
    }
    Ok(answers)
}

/// Times in hundredths of a second, the resident set in KiB.
fn time(text: &str) -> Result<Answers> {
    let number = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
        let line = line.with_context(|| name.to_owned())?;
        line.parse::<f64>().with_context(|| line.to_owned())
    };
    let cpu = number("User time (seconds)")? + number("System time (seconds)")?;
    let resident = number("Maximum resident set size (kbytes)")? * 1024.0;
    Ok(Answers::from([
        (Quantity::CpuTime, exact(cpu * 1e9)),
        (Quantity::Resident, exact(resident)),
    ]))
}

/// Seconds, and MB of 2^20 bytes.
fn resource_monitor(text: &str) -> Result<Answers> {
    let report: Value = serde_json::from_str(text)?;
    let mut answers = Answers::new();
    for (quantity, name, unit) in [
        (Quantity::CpuTime, "cpu_time", 1e9),
        (Quantity::Resident, "memory", f64::from(1 << 20)),
        (Quantity::BytesRead, "bytes_read", f64::from(1 << 20)),
        (Quantity::BytesWritten, "bytes_written", f64::from(1 << 20)),
    ] {
        let value = report.pointer(&format!("/{name}/0"));
        if let Some(value) = value.and_then(Value::as_f64) {
            answers.insert(quantity, exact(value * unit));
        }
    }
    anyhow::ensure!(!answers.is_empty(), "no numbers in {text}");
    Ok(answers)
}

/// `wait4`'s figures of the job; with `-t`, `-z` and `-Z` the counters of each process, with the
/// last two each file as well.
fn kickstart(text: &str) -> Result<Answers> {
    let (_, job) = text.split_once("mainjob:").context("mainjob")?;
    let numbers = |name: &str| {
        let name = format!("{name}: ");
        let lines = job.lines().map(str::trim);
        let found = lines.filter_map(move |line| line.strip_prefix(&name)?.parse::<f64>().ok());
        found.collect::<Vec<_>>()
    };
    let first = |name: &str| {
        let found = numbers(name).first().copied();
        found.with_context(|| name.to_owned())
    };
    let mut answers = Answers::from([
        (
            Quantity::CpuTime,
            exact((first("utime")? + first("stime")?) * 1e9),
        ),
        (Quantity::Resident, exact(first("maxrss")? * 1024.0)),
    ]);
    for (quantity, name) in [
        (Quantity::BytesRead, "rchar"),
        (Quantity::BytesWritten, "wchar"),
    ] {
        let processes = numbers(name);
        if !processes.is_empty() {
            answers.insert(quantity, exact(processes.iter().sum()));
        }
    }
    let end = format!("/{DATA}\" ");
    let of_file = job.lines().filter(|line| line.contains(&end));
    for line in of_file {
        for (quantity, name) in [
            (Quantity::FileRead, "bread=\""),
            (Quantity::FileWritten, "bwrite=\""),
        ] {
            let number = line
                .split_once(name)
                .and_then(|(_, rest)| rest.split('"').next()?.parse::<f64>().ok());
            let number = number.with_context(|| line.to_owned())?;
            answers.entry(quantity).or_insert(exact(0.0)).value += number;
        }
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(answers: &Answers, quantity: Quantity) -> Option<f64> {
        answers.get(&quantity).map(|told| told.value)
    }

    #[test]
    fn a_report_of_plimsoll_keeps_its_marks() {
        let report = r#"{"usage": {
            "cpu_time": {"value": 5, "method": "exact"},
            "memory_peak": {"value": 7, "method": "lower_bound", "upper": 8},
            "rss_peak_process": {"absent": "gone"},
            "bytes_read": {"value": 9, "method": "exact"},
            "bytes_written": {"value": 0, "method": "sampled"}}}"#;
        let files = "{\"path\": \"/x/other\", \"bytes_read\": 1, \"bytes_written\": 2}\n\
                     {\"path\": \"/x/experiment.data\", \"bytes_read\": 3, \"bytes_written\": 4}\n\
                     {\"others\": 1, \"bytes_read\": 5}\n";
        let answers = plimsoll(report, files).unwrap();
        assert_eq!(value(&answers, Quantity::CpuTime), Some(5.0));
        assert_eq!(answers.get(&Quantity::Memory).unwrap().mark, ">=");
        assert_eq!(answers.get(&Quantity::BytesWritten).unwrap().mark, "~");
        assert_eq!(value(&answers, Quantity::Resident), None);
        assert_eq!(value(&answers, Quantity::FileRead), Some(3.0));
        assert_eq!(value(&answers, Quantity::FileWritten), Some(4.0));
        let odd = report.replace("sampled", "guessed");
        assert!(plimsoll(&odd, "").is_err());
    }

    #[test]
    fn what_other_tools_write_is_in_their_units() {
        let text = "\tUser time (seconds): 0.05\n\tSystem time (seconds): 0.50\n\
                    \tMaximum resident set size (kbytes): 10\n";
        let answers = time(text).unwrap();
        assert_eq!(value(&answers, Quantity::Resident), Some(10_240.0));
        assert!((value(&answers, Quantity::CpuTime).unwrap() - 0.55e9).abs() < 1.0);
        assert!(time("nothing").is_err());
        let text = r#"{"cpu_time": [0.5, "s"], "memory": [2, "MB"], "bytes_read": [0, "MB"]}"#;
        let answers = resource_monitor(text).unwrap();
        assert_eq!(value(&answers, Quantity::Resident), Some(2_097_152.0));
        assert_eq!(value(&answers, Quantity::BytesRead), Some(0.0));
        assert_eq!(value(&answers, Quantity::BytesWritten), None);
        assert!(resource_monitor("{}").is_err());
    }

    #[test]
    fn a_record_of_kickstart_has_the_job_its_processes_and_files() {
        let text = "  mainjob:\n    usage:\n      utime: 0.155\n      stime: 0.001\n\
                    \x20     maxrss: 780\n    procs:\n      7:\n        utime: 0.100\n\
                    \x20       rchar: 100\n        wchar: 50\n      8:\n        rchar: 1\n\
                    <file name=\"/x/experiment.data\" bread=\"9\" nread=\"1\" bwrite=\"8\"/>\n\
                    <file name=\"/x/other\" bread=\"1\" bwrite=\"1\"/>\n\
                    \x20 usage:\n    utime: 0.004\n    maxrss: 2512\n";
        let answers = kickstart(text).unwrap();
        assert!((value(&answers, Quantity::CpuTime).unwrap() - 0.156e9).abs() < 1.0);
        assert_eq!(value(&answers, Quantity::Resident), Some(798_720.0));
        assert_eq!(value(&answers, Quantity::BytesRead), Some(101.0));
        assert_eq!(value(&answers, Quantity::FileRead), Some(9.0));
        assert_eq!(value(&answers, Quantity::FileWritten), Some(8.0));
        assert!(kickstart("").is_err());
    }
}
