//! `plimsoll __metrics`: METRICS.md, from the tables of metrics.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stdout;
use anyhow::Result;
use clap::{ArgMatches, Command};
use record::metric::{Kind, Metric, Scope};
use record::unit::Unit;
use std::fmt::Write;

/// The verb.
pub const VERB: Verb = Verb {
    name: "__metrics",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// Every table of metrics: where it stands, its rows.
pub const TABLES: &[(&str, &[Metric])] = &[];

fn command() -> Command {
    Command::new("__metrics")
        .about("Print METRICS.md")
        .hide(true)
}

fn call(_: &ArgMatches) -> Result<Status> {
    stdout::write(metrics_markdown(TABLES).as_bytes())
}

/// METRICS.md: one section a table, one row a metric.
pub fn metrics_markdown(tables: &[(&str, &[Metric])]) -> String {
    let mut text = String::from(
        "# Metrics\n\nMade by `plimsoll __metrics` from the tables beside the code; do not edit.\n",
    );
    for (title, metrics) in tables {
        text.push_str(&section(title, metrics));
    }
    text
}

fn section(title: &str, metrics: &[Metric]) -> String {
    let mut text = format!(
        "\n## {title}\n\n| name | unit | kind | of | what | origin | since | method |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for metric in metrics {
        let row = [
            &format!("`{}`", metric.name),
            unit(metric.unit),
            kind(metric.kind),
            scope(metric.scope),
            metric.doc,
            metric.origin,
            metric.since,
            metric.method,
        ]
        .map(cell)
        .join(" | ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {row} |");
    }
    text
}

/// A bar would end the cell, a line break the table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "ns",
        Unit::Count => "count",
        Unit::Ratio => "ratio",
        Unit::Cores => "cores",
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
        Kind::Event => "event",
    }
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Node => "node",
        Scope::Cgroup => "cgroup",
        Scope::Task => "task",
        Scope::Process => "process",
        Scope::Thread => "thread",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_one_row_even_with_a_bar_in_its_text() {
        let metric = Metric {
            name: "cpu_time",
            kind: Kind::Counter,
            unit: Unit::Nanoseconds,
            scope: Scope::Task,
            origin: "a|b",
            since: "any",
            method: "exact",
            doc: "CPU time",
        };
        let text = metrics_markdown(&[("task", &[metric])]);
        assert!(
            text.ends_with(
                "| `cpu_time` | ns | counter | task | CPU time | a\\|b | any | exact |\n"
            )
        );
    }
}
