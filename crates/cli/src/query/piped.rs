//! An answer that goes to a pipe: its reader may stand still, and who asked may stop nevertheless.

use crate::interrupt::Interrupt;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::descriptor;

/// A pipe that takes more takes so much without a wait (`PIPE_BUF`).
const PIECE_BYTES: usize = 4096;

/// Whether somebody stopped it; copies are the same.
#[derive(Clone)]
pub(super) struct Stop(Arc<Mutex<State>>);

struct State {
    interrupt: Interrupt,
    stopped: Option<i32>,
}

impl State {
    fn look(&mut self) -> Option<i32> {
        self.stopped = self.stopped.or_else(|| self.interrupt.next());
        self.stopped
    }
}

impl Stop {
    pub(super) fn new(interrupt: Interrupt) -> Self {
        Self(Arc::new(Mutex::new(State {
            interrupt,
            stopped: None,
        })))
    }

    /// The signal that did.
    pub(super) fn by(&self) -> Option<i32> {
        self.state().look()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// stdout, where that is no terminal.
pub(super) struct Piped(pub(super) Stop);

impl Write for Piped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let out = rustix::stdio::stdout();
        let mut state = self.0.state();
        loop {
            if state.look().is_some() {
                return Err(io::Error::other("stopped by a signal"));
            }
            if descriptor::takes_more(out, state.interrupt.as_fd()).map_err(io::Error::other)? {
                let piece = bytes.get(..PIECE_BYTES).unwrap_or(bytes);
                return Ok(rustix::io::write(out, piece)?);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
