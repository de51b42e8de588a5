//! Attempts one by one, and in the formats of others.

use anyhow::{Context, Result};
use record::attempt::Attempt;
use std::io::Write;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Filter, column_names, words};

/// A format of many attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object a line.
    Jsonl,
    /// One JSON array.
    Json,
    /// Comma separated, RFC 4180.
    Csv,
}

/// Gives the attempts that are wanted, whole.
pub(crate) fn each(
    archive: &Archive,
    filter: &Filter,
    heed: &dyn Fn(u64) -> bool,
    each: &mut dyn FnMut(Attempt) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    let names = column_names();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut done = 0;
    archive.scan(&columns, filter, &mut |batch, rows| {
        for row in rows {
            done += 1;
            if !heed(done) {
                return Err(Error::Interrupted);
            }
            if each(batch.attempt(*row))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Writes attempts, each as it comes.
pub(crate) struct Writing<'a> {
    out: &'a mut dyn Write,
    form: Form,
    written: u64,
}

impl<'a> Writing<'a> {
    pub(crate) fn begin(out: &'a mut dyn Write, form: Form) -> Result<Self> {
        match form {
            Form::Csv => line(out, &column_names())?,
            Form::Json => out.write_all(b"[")?,
            Form::Jsonl => {}
        }
        Ok(Self {
            out,
            form,
            written: 0,
        })
    }

    pub(crate) fn push(&mut self, attempt: &Attempt) -> Result<()> {
        match self.form {
            Form::Csv => line(self.out, &words(attempt))?,
            Form::Jsonl => {
                serde_json::to_writer(&mut *self.out, attempt).context("an attempt")?;
                self.out.write_all(b"\n")?;
            }
            Form::Json => {
                let before: &[u8] = if self.written > 0 { b",\n " } else { b"" };
                self.out.write_all(before)?;
                serde_json::to_writer(&mut *self.out, attempt).context("an attempt")?;
            }
        }
        self.written += 1;
        Ok(())
    }

    pub(crate) fn end(self) -> Result<()> {
        if self.form == Form::Json {
            self.out.write_all(b"]\n")?;
        }
        Ok(())
    }
}

/// Writes some attempts.
pub(crate) fn write(
    out: &mut dyn Write,
    form: Form,
    attempts: impl Iterator<Item = Attempt>,
) -> Result<()> {
    let mut writing = Writing::begin(out, form)?;
    for attempt in attempts {
        writing.push(&attempt)?;
    }
    writing.end()
}

fn line(out: &mut dyn Write, words: &[String]) -> std::io::Result<()> {
    let quoted = words
        .iter()
        .map(|word| match word.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", word.replace('"', "\"\"")),
            false => word.clone(),
        });
    let text = quoted.collect::<Vec<_>>().join(",");
    out.write_all(text.as_bytes())?;
    out.write_all(b"\r\n")
}
