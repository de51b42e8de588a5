//! In place of CCTools' `resource_monitor`.

use super::getopt::{Line, Opt, Takes};
use super::{Tool, run_options};
use crate::cmd::formats::Destination;
use crate::cmd::run::RunOptions;
use crate::cmd::statuses::cctools;
use crate::cmd::{Status, cctools_limits, named_file};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "resource_monitor",
    about: "CCTools' resource_monitor",
    help: "resource_monitor [-i SECONDS] [-L 'NAME: VALUE'] [-l FILE] [-O TEMPLATE] \
           [-V 'NAME: TEXT'] [--with-time-series] [--measure-dir DIR] [--measure-only] \
           (-c COMMANDS | [--] COMMAND [ARG...])",
    options: OPTIONS,
    failure: cctools::MONITOR_ERROR,
    run,
};

const DEBUG: &str = "there is no debugging output: leave it out";
const CATALOG: &str = "nothing is sent to a catalog server";
const SNAPSHOTS: &str = "there are no snapshots; --with-time-series has the course";

/// Limits on what `--without-disk-footprint` leaves unmeasured, in our words.
const FOOTPRINT_LIMITS: &[&str] = &["footprint", "files"];

const OPTIONS: &[Opt] = &[
    Opt::new('c', "sh", Takes::Value),
    Opt::new('i', "interval", Takes::Value),
    Opt::new('L', "limits", Takes::Value),
    Opt::new('l', "limits-file", Takes::Value),
    Opt::new('O', "with-output-files", Takes::Value),
    Opt::new('V', "verbatim-to-summary", Takes::Value),
    // The task always has its own terminal here, and short processes are always counted.
    Opt::new('f', "child-in-foreground", Takes::Nothing),
    Opt::long("accurate-short-processes", Takes::Nothing),
    Opt::long("without-disk-footprint", Takes::Nothing),
    Opt::long("no-pprint", Takes::Nothing),
    Opt::long("with-time-series", Takes::Nothing),
    Opt::long("measure-dir", Takes::Value),
    Opt::long("measure-only", Takes::Nothing),
    Opt::new('h', "help", Takes::Nothing),
    Opt::new('v', "version", Takes::Nothing),
    Opt::long(
        "with-inotify",
        Takes::Refused("use plimsoll run --level io, which sees every file"),
    ),
    Opt::long(
        "follow-chdir",
        Takes::Refused("name the folders with --measure-dir"),
    ),
    Opt::long(
        "update-summary",
        Takes::Refused("use plimsoll run --output PREFIX, which keeps the running state"),
    ),
    Opt::long(
        "pid",
        Takes::Refused("a running process cannot be watched: give its command"),
    ),
    Opt::new('d', "debug", Takes::Refused(DEBUG)),
    Opt::new('o', "debug-file", Takes::Refused(DEBUG)),
    Opt::long("snapshot-events", Takes::Refused(SNAPSHOTS)),
    Opt::long("snapshot-file", Takes::Refused(SNAPSHOTS)),
    Opt::long("catalog", Takes::Refused(CATALOG)),
    Opt::long("catalog-task-name", Takes::Refused(CATALOG)),
    Opt::long("catalog-project", Takes::Refused(CATALOG)),
    Opt::long("catalog-interval", Takes::Refused(CATALOG)),
];

fn run(line: Line) -> Result<Status> {
    let template = match line.last("with-output-files") {
        Some(template) => template.to_owned(),
        None => format!("resource-pid-{}", std::process::id()).into(),
    };
    if let Some(folder) = Path::new(&template).parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    crate::run::run(&options(&line, &template)?)
}

fn options(line: &Line, template: &OsStr) -> Result<RunOptions> {
    let mut words: Vec<OsString> = ["--quiet", "--compat", "cctools", "--format", "cctools=x"]
        .map(OsString::from)
        .into();
    let mut add = |option: &str, value: &OsStr| words.extend([option.into(), value.to_owned()]);
    if line.has("with-time-series") {
        add("--format", OsStr::new("cctools-series=y"));
    }
    if let Some(text) = line.text("interval")? {
        let seconds: Option<u64> = text.parse().ok().filter(|seconds| *seconds > 0);
        let seconds = seconds.with_context(|| format!("--interval {text}: whole seconds, 1 up"))?;
        add("--interval", OsStr::new(&format!("{seconds}s")));
    }
    let footprint = !line.has("without-disk-footprint");
    for (name, value) in asked_limits(line)? {
        // What is not measured there breaks no limit.
        if footprint || !FOOTPRINT_LIMITS.contains(&name.as_str()) {
            add("--limit", OsStr::new(&format!("{name}={value}")));
        }
    }
    for folder in line.all("measure-dir").filter(|_| footprint) {
        add("--measure-dir", folder);
    }
    // What has a place of its own in a report; a `task_id` stands under that name too, as there.
    let mut texts = verbatim(line)?;
    let category = texts.remove("category");
    let id = texts.remove("taskid");
    let id = id.or_else(|| texts.get("task_id").cloned());
    for (name, value) in texts {
        add("--label", OsStr::new(&format!("{name}={value}")));
    }
    if line.has("measure-only") {
        words.push("--measure-only".into());
    }
    let mut options = run_options(words, command(line)?)?;
    (options.footprint, options.category, options.id) = (footprint, category, id);
    for (asked, end) in options.formats.iter_mut().zip([".summary", ".series"]) {
        let mut path = template.to_owned();
        path.push(end);
        asked.to = Destination::Replaced(PathBuf::from(path));
    }
    Ok(options)
}

fn command(line: &Line) -> Result<Vec<OsString>> {
    match (line.last("sh"), line.rest.is_empty()) {
        (Some(_), false) => bail!("--sh and a command exclude one another"),
        (Some(text), true) => Ok(vec!["/bin/sh".into(), "-c".into(), text.to_owned()]),
        (None, true) => bail!("no command; see --help"),
        (None, false) => Ok(line.rest.clone()),
    }
}

/// A later limit replaces an earlier one; those of the line come after those of files.
fn asked_limits(line: &Line) -> Result<BTreeMap<String, String>> {
    let mut limits = BTreeMap::new();
    for path in line.all("limits-file") {
        let path = Path::new(path);
        let text = named_file::text_of_pipe_or_file(path)
            .with_context(|| format!("--limits-file {}", path.display()));
        let entries = cctools_limits::entries(&text?).with_context(|| {
            let path = path.display();
            format!("--limits-file {path} has no lines of `name: value`")
        })?;
        limits.extend(entries?);
    }
    for words in line.all("limits") {
        let words = words.to_str().context("--limits is no UTF-8")?;
        for pair in words.split(',') {
            limits.extend(cctools_limits::pair(pair).context("--limits")?);
        }
    }
    Ok(limits)
}

fn verbatim(line: &Line) -> Result<BTreeMap<String, String>> {
    let pair = |word: &OsStr| {
        let text = word.to_str().context("--verbatim-to-summary is no UTF-8")?;
        let (name, value) = text
            .split_once(':')
            .with_context(|| format!("--verbatim-to-summary `{text}` is not `name: text`"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    line.all("verbatim-to-summary").map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::compat::getopt::parse;
    use crate::cmd::statuses::Compat;
    use record::unit::Nanos;

    fn read(words: &[&str]) -> Result<RunOptions> {
        let words = words.iter().map(OsString::from).collect();
        options(&parse(words, OPTIONS)?, OsStr::new("d/log"))
    }

    #[test]
    fn options_are_those_of_resource_monitor() {
        let got = read(&[
            "-i2",
            "-L",
            "memory: 512",
            "-L",
            "wall_time: 1.5, cores: 2",
            "-L",
            "memory: 256",
            "--with-time-series",
            "-V",
            "task_id: 7",
            "-Vcategory:analysis of x",
            "--no-pprint",
            "--measure-only",
            "--",
            "ls",
            "-L",
        ])
        .unwrap();
        let values: Vec<_> = got.limits.iter().map(|one| one.limit.value).collect();
        assert_eq!(values, [1_500_000_000, 2000, 256 << 20]);
        assert_eq!(got.interval, Nanos::from_secs(2));
        assert_eq!(got.labels["task_id"], "7");
        assert_eq!(got.labels.len(), 1);
        assert_eq!(got.category.as_deref(), Some("analysis of x"));
        assert_eq!(got.id.as_deref(), Some("7"));
        assert_eq!(got.compat, Some(Compat::Cctools));
        assert_eq!(got.command, ["ls", "-L"]);
        assert!(got.measure_only && got.quiet);
        let places: Vec<_> = got.formats.into_iter().map(|one| one.to).collect();
        let file = |name: &str| Destination::Replaced(name.into());
        assert_eq!(places, [file("d/log.summary"), file("d/log.series")]);
        let got = read(&["-V", "taskid: 8", "-V", "task_id: 7", "ls"]).unwrap();
        assert_eq!(got.id.as_deref(), Some("8"));
        let got = read(&["--sh", "date > x"]).unwrap();
        assert_eq!(got.command, ["/bin/sh", "-c", "date > x"]);
    }

    #[test]
    fn a_footprint_that_is_not_measured_breaks_no_limit() {
        let words = [
            "--measure-dir=.",
            "-L",
            "disk: 3, total_files: 2, memory: 9",
            "ls",
        ];
        let measured = read(&words).unwrap();
        assert!(measured.footprint);
        assert_eq!((measured.limits.len(), measured.measure_dirs.len()), (3, 1));
        let words: Vec<_> = ["--without-disk-footprint"].iter().chain(&words).collect();
        let words: Vec<_> = words.into_iter().copied().collect();
        let got = read(&words).unwrap();
        assert!(!got.footprint && got.measure_dirs.is_empty());
        assert_eq!(got.limits, measured.limits[..1]);
    }

    #[test]
    fn what_it_cannot_do_is_refused_by_name() {
        for (words, part) in [
            (&["--with-inotify", "ls"][..], "--level io"),
            (&["--pid=3"], "--pid"),
            (&["-L", "memory=512", "ls"], "not `name: value`"),
            (&["-i", "0.5", "ls"], "whole seconds"),
            (&["-c", "ls", "ls"], "exclude"),
            (&[], "no command"),
            (&["-V", "x", "ls"], "not `name: text`"),
        ] {
            let error = format!("{:#}", read(words).unwrap_err());
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
