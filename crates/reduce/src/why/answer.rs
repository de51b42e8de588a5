//! The whole answer for programs: whose end it is, why, and what to paste.

use super::judge;
use super::verdict::{SCHEMA, Why};
use crate::request::{Paste, Target, pastes};
use record::report::{Job, Report};
use serde::Serialize;

/// What `plimsoll why` tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Always [`SCHEMA`] when written by this version.
    pub schema: &'static str,
    /// Which task.
    pub task: Whose,
    /// Why it ended as it did.
    #[serde(flatten)]
    pub why: Why,
    /// Lines to paste; none where nothing is to be asked for.
    pub paste: Vec<Paste>,
}

/// Which task it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Whose {
    /// Its unique name.
    pub id: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The scheduler's names for it.
    pub job: Job,
}

/// The answer for this report, its requests written for `target`.
pub fn answer(report: &Report, target: &Target) -> Answer {
    let why = judge(report);
    let task = &report.task;
    Answer {
        schema: SCHEMA,
        task: Whose {
            id: task.id.clone(),
            command: task.command.clone(),
            attempt: task.attempt,
            job: task.job.clone(),
        },
        paste: pastes(report, &why, target),
        why,
    }
}
