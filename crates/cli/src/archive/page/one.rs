//! `api/attempt`: all that is known of one.

use super::Asked;
use crate::archive::one::{Found, look, several};
use crate::view::style::printable;
use anyhow::Result;
use record::report::Report;
use reduce::series::Instant;
use reduce::{request, why};
use serde_json::{Value, json};
use serve::Refusal;
use store::export::series;

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
    let series = stored.series.as_deref().and_then(over_time);
    let why = report.map(|report| why::answer(&report, request::target_of(&report)));
    Ok(json!({
        "schema": serve::SCHEMA,
        "attempt": attempt,
        "why": why,
        "report_error": error,
        "series": series,
    }))
}

/// What it used over time; none of another's making that is no series.
fn over_time(text: &str) -> Option<Value> {
    let series = series::read(text).ok()?;
    let instants = series.instants();
    let at: Vec<f64> = instants.iter().map(|one| one.at.0 as f64 / 1e9).collect();
    let value_of = |instant: &Instant, place: usize| {
        let row = instant.rows.first();
        row.and_then(|row| row.values.get(place).copied().flatten())
    };
    let columns = series.columns().iter().enumerate();
    let columns = columns.filter_map(|(place, column)| {
        let values: Vec<_> = instants.iter().map(|one| value_of(one, place)).collect();
        let is_used = values.iter().flatten().any(|value| *value > 0.0);
        is_used.then(|| json!({"name": column.name, "unit": column.unit, "values": values}))
    });
    let columns: Vec<Value> = columns.collect();
    (!columns.is_empty()).then(|| json!({"at": at, "columns": columns}))
}
