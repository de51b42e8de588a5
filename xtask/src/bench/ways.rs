//! The ways to run a workload: bare, under `plimsoll run` as it can be told, under other tools.

use super::meter;
use super::person::Person;
use super::place::Place;
use crate::step;
use anyhow::Result;
use std::ffi::OsString;
use std::process::Command;

/// What stands before the command.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// Its name in tables and for `--way`.
    pub(super) name: String,
    /// The words before the command.
    pub(super) prefix: Vec<OsString>,
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

/// Other tools: name, program, options.
const OTHERS: &[(&str, &str, &[&str])] = &[
    ("time -v", "time", &["-v", "-o", "/dev/null"]),
    (
        "runexec",
        "runexec",
        &["--quiet", "--no-container", "--output", "/dev/null", "--"],
    ),
    (
        "resource_monitor",
        "resource_monitor",
        &["-O", "monitored", "--"],
    ),
    (
        "pegasus-kickstart",
        "pegasus-kickstart",
        &["-l", "/dev/null"],
    ),
];

/// Every way that runs `true` here; those that do not are named with the reason.
///
/// # Errors
/// When benchexec was asked for and cannot be installed, or bare does not run.
pub(super) fn all(place: &Place, person: Person, with_runexec: bool) -> Result<Vec<Way>> {
    let mut ways = vec![way(BARE, Vec::new())];
    for (name, options) in OWN {
        let mut prefix = vec![
            place.file("plimsoll").into(),
            "run".into(),
            "--quiet".into(),
        ];
        prefix.extend(options.iter().map(OsString::from));
        prefix.push("--".into());
        ways.push(way(name, prefix));
    }
    if with_runexec {
        install_runexec(place)?;
    }
    for (name, program, options) in OTHERS {
        let own = place.file("venv/bin").join(program);
        let found = Some(own).filter(|path| path.is_file());
        match found.or_else(|| step::find_program(program)) {
            Some(path) => {
                let mut prefix = vec![path.into()];
                prefix.extend(options.iter().map(OsString::from));
                ways.push(way(name, prefix));
            }
            None => eprintln!("{name}: not on PATH"),
        }
    }
    let mut usable = Vec::new();
    for way in ways {
        match meter::run(
            place,
            person,
            &place.home(person),
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

fn way(name: &str, prefix: Vec<OsString>) -> Way {
    Way {
        name: name.to_owned(),
        prefix,
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
