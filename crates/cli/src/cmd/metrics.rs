//! `plimsoll __metrics`: METRICS.md, from the tables of metrics and of the dataset.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stdout;
use anyhow::Result;
use clap::{ArgMatches, Command};
use record::metric::{Kind, Metric, Scope};
use record::table::TABLES;
use record::unit::Unit;
use source::node::source::Tried;
use std::fmt::Write;

/// The verb.
pub const VERB: Verb = Verb {
    name: "__metrics",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// Every table of metrics: what it is of, its rows. The task first, then what it is made from.
pub fn tables() -> Vec<(String, Vec<Metric>)> {
    let table = |title: &str, metrics: &[Metric]| (title.to_owned(), metrics.to_vec());
    let mut tables = vec![table("the report of a task", reduce::METRICS)];
    let of_files = source::query::SOURCES
        .iter()
        .map(|one| table(one.file, one.metrics));
    tables.extend(of_files.filter(|(_, metrics)| !metrics.is_empty()));
    tables.push(table("control groups", source::group::METRICS));
    tables.push(table("folders", source::footprint::METRICS));
    tables.extend(source::node::SOURCES.iter().map(of_machine));
    tables.push(table(
        "all sources of the machine",
        &[source::node::ambient::LEFT_OUT.metric],
    ));
    let devices = source::query::gpu::machine::FIELDS.iter();
    let devices = devices.map(|field| field.metric).collect();
    tables.push(("NVML, or nvidia-smi (fixture only)".to_owned(), devices));
    let own = [
        crate::agent::own::METRICS,
        crate::agent::detail::METRICS,
        crate::agent::gpu::METRICS,
    ];
    tables.push(("the agent itself".to_owned(), own.concat()));
    tables
}

/// The metrics of a source of the machine; the title says where nobody could try it.
fn of_machine(source: &source::node::Source) -> (String, Vec<Metric>) {
    let file = source.file;
    let title = match source.tried {
        Tried::Live => file.to_owned(),
        Tried::FixtureOnly => format!("{file} (fixture only)"),
    };
    (title, source.metrics().collect())
}

fn command() -> Command {
    Command::new("__metrics")
        .about("Print METRICS.md")
        .hide(true)
}

fn call(_: &ArgMatches) -> Result<Status> {
    let text = metrics_markdown(&tables()) + &dataset_markdown();
    stdout::write(text.as_bytes())
}

/// The tables of a dataset: one section each, one row a column, the key first.
fn dataset_markdown() -> String {
    let mut text = String::new();
    for table in TABLES {
        let (name, doc) = (table.name, table.doc);
        text.push_str(&format!(
            "\n## the dataset: `{name}`\n\n{doc}\n\n| name | unit | what | origin |\n\
             |---|---|---|---|\n"
        ));
        for column in table.key.iter().chain(table.columns) {
            let name = format!("`{}`", column.name);
            let row = [&name, column.unit, column.doc, column.origin].map(cell);
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
    }
    text
}

/// METRICS.md: one section a table, one row a metric.
pub fn metrics_markdown(tables: &[(String, Vec<Metric>)]) -> String {
    let mut text = String::from(
        "# Metrics\n\nMade by `plimsoll __metrics` from the tables beside the code; do not edit. \
         What is \"fixture only\" was made after the kernel's documentation and tried on files \
         alone: no machine with it was at hand.\n",
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
        Unit::Millionths => "millionths",
        Unit::Millicelsius => "millicelsius",
        Unit::Microjoules => "microjoules",
        Unit::Microwatts => "microwatts",
        Unit::Hertz => "hertz",
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
    use std::collections::BTreeSet;

    #[test]
    fn every_table_has_its_title_and_no_metric_twice() {
        let tables = tables();
        let titles: BTreeSet<_> = tables.iter().map(|(title, _)| title).collect();
        assert_eq!(titles.len(), tables.len());
        for (title, metrics) in &tables {
            let names: BTreeSet<_> = metrics.iter().map(|metric| metric.name).collect();
            assert_eq!(names.len(), metrics.len(), "{title}");
            assert!(!metrics.is_empty(), "{title}");
        }
    }

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
        let text = metrics_markdown(&[("task".to_owned(), vec![metric])]);
        assert!(
            text.ends_with(
                "| `cpu_time` | ns | counter | task | CPU time | a\\|b | any | exact |\n"
            )
        );
    }
}
