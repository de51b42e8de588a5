//! Work that may take long: it says how far it is, and ends when it is asked to.

use crate::cmd::Status;
use crate::interrupt::{self, Interrupt};
use anyhow::{Error, Result};
use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// What is done sooner needs no line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two looks at the clock and at signals.
const PACE: Duration = Duration::from_millis(50);

/// To the front of the line, and nothing behind.
const ERASE: &str = "\r\x1b[K";

/// A line on a terminal that goes away again, and the signals.
pub(crate) struct Work {
    interrupt: RefCell<Interrupt>,
    began: Instant,
    looked: Cell<Instant>,
    shows: bool,
    is_there: Cell<bool>,
    stopped: Cell<Option<i32>>,
}

impl Work {
    pub(crate) fn begin(is_quiet: bool) -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            interrupt: RefCell::new(Interrupt::open()?),
            began: now,
            looked: Cell::new(now),
            shows: !is_quiet && std::io::stderr().is_terminal(),
            is_there: Cell::new(false),
            stopped: Cell::new(None),
        })
    }

    /// Says how far it is, now and then; whether to go on.
    pub(crate) fn heed(&self, words: &dyn Fn() -> String) -> bool {
        let now = Instant::now();
        if now.duration_since(self.looked.get()) < PACE {
            return self.stopped.get().is_none();
        }
        self.looked.set(now);
        let took = now.duration_since(self.began);
        if self.shows && took >= PATIENCE {
            self.is_there.set(true);
            write(&format!("{ERASE}{}, {} s", words(), took.as_secs()));
        }
        let arrived = self.interrupt.borrow_mut().next();
        self.stopped.set(self.stopped.get().or(arrived));
        self.stopped.get().is_none()
    }

    /// Whether somebody asked to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// Takes the line away: what is written next stands in its place.
    pub(crate) fn clear(&self) {
        if self.is_there.take() {
            write(ERASE);
        }
    }

    /// The status of what was ended by a signal; what else went wrong stays.
    pub(crate) fn end(self, done: Result<Status>) -> Result<Status> {
        self.clear();
        match (done, self.stopped.get()) {
            (Err(error), Some(signal)) if is_interrupted(&error) => Ok(interrupt::status(signal)),
            (done, _) => done,
        }
    }
}

/// Whether it was given up because `heed` said so.
pub(crate) fn is_interrupted(error: &Error) -> bool {
    let found = error.downcast_ref::<store::Error>();
    matches!(found, Some(store::Error::Interrupted))
}

/// Who cannot see it misses nothing.
fn write(text: &str) {
    let mut out = std::io::stderr().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
