//! `plimsoll archive graph`: which tasks of a set had to be done before which.

use super::{Part, PlaceArgs, Status, work};
use crate::archive::graph::SetGraph;
use crate::archive::{place, rows};
use crate::cmd::STATUS_FAILURE;
use crate::view::style::{Style, environment_allows_color};
use crate::view::{stderr, stdout};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::attempt::Attempt;
use std::ops::ControlFlow;
use store::archive::{Filter, Tasks};

pub(super) const PART: Part = Part {
    name: "graph",
    command,
    call,
};

#[derive(Debug, Args)]
struct GraphArgs {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    /// For people
    Text,
    /// For programs
    Json,
    /// For Graphviz
    Dot,
}

fn command() -> Command {
    GraphArgs::augment_args(Command::new(PART.name))
        .about("Show the graph of a set's tasks: levels, width, the longest way through it")
        .after_help(
            "Of each task the last attempt that was done counts. Tasks that wait for one another \
             and parents that are not in the set are named.\n\n\
             Exit status: 0 shown, 1 there is no such set, or its graph has a cycle or parents \
             that are not there, 2 usage.\n\nExamples:\n  \
             plimsoll archive graph 'run 3'\n  \
             plimsoll archive graph 'run 3' --format dot | dot -Tsvg > run3.svg",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = GraphArgs::from_arg_matches(matches)?;
    work(false, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let filter = Filter {
            set: Some(args.set.clone()),
            ..Filter::default()
        };
        let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
        let mut tasks = Tasks::default();
        rows::each(&archive, &filter, &heed, &mut |attempt| {
            tasks.push(slim(attempt))?;
            Ok(ControlFlow::Continue(()))
        })?;
        work.clear();
        super::list::damaged(&archive)?;
        if tasks.attempts() == 0 {
            stderr::line("no attempts");
            return Ok(STATUS_FAILURE);
        }
        let graph = SetGraph::of(&tasks);
        let text = match args.format {
            Word::Text => graph.text(Style::of(&std::io::stdout(), environment_allows_color())),
            Word::Json => serde_json::to_string_pretty(&graph.json(&args.set))? + "\n",
            Word::Dot => graph.dot(),
        };
        match stdout::write(text.as_bytes())? {
            0 if !graph.is_sound() => Ok(STATUS_FAILURE),
            status => Ok(status),
        }
    })
}

/// What the graph needs: a set may have a million.
fn slim(attempt: Attempt) -> Attempt {
    Attempt {
        id: attempt.id,
        category: attempt.category,
        task: attempt.task,
        attempt: attempt.attempt,
        parents: attempt.parents,
        began: attempt.began,
        ended: attempt.ended,
        end: attempt.end,
        used: attempt.used,
        ..Attempt::default()
    }
}
