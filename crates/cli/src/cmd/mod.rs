//! The verbs of the one binary: words to options to one call.

#[cfg(feature = "archive")]
pub mod advise;
pub mod agent;
pub(crate) mod amounts;
#[cfg(feature = "archive")]
pub mod archive;
pub mod cctools_limits;
#[cfg(feature = "dataset")]
pub mod compact;
pub mod compat;
pub mod completions;
pub mod doctor;
mod explain;
pub mod formats;
#[cfg(feature = "dataset")]
mod import;
#[cfg(feature = "query")]
pub mod job;
pub mod limits;
pub mod man;
pub mod metrics;
pub mod named;
mod named_file;
#[cfg(not(all(feature = "archive", feature = "query", feature = "serve")))]
pub mod never;
#[cfg(feature = "query")]
pub mod plot;
#[cfg(feature = "query")]
pub mod query;
#[cfg(feature = "query")]
mod query_words;
mod report_file;
pub mod run;
pub mod run_args;
mod run_values;
#[cfg(feature = "serve")]
pub mod serve;
mod settings;
pub(crate) mod similar;
pub mod statuses;
pub mod top;
mod watch;
mod when;
pub mod why;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};
use std::ffi::{OsStr, OsString};

/// An exit status.
pub type Status = u8;

/// Exit status of a usage error of every verb but `run`.
pub const STATUS_USAGE: Status = 2;

/// Exit status of a verb that failed.
pub const STATUS_FAILURE: Status = 1;

/// One verb.
#[derive(Debug)]
pub struct Verb {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its part of the command line.
    pub command: fn() -> Command,
    /// What it does with what clap understood.
    pub call: fn(&ArgMatches) -> Result<Status>,
    /// Exit status when its options are wrong.
    pub usage_error: Status,
    /// Exit status when it fails.
    pub failure: Status,
}

/// Every verb, in the order of the help.
pub const VERBS: &[&Verb] = &[
    &run::VERB,
    &agent::VERB,
    #[cfg(feature = "dataset")]
    &compact::VERB,
    #[cfg(feature = "query")]
    &query::VERB,
    #[cfg(feature = "query")]
    &job::VERB,
    #[cfg(feature = "query")]
    &plot::VERB,
    #[cfg(not(feature = "query"))]
    &never::QUERY,
    #[cfg(not(feature = "query"))]
    &never::JOB,
    #[cfg(not(feature = "query"))]
    &never::PLOT,
    &why::VERB,
    &top::VERB,
    #[cfg(feature = "archive")]
    &archive::VERB,
    #[cfg(feature = "archive")]
    &advise::VERB,
    #[cfg(not(feature = "archive"))]
    &never::ARCHIVE,
    #[cfg(not(feature = "archive"))]
    &never::ADVISE,
    #[cfg(feature = "serve")]
    &serve::VERB,
    #[cfg(not(feature = "serve"))]
    &never::SERVE,
    &doctor::VERB,
    &compat::VERB,
    &completions::VERB,
    &man::VERB,
    &metrics::VERB,
];

/// A command line that was understood.
#[derive(Debug)]
pub struct Invocation {
    verb: &'static Verb,
    matches: ArgMatches,
}

impl Invocation {
    /// What clap understood of the verb's options.
    pub const fn matches(&self) -> &ArgMatches {
        &self.matches
    }

    /// Does it.
    pub fn call(&self) -> Result<Status> {
        (self.verb.call)(&self.matches)
    }

    /// The exit status if it fails.
    pub const fn failure(&self) -> Status {
        self.verb.failure
    }
}

/// The whole command line.
pub fn command() -> Command {
    root(all())
}

/// The command line without the verbs that are hidden from people.
pub fn visible_command() -> Command {
    root(all().filter(|verb| !verb.is_hide_set()))
}

fn all() -> impl Iterator<Item = Command> {
    VERBS.iter().map(|verb| (verb.command)())
}

fn verb(name: &OsStr) -> Option<&'static Verb> {
    VERBS.iter().copied().find(|verb| name == verb.name)
}

fn root(verbs: impl Iterator<Item = Command>) -> Command {
    let root = Command::new("plimsoll")
        .version(env!("CARGO_PKG_VERSION"))
        .about("What a task really consumes, held to its limits")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100);
    root.subcommands(verbs)
}

/// Reads a command line, the program's name first. The error prints itself; help and version too.
pub fn parse(words: Vec<OsString>) -> Result<Invocation, Box<Refusal>> {
    let asked = words.get(1).and_then(|word| verb(word));
    let status = asked.map_or(STATUS_USAGE, |verb| verb.usage_error);
    let refuse = |clap: clap::Error| Box::new(Refusal { status, clap });
    let first = words.get(1).cloned();
    let hint = |clap| refuse(with_similar(clap, first.as_deref()));
    // The definitions of all verbs take longer to make than one takes to be read by.
    let definition = asked.map_or_else(command, |verb| root(std::iter::once((verb.command)())));
    let mut matches = definition.try_get_matches_from(words).map_err(hint)?;
    let found = matches
        .remove_subcommand()
        .and_then(|(name, inner)| Some((verb(OsStr::new(&name))?, inner)));
    match found {
        Some((verb, matches)) => Ok(Invocation { verb, matches }),
        None => Err(refuse(
            command().error(clap::error::ErrorKind::InvalidSubcommand, "no verb"),
        )),
    }
}

/// With the verb that was probably meant, or the tool of `compat`, if clap knows none; `first` is
/// the first word of the command line.
fn with_similar(mut error: clap::Error, first: Option<&OsStr>) -> clap::Error {
    let given = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    let known = error.get(ContextKind::SuggestedSubcommand);
    let meant = if first == Some(OsStr::new(&given)) {
        similar::similar(&given, VERBS.iter().map(|verb| verb.name))
    } else {
        similar::similar(&given, compat::TOOLS.iter().map(|tool| tool.name))
    };
    if let Some(name) = meant.filter(|_| known.is_none()) {
        let names = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
    error
}

/// A command line that was not understood, or that asks for help or the version.
#[derive(Debug)]
pub struct Refusal {
    status: Status,
    clap: clap::Error,
}

impl Refusal {
    /// The exit status: 0 for help and version.
    pub fn status(&self) -> Status {
        if self.clap.use_stderr() {
            self.status
        } else {
            0
        }
    }

    /// The message without what clap adds around it.
    pub fn message(&self) -> String {
        let text = self.clap.to_string();
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).to_owned()
    }

    /// Prints the message where it belongs: help to stdout, errors to stderr.
    pub fn print(&self) -> std::io::Result<()> {
        self.clap.print()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> Status {
        let words = line.split_whitespace().map(OsString::from).collect();
        parse(words).map(|_| ()).unwrap_err().status()
    }

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn usage_errors_have_the_status_of_their_verb() {
        assert_eq!(refused("plimsoll run"), 125);
        assert_eq!(refused("plimsoll run --nonsense x"), 125);
        assert_eq!(refused("plimsoll completions tcsh"), 2);
        assert_eq!(refused("plimsoll walk"), 2);
        assert_eq!(refused("plimsoll"), 2);
    }

    #[test]
    fn a_verb_or_tool_that_was_probably_meant_is_named() {
        for (line, name) in [
            ("plimsoll rnu x", "'run'"),
            ("plimsoll docter", "'doctor'"),
            ("plimsoll compat tiem", "'time'"),
        ] {
            let words = line.split_whitespace().map(OsString::from).collect();
            let refusal = parse(words).map(|_| ()).unwrap_err();
            let text = refusal.clap.to_string();
            assert!(text.contains("similar") && text.contains(name), "{text}");
        }
    }

    #[test]
    fn help_and_version_are_success() {
        for line in [
            "--help",
            "--version",
            "run --help",
            "run -h",
            "help run",
            "help",
        ] {
            assert_eq!(refused(&format!("plimsoll {line}")), 0, "{line}");
        }
    }
}
