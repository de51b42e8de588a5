//! OpenTelemetry metrics as an OTLP file: one `MetricsData` a line, in the JSON of its protocol.
//!
//! Names and units are those of the process metrics of OpenTelemetry's conventions; 64-bit
//! numbers are texts there. What is absent is left out.

use super::quantities::{end_ns, memory_metric, number, seconds, start_ns, whole};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::report::Report;
use serde_json::{Value, json};

/// The format.
pub const FORMAT: Format = Format {
    name: "otlp-json",
    extension: "otlp.jsonl",
    doc: "OpenTelemetry metrics, one line",
    holds: Holds::Many,
    wants: Wants::Report,
    encode,
};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u32 = 2;

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let scope = json!({"name": "plimsoll", "version": report.monitor.version});
    let data = json!({"resourceMetrics": [{
        "resource": {"attributes": resource(report)},
        "scopeMetrics": [{"scope": scope, "metrics": metrics(report)}],
    }]});
    let mut text = serde_json::to_vec(&data).map_err(|source| Error::Encode {
        format: FORMAT.name,
        source,
    })?;
    text.push(b'\n');
    Ok(text)
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(list) => {
            let values: Vec<_> = list.iter().map(|one| json!({"stringValue": one})).collect();
            json!({"arrayValue": {"values": values}})
        }
        other => json!({"stringValue": other}),
    };
    json!({"key": key, "value": value})
}

fn resource(report: &Report) -> Vec<Value> {
    let (task, host) = (&report.task, &report.host);
    let mut attributes = vec![
        attribute("service.name", &json!("plimsoll")),
        attribute("service.instance.id", &json!(task.id)),
        attribute("host.name", &json!(host.name)),
        attribute("os.type", &json!("linux")),
        attribute("process.owner", &json!(task.user)),
        attribute("process.command_args", &json!(task.command)),
    ];
    if let Some(architecture) = &host.architecture {
        attributes.push(attribute("host.arch", &json!(architecture)));
    }
    if let Some(code) = report.exit.code {
        attributes.push(attribute("process.exit.code", &json!(code)));
    }
    if let Some(category) = &task.category {
        attributes.push(attribute("plimsoll.category", &json!(category)));
    }
    for (name, value) in &task.labels {
        let name = format!("plimsoll.label.{name}");
        attributes.push(attribute(&name, &json!(value)));
    }
    attributes
}

/// What is told of a metric besides its points.
struct Kind {
    name: &'static str,
    unit: &'static str,
    description: &'static str,
}

const CPU: Kind = Kind {
    name: "process.cpu.time",
    unit: "s",
    description: "CPU time of all processes of the task",
};
const MEMORY: Kind = Kind {
    name: "process.memory.usage",
    unit: "By",
    description: "Peak of the memory of the task, each page once",
};
const VIRTUAL: Kind = Kind {
    name: "process.memory.virtual",
    unit: "By",
    description: "Peak of the sum of address spaces",
};
const DISK: Kind = Kind {
    name: "process.disk.io",
    unit: "By",
    description: "Bytes from and to disks",
};
const FAULTS: Kind = Kind {
    name: "process.paging.faults",
    unit: "{fault}",
    description: "Page faults",
};
const SWITCHES: Kind = Kind {
    name: "process.context_switches",
    unit: "{context_switch}",
    description: "Context switches",
};
const UPTIME: Kind = Kind {
    name: "process.uptime",
    unit: "s",
    description: "Elapsed time of the task",
};
const CORES: Kind = Kind {
    name: "process.cpu.utilization",
    unit: "1",
    description: "CPU time by elapsed time and processor of the machine",
};

/// A point: its one attribute, if any, and its number.
type Point = (Option<(&'static str, &'static str)>, Option<Value>);

fn metrics(report: &Report) -> Vec<Value> {
    let int = |metric| whole(report, metric).map(|n| json!({"asInt": n.to_string()}));
    let time = |metric| seconds(report, metric).map(|s| json!({"asDouble": s}));
    let pair = |key, (a, x), (b, y)| vec![(Some((key, a)), int(x)), (Some((key, b)), int(y))];
    let disk = pair(
        "direction",
        ("read", "disk_read"),
        ("write", "disk_written"),
    );
    let faults = pair("type", ("major", "faults_major"), ("minor", "faults_minor"));
    let switches = pair(
        "type",
        ("voluntary", "switches_voluntary"),
        ("involuntary", "switches_involuntary"),
    );
    let cpu = vec![
        (Some(("state", "user")), time("cpu_user")),
        (Some(("state", "system")), time("cpu_system")),
    ];
    let memory = vec![(None, int(memory_metric(report)))];
    let cores = number(report, "cores_mean").filter(|_| report.host.cpus > 0);
    let share = cores.map(|cores| json!({"asDouble": cores / report.host.cpus as f64}));
    [
        sum(report, &CPU, cpu, true),
        sum(report, &MEMORY, memory, false),
        sum(report, &VIRTUAL, vec![(None, int("virtual_peak"))], false),
        sum(report, &DISK, disk, true),
        sum(report, &FAULTS, faults, true),
        sum(report, &SWITCHES, switches, true),
        gauge(report, &UPTIME, vec![(None, time("wall_time"))]),
        gauge(report, &CORES, vec![(None, share)]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn sum(report: &Report, kind: &Kind, points: Vec<Point>, monotonic: bool) -> Option<Value> {
    let points = data_points(report, points)?;
    let mut sum = json!({"dataPoints": points, "aggregationTemporality": CUMULATIVE});
    if monotonic && let Some(object) = sum.as_object_mut() {
        object.insert("isMonotonic".to_owned(), json!(true));
    }
    Some(metric(kind, "sum", &sum))
}

fn gauge(report: &Report, kind: &Kind, points: Vec<Point>) -> Option<Value> {
    let points = data_points(report, points)?;
    Some(metric(kind, "gauge", &json!({"dataPoints": points})))
}

fn metric(kind: &Kind, shape: &str, data: &Value) -> Value {
    json!({
        "name": kind.name,
        "unit": kind.unit,
        "description": kind.description,
        shape: data,
    })
}

/// The points that have a number; none if there is no such point.
fn data_points(report: &Report, points: Vec<Point>) -> Option<Vec<Value>> {
    let times = [
        ("startTimeUnixNano", start_ns(report)),
        ("timeUnixNano", end_ns(report)),
    ];
    let point = |(label, value): Point| {
        let mut value = value?;
        let object = value.as_object_mut()?;
        for (name, ns) in times {
            object.insert(name.to_owned(), json!(ns?.to_string()));
        }
        if let Some((key, word)) = label {
            let attributes = json!([attribute(key, &json!(word))]);
            object.insert("attributes".to_owned(), attributes);
        }
        Some(value)
    };
    let points: Vec<_> = points.into_iter().filter_map(point).collect();
    (!points.is_empty()).then_some(points)
}
