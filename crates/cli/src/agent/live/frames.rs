//! Rows on their way to one reader: frames as a segment has them.

use crate::live::wire::{MARK_TABLE, Mark, SHOWN_TABLE};
use record::codec::frame::{self, Header};
use record::codec::series::{Encoder, Revision, Row};
use record::table::Table;
use store::segment::{MAGIC, Origin};

/// A frame of rows that is this large is ended.
const FRAME_BYTES: usize = 256 << 10;
/// What a series takes beside its values, about.
const SERIES_BYTES: usize = 128;

/// The bytes for one reader.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// What is not sent yet.
    pub(super) bytes: Vec<u8>,
    stream: u32,
    seq: u64,
    /// When what comes next was read.
    pub(super) at_ns: u64,
    pub(super) real_offset_ns: i64,
    pub(super) span_ns: u32,
    is_part: bool,
}

impl Frames {
    /// Begins with who tells.
    pub(super) fn new(origin: &Origin) -> Self {
        let mut frames = Self {
            bytes: MAGIC.to_vec(),
            stream: origin.stream,
            ..Self::default()
        };
        let told = serde_json::to_vec(origin).unwrap_or_default();
        frames.put((0, false), (0, 0), &told);
        frames
    }

    fn put(&mut self, (table, is_key): (u8, bool), (chain, link): (u32, u32), payload: &[u8]) {
        let header = Header {
            table,
            is_key,
            stream: self.stream,
            seq: self.seq,
            at_ns: self.at_ns,
            real_offset_ns: self.real_offset_ns,
            span_ns: self.span_ns,
            chain,
            link,
            lost: 0,
        };
        self.seq += 1;
        frame::put(&mut self.bytes, &header, payload);
    }

    /// Of the processes behind this all is told, or what everybody may know.
    pub(super) fn show(&mut self, is_part: bool) {
        if self.is_part != is_part {
            self.is_part = is_part;
            self.put((SHOWN_TABLE, false), (0, 0), &[is_part.into()]);
        }
    }

    /// The reading is whole.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.put((MARK_TABLE, false), (0, 0), &mark.row());
    }
}

/// Rows of cells that have one time.
#[derive(Debug)]
pub(super) struct Cells {
    table: u8,
    at: (u64, i64),
    payload: Vec<u8>,
}

impl Cells {
    pub(super) const fn new() -> Self {
        Self {
            table: 0,
            at: (0, 0),
            payload: Vec::new(),
        }
    }

    /// What `put` appends is a row of this table and time.
    pub(super) fn row(
        &mut self,
        frames: &mut Frames,
        (table, at): (&Table, (u64, i64)),
        put: impl FnOnce(&mut Vec<u8>),
    ) {
        let is_other = (self.table, self.at) != (table.id, at);
        if is_other || self.payload.len() >= FRAME_BYTES {
            self.end(frames);
            (self.table, self.at) = (table.id, at);
        }
        put(&mut self.payload);
    }

    pub(super) fn end(&mut self, frames: &mut Frames) {
        if !self.payload.is_empty() {
            let reading = (frames.at_ns, frames.real_offset_ns);
            (frames.at_ns, frames.real_offset_ns) = self.at;
            frames.put((self.table, false), (0, 0), &self.payload);
            (frames.at_ns, frames.real_offset_ns) = reading;
            self.payload.clear();
        }
    }
}

/// One table of series.
#[derive(Debug)]
pub(super) struct Series {
    table: &'static Table,
    encoder: Encoder,
    payload: Vec<u8>,
    chain: u32,
    link: u32,
    is_key: bool,
}

impl Series {
    pub(super) fn new(table: &'static Table) -> Self {
        Self {
            table,
            encoder: Encoder::new(table.columns.len()),
            payload: Vec::new(),
            chain: 0,
            link: 0,
            is_key: true,
        }
    }

    /// What comes next needs nothing that came before.
    pub(super) fn forget(&mut self) {
        self.encoder = Encoder::new(self.table.columns.len());
        self.payload = Vec::new();
        self.is_key = true;
    }

    /// About how much is remembered.
    pub(super) fn bytes(&self) -> usize {
        self.encoder.series() * (self.table.columns.len() * 8 + SERIES_BYTES)
    }

    /// A frame begins, of the same reading or a new one.
    pub(super) fn begin(&mut self) {
        self.payload.clear();
        if self.is_key {
            self.chain = self.chain.wrapping_add(1);
            self.link = 0;
        }
        self.encoder.begin(self.is_key);
    }

    /// A row, made of `revision`.
    pub(super) fn row(&mut self, frames: &mut Frames, revision: Option<Revision>, row: Row<'_>) {
        let repeats = |it| self.encoder.repeat(&mut self.payload, row.key, it);
        if !revision.is_some_and(repeats) && self.encoder.row(&mut self.payload, row) {
            self.encoder.made_of(revision);
        }
        if self.payload.len() >= FRAME_BYTES {
            self.flush(frames);
            self.begin();
        }
    }

    /// The frame ends, if it has rows.
    pub(super) fn flush(&mut self, frames: &mut Frames) {
        if !self.payload.is_empty() {
            let place = (self.chain, self.link);
            frames.put((self.table.id, self.is_key), place, &self.payload);
            self.is_key = false;
            self.link = self.link.wrapping_add(1);
            self.payload.clear();
        }
    }

    /// All rows of a reading are there.
    pub(super) fn end(&mut self, frames: &mut Frames) {
        self.flush(frames);
        self.encoder.end_pass();
    }
}
