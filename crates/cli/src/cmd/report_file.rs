//! A report that a word of the command line names: a file, a PREFIX, stdin; of a file with a line
//! for each task one line.

use super::named_file::{self, Wait};
use crate::view::stderr;
use crate::view::style::printable;
use anyhow::{Context, Result, anyhow, bail};
use record::report::{Report, SCHEMA};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A longer report is refused: one with as much as fits in it has less than a MiB.
const REPORT_BYTES_MAX: u64 = 16 << 20;

/// What the schema of every report begins with; the number of its version follows.
const FAMILY: &str = "plimsoll.task/";

/// Files that the refusal of a folder names.
const NAMED_MAX: usize = 3;

/// Reads it; `id` is that of the task, where there are several.
///
/// # Errors
/// If there is no report, or none of that id.
pub(super) fn read(word: &Path, id: Option<&str>) -> Result<Report> {
    if word == Path::new("-") {
        let input = BufReader::new(std::io::stdin().lock());
        return of(input, id).context("stdin");
    }
    let path = find(word)?;
    let told = || path.display().to_string();
    let input = named_file::open_pipe_or_file(&path, Wait::ForWriter).with_context(told)?;
    of(BufReader::new(input), id).with_context(told)
}

/// Whether there is a file that may be meant.
#[cfg(feature = "archive")]
pub(super) fn is_there(word: &Path) -> bool {
    word == Path::new("-") || word.exists() || find(word).is_ok()
}

/// The file that is meant.
fn find(word: &Path) -> Result<PathBuf> {
    let whole = with_end(word, ".json");
    if word.exists() && !word.is_dir() {
        return Ok(word.to_owned());
    }
    let running = running_of(&whole);
    let is_running = running.as_ref().is_some_and(|path| has_content(path));
    match (whole.is_file(), running.filter(|_| is_running)) {
        (true, Some(running)) => {
            stderr::line(&format!(
                "plimsoll why: a later run goes on, or was cut off: {}",
                printable(&running.display().to_string())
            ));
            Ok(whole)
        }
        (true, None) => Ok(whole),
        (false, Some(running)) => Ok(running),
        (false, None) if word.is_dir() => Err(folder(word)),
        (false, None) => Err(anyhow!(
            "{}: no such report, and no {} either",
            printable(&word.display().to_string()),
            printable(&whole.display().to_string())
        )),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// Where `plimsoll run` keeps the state of a task that runs, beside its later report.
fn running_of(report: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(".");
    name.push(report.file_name()?);
    name.push(".running");
    Some(report.with_file_name(name))
}

fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.len() > 0)
}

/// What to do about a folder: name one of its reports.
fn folder(path: &Path) -> anyhow::Error {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "json" || end == "jsonl")
        })
        .map(|path| printable(&path.display().to_string()))
        .collect();
    names.sort_unstable();
    let some = match names.is_empty() {
        true => String::new(),
        false => {
            names.truncate(NAMED_MAX);
            format!(", such as {}", names.join(", "))
        }
    };
    anyhow!(
        "{} is a folder: name one report, PREFIX or PREFIX.json{some}",
        printable(&path.display().to_string())
    )
}

/// The report in a text: one object, or one a line.
fn of(mut input: impl BufRead, id: Option<&str>) -> Result<Report> {
    let mut first = Vec::new();
    while first.trim_ascii().is_empty() {
        first.clear();
        if line(&mut input, &mut first)? == 0 {
            bail!("it is empty: `plimsoll run` writes a report when the task has ended");
        }
    }
    if let Ok(value) = serde_json::from_slice::<Value>(&first) {
        return of_lines(value, input, id);
    }
    let mut whole = first;
    let room = REPORT_BYTES_MAX.saturating_sub(whole.len() as u64);
    input.take(room + 1).read_to_end(&mut whole)?;
    if whole.len() as u64 > REPORT_BYTES_MAX {
        bail!("no report: {}", too_large());
    }
    let value = serde_json::from_slice(&whole)
        .map_err(|error| anyhow!("no report of `plimsoll run`: no JSON: {error}"))?;
    let report = report_of(value)?;
    match id {
        Some(id) if report.task.id != id => {
            let own = printable(&report.task.id);
            bail!("it is of the task {own}, not of {}", printable(id))
        }
        _ => Ok(report),
    }
}

/// The last line that is wanted; the first one is read already.
fn of_lines(first: Value, mut input: impl BufRead, id: Option<&str>) -> Result<Report> {
    let is_wanted = |value: &Value| {
        let own = value.pointer("/task/id").and_then(Value::as_str);
        id.is_none_or(|id| own == Some(id))
    };
    let mut found = is_wanted(&first).then_some((1u64, Line::Read(first)));
    let (mut number, mut text) = (1u64, Vec::new());
    while line(&mut input, &mut text)? > 0 {
        number += 1;
        if !text.trim_ascii().is_empty() {
            match id {
                // The last one alone is worth its reading.
                None => found = Some((number, Line::Text(std::mem::take(&mut text)))),
                Some(id) if contains(&text, id.as_bytes()) => {
                    let told = serde_json::from_slice(&text).ok();
                    if let Some(value) = told.filter(is_wanted) {
                        found = Some((number, Line::Read(value)));
                    }
                }
                Some(_) => {}
            }
        }
        text.clear();
    }
    let (number, told) = found.ok_or_else(|| match id {
        Some(id) => anyhow!("none of its {number} lines is of a task {}", printable(id)),
        None => anyhow!("it is empty"),
    })?;
    let value = match told {
        Line::Read(value) => value,
        Line::Text(text) => serde_json::from_slice(&text)
            .map_err(|error| anyhow!("line {number} is no report: no JSON: {error}"))?,
    };
    match number {
        1 => report_of(value),
        _ => report_of(value).with_context(|| format!("line {number}")),
    }
}

/// A line that may be the one.
enum Line {
    Read(Value),
    Text(Vec<u8>),
}

/// One line, its end included; the number of its bytes.
fn line(input: &mut impl BufRead, text: &mut Vec<u8>) -> Result<usize> {
    let count = input
        .by_ref()
        .take(REPORT_BYTES_MAX + 1)
        .read_until(b'\n', text)?;
    if count as u64 > REPORT_BYTES_MAX {
        bail!("no report: {}", too_large());
    }
    Ok(count)
}

fn too_large() -> String {
    format!("larger than {} MiB", REPORT_BYTES_MAX >> 20)
}

/// Whether `text` may have `part` in it as JSON has it: what is written otherwise there may be.
fn contains(text: &[u8], part: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    !part.iter().all(is_plain)
        || part.is_empty()
        || text.windows(part.len()).any(|window| window == part)
}

fn report_of(value: Value) -> Result<Report> {
    let schema = value.get("schema").and_then(Value::as_str);
    let schema = schema.map(printable);
    match schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) if is_later(other) => {
            bail!("written by a later version: its schema is {other}, this one reads {SCHEMA}")
        }
        Some(other) => bail!("no report of `plimsoll run`: its schema is {other}, not {SCHEMA}"),
        None => bail!("no report of `plimsoll run`: it has no schema {SCHEMA}"),
    }
    serde_json::from_value(value).map_err(|error| anyhow!("a report that is broken: {error}"))
}

fn is_later(schema: &str) -> bool {
    let version = |schema: &str| schema.strip_prefix(FAMILY)?.parse::<u32>().ok();
    version(schema) > version(SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A recorded report, its task renamed.
    fn report(id: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reduce/tests/fixtures/why");
        let text = fs::read_to_string(folder.join("success.json")).unwrap();
        text.replace("why-success", id)
    }

    fn line(id: &str) -> String {
        let value: Value = serde_json::from_str(&report(id)).unwrap();
        format!("{value}\n")
    }

    fn id_in(text: &str, id: Option<&str>) -> Result<String> {
        of(text.as_bytes(), id).map(|report| report.task.id)
    }

    #[track_caller]
    fn refused(text: &str, id: Option<&str>, why: &str) {
        let told = format!("{:#}", of(text.as_bytes(), id).unwrap_err());
        assert!(told.contains(why), "{told}");
    }

    #[test]
    fn of_many_lines_it_is_the_last_one_or_the_one_that_is_named() {
        let all = [line("a"), line("b"), line("a2"), "\n".to_owned()].concat();
        assert_eq!(id_in(&all, None).unwrap(), "a2");
        assert_eq!(id_in(&all, Some("b")).unwrap(), "b");
        assert_eq!(id_in(&all, Some("a")).unwrap(), "a");
        refused(&all, Some("c"), "none of its 4 lines");
        refused(&all, Some(""), "none of its 4 lines");
        // Cut off, as by a full disk.
        let cut = all.trim_end();
        let cut = &cut[..cut.len() - 9];
        refused(cut, None, "line 3 is no report");
        assert_eq!(id_in(cut, Some("b")).unwrap(), "b");
        let odd = line("\u{e4} \u{2028}");
        assert!(id_in(&odd, Some("\u{e4} \u{2028}")).is_ok());
        assert!(id_in(&[line("a"), odd].concat(), Some("\u{e4} \u{2028}")).is_ok());
    }

    #[test]
    fn one_report_may_have_many_lines() {
        assert_eq!(id_in(&report("a"), None).unwrap(), "a");
        assert_eq!(id_in(&report("a"), Some("a")).unwrap(), "a");
        assert_eq!(id_in(&format!("\n\n{}", report("a")), None).unwrap(), "a");
        refused(&report("a"), Some("b"), "of the task a, not of b");
    }

    #[test]
    fn what_is_no_report_is_told_so() {
        let later = report("a").replace("plimsoll.task/1", "plimsoll.task/12");
        let other = report("a").replace("plimsoll.task/1", "plimsoll.why/1");
        for (text, why) in [
            ("", "it is empty"),
            (" \n\n", "it is empty"),
            ("hello", "no JSON"),
            ("[1]", "it has no schema"),
            ("{}\n", "it has no schema"),
            (
                "{\"schema\":\"plimsoll.task/1\"}",
                "a report that is broken",
            ),
            (&later, "written by a later version"),
            (&other, "its schema is plimsoll.why/1"),
            (&report("a")[..99], "no JSON"),
        ] {
            refused(text, None, why);
        }
        let large = "x".repeat(17 << 20);
        refused(&large, None, "larger than 16 MiB");
        refused(&format!("{{\n{large}"), None, "larger than 16 MiB");
    }

    #[test]
    fn a_prefix_leads_to_its_report_or_its_running_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let refused = |name| format!("{:#}", read(&path(name), None).unwrap_err());
        fs::create_dir(path("r")).unwrap();
        assert!(refused("r").contains("is a folder"));
        assert!(refused("x").contains("no such report"));
        fs::write(path(".r.json.running"), "").unwrap();
        assert!(refused("r").contains("is a folder"));
        fs::write(path(".r.json.running"), report("goes on")).unwrap();
        assert_eq!(read(&path("r"), None).unwrap().task.id, "goes on");
        fs::write(path("r.json"), report("ended")).unwrap();
        assert_eq!(read(&path("r"), None).unwrap().task.id, "ended");
        assert_eq!(read(&path("r.json"), None).unwrap().task.id, "ended");
        assert!(refused("").contains("such as"), "{}", refused(""));
        assert!(refused("").contains("r.json"));
    }
}
