//! Everything that the machine tells of itself as a whole, read again and again.
//!
//! Cost: `cargo run -p plimsoll-source --release --example ambient_cost`.

use super::SOURCES;
use super::fields::{Field, Scale, gauge};
use super::kept::Opener;
use super::rows::Rows;
use super::source::{Reading, Source};
use crate::root::Root;
use record::unit::{Nanos, Unit};
use record::value::Absent;
use sys::burst;

/// Files that are kept open, at most.
const KEPT_MAX: usize = 192;

/// What comes and goes, and what was absent, is looked for again after so long.
const LOOK_AGAIN: Nanos = Nanos::from_secs(300);

/// What the readings tell of themselves.
pub const LEFT_OUT: Field = gauge(
    "rows beyond the bound, or too large",
    Scale::One,
    "node_left_out",
    Unit::Count,
    "rows of a source that were left out of this reading; no row where there are none",
);

/// Reads all sources.
pub struct Ambient {
    root: Root,
    readers: Vec<Reader>,
    rows: Rows,
    look_again: Nanos,
}

struct Reader {
    source: &'static Source,
    reading: Result<Box<dyn Reading>, Absent>,
    due: Nanos,
}

impl Ambient {
    /// Opens what is there below `root`.
    pub fn open(root: &Root) -> Self {
        Self::of(root, SOURCES)
    }

    /// Of some sources alone.
    pub fn of(root: &Root, sources: &'static [Source]) -> Self {
        let mut opener = Opener::new(root.clone(), KEPT_MAX);
        let readers = sources.iter().map(|source| Reader {
            source,
            reading: (source.open)(&mut opener),
            due: Nanos(0),
        });
        Self {
            readers: readers.collect(),
            root: root.clone(),
            rows: Rows::default(),
            look_again: Nanos(0),
        }
    }

    /// The sources that are not there, each with the reason.
    pub fn absent(&self) -> impl Iterator<Item = (&'static Source, Absent)> {
        let absent =
            |reader: &Reader| Some((reader.source, reader.reading.as_ref().err().copied()?));
        self.readers.iter().filter_map(absent)
    }

    /// What is due at `at` (`CLOCK_BOOTTIME`).
    pub fn read(&mut self, at: Nanos) -> &Rows {
        self.rows.clear();
        if self.look_again == Nanos(0) {
            self.look_again = at.plus(LOOK_AGAIN);
        } else if at >= self.look_again {
            self.look_again = at.plus(LOOK_AGAIN);
            self.reopen();
        }
        for reader in &mut self.readers {
            burst::rest();
            reader.read(at, &mut self.rows);
        }
        &self.rows
    }

    /// The rows of the last reading.
    pub const fn rows(&self) -> &Rows {
        &self.rows
    }

    fn reopen(&mut self) {
        // Those that stay open have their files; what is opened again gives its own back first.
        let mut opener = Opener::new(self.root.clone(), KEPT_MAX / 2);
        for reader in &mut self.readers {
            if reader.source.listed || reader.reading.is_err() {
                reader.reading = Err(Absent::Off);
                reader.reading = (reader.source.open)(&mut opener);
            }
        }
    }
}

impl Reader {
    fn read(&mut self, at: Nanos, rows: &mut Rows) {
        let Ok(reading) = &mut self.reading else {
            return;
        };
        if at < self.due {
            return;
        }
        // A reading is never late by so much, nor early: one of the same period is in time.
        let period = self.source.period.0;
        self.due = at.plus(Nanos(period - period / 20));
        rows.begin_source();
        if let Err(absent) = reading.read(rows) {
            self.reading = Err(absent);
        }
        let left_out = rows.left_out();
        if left_out > 0 {
            rows.begin_source();
            LEFT_OUT.put(rows, self.source.name.as_bytes(), left_out);
        }
    }
}
