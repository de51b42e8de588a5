//! One question, from the words to the answer's last row.

use super::piped::{Piped, Stop};
use super::progress::Line;
use crate::cmd::{STATUS_FAILURE, Status};
use crate::interrupt::{self, Interrupt};
use crate::view::stderr;
use anyhow::Result;
use query::{Engine, Error, Format, Heed, Look, Options, Out, Params, Progress, Report};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;
use store::whole_file::WholeFile;

/// Where memory is short the engine may have as many files open.
const FILES_MAX: u64 = 1 << 16;

/// 128 + SIGINT.
const STATUS_INTERRUPTED: Status = 130;

pub(crate) struct Question<'a> {
    pub(crate) dataset: &'a Path,
    pub(crate) asks: Asks<'a>,
    pub(crate) format: &'static Format,
    pub(crate) look: Look,
    pub(crate) output: Option<&'a Path>,
    pub(crate) quiet: bool,
    pub(crate) options: Options,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) enum Asks<'a> {
    /// In SQL.
    Text(&'a str),
    /// A report, of a part of the dataset.
    Report(&'static Report, &'a Params),
}

/// Asks, and writes the answer.
pub(crate) fn give(question: Question<'_>) -> Result<Status> {
    let interrupt = Interrupt::open()?;
    let engine = match open(question.dataset, question.options) {
        Ok(engine) => engine,
        Err(error) => return Ok(refuse(error, "")),
    };
    let (line, stop) = (Line::new(question.quiet), Stop::new(interrupt));
    let (whole, out): (_, Out) = match question.output.map(WholeFile::create).transpose()? {
        Some((whole, file)) => (Some(whole), Box::new(BufWriter::new(file))),
        None if io::stdout().is_terminal() => {
            (None, Box::new(BufWriter::new(Screen(line.clone()))))
        }
        None => (None, Box::new(BufWriter::new(Piped(stop.clone())))),
    };
    let mut writing = question.format.begin(out, question.look);
    let mut heeding = Heeding { stop, line };
    let heed = &mut |so_far| heeding.heed(so_far);
    // Nobody wrote the text of a report but us.
    let (answered, text, report) = match question.asks {
        Asks::Text(text) => (engine.ask(text, writing.as_mut(), heed), text, None),
        Asks::Report(report, params) => {
            let answered = engine.report(report, params, writing.as_mut(), heed);
            (answered, "", Some(report))
        }
    };
    match heeding.end(answered, text) {
        Heard::Answer(rows) => {
            whole.map(|whole| whole.keep(true)).transpose()?;
            after(&engine, rows, report, question.quiet);
            Ok(0)
        }
        Heard::Status(status) => Ok(status),
    }
}

/// Opens a dataset, with the means that its engine may need.
pub(crate) fn open(dataset: &Path, options: Options) -> Result<Engine, Error> {
    sys::rlimit::raise_open_files(FILES_MAX);
    Engine::open(dataset, options)
}

/// An answer, or the status to end with: what is wrong was said.
pub(crate) enum Heard<T> {
    Answer(T),
    Status(Status),
}

/// Asks a dataset several questions of ours.
pub(crate) fn with<T>(
    dataset: &Path,
    options: Options,
    ask: impl FnOnce(&Engine, &mut dyn FnMut(Progress) -> Heed) -> Result<T, Error>,
) -> Result<Heard<T>> {
    let interrupt = Interrupt::open()?;
    let engine = match open(dataset, options) {
        Ok(engine) => engine,
        Err(error) => return Ok(Heard::Status(refuse(error, ""))),
    };
    let mut heeding = Heeding {
        stop: Stop::new(interrupt),
        line: Line::new(false),
    };
    let answered = ask(&engine, &mut |so_far| heeding.heed(so_far));
    let heard = heeding.end(answered, "");
    if matches!(heard, Heard::Answer(_)) {
        after(&engine, 1, None, false);
    }
    Ok(heard)
}

/// stdout; the line on how far it is has to go first.
struct Screen(Line);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.end();
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// What is done while a question is answered.
struct Heeding {
    stop: Stop,
    line: Line,
}

impl Heeding {
    fn heed(&mut self, so_far: Progress) -> Heed {
        self.line.show(so_far);
        match self.stop.by() {
            Some(_) => Heed::Stop,
            None => Heed::Go,
        }
    }

    /// What came of it; what is wrong is said. `text` is the question, if somebody wrote it.
    fn end<T>(self, answered: Result<T, Error>, text: &str) -> Heard<T> {
        self.line.end();
        let stopped = self.stop.by().map(interrupt::status);
        Heard::Status(match answered {
            Ok(answer) => return Heard::Answer(answer),
            Err(Error::Interrupted) => stopped.unwrap_or(STATUS_INTERRUPTED),
            // Who was reading has enough.
            Err(Error::Write(error)) if error.kind() == ErrorKind::BrokenPipe => 0,
            Err(Error::Write(error)) if error.kind() == ErrorKind::Other => {
                stopped.unwrap_or_else(|| refuse(Error::Write(error), text))
            }
            Err(error) => refuse(error, text),
        })
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

/// Says why there is no answer, and where; `text` is the question, if somebody wrote it.
fn refuse(error: Error, text: &str) -> Status {
    let mut hints = Vec::new();
    if let Error::Question { place, similar, .. } = &error {
        if let Some(place) = place.as_ref().filter(|_| !text.is_empty()) {
            if text.lines().count() > 1 {
                hints.push(format!("  line {}:", place.line));
            }
            hints.push(place.to_string());
        }
        if !similar.is_empty() {
            hints.push(format!("  there is {}", similar.join(", ")));
        }
    }
    let hint = match error {
        Error::Memory { .. } => {
            Some("  --memory SIZE allows more; a shorter time or fewer groups need less")
        }
        Error::Full => {
            Some("  --temporary DIR is another folder, and --memory SIZE needs less of it")
        }
        _ => None,
    };
    hints.extend(hint.map(str::to_owned));
    crate::run::refuse(&error.into());
    hints.iter().for_each(|hint| stderr::line(hint));
    STATUS_FAILURE
}
