//! `plimsoll completions`: completion scripts for shells, from the same definitions as the options.

use super::compat::TOOLS;
use super::compat::getopt::{Opt, Takes};
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stdout;
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use clap_complete::Shell;
use record::limit::LIMITS;

/// The verb.
pub const VERB: Verb = Verb {
    name: "completions",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(["bash", "zsh", "fish"]))]
    shell: String,
}

fn command() -> Command {
    CompletionsArgs::augment_args(Command::new("completions"))
        .about("Print the completion script of a shell")
        .after_help(
            "Example:\n  plimsoll completions bash \\\n    \
             > ~/.local/share/bash-completion/completions/plimsoll",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = CompletionsArgs::from_arg_matches(matches)?;
    let shell = match args.shell.as_str() {
        "bash" => Shell::Bash,
        "zsh" => Shell::Zsh,
        _ => Shell::Fish,
    };
    stdout::write(&script(shell))
}

fn script(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    let mut line = with_tools();
    clap_complete::generate(shell, &mut line, "plimsoll", &mut text);
    let text = String::from_utf8_lossy(&text);
    let text = match shell {
        Shell::Bash => bash(&text, &line),
        Shell::Zsh => zsh(&text),
        _ => fish(&text, &line),
    };
    text.into_bytes()
}

/// The command line with the options of the tools of `compat`, which those read by themselves.
fn with_tools() -> Command {
    super::visible_command().mut_subcommand(super::compat::VERB.name, |compat| {
        TOOLS.iter().fold(compat, |compat, tool| {
            compat.mut_subcommand(tool.name, |command| {
                let options = tool.options.iter().enumerate();
                let taken = options.filter_map(|(at, option)| as_arg(at, option));
                command.args(taken)
            })
        })
    })
}

/// Nothing for one that is refused.
fn as_arg(at: usize, option: &Opt) -> Option<Arg> {
    let arg = Arg::new(format!("option{at}"));
    let arg = match option.takes {
        Takes::Refused(_) => return None,
        Takes::Nothing => arg.action(ArgAction::SetTrue),
        Takes::Value => arg.action(ArgAction::Set),
    };
    let arg = option.short.into_iter().fold(arg, Arg::short);
    Some(option.long.into_iter().fold(arg, Arg::long))
}

/// The verbs with a command behind their options: their words, and the options with a value.
fn with_commands(line: &Command) -> Vec<(Vec<String>, String)> {
    let verb = |name: &str| line.find_subcommand(name).into_iter();
    let run = verb("run").map(|run| (vec!["run".to_owned()], valued(run)));
    let tools = verb("compat").flat_map(Command::get_subcommands);
    let tools = tools.map(|tool| {
        let words = vec!["compat".to_owned(), tool.get_name().to_owned()];
        (words, valued(tool))
    });
    run.chain(tools).collect()
}

/// The options of `command` that take a value.
fn valued(command: &Command) -> String {
    let options = command
        .get_opts()
        .filter(|arg| arg.get_action().takes_values());
    let names = options.flat_map(|arg| {
        let short = arg.get_short().map(|letter| format!("-{letter}"));
        let long = arg.get_long().map(|name| format!("--{name}"));
        short.into_iter().chain(long)
    });
    names.collect::<Vec<_>>().join(" ")
}

/// `NAME=` of every limit.
fn limits() -> String {
    let names: Vec<_> = LIMITS
        .iter()
        .map(|kind| format!("{}=", kind.name))
        .collect();
    names.join(" ")
}

/// The generator's function is called by ours, which knows what stands behind the options.
fn bash(text: &str, line: &Command) -> String {
    let case = |(words, values): (Vec<String>, String)| {
        let at = words.len() + 1;
        let pattern = match words.as_slice() {
            // The second word is any.
            [verb] => format!("\"{verb} \"*"),
            _ => format!("\"{}\"", words.join(" ")),
        };
        format!("        {pattern}) at={at} values=\"{values}\" ;;")
    };
    let cases: Vec<_> = with_commands(line).into_iter().map(case).collect();
    let cases = cases.join("\n");
    let ours = include_str!("completions/command.bash");
    let ours = ours
        .replace("@CASES@", &cases)
        .replace("@LIMITS@", &limits());
    text.replacen("_plimsoll() {", "_plimsoll_options() {", 1) + &ours
}

fn zsh(text: &str) -> String {
    // Within its list of values a colon ends the value.
    let text = text.replace("series\\:process\\:", "series\\\\\\:process\\:");
    let text = text.replace(":NAME=VALUE:_default'", ":NAME=VALUE:_plimsoll_limits'");
    let ours = include_str!("completions/limits.zsh").replace("@LIMITS@", &limits());
    // Before the last lines, which call what is above them.
    match text.rfind("\nif [ \"$funcstack[1]\"") {
        Some(at) => format!("{}{ours}{}", &text[..at], &text[at..]),
        None => text + &ours,
    }
}

fn fish(text: &str, line: &Command) -> String {
    let case = |(words, values): (Vec<String>, String)| {
        let last = words.len() + 1;
        let pattern = match words.as_slice() {
            [verb] => format!("{verb} '{verb} *'"),
            _ => format!("'{}'", words.join(" ")),
        };
        let cut = format!("set -e words[1..{last}]");
        format!("        case {pattern}\n            {cut}\n            set values {values}")
    };
    let cases: Vec<_> = with_commands(line).into_iter().map(case).collect();
    let cases = cases.join("\n");
    let limit = "using_subcommand run\" -l limit -d ";
    let text: String = text
        .lines()
        .map(|line| match line.contains(limit) {
            true => format!("{line} -f -a \"{}\"\n", limits()),
            false => format!("{line}\n"),
        })
        .collect();
    text + &include_str!("completions/command.fish").replace("@CASES@", &cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_completes_the_verbs_and_their_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = String::from_utf8(script(shell)).unwrap();
            for word in ["run", "measure-only", "series:process"] {
                assert!(
                    text.contains(word) || text.contains(r"series\\\:process"),
                    "{shell}: {word}"
                );
            }
            assert!(!text.contains("__m"), "{shell}: a hidden verb is offered");
        }
    }
}
