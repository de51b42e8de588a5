//! `api/attempt`: all that is known of one.

use super::Asked;
use crate::archive::one::{Found, look, several};
use crate::view::style::printable;
use anyhow::Result;
use record::report::Report;
use reduce::{request, why};
use serde_json::{Value, json};
use serve::Refusal;

pub(super) fn of(asked: &Asked<'_>, id: &str) -> Result<Value> {
    let stored = match look(asked.archive, id)? {
        Found::One(stored) => *stored,
        Found::Several => return Err(Refusal::Question(several(id)).into()),
        Found::None => {
            let words = format!("no attempt `{}`", printable(id));
            return Err(Refusal::NotFound(words).into());
        }
    };
    let mut attempt = stored.attempt;
    let mut report = stored.report;
    if let Some(veil) = &asked.view.veil {
        veil.hide(&mut attempt);
        // It tells of everything.
        report = None;
    }
    let read = report
        .as_deref()
        .map(serde_json::from_str::<Report>)
        .transpose();
    let (report, error) = match read {
        Ok(report) => (report, None),
        Err(error) => (None, Some(format!("its report is not understood: {error}"))),
    };
    let why = report.map(|report| why::answer(&report, request::target_of(&report)));
    Ok(json!({
        "schema": serve::SCHEMA,
        "attempt": attempt,
        "why": why,
        "report_error": error,
        // A report has peaks; what was read in between is a file of its own that no archive keeps.
        "series": null,
    }))
}
