//! A file for node_exporter's textfile collector, and any reader of OpenMetrics.
//!
//! All values are gauges, so that the text means the same to readers of OpenMetrics and of the
//! older Prometheus format: every task is a series of its own (`id`), none counts on. No
//! timestamps. What is absent is left out.

use super::quantities::{end_ns, start_ns};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use crate::openmetrics::{self, Dialect, Page, Type};
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
    let mut out = Families {
        page: Page::new(Dialect::OpenMetrics),
        labels: labels(report),
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
    Ok(out.page.finish())
}

struct Families {
    page: Page,
    labels: String,
}

impl Families {
    fn add(&mut self, name: &str, unit: Unit, doc: &str, value: Number) {
        let name = openmetrics::name(PREFIX, name, unit);
        self.page.family(&name, Type::Gauge, unit, doc);
        self.page.sample(&self.labels, value);
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
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), *value));
    openmetrics::labels(pairs)
}

/// A label's name has letters, digits and `_`; `label_` keeps it apart from Prometheus' own.
fn label_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("label_{}", name.chars().map(allowed).collect::<String>())
}
