//! Reports of ours as attempts.

use anyhow::{Context, Result, bail};
use record::report::{ExitType, Report, SCHEMA};
use std::io::{BufRead, Read};
use store::archive::folder::Stored;
use store::attempt::of_report;

/// A longer report is none.
const REPORT_BYTES_MAX: u64 = 64 << 20;

/// What is in a text.
#[derive(Debug)]
pub(crate) enum Found {
    /// A report of a task that has ended.
    Report(Box<Stored>),
    /// Something else: the line that it begins on, and why.
    None {
        /// From 1 on.
        line: u64,
        /// In words.
        why: String,
    },
}

/// Gives what is in a text: one report, or one a line.
pub(crate) fn each(
    mut input: impl BufRead,
    give: &mut dyn FnMut(Found) -> Result<()>,
) -> Result<()> {
    let mut number = 0;
    let mut was_there = false;
    let mut text = Vec::new();
    loop {
        text.clear();
        number += 1;
        if line(&mut input, &mut text)? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        // One that is written over many lines.
        if !was_there && serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err() {
            let left = REPORT_BYTES_MAX.saturating_sub(text.len() as u64);
            let mut rest = Vec::new();
            (&mut input).take(left + 1).read_to_end(&mut rest)?;
            if rest.len() as u64 > left {
                bail!("longer than {} MiB: no report is", REPORT_BYTES_MAX >> 20);
            }
            let whole = [&text[..], &rest].concat();
            // A file of lines whose first is broken has reports in the others.
            if serde_json::from_slice::<serde::de::IgnoredAny>(&whole).is_ok() {
                return give(of(&whole, number));
            }
            give(of(&text, number))?;
            was_there = true;
            for text in rest.split(|byte| *byte == b'\n') {
                number += 1;
                if !text.trim_ascii().is_empty() {
                    give(of(text, number))?;
                }
            }
            continue;
        }
        was_there = true;
        give(of(&text, number))?;
    }
    match was_there {
        true => Ok(()),
        false => bail!("it is empty"),
    }
}

fn line(input: &mut impl BufRead, text: &mut Vec<u8>) -> Result<usize> {
    let read = input.take(REPORT_BYTES_MAX + 1).read_until(b'\n', text)?;
    if read as u64 > REPORT_BYTES_MAX {
        bail!(
            "a line is longer than {} MiB: no report is",
            REPORT_BYTES_MAX >> 20
        );
    }
    Ok(read)
}

fn of(text: &[u8], line: u64) -> Found {
    match stored(text) {
        Ok(stored) => Found::Report(Box::new(stored)),
        Err(error) => Found::None {
            line,
            why: crate::run::chain(&error),
        },
    }
}

fn stored(text: &[u8]) -> Result<Stored> {
    let report: Report = serde_json::from_slice(text).with_context(|| format!("no {SCHEMA}"))?;
    if report.schema != SCHEMA {
        bail!("it is {}, not {SCHEMA}", report.schema);
    }
    if report.exit.kind == ExitType::Running {
        bail!("its task had not ended");
    }
    let text = std::str::from_utf8(text.trim_ascii()).context("no text")?;
    Ok(Stored::new(of_report(&report), Some(text.to_owned())))
}
