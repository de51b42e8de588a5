//! From a document that was read to attempts: a task as it ran, with what is specified of it.

use super::KB;
use super::document::{Document, Run, Task};
use crate::category::{category_of_command, program_of_command, without_number};
use crate::import::amount::{self, Bad};
use crate::import::instant;
use crate::import::intake::{Halt, Intake, Place, set};
use record::attempt::{Amount, Attempt, End, Known};
use record::value::Number;
use std::collections::{HashMap, HashSet};

impl Document {
    /// Hands on what was read; `without` is why a task is none that was not executed.
    pub(super) fn hand_on(
        &mut self,
        intake: &mut Intake<'_, '_>,
        without: &str,
    ) -> Result<(), Halt> {
        let mut by_key = std::mem::take(&mut self.specified);
        let ran = std::mem::take(&mut self.ran);
        let names = Names::of(&ran, self.is_early);
        for task in ran {
            let place = Place::Record(intake.met());
            let shown = task.key().cloned().unwrap_or_default();
            let specified = task.key().and_then(|key| by_key.remove(key));
            match self.attempt(task, specified, &names) {
                Ok((attempt, executed_at)) => {
                    let identity = intake
                        .identity()
                        .maybe(self.name.as_deref())
                        .maybe(self.created.as_deref().or(self.executed.as_deref()))
                        .maybe(attempt.task.as_deref())
                        .maybe(executed_at.as_deref());
                    intake.attempt(attempt, identity)?;
                }
                Err(why) => intake.reject(place, shown.as_bytes(), why)?,
            }
        }
        let mut left: Vec<_> = by_key.into_iter().collect();
        left.sort_by_key(|(_, task)| task.number);
        let left = left.iter().map(|(key, _)| (key, without));
        let broken = self.broken.iter().map(|(key, why)| (key, *why));
        for (key, why) in left.chain(broken) {
            let place = Place::Record(intake.met());
            intake.reject(place, key.as_bytes(), why)?;
        }
        Ok(())
    }

    /// A task as it ran, with what else is known of it; and when it did, as it was told.
    fn attempt(
        &self,
        ran: Task,
        specified: Option<Task>,
        names: &Names,
    ) -> Result<(Attempt, Option<String>), String> {
        let specified = specified.unwrap_or_default();
        if let Some(why) = ran.bad.or(specified.bad) {
            return Err(why.into());
        }
        let run = *ran.run.unwrap_or_default();
        let (name, id) = (ran.name.or(specified.name), ran.id.or(specified.id));
        let key = match self.is_early {
            true => name.clone().or_else(|| id.clone()),
            false => id.clone().or_else(|| name.clone()),
        };
        let key = key.ok_or("no id and no name")?;
        let began = run.executed_at.as_deref().map(|text| {
            instant::date(text, 0).map_err(|Bad(why)| format!("executedAt: `{text}` {why}"))
        });
        let mut attempt = Attempt {
            set: self.name.clone(),
            began: began.transpose()?,
            // WfFormat has no other tasks than those that were done.
            end: End::Done,
            ..Attempt::default()
        };
        self.amounts(&run, &mut attempt);
        let category = ran.category.or(specified.category);
        let named = name.as_ref().or(id.as_ref());
        let category = category.or_else(|| Some(without_number(named?).to_owned()));
        // Before 1.2 no program is told: it is called as the category.
        let has_words = run.program.is_some() || !run.arguments.is_empty();
        let program = run
            .program
            .or_else(|| category.clone())
            .filter(|_| has_words);
        attempt.command = program.into_iter().chain(run.arguments).collect();
        attempt.tool = program_of_command(&attempt.command);
        attempt.category = category.unwrap_or_else(|| category_of_command(&attempt.command, None));
        attempt.description = name.filter(|name| *name != attempt.category);
        let parents = ran.parents.into_iter().chain(specified.parents);
        attempt.parents = parents.map(|parent| names.key(parent)).collect();
        attempt.task = Some(key);
        attempt.input_size = ran.input_size.or_else(|| self.sum(&specified.inputs));
        if let Some(machine) = run.machine.filter(|machine| !machine.is_empty()) {
            attempt.host_class = self.machines.get(&machine).cloned().flatten();
            attempt.host = Some(machine);
        }
        Ok((attempt, run.executed_at))
    }

    fn amounts(&self, run: &Run, attempt: &mut Attempt) {
        let used = &mut attempt.used;
        let kb = if self.is_pegasus { 1 } else { KB };
        let bytes = |told: Option<u64>| told.and_then(|told| amount::whole(told, kb).ok());
        for (name, value) in [
            ("wall", run.runtime),
            ("rss", run.memory),
            ("read", run.read.or_else(|| bytes(run.read_kb))),
            ("written", run.written.or_else(|| bytes(run.written_kb))),
        ] {
            set(used, name, value);
        }
        if let Some(busy) = run.busy {
            let cpu = run
                .runtime
                .and_then(|wall| amount::scaled(busy, wall as f64).ok());
            set(used, "cpu", cpu);
            used.set("cores", real(busy));
        }
        if let Some(cores) = run.cores {
            attempt.requested.set("cores", real(cores));
        }
    }

    /// The size of the inputs; none if one has none.
    fn sum(&self, inputs: &[String]) -> Option<u64> {
        let mut sum: Option<u64> = None;
        for input in inputs {
            let size = self.sizes.get(input)?;
            sum = Some(sum.unwrap_or(0).saturating_add(*size));
        }
        sum
    }
}

fn real(value: f64) -> Amount {
    Amount::new(Number::Real(value), Known::Claimed)
}

/// In early versions tasks have names and ids, and parents are told by either.
#[derive(Debug, Default)]
struct Names {
    names: HashSet<String>,
    by_id: HashMap<String, String>,
}

impl Names {
    fn of(tasks: &[Task], is_early: bool) -> Self {
        let mut all = Self::default();
        for task in tasks.iter().filter(|_| is_early) {
            all.names.extend(task.name.clone());
            if let (Some(id), Some(name)) = (&task.id, &task.name) {
                all.by_id.insert(id.clone(), name.clone());
            }
        }
        all
    }

    fn key(&self, parent: String) -> String {
        match self.names.contains(&parent) {
            true => parent,
            false => self.by_id.get(&parent).cloned().unwrap_or(parent),
        }
    }
}
