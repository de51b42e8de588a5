//! `plimsoll __man`: the manual page, from the same definitions as the options.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stdout;
use anyhow::{Context, Result};
use clap::{ArgMatches, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use record::limit::LIMITS;

/// The verb.
pub const VERB: Verb = Verb {
    name: "__man",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// What files `plimsoll run` writes.
const FILES: &[(&str, &str)] = &[
    (
        "PREFIX.json",
        "the report, schema plimsoll.task/1 (--output)",
    ),
    (
        "PREFIX.processes.jsonl",
        "one line a process (--with processes)",
    ),
    (
        "PREFIX.series.csv",
        "the time series, units in its header (--with series)",
    ),
    (
        "PREFIX.files.jsonl",
        "one line a file, script and mapping (--level io)",
    ),
    ("PREFIX.sockets.jsonl", "one line a socket (--level io)"),
    (
        "PREFIX.syscalls.jsonl",
        "system calls by kind, one line a process (--syscalls)",
    ),
    (
        "PREFIX.EXT",
        "other formats, each with its own end (--format NAME)",
    ),
    (
        "FILE",
        "one report a line, many runs may share it (--append)",
    ),
];

/// Exit statuses of `plimsoll run` besides the task's own and those of limits.
const STATUSES: &[(&str, &str)] = &[
    ("0-255", "the task's own exit status"),
    (
        "125",
        "Plimsoll could not do what was asked; the task was not started",
    ),
    ("126", "the command is not executable"),
    ("127", "the command was not found"),
    ("128+N", "signal N ended the task"),
];

fn command() -> Command {
    Command::new("__man")
        .about("Print the manual page")
        .hide(true)
}

fn call(_: &ArgMatches) -> Result<Status> {
    stdout::write(&page().context("making the manual page")?)
}

/// The page of the program, with the options of every verb that is not hidden.
fn page() -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut root = super::command();
    root.build();
    let man = Man::new(root.clone());
    // An empty date is quoted, or the version would stand in its place.
    let version = root.render_version();
    Roff::new()
        .control("TH", ["plimsoll", "1", "\"\"", version.trim()])
        .to_writer(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    for verb in root.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        verb_section(verb, &mut text)?;
    }
    table("EXIT STATUS", &statuses(), &mut text)?;
    table("FILES", &owned(FILES), &mut text)?;
    man.render_version_section(&mut text)?;
    Ok(text)
}

fn verb_section(verb: &Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    if verb.get_name() == "help" {
        return Ok(());
    }
    let man = Man::new(verb.clone());
    let title = format!("PLIMSOLL {}", verb.get_name().to_uppercase());
    Roff::new()
        .control("SH", [title.as_str()])
        .to_writer(text)?;
    let about = verb
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    Roff::new().text([roman(about)]).to_writer(text)?;
    let mut own = Vec::new();
    man.render_synopsis_section(&mut own)?;
    man.render_options_section(&mut own)?;
    // Parts of this section, not sections of the page beside it.
    let own = String::from_utf8_lossy(&own).replace("\n.SH ", "\n.SS ");
    text.extend(own.as_bytes());
    let inner = verb.get_subcommands().filter(|inner| !inner.is_hide_set());
    let inner = inner.map(|inner| {
        let about = inner.get_about().map(ToString::to_string);
        (inner.get_name().to_owned(), about.unwrap_or_default())
    });
    let inner: Vec<_> = inner.collect();
    if !inner.is_empty() {
        headed("SS", "TOOLS", &inner, text)?;
    }
    if let Some(after) = verb.get_after_help() {
        verbatim(&after.to_string(), text)?;
    }
    Ok(())
}

/// Text whose lines stay as they are.
fn verbatim(body: &str, text: &mut Vec<u8>) -> std::io::Result<()> {
    let mut roff = Roff::new();
    roff.control("PP", []).control("nf", []);
    for line in body.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []).to_writer(text)
}

fn statuses() -> Vec<(String, String)> {
    let mut rows = owned(STATUSES);
    for kind in LIMITS {
        let words = format!("limit {} was enforced ({})", kind.name, kind.doc);
        rows.push((kind.exit_status.to_string(), words));
    }
    rows
}

fn owned(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter()
        .map(|(left, right)| ((*left).to_owned(), (*right).to_owned()))
        .collect()
}

fn table(title: &str, rows: &[(String, String)], text: &mut Vec<u8>) -> std::io::Result<()> {
    headed("SH", title, rows, text)
}

/// A table below a heading of this kind.
fn headed(
    kind: &str,
    title: &str,
    rows: &[(String, String)],
    text: &mut Vec<u8>,
) -> std::io::Result<()> {
    let mut roff = Roff::new();
    roff.control(kind, [title]);
    for (left, right) in rows {
        roff.control("TP", [])
            .text([bold(left.as_str())])
            .text([roman(right.as_str())]);
    }
    roff.to_writer(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_options_statuses_examples_and_files() {
        let text = String::from_utf8(page().unwrap()).unwrap();
        for part in [
            "measure\\-only",
            "EXIT STATUS",
            "152",
            "PREFIX.json",
            "make \\-j8",
            "PREFIX.syscalls.jsonl",
            "resource_monitor\\fR\nCCTools",
            "\n.TH plimsoll 1 \"\" \"plimsoll ",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("__man"));
        assert_eq!(text.matches(".SH SYNOPSIS").count(), 1);
    }
}
