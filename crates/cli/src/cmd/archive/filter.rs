//! Which attempts: the options of several subcommands.

use super::super::when;
use clap::{Args, ValueEnum};
use record::attempt::End;
use record::unit::Nanos;
use store::archive::{Condition, Filter};

/// Which attempts are meant: those for which all of it holds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which attempts")]
pub(super) struct FilterArgs {
    /// Of this category
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// In this set
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Of this program
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// With this in the description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Of the task with this name
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// On this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// By this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// That ended at this instant or later: 2026-11-20, 2026-11-20 13:05 (UTC), or how long ago: 2h
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    from: Option<Nanos>,
    /// That ended before this instant
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    to: Option<Nanos>,
    /// That ended so
    #[arg(long, value_enum, value_name = "HOW")]
    end: Option<EndWord>,
    /// That used so much: memory>4GiB, wall<=2h, cores>1.5 (repeatable)
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum EndWord {
    /// It did what it was to do
    Done,
    /// It failed by itself
    Failed,
    /// A limit ended it
    Limit,
    /// It was cancelled
    Cancelled,
    /// Nobody told
    Unknown,
}

impl EndWord {
    pub(super) const fn end(self) -> End {
        match self {
            EndWord::Done => End::Done,
            EndWord::Failed => End::Failed,
            EndWord::Limit => End::Limit,
            EndWord::Cancelled => End::Cancelled,
            EndWord::Unknown => End::Unknown,
        }
    }
}

impl FilterArgs {
    pub(super) fn filter(&self) -> Filter {
        let nanos = |at: Option<Nanos>| at.map(|at| i64::try_from(at.0).unwrap_or(i64::MAX));
        Filter {
            category: self.category.clone(),
            categories: None,
            set: self.set.clone(),
            tool: self.tool.clone(),
            description: self.description.clone(),
            host: self.host.clone(),
            user: self.user.clone(),
            task: self.task.clone(),
            from: nanos(self.from),
            to: nanos(self.to),
            end: self.end.map(EndWord::end),
            conditions: self.conditions.clone(),
        }
    }
}
