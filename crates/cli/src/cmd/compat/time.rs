//! In place of GNU time.

use super::getopt::{Line, Opt, Takes};
use super::{Tool, run_options};
use crate::cmd::Status;
use crate::cmd::formats::Destination;
use crate::cmd::run::STATUS_OWN_FAILURE;
use anyhow::{Result, bail};
use std::ffi::OsString;
use store::export::time::{DEFAULT_FORMAT, PORTABLE_FORMAT};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "time",
    about: "GNU time",
    help: "time [-apqv] [-f FORMAT] [-o FILE] COMMAND [ARG...]",
    options: OPTIONS,
    failure: STATUS_OWN_FAILURE,
    run,
};

const OPTIONS: &[Opt] = &[
    Opt::new('a', "append", Takes::Nothing),
    Opt::new('f', "format", Takes::Value),
    Opt::new('o', "output", Takes::Value),
    Opt::new('p', "portability", Takes::Nothing),
    Opt::new('q', "quiet", Takes::Nothing),
    Opt::new('v', "verbose", Takes::Nothing),
    Opt::new('h', "help", Takes::Nothing),
    Opt::new('V', "version", Takes::Nothing),
];

fn run(line: Line) -> Result<Status> {
    crate::run::run(&options(line, std::env::var("TIME").ok())?)
}

/// `default` is what the variable `TIME` holds.
fn options(line: Line, default: Option<String>) -> Result<crate::cmd::run::RunOptions> {
    if line.rest.is_empty() {
        bail!("missing program to run; see --help");
    }
    // The later of the two.
    let portable = line.position("portability") > line.position("format");
    let format = if line.has("verbose") {
        None
    } else if portable {
        Some(PORTABLE_FORMAT.to_owned())
    } else {
        let given = line.text("format")?.map(str::to_owned);
        Some(
            given
                .or(default)
                .unwrap_or_else(|| DEFAULT_FORMAT.to_owned()),
        )
    };
    let file = line.last("output").map(OsString::from);
    let mut words = vec![OsString::from("--format"), "time=-".into()];
    if file.is_some() {
        words = vec!["--quiet".into(), "--format".into(), "time=file".into()];
    }
    // A command of no letters is one that cannot be found, as there: told when it is looked for.
    let mut command = line.rest.clone();
    for word in command.iter_mut().take(1).filter(|word| word.is_empty()) {
        *word = "time".into();
    }
    let mut options = run_options(words, command)?;
    options.command.clone_from(&line.rest);
    // A name may look like `-` or `fd:3`, and is a file all the same.
    if let (Some(file), Some(asked)) = (file, options.formats.first_mut()) {
        asked.to = match line.has("append") {
            true => Destination::Appended(file.into()),
            false => Destination::Replaced(file.into()),
        };
    }
    // The POSIX form has no room for the line before the numbers.
    let quiet = line.has("quiet") || format.as_deref() == Some(PORTABLE_FORMAT);
    options.format_details.time_format = format;
    options.format_details.time_quiet = quiet;
    options.cannot_run = Some("time: cannot run");
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::compat::getopt::parse;

    fn read(words: &[&str], variable: Option<&str>) -> Result<crate::cmd::run::RunOptions> {
        let words = words.iter().map(OsString::from).collect();
        options(parse(words, OPTIONS)?, variable.map(str::to_owned))
    }

    #[test]
    fn options_are_those_of_time() {
        let got = read(&["-v", "ls", "-v"], None).unwrap();
        assert_eq!(got.format_details.time_format, None);
        assert_eq!(got.command, ["ls", "-v"]);
        assert_eq!(got.formats[0].to, Destination::Stderr);
        let format = |words: &[&str], variable| {
            let got = read(words, variable).unwrap();
            got.format_details.time_format.unwrap()
        };
        assert_eq!(format(&["ls"], None), DEFAULT_FORMAT);
        assert_eq!(format(&["ls"], Some("%e")), "%e");
        assert_eq!(format(&["-p", "ls"], Some("%e")), PORTABLE_FORMAT);
        assert_eq!(format(&["-f", "%M", "ls"], Some("%e")), "%M");
        assert_eq!(format(&["-pf", "%M", "ls"], None), "%M");
        assert_eq!(format(&["-f", "%M", "-p", "ls"], None), PORTABLE_FORMAT);
        let got = read(&["-qao", "fd:3", "--", "ls"], None).unwrap();
        assert_eq!(got.formats[0].to, Destination::Appended("fd:3".into()));
        assert!(got.quiet && got.format_details.time_quiet);
        assert!(read(&["-v"], None).is_err());
        assert!(read(&["-z", "ls"], None).is_err());
    }
}
