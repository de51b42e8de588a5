//! `plimsoll doctor`: what can be measured here, tried and not guessed, and what `run` will choose.

mod choice;
mod counters;
mod events;
mod gpu;
mod ground;
mod groups;
mod interposition;
mod outcome;
mod proc_files;
mod processes;
mod programs;

pub use choice::{Choice, choose};
pub use ground::Ground;
pub use outcome::Outcome;

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::style::{Style, environment_allows_color};
use crate::view::{doctor as view, stdout};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

/// The verb.
pub const VERB: Verb = Verb {
    name: "doctor",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

const SIGXFSZ: i32 = 25;

/// One way to learn something from the kernel, and how to try it.
#[derive(Debug)]
pub struct Probe {
    /// Its name; unique.
    pub name: &'static str,
    /// What it would give.
    pub gives: &'static str,
    /// How to allow it, where this user may not.
    pub allow: &'static str,
    /// What the kernel or the machine needs, where it is lacking.
    pub needs: &'static str,
    /// Opens, attaches or subscribes, and undoes it.
    pub attempt: fn(&Ground) -> Outcome,
}

/// Every probe, by group, in the order of the screen.
pub const PROBES: &[(&str, &[Probe])] = &[
    ("processes", processes::PROBES),
    ("/proc and files", proc_files::PROBES),
    ("events", events::PROBES),
    ("control groups and pressure", groups::PROBES),
    ("programs in the kernel (BPF)", programs::PROBES),
    ("counters and probes", counters::PROBES),
    ("between task and kernel", interposition::PROBES),
    ("GPU", gpu::PROBES),
];

/// A probe and what came of it.
#[derive(Debug)]
pub struct Finding {
    /// The heading it stands under.
    pub group: &'static str,
    /// The probe.
    pub probe: &'static Probe,
    /// What came of it.
    pub outcome: Outcome,
}

impl Finding {
    /// What would allow it; nothing for what works.
    pub fn remedy(&self) -> Option<&str> {
        self.outcome.remedy(self.probe)
    }
}

/// Tries every probe.
pub fn examine(ground: &Ground) -> Vec<Finding> {
    let attempt = |group, probe: &'static Probe| Finding {
        group,
        probe,
        outcome: (probe.attempt)(ground),
    };
    PROBES
        .iter()
        .flat_map(|(group, probes)| probes.iter().map(|probe| attempt(*group, probe)))
        .collect()
}

#[derive(Debug, Args)]
struct DoctorArgs {
    /// Format of the answer
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// For people
    Text,
    /// For programs
    Json,
}

fn command() -> Command {
    DoctorArgs::augment_args(Command::new("doctor"))
        .about("Try what can be measured here, say why not, and what run will choose")
        .after_help(
            "Each mechanism is really opened, attached or subscribed to, and undone.\n\n\
             Examples:\n  plimsoll doctor\n  plimsoll doctor --format json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = DoctorArgs::from_arg_matches(matches)?;
    // As in a run: what a file in memory may hold, and a refusal instead of an end.
    sys::rlimit::raise_file_size();
    sys::signal::set_ignored(SIGXFSZ);
    let ground = Ground::survey();
    let findings = examine(&ground);
    let choice = choose(&findings);
    let style = Style::of(&std::io::stdout(), environment_allows_color());
    let text = match args.format {
        FormatWord::Text => view::text(&ground, &findings, &choice, style),
        FormatWord::Json => view::json(&ground, &findings, &choice)?,
    };
    stdout::write(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_probe_has_its_own_name_and_says_what_it_gives() {
        let all: Vec<_> = PROBES.iter().flat_map(|(_, probes)| *probes).collect();
        let names: BTreeSet<_> = all.iter().map(|probe| probe.name).collect();
        assert_eq!(names.len(), all.len());
        for probe in all {
            assert!(
                !probe.gives.is_empty() && !probe.needs.is_empty(),
                "{}",
                probe.name
            );
        }
    }

    #[test]
    fn a_survey_leaves_nothing_open_and_no_child() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let ground = Ground::survey();
        let before = open();
        let findings = examine(&ground);
        assert!(
            findings
                .iter()
                .any(|one| matches!(one.outcome, Outcome::Usable(_)))
        );
        // Other tests open files meanwhile; a leak of this survey would be one a probe.
        assert!(open() < before + findings.len() / 2);
        for one in &findings {
            assert!(matches!(one.outcome, Outcome::Usable(_)) || one.outcome.why().is_some());
        }
    }
}
