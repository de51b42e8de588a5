//! One table of series on its way into a segment: encodes, splits what is large, and begins anew
//! where a reader could not go on.

use super::writer::{Instant, Writer};
use crate::disk::Disk;
use crate::error::Error;
use record::codec::series::{Encoder, Revision, Row};
use record::table::Table;

/// A frame of rows that is this large is written, and the rest of the pass goes into the next one.
const FRAME_BYTES: usize = 256 << 10;

/// A key frame comes at least every so many passes: damage costs no more than that.
const PASSES_MAX: u32 = 64;

/// Writes the rows of one table, pass by pass.
#[derive(Debug)]
pub struct Sheet {
    table: u8,
    encoder: Encoder,
    payload: Vec<u8>,
    rows: u32,
    when: Instant,
    chain: u32,
    link: u32,
    /// Passes since the last key frame.
    passes: u32,
    /// What comes next must be a key frame.
    key_due: bool,
    /// A frame of this pass was lost.
    failed: Option<Error>,
    refused: u64,
}

impl Sheet {
    /// Of a table of series.
    pub fn new(table: &Table) -> Self {
        Self {
            table: table.id,
            encoder: Encoder::new(table.columns.len()),
            payload: Vec::new(),
            rows: 0,
            when: Instant::default(),
            chain: 0,
            link: 0,
            passes: 0,
            key_due: true,
            failed: None,
            refused: 0,
        }
    }

    /// A pass begins; `is_new` says that its segment is ([`Writer::begin`]).
    pub fn begin(&mut self, when: Instant, is_new: bool) {
        self.key_due |= is_new || self.passes >= PASSES_MAX;
        self.when = when;
        self.passes += 1;
        self.start_frame();
    }

    /// Rows between two passes begin; they count as those of the next one.
    pub fn begin_more(&mut self, when: Instant) {
        self.when = when;
        self.start_frame();
    }

    /// They are over.
    ///
    /// # Errors
    /// As [`Sheet::end`].
    pub fn end_more<D: Disk>(
        &mut self,
        writer: &mut Writer<D>,
        span: record::unit::Nanos,
    ) -> Result<(), Error> {
        self.when.span = span;
        self.flush(writer);
        self.failed.take().map_or(Ok(()), Err)
    }

    fn start_frame(&mut self) {
        self.payload.clear();
        self.rows = 0;
        if self.key_due {
            self.chain = self.chain.wrapping_add(1);
            (self.link, self.passes) = (0, 0);
        }
        self.encoder.begin(self.key_due);
    }

    /// One row of the pass.
    pub fn row<D: Disk>(&mut self, writer: &mut Writer<D>, row: Row<'_>) {
        self.row_of(writer, None, row);
    }

    /// The same of a row that is made of `revision`.
    pub fn row_of<D: Disk>(
        &mut self,
        writer: &mut Writer<D>,
        revision: Option<Revision>,
        row: Row<'_>,
    ) {
        if self.encoder.row(&mut self.payload, row) {
            self.encoder.made_of(revision);
            self.count(writer);
        } else {
            self.refused += 1;
            writer.lose(1);
        }
    }

    /// The row of a series that is made of what its last one was made of; `false` if it is not.
    pub fn repeat<D: Disk>(
        &mut self,
        writer: &mut Writer<D>,
        revision: Option<Revision>,
        key: &[u8],
    ) -> bool {
        let repeats = |it| self.encoder.repeat(&mut self.payload, key, it);
        if !revision.is_some_and(repeats) {
            return false;
        }
        self.count(writer);
        true
    }

    fn count<D: Disk>(&mut self, writer: &mut Writer<D>) {
        self.rows += 1;
        if self.payload.len() >= FRAME_BYTES {
            self.flush(writer);
            self.start_frame();
        }
    }

    /// The pass is over: `span` is how long it took.
    ///
    /// # Errors
    /// Some of its rows could not be written; the next pass can be tried.
    pub fn end<D: Disk>(
        &mut self,
        writer: &mut Writer<D>,
        span: record::unit::Nanos,
    ) -> Result<(), Error> {
        self.when.span = span;
        self.flush(writer);
        self.encoder.end_pass();
        self.failed.take().map_or(Ok(()), Err)
    }

    fn flush<D: Disk>(&mut self, writer: &mut Writer<D>) {
        if self.payload.is_empty() {
            return;
        }
        let what = (self.table, self.key_due);
        let place = (self.chain, self.link);
        let written = writer.frame(what, place, self.when, (&self.payload, self.rows));
        // Whoever reads cannot go on behind a frame that is missing.
        self.key_due = written.is_err();
        self.link = self.link.wrapping_add(1);
        if let Err(error) = written {
            self.failed = Some(error);
        }
    }
}
