//! `plimsoll compat TOOL ARGS...`: takes the place of another tool, with its common options and
//! its exit statuses. What it cannot do it refuses by name.

pub mod getopt;
pub mod kickstart;

pub mod resource_monitor;
pub mod time;

use super::run::{RunOptions, STATUS_OWN_FAILURE, options};
use super::{Refusal, Status, Verb};
use crate::view::stdout;
use anyhow::{Context, Result, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use std::ffi::OsString;

/// The verb.
pub const VERB: Verb = Verb {
    name: "compat",
    command,
    call,
    usage_error: STATUS_OWN_FAILURE,
    failure: STATUS_OWN_FAILURE,
};

/// One tool whose place can be taken.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Its usage line, and what of it is taken.
    pub help: &'static str,
    /// Its options.
    pub options: &'static [getopt::Opt],
    /// Its exit status when its options are wrong or nothing could be run.
    pub failure: Status,
    /// Does what its arguments ask for.
    pub run: fn(getopt::Line) -> Result<Status>,
}

/// Every tool.
pub const TOOLS: &[&Tool] = &[&time::TOOL, &resource_monitor::TOOL, &kickstart::TOOL];

const ARGS: &str = "args";

const EXAMPLES: &str = "\
Examples:
  plimsoll compat time -v make
  plimsoll compat resource_monitor -O log -L 'memory: 512' -- ./job
  plimsoll compat kickstart -n ns::job:1.0 -l records.yml ./job
`plimsoll compat TOOL --help` lists what is taken and what is refused.";

fn command() -> Command {
    let compat = Command::new("compat")
        .about("Take the place of another tool: its common options, its exit statuses")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .after_help(EXAMPLES);
    TOOLS.iter().fold(compat, |compat, tool| {
        let args = Arg::new(ARGS)
            .value_name("ARGS")
            .value_parser(clap::value_parser!(OsString))
            .action(ArgAction::Append)
            .num_args(0..)
            .trailing_var_arg(true)
            .allow_hyphen_values(true)
            .value_hint(ValueHint::CommandWithArguments);
        compat.subcommand(
            Command::new(tool.name)
                .about(tool.about)
                .disable_help_flag(true)
                .override_usage(format!("plimsoll compat {}", tool.help))
                .arg(args),
        )
    })
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let (name, inner) = matches.subcommand().context("no tool")?;
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    let tool = tool.with_context(|| format!("no tool {name}"))?;
    let words = inner.get_many::<OsString>(ARGS).unwrap_or_default();
    let line = getopt::parse(words.cloned().collect(), tool.options);
    let done = match line {
        Ok(line) if line.has("help") => stdout::write(help(tool).as_bytes()),
        Ok(line) if line.has("version") => stdout::write(version(tool).as_bytes()),
        Ok(line) => (tool.run)(line),
        Err(error) => Err(error),
    };
    done.or_else(|error| {
        crate::run::refuse(&error.context(format!("compat {name}")));
        Ok(tool.failure)
    })
}

fn help(tool: &Tool) -> String {
    let mut text = format!("Usage: plimsoll compat {}\n\nTaken:\n", tool.help);
    let mut refused = String::new();
    for option in tool.options {
        let shown = option.shown();
        match option.takes {
            getopt::Takes::Nothing => text.push_str(&format!("  {shown}\n")),
            getopt::Takes::Value => text.push_str(&format!("  {shown} VALUE\n")),
            getopt::Takes::Refused(why) => refused.push_str(&format!("  {shown:<28}{why}\n")),
        }
    }
    if !refused.is_empty() {
        text.push_str(&format!("\nNot taken:\n{refused}"));
    }
    text
}

fn version(tool: &Tool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("plimsoll {version} in place of {}\n", tool.name)
}

/// What `plimsoll run` makes of these words of its own and this command.
///
/// # Errors
/// Those of the words, such as an impossible limit.
pub fn run_options(words: Vec<OsString>, command: Vec<OsString>) -> Result<RunOptions> {
    let mut line: Vec<OsString> = vec!["plimsoll".into(), "run".into()];
    line.extend(words);
    line.push("--".into());
    line.extend(command);
    let parsed = super::parse(line);
    let invocation = parsed.map_err(|refusal: Box<Refusal>| anyhow!(refusal.message()))?;
    options(invocation.matches())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_meaning() {
        for tool in TOOLS {
            let mut names: Vec<_> = tool
                .options
                .iter()
                .flat_map(|option| {
                    [
                        option.short.map(String::from),
                        option.long.map(str::to_owned),
                    ]
                })
                .flatten()
                .collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", tool.name);
        }
    }

    #[test]
    fn the_words_of_a_tool_are_not_ours() {
        let parse = |line: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            let invocation = crate::cmd::parse(words).unwrap();
            let (name, inner) = invocation.matches().subcommand().unwrap();
            let words = inner.get_many::<OsString>(ARGS).unwrap_or_default();
            let words: Vec<_> = words.map(|word| word.to_str().unwrap()).collect();
            (name.to_owned(), words.join(" "))
        };
        for args in [
            "-v true",
            "--help",
            "-f %e -- ls --",
            "-h",
            "ls -- -v",
            "--quiet x",
        ] {
            let line = format!("plimsoll compat time {args}");
            assert_eq!(parse(&line), ("time".to_owned(), args.to_owned()));
        }
    }
}
