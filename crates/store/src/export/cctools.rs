//! The summary of CCTools' `resource_monitor`: JSON, values as `[number, "unit"]`.
//!
//! MB there is 2^20 bytes, rounded up. What is absent is left out.

use super::quantities::{
    command, end_ns, memory_metric, mib, number, seconds, start_ns, sum, whole,
};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::report::{Exceeded, ExitType, Report};
use record::unit::Unit;
use serde_json::{Value, json};

/// The format.
pub const FORMAT: Format = Format {
    name: "cctools",
    extension: "summary",
    doc: "summary of CCTools' resource_monitor",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

/// Its name of a limit, and the unit of the value there.
const LIMITS: &[(&str, &str, &str)] = &[
    ("wall", "wall_time", "s"),
    ("cpu", "cpu_time", "s"),
    ("cores", "cores", "cores"),
    ("memory", "memory", "MB"),
    ("rss", "memory", "MB"),
    ("virtual", "virtual_memory", "MB"),
    ("swap", "swap_memory", "MB"),
    ("processes", "max_concurrent_processes", "procs"),
    ("footprint", "disk", "MB"),
    ("files", "total_files", "files"),
    ("read", "bytes_read", "MB"),
    ("written", "bytes_written", "MB"),
];

/// Every member that a summary may have: no label takes the place of one that is absent.
const MEMBERS: &[&str] = &[
    "host",
    "monitor_version",
    "executable_type",
    "category",
    "taskid",
    "command",
    "exit_status",
    "exit_type",
    "signal",
    "limits_exceeded",
    "start",
    "end",
    "wall_time",
    "cpu_time",
    "memory",
    "virtual_memory",
    "swap_memory",
    "disk",
    "bytes_read",
    "bytes_written",
    "bytes_received",
    "bytes_sent",
    "gpus",
    "cores",
    "cores_avg",
    "machine_cpus",
    "context_switches",
    "max_concurrent_processes",
    "total_processes",
    "total_files",
    "peak_times",
];

/// Exit status of a task that was ended for a limit: 128 and SIGTERM.
const LIMIT_STATUS: i32 = 143;

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let mut members = about(report, record.details.executable)?;
    members.extend(resources(report));
    // The user's own, as resource_monitor takes them by --verbatim-to-summary.
    for (name, text) in &report.task.labels {
        if !MEMBERS.contains(&name.as_str()) {
            members.push((name, json!(text).to_string()));
        }
    }
    let peaks = peak_times(report);
    if !peaks.is_empty() {
        members.push(("peak_times", object(&peaks, "  ")?));
    }
    let mut text = object(&members, "")?;
    text.push('\n');
    Ok(text.into_bytes())
}

/// A member and its value as JSON.
type Member<'a> = (&'a str, String);

fn member<'a>(name: &'a str, value: &Value) -> Member<'a> {
    (name, value.to_string())
}

/// One member a line, in this order, as `resource_monitor` prints it.
fn object(members: &[Member<'_>], indent: &str) -> Result<String, Error> {
    let mut text = String::from("{");
    for (index, (name, value)) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let name = serde_json::to_string(name).map_err(|source| Error::Encode {
            format: FORMAT.name,
            source,
        })?;
        text.push_str(&format!("{comma}\n{indent}  {name}: {value}"));
    }
    text.push_str(&format!("\n{indent}}}"));
    Ok(text)
}

fn about<'a>(report: &Report, executable: Option<&str>) -> Result<Vec<Member<'a>>, Error> {
    let task = &report.task;
    let mut members = vec![
        member("host", &json!(report.host.name)),
        member(
            "monitor_version",
            &json!(format!("plimsoll {}", report.monitor.version)),
        ),
    ];
    if let Some(kind) = executable {
        members.push(member("executable_type", &json!(kind)));
    }
    if let Some(category) = &task.category {
        members.push(member("category", &json!(category)));
    }
    members.push(member("taskid", &json!(task.id)));
    members.push(member("command", &json!(command(report))));
    if let Some(status) = exit_status(report) {
        members.push(member("exit_status", &json!(status)));
    }
    members.push(member("exit_type", &json!(exit_type(report))));
    if let Some(signal) = report.exit.signal
        && report.exit.kind == ExitType::Signal
    {
        members.push(member("signal", &json!(signal)));
    }
    let exceeded: Vec<_> = report.exceeded.iter().filter_map(exceeded).collect();
    if !exceeded.is_empty() {
        members.push(("limits_exceeded", object(&exceeded, "  ")?));
    }
    Ok(members)
}

fn exit_type(report: &Report) -> &'static str {
    match report.exit.kind {
        // It says so for limits that were only measured too.
        _ if !report.exceeded.is_empty() => "limits",
        ExitType::Limit => "limits",
        ExitType::Signal => "signal",
        ExitType::Running => "running",
        ExitType::Normal | ExitType::NotStarted | ExitType::Unknown => "normal",
    }
}

fn exit_status(report: &Report) -> Option<i32> {
    let exit = &report.exit;
    match exit.kind {
        ExitType::Limit => Some(LIMIT_STATUS),
        ExitType::Signal => exit.signal.map(|signal| 128 + signal),
        _ => exit.code.or(exit.status),
    }
}

/// A limit that was exceeded, with the limit as its value.
fn exceeded(one: &Exceeded) -> Option<Member<'static>> {
    let (_, name, unit) = LIMITS.iter().find(|(ours, ..)| *ours == one.resource)?;
    let limit = one.limit.as_f64();
    let value = match one.unit {
        Unit::Nanoseconds => json!(round(limit / 1e9, 6)),
        Unit::Bytes => json!((limit / f64::from(1 << 20)).ceil() as u64),
        Unit::Cores | Unit::Ratio => json!(round(limit, 3)),
        _ => json!(limit as u64),
    };
    Some(member(name, &json!([value, unit])))
}

/// Like `resource_monitor`: `decimals` behind the point.
fn round(value: f64, decimals: i32) -> f64 {
    let factor = 10f64.powi(decimals);
    (value * factor).round() / factor
}

fn resources(report: &Report) -> Vec<Member<'static>> {
    let mut members = Vec::new();
    let mut add = |name: &'static str, value: Option<Value>, unit: &str| {
        if let Some(value) = value {
            members.push(member(name, &json!([value, unit])));
        }
    };
    let real = |value: Option<f64>, decimals| value.map(|value| json!(round(value, decimals)));
    let epoch = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let mb = |metric| mib(report, metric).map(|size| json!(size));
    let count = |metric| whole(report, metric).map(|count| json!(count));
    add("start", real(epoch(start_ns(report)), 6), "s");
    add("end", real(epoch(end_ns(report)), 6), "s");
    add("wall_time", real(seconds(report, "wall_time"), 6), "s");
    add("cpu_time", real(seconds(report, "cpu_time"), 6), "s");
    add("memory", mb(memory_metric(report)), "MB");
    add("virtual_memory", mb("virtual_peak"), "MB");
    add("swap_memory", mb("swap_peak"), "MB");
    add("disk", mb("footprint_peak"), "MB");
    add("bytes_read", mb("bytes_read"), "MB");
    add("bytes_written", mb("bytes_written"), "MB");
    add("bytes_received", mb("network_received"), "MB");
    add("bytes_sent", mb("network_sent"), "MB");
    let gpus = report.gpus.len();
    add("gpus", (gpus > 0).then(|| json!(gpus)), "gpus");
    add("cores", real(number(report, "cores_peak"), 3), "cores");
    add("cores_avg", real(number(report, "cores_mean"), 3), "cores");
    let cpus = report.host.cpus;
    add("machine_cpus", (cpus > 0).then(|| json!(cpus)), "cores");
    let switches = sum(report, "switches_voluntary", "switches_involuntary");
    add(
        "context_switches",
        switches.map(|count| json!(count)),
        "switches",
    );
    add("max_concurrent_processes", count("processes_peak"), "procs");
    add("total_processes", count("processes_total"), "procs");
    add("total_files", count("files_peak"), "files");
    members
}

/// Seconds since the start at which a peak was reached.
fn peak_times(report: &Report) -> Vec<Member<'static>> {
    let peaks = [
        ("memory", memory_metric(report)),
        ("virtual_memory", "virtual_peak"),
        ("swap_memory", "swap_peak"),
        ("disk", "footprint_peak"),
        ("cores", "cores_peak"),
        ("max_concurrent_processes", "processes_peak"),
        ("total_files", "files_peak"),
    ];
    let at = |metric: &str| report.usage.get(metric)?.value()?.at_ns;
    peaks
        .into_iter()
        .filter_map(|(name, metric)| {
            let seconds = round(at(metric)?.as_secs_f64(), 3);
            Some(member(name, &json!([seconds, "s"])))
        })
        .collect()
}
