//! The last line of the text report: whether the run lies outside its category's history in the
//! archive that it was added to.
//!
//! Told to people alone and read when they see the report: a program asks `plimsoll archive check`.
//! What cannot be read costs the line, never the run.

use crate::view::rows::Row;
use crate::view::style::Style;
use record::report::{ExitType, Report};
use store::archive::folder::Folder;

/// The line; empty where there is nothing to judge.
pub(super) fn line(folder: &Folder, report: &Report, style: Style) -> String {
    let mut out = String::new();
    if report.exit.kind != ExitType::NotStarted
        && let Some(words) = words(folder, report)
    {
        Row::text("history", words).render(style, &mut out);
    }
    out
}

#[cfg(feature = "archive")]
fn words(folder: &Folder, report: &Report) -> Option<String> {
    use crate::archive::outside::{judge, sentences};
    use anyhow::Context;
    use record::unit::Nanos;

    /// The task is over and its caller waits: no longer than this.
    const PATIENCE: Nanos = Nanos::from_secs(5);

    let until = Nanos(sys::clock::boot()).plus(PATIENCE);
    let heed = |_| Nanos(sys::clock::boot()) < until;
    let attempt = store::attempt::of_report(report);
    let judged = crate::archive::place::of_folder(folder.clone(), &heed)
        .and_then(|archive| judge(&archive, &attempt, &heed).context("archive"));
    Some(match judged {
        Ok(lines) => sentences(&attempt.category, &lines).join("; "),
        Err(error) if crate::archive::work::is_interrupted(&error) => format!(
            "not read within {} s: `plimsoll archive check` judges the run",
            PATIENCE.0 / 1_000_000_000
        ),
        Err(error) => format!("cannot be read: {}", super::chain(&error)),
    })
}

/// Without the archive attempts are added, not read.
#[cfg(not(feature = "archive"))]
fn words(_: &Folder, _: &Report) -> Option<String> {
    None
}
