//! What is submitted by HTTP goes the way of `plimsoll archive add -`, and is acknowledged when it
//! is on the device.

use crate::run::chain;
use serve::Refusal;
use serve::http::{Receipt, Submissions};
use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use store::archive::{Archive, Intake, Texts};
use store::attempt::FORMAT_NAME;
use store::import::{Options, Row, format, read};
use store::{Error, import};

/// So many rejected records are named.
const NAMED_MAX: usize = 20;

/// An archive that takes in what is submitted, one submission after the other.
pub(crate) struct Taker(Mutex<Archive>);

impl Taker {
    pub(crate) const fn new(archive: Archive) -> Self {
        Self(Mutex::new(archive))
    }
}

impl Submissions for Taker {
    fn take(
        &self,
        body: &mut dyn BufRead,
        who: &str,
        set: Option<String>,
    ) -> Result<Receipt, Refusal> {
        let Some(format) = format(FORMAT_NAME) else {
            return Err(Refusal::Archive(format!("no format {FORMAT_NAME}")));
        };
        let options = Options {
            file: Some(format!("submitted by {who}")),
            set,
            ..Options::default()
        };
        // A thread that failed in between left an archive that is whole: each file is.
        let mut archive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        archive.refresh(now, &|_| true).map_err(refusal)?;
        let mut intake = archive.intake();
        let mut receipt = Receipt::default();
        let mut failed = None;
        let summary = read(format, body, &options, &mut |row| match row_in(
            row,
            &mut intake,
            &mut receipt,
        ) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
        let summary = match failed {
            Some(error) => Err(error),
            None => summary,
        }
        .map_err(refusal)?;
        let taken = intake.end(now).map_err(refusal)?;
        Ok(Receipt {
            records: summary.records,
            rejected: summary.rejected,
            new: taken.new,
            known: taken.known,
            ..receipt
        })
    }
}

fn row_in(row: Row, intake: &mut Intake<'_>, receipt: &mut Receipt) -> Result<(), Error> {
    match row {
        Row::Attempt(attempt, report) => {
            let id = attempt.id.clone();
            let texts = Texts {
                report,
                ..Texts::default()
            };
            intake.take(*attempt, texts)?;
            receipt.ids.push(id);
        }
        Row::Rejected(import::Rejected { place, why, .. }) => {
            if receipt.why.len() < NAMED_MAX {
                receipt.why.push(format!("{place}: {why}"));
            }
        }
    }
    Ok(())
}

/// Whose fault it is: what cannot be read is the body.
fn refusal(error: Error) -> Refusal {
    let is_body = matches!(
        error,
        Error::Import { .. } | Error::Unpacked { .. } | Error::Id { .. }
    );
    let words = chain(&error.into());
    match is_body {
        true => Refusal::Question(words),
        false => Refusal::Archive(words),
    }
}
