//! Rows of cells on their way into a segment.

use super::Segments;
use record::table::Table;
use store::Error;
use store::segment::Instant;

/// A frame of rows that is this large is written.
const FRAME_BYTES: usize = 256 << 10;

/// Rows of one table that are not written yet.
pub(super) struct Cells {
    table: u8,
    payload: Vec<u8>,
    rows: u32,
}

impl Cells {
    pub(super) fn new(table: &Table) -> Self {
        Self {
            table: table.id,
            payload: Vec::new(),
            rows: 0,
        }
    }

    /// Appends what `put` writes, one row, unless `is_wanted` refuses its bytes.
    pub(super) fn push(
        &mut self,
        put: impl FnOnce(&mut Vec<u8>),
        is_wanted: impl FnOnce(&[u8]) -> bool,
    ) {
        let before = self.payload.len();
        put(&mut self.payload);
        if is_wanted(self.payload.get(before..).unwrap_or_default()) {
            self.rows += 1;
        } else {
            self.payload.truncate(before);
        }
    }

    #[cfg(test)]
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Whether there are as many as a frame should have.
    pub(super) fn is_full(&self) -> bool {
        self.payload.len() >= FRAME_BYTES
    }

    /// Writes them.
    ///
    /// # Errors
    /// They could not be written, and are counted as lost.
    pub(super) fn flush(&mut self, when: Instant, writer: &mut Segments) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        let what = (self.table, false);
        let written = writer.frame(what, (0, 0), when, (&self.payload, self.rows));
        self.rows = 0;
        self.payload.clear();
        if self.payload.capacity() > 2 * FRAME_BYTES {
            // After a command line of the longest kind.
            self.payload = Vec::new();
        }
        written
    }
}
