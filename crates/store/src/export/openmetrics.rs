//! A file for node_exporter's textfile collector, and any reader of OpenMetrics.
//!
//! All values are gauges, so that the text means the same to readers of OpenMetrics and of the
//! older Prometheus format: every task is a series of its own (`id`), none counts on. No
//! timestamps. What is absent is left out.

use super::quantities::{end_ns, start_ns};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::report::{ExitType, Report};
use record::unit::Unit;
use record::value::Number;

/// The format.
pub const FORMAT: Format = Format {
    name: "openmetrics",
    extension: "prom",
    doc: "for Prometheus' node_exporter",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

const PREFIX: &str = "plimsoll_task_";

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let labels = labels(report);
    let mut out = Families {
        text: String::new(),
        labels: format!("{{{labels}}}"),
    };
    for metric in reduce::METRICS {
        let field = report.usage.get(metric.name);
        let value = field.and_then(|field| field.value());
        if let Some(value) = value {
            out.add(metric.name, metric.unit, metric.doc, value.value);
        }
    }
    if let Some(ns) = start_ns(report).map(Number::Whole) {
        let doc = "Start of the task, since 1970.";
        out.add("start_time", Unit::Nanoseconds, doc, ns);
    }
    if let Some(ns) = end_ns(report).map(Number::Whole) {
        let doc = "End of the task, since 1970.";
        out.add("end_time", Unit::Nanoseconds, doc, ns);
    }
    if let Some(status) = report.exit.status {
        let doc = "Exit status of plimsoll run.";
        out.add(
            "exit_status",
            Unit::Count,
            doc,
            Number::Real(f64::from(status)),
        );
    }
    let limited = Number::Whole(u64::from(report.exit.kind == ExitType::Limit));
    let doc = "1 if the task was ended for a limit.";
    out.add("limit_exceeded", Unit::Count, doc, limited);
    out.text.push_str("# EOF\n");
    Ok(out.text.into_bytes())
}

struct Families {
    text: String,
    labels: String,
}

impl Families {
    fn add(&mut self, name: &str, unit: Unit, doc: &str, value: Number) {
        // The unit is the end of the name, once; `_total` is the end of counters there.
        let name = name.strip_prefix("bytes_").unwrap_or(name);
        let name = name.strip_suffix("_total").unwrap_or(name);
        let suffix = match unit {
            Unit::Nanoseconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::Ratio => "ratio",
            _ => "",
        };
        let name = match suffix {
            "" => format!("{PREFIX}{name}"),
            suffix => format!("{PREFIX}{name}_{suffix}"),
        };
        self.text.push_str(&format!("# TYPE {name} gauge\n"));
        if !suffix.is_empty() {
            self.text.push_str(&format!("# UNIT {name} {suffix}\n"));
        }
        let (doc, labels, value) = (escaped(doc), &self.labels, shown(value, unit));
        self.text.push_str(&format!("# HELP {name} {doc}\n"));
        self.text.push_str(&format!("{name}{labels} {value}\n"));
    }
}

fn shown(value: Number, unit: Unit) -> String {
    match (value, unit) {
        // By whole numbers: a float has not enough digits for a date.
        (Number::Whole(ns), Unit::Nanoseconds) => {
            format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
        }
        (Number::Whole(number), _) => number.to_string(),
        (Number::Real(number), Unit::Nanoseconds) => (number / 1e9).to_string(),
        (Number::Real(number), _) => number.to_string(),
    }
}

/// `id` and the category; of the user's own labels those whose names are free.
fn labels(report: &Report) -> String {
    let mut pairs = vec![("id".to_owned(), report.task.id.as_str())];
    if let Some(category) = &report.task.category {
        pairs.push(("category".to_owned(), category));
    }
    for (name, value) in &report.task.labels {
        let name = label_name(name);
        if pairs.iter().all(|(known, _)| *known != name) {
            pairs.push((name, value));
        }
    }
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    pairs.collect::<Vec<_>>().join(",")
}

/// A label's name has letters, digits and `_`; `label_` keeps it apart from Prometheus' own.
fn label_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("label_{}", name.chars().map(allowed).collect::<String>())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
