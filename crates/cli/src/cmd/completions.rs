//! `plimsoll completions`: completion scripts for shells, from the same definitions as the options.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stdout;
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use clap_complete::Shell;

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
    clap_complete::generate(shell, &mut super::visible_command(), "plimsoll", &mut text);
    text
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
                    text.contains(word) || text.contains("series\\:process"),
                    "{shell}: {word}"
                );
            }
            assert!(!text.contains("__m"), "{shell}: a hidden verb is offered");
        }
    }
}
