//! One run under the meter: wall time, CPU time of the whole tree, the largest resident set.

use super::person::Person;
use super::place::Place;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How `meter` tells that the command took too long.
const TOO_LONG: i32 = 124;

/// How often another tool that hangs is tried.
const TRIES: u32 = 3;

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// From the start to the end of the command, ns.
    pub(super) wall_ns: f64,
    /// User and system time of all processes, the monitor's included, us.
    pub(super) cpu_us: f64,
    /// The largest resident set of one of them, bytes.
    pub(super) rss_bytes: f64,
}

impl Reading {
    /// How long a run under a monitor may take of what takes this long without one.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(30) + Duration::from_nanos(self.wall_ns as u64) * 40
    }
}

/// Runs `command` as `person` in `folder`. A tool that is not ours and takes longer than `limit` is
/// ended and started again: resource_monitor may overlook the end of a short task, and then waits
/// for ever.
///
/// # Errors
/// When it cannot be started, does not end with 0 or, however often, in time.
pub(super) fn run(
    place: &Place,
    person: Person,
    folder: &Path,
    limit: Duration,
    command: &[OsString],
) -> Result<Reading> {
    let home = place.home(person);
    let figures = home.join("figures");
    let mut words = person.prefix();
    words.push(place.file("meter").into());
    words.push(figures.clone().into());
    words.push(limit.as_secs().max(1).to_string().into());
    words.extend_from_slice(command);
    let own = place.file("plimsoll").into_os_string();
    let mut output = once(&home, folder, &words)?;
    for _ in 1..TRIES {
        if output.status.code() != Some(TOO_LONG) || command.contains(&own) {
            break;
        }
        eprintln!(
            "longer than {} s, started again: {command:?}",
            limit.as_secs()
        );
        output = once(&home, folder, &words)?;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(
        output.status.success(),
        "{words:?}: {} {errors}",
        output.status
    );
    parse(&fs::read_to_string(figures)?)
}

fn once(home: &Path, folder: &Path, words: &[OsString]) -> Result<Output> {
    let (program, rest) = words.split_first().context("a command has a word")?;
    let output = Command::new(program)
        .args(rest)
        .current_dir(folder)
        .env("HOME", home)
        .env("TMPDIR", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    Ok(output)
}

fn parse(text: &str) -> Result<Reading> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || numbers.next().context("three figures")?.context("a figure");
    Ok(Reading {
        wall_ns: next()?,
        cpu_us: next()?,
        rss_bytes: next()? * 1024.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_are_a_reading() {
        let reading = parse("1000 20 3\n").unwrap();
        assert_eq!((reading.wall_ns, reading.cpu_us), (1000.0, 20.0));
        assert_eq!(reading.rss_bytes, 3072.0);
        assert_eq!(reading.limit(), Duration::from_nanos(30_000_040_000));
        assert!(parse("1 2").is_err());
        assert!(parse("1 2 x").is_err());
    }
}
