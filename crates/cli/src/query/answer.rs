//! One question, from the words to the answer's last row.

use super::progress::Line;
use crate::cmd::{STATUS_FAILURE, Status};
use crate::view::stderr;
use anyhow::{Context, Result};
use query::{Engine, Error, Format, Heed, Look, Options, Out, Report};
use record::quantity::show_bytes;
use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::path::Path;
use sys::signal::{self, Signals};

/// 128 + SIGINT.
const STATUS_INTERRUPTED: Status = 130;

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

pub(crate) struct Question<'a> {
    pub(crate) dataset: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) report: Option<&'static Report>,
    pub(crate) format: &'static Format,
    pub(crate) look: Look,
    pub(crate) output: Option<&'a Path>,
    pub(crate) quiet: bool,
    pub(crate) options: Options,
}

/// Asks, and writes the answer.
pub(crate) fn give(question: Question<'_>) -> Result<Status> {
    // Before there are other threads, which inherit it.
    let mask = signal::bit(SIGINT) | signal::bit(SIGTERM);
    signal::set_mask(mask);
    let signals = Signals::open(mask).context("signals")?;
    let memory = question.options.memory;
    let engine = match Engine::open(question.dataset, question.options) {
        Ok(engine) => engine,
        Err(error) => return Ok(refuse(&error, "")),
    };
    let out: Out = match question.output {
        None => Box::new(BufWriter::new(std::io::stdout())),
        Some(path) => {
            let file = File::create(path).with_context(|| path.display().to_string())?;
            Box::new(BufWriter::new(file))
        }
    };
    let mut writing = question.format.begin(out, question.look);
    let mut line = Line::new(question.quiet);
    let mut stopped = None;
    let answered = engine.ask(question.text, writing.as_mut(), &mut |so_far| {
        line.show(so_far);
        stopped = signals.next().map(|arrived| arrived.signal);
        match stopped {
            Some(_) => Heed::Stop,
            None => Heed::Go,
        }
    });
    line.clear();
    let text = match question.report {
        // Nobody wrote the text of a report but us.
        Some(_) => "",
        None => question.text,
    };
    match answered {
        Ok(rows) => {
            after(&engine, rows, question.report, question.quiet);
            Ok(0)
        }
        Err(Error::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        Err(Error::Interrupted) => Ok(stopped.map_or(STATUS_INTERRUPTED, |signal| {
            Status::try_from(128 + signal).unwrap_or(STATUS_INTERRUPTED)
        })),
        Err(error @ Error::Memory { .. }) => {
            let status = refuse(&error, text);
            stderr::line(&format!(
                "  --memory SIZE allows more than {}; a shorter time, or fewer groups, need less",
                show_bytes(memory.0)
            ));
            Ok(status)
        }
        Err(error) => Ok(refuse(&error, text)),
    }
}

/// What is to be known beside the rows.
fn after(engine: &Engine, rows: u64, report: Option<&Report>, quiet: bool) {
    let met = engine.met();
    let warn = |count: u64, words: &str| {
        if count > 0 {
            stderr::line(&format!("plimsoll query: warning: {count} {words}"));
        }
    };
    warn(
        met.damaged,
        "parts of live segments are damaged and were passed over: `plimsoll compact` keeps a copy",
    );
    warn(
        met.passed_over,
        "live segments are of a later version or have no beginning, and were passed over",
    );
    if quiet {
        return;
    }
    if rows == 0 {
        stderr::line("no rows");
    }
    for note in report.map_or(&[][..], |report| report.notes) {
        stderr::line(&format!("note: {note}"));
    }
}

/// Says why there is no answer.
fn refuse(error: &Error, text: &str) -> Status {
    crate::run::refuse(&anyhow::Error::msg(chain(error)));
    if let Error::Question { place, similar, .. } = error {
        if let Some(place) = place.as_ref().filter(|_| !text.is_empty()) {
            let several = text.lines().count() > 1;
            let number = if several {
                format!("  line {}:\n", place.line)
            } else {
                String::new()
            };
            stderr::line(&format!("{number}{place}"));
        }
        if !similar.is_empty() {
            stderr::line(&format!("  there is {}", similar.join(", ")));
        }
    }
    STATUS_FAILURE
}

/// An error with what caused it.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(of) = cause {
        text.push_str(&format!(": {of}"));
        cause = of.source();
    }
    text
}
