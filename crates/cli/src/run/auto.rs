//! Limits by the history of the task's category (`--limits auto`).
//!
//! What cannot be read costs the limits, never the task: the report says so.

use super::chain;
use crate::archive::{history, place};
use crate::cmd::amounts::last_of;
use crate::cmd::limits::AskedLimit;
use crate::cmd::run::RunOptions;
use crate::view::style::printable;
use advise::{Advice, Category, Question, Terms};
use anyhow::{Context, Result};
use record::limit::{Limit, Resource};
use record::unit::Bytes;
use source::query::host;
use source::root::Root;
use store::archive::Filter;
use store::attempt::host_class;
use store::category::category_of_command;

/// What follows a limit that was too little, by resource.
#[derive(Debug, Default)]
pub(super) struct Ladders(Vec<Advice>);

impl Ladders {
    /// The limit after `failed`, if more may be asked for.
    pub(super) fn after(&self, resource: Resource, failed: u64) -> Option<u64> {
        let advice = self.0.iter().find(|one| one.resource == resource)?;
        advice.after(failed)
    }

    /// Of what there is a ladder.
    pub(super) fn resources(&self) -> impl Iterator<Item = Resource> + '_ {
        self.0.iter().map(|one| one.resource)
    }
}

/// Adds the limits that the history of the category gives; what follows each.
pub(super) fn limit(options: &mut RunOptions) -> Ladders {
    let category = category(options);
    match advice(options, &category) {
        Ok((runs, ladders)) => {
            if ladders.0.is_empty() {
                options.notes.push(format!(
                    "no history of {}: this run is the pilot, without automatic limits",
                    printable(&category)
                ));
            }
            let source = format!("--limits auto: {runs} runs of {}", printable(&category));
            options.limits.extend(ladders.0.iter().filter_map(|one| {
                let value = one.request()?;
                Some(AskedLimit {
                    limit: Limit {
                        resource: one.resource,
                        value,
                    },
                    source: source.clone(),
                })
            }));
            options.limits.sort_by_key(|one| one.limit.resource);
            ladders
        }
        Err(error) => {
            options.notes.push(format!(
                "no automatic limits, the history cannot be read: {}",
                chain(&error)
            ));
            Ladders::default()
        }
    }
}

/// As the report names it.
fn category(options: &RunOptions) -> String {
    let given = options.category.clone();
    given.unwrap_or_else(|| {
        let words = options.command.iter();
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        category_of_command(&words, super::surroundings::gather().image.as_deref())
    })
}

/// How many runs there are, and what they say of all that is not limited by hand.
fn advice(options: &RunOptions, category: &str) -> Result<(u64, Ladders)> {
    let asked = options.archive.as_ref().context("--archive")?;
    let archive = place::of_folder(asked.open()?, &|_| true)?;
    let mut terms = Terms::default();
    for (resource, settings) in [
        (Resource::Memory, &mut terms.memory),
        (Resource::Footprint, &mut terms.disk),
        (Resource::Wall, &mut terms.wall),
    ] {
        settings.max = last_of(&options.limits_max, resource);
    }
    let filter = Filter {
        category: Some(category.to_owned()),
        ..Filter::default()
    };
    let known = history::of(&archive, &filter, &terms, &|_| true)?;
    let host = host::facts(&Root::default()).host;
    let cpus = Some(host.cpus).filter(|cpus| *cpus > 0);
    let question = Question {
        input: input(options),
        host: host_class(host.cpu_model.as_deref(), cpus),
        request: None,
    };
    Ok((known.done, Ladders(of(&known.history, &question, options))))
}

fn of(history: &Category, question: &Question, options: &RunOptions) -> Vec<Advice> {
    let by_hand = |resource| {
        let mut limits = options.limits.iter();
        limits.any(|one| one.limit.resource == resource)
    };
    // Others write into the working directory too: disk space is the task's own in folders alone
    // that were named as such.
    let disk = (!options.measure_dirs.is_empty()).then(|| history.disk(question, None));
    [history.memory(question, None), history.wall(question)]
        .into_iter()
        .chain(disk)
        .filter(|one| one.request().is_some() && !by_hand(one.resource))
        .collect()
}

/// The size of the input as the report will tell it.
fn input(options: &RunOptions) -> Option<Bytes> {
    let size = |named: &crate::cmd::named::NamedPath| {
        let data = std::fs::metadata(&named.path).ok()?;
        data.is_file().then_some(data.len())
    };
    let named = &options.named_inputs;
    let sum = || named.iter().map(size).sum::<Option<u64>>().map(Bytes);
    options
        .inputs
        .or_else(|| (!named.is_empty()).then(sum).flatten())
}
