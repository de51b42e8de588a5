//! The ways to run a workload: bare, under `plimsoll run` as it can be told, under other tools.

use super::meter;
use super::person::Person;
use super::place::Place;
use super::reports::Report;
use crate::step;
use anyhow::Result;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

/// What stands before the command.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// Its name in tables and for `--way`.
    pub(super) name: String,
    /// The words before the command.
    pub(super) prefix: Vec<OsString>,
    /// What it writes, in the folder that it is started in.
    pub(super) report: Option<Report>,
}

/// The name of the way that is no way: it shows the noise.
pub(super) const BARE: &str = "bare";

const OWN: &[(&str, &[&str])] = &[
    ("default", &[]),
    (
        "query-procfs",
        &["--level", "query", "--mechanism", "procfs"],
    ),
    ("query-bpf", &["--level", "query", "--mechanism", "bpf"]),
    ("events-bpf", &["--level", "events", "--mechanism", "bpf"]),
    (
        "events-connector",
        &["--level", "events", "--mechanism", "connector"],
    ),
    (
        "events-ptrace",
        &["--level", "events", "--mechanism", "ptrace"],
    ),
    ("io-bpf", &["--level", "io", "--mechanism", "bpf"]),
    (
        "io-bpf-times",
        &["--level", "io", "--mechanism", "bpf", "--times"],
    ),
    ("io-ptrace", &["--level", "io", "--mechanism", "ptrace"]),
    ("io-preload", &["--level", "io", "--mechanism", "preload"]),
    (
        "io-preload-times",
        &["--level", "io", "--mechanism", "preload", "--times"],
    ),
];

/// Another tool.
struct Other {
    name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
    report: Option<Report>,
}

const fn other(
    name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
    report: Option<Report>,
) -> Other {
    Other {
        name,
        program,
        options,
        report,
    }
}

const OTHERS: &[Other] = &[
    other(
        "time -v",
        "time",
        &["-v", "-o", "time.out"],
        Some(Report::Time),
    ),
    other(
        "runexec",
        "runexec",
        &["--quiet", "--no-container", "--output", "/dev/null", "--"],
        None,
    ),
    other(
        "resource_monitor",
        "resource_monitor",
        &["-O", "monitored", "--"],
        Some(Report::ResourceMonitor),
    ),
    other(
        "pegasus-kickstart",
        "pegasus-kickstart",
        &["-l", "kickstart.out"],
        Some(Report::Kickstart),
    ),
    // Processes by ptrace.
    other(
        "pegasus-kickstart -t",
        "pegasus-kickstart",
        &["-t", "-l", "kickstart.out"],
        Some(Report::Kickstart),
    ),
    // System calls by ptrace.
    other(
        "pegasus-kickstart -z",
        "pegasus-kickstart",
        &["-z", "-l", "kickstart.out"],
        Some(Report::Kickstart),
    ),
    // Calls of the C library by LD_PRELOAD.
    other(
        "pegasus-kickstart -Z",
        "pegasus-kickstart",
        &["-Z", "-l", "kickstart.out"],
        Some(Report::Kickstart),
    ),
];

/// Every way that runs `true` here; those that do not are named with the reason.
///
/// # Errors
/// When benchexec was asked for and cannot be installed, or bare does not run.
pub(super) fn all(place: &Place, person: Person, with_runexec: bool) -> Result<Vec<Way>> {
    let mut ways = vec![way(BARE, Vec::new(), None)];
    for (name, options) in OWN {
        let mut prefix = vec![
            place.file("plimsoll").into(),
            "run".into(),
            "--quiet".into(),
        ];
        prefix.extend(options.iter().map(OsString::from));
        prefix.push("--".into());
        ways.push(way(name, prefix, Some(Report::Plimsoll)));
    }
    if with_runexec {
        install_runexec(place)?;
    }
    for other in OTHERS {
        let own = place.file("venv/bin").join(other.program);
        let found = Some(own).filter(|path| path.is_file());
        match found.or_else(|| step::find_program(other.program)) {
            Some(path) => {
                let mut prefix = vec![path.into()];
                prefix.extend(other.options.iter().map(OsString::from));
                ways.push(way(other.name, prefix, other.report));
            }
            None => eprintln!("{}: not on PATH", other.name),
        }
    }
    let mut usable = Vec::new();
    for way in ways {
        match meter::run(
            place,
            person,
            &place.home(person),
            Duration::from_secs(30),
            &on(&way, &[place.file("nothing").into()]),
        ) {
            Ok(_) => usable.push(way),
            Err(error) => eprintln!(
                "{}: not as {}: {}",
                way.name,
                person.name(),
                first_line(&error)
            ),
        }
    }
    anyhow::ensure!(
        usable.iter().any(|way| way.name == BARE),
        "nothing can be run here"
    );
    Ok(usable)
}

/// The command, run this way.
pub(super) fn on(way: &Way, command: &[OsString]) -> Vec<OsString> {
    way.prefix.iter().chain(command).cloned().collect()
}

/// The same way, with its report left in the folder that it is started in.
pub(super) fn reporting(way: &Way) -> Way {
    let mut way = way.clone();
    if way.report == Some(Report::Plimsoll) {
        let last = way.prefix.len().saturating_sub(1);
        let words = ["--output", "report"].map(OsString::from);
        way.prefix.splice(last..last, words);
    }
    way
}

fn way(name: &str, prefix: Vec<OsString>, report: Option<Report>) -> Way {
    Way {
        name: name.to_owned(),
        prefix,
        report,
    }
}

fn first_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().to_owned()
}

fn install_runexec(place: &Place) -> Result<()> {
    let folder = place.file("venv");
    if folder.exists() {
        return Ok(());
    }
    step::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    step::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", "benchexec"]))
}
