//! `plimsoll archive set`: says what a set is.

use super::{Part, PlaceArgs, Status, work};
use crate::archive::place;
use anyhow::{Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::collections::BTreeMap;
use store::archive::Set;

pub(super) const PART: Part = Part {
    name: "set",
    command,
    call,
};

#[derive(Debug, Args)]
struct SetArgs {
    /// The name of the set, as attempts are added to it
    name: String,
    /// What it is
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// A label; an empty value takes it away (repeatable)
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    #[command(flatten)]
    place: PlaceArgs,
}

fn command() -> Command {
    SetArgs::augment_args(Command::new(PART.name))
        .about("Say what a set is: its description and labels")
        .after_help(
            "What is not named stays as it was said before.\n\nExamples:\n  \
             plimsoll archive set 'run 3' --description 'with the new aligner' --label site=north",
        )
}

fn label(text: &str) -> Result<(String, String)> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| anyhow!("a label is NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = SetArgs::from_arg_matches(matches)?;
    work(true, |work| {
        let archive = place::create(&args.place.path()?, work)?;
        let before = archive.folder().sets()?;
        let before = before.into_iter().find(|set| set.name == args.name);
        let mut set = before.unwrap_or_else(|| Set {
            name: args.name.clone(),
            description: None,
            labels: BTreeMap::new(),
        });
        set.description = args.description.clone().or(set.description);
        for (name, value) in &args.labels {
            match value.is_empty() {
                true => set.labels.remove(name),
                false => set.labels.insert(name.clone(), value.clone()),
            };
        }
        archive.folder().describe(&set)?;
        Ok(0)
    })
}
