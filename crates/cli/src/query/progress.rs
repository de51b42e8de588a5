//! How far a question is, on one line of a terminal that goes away again.

use query::Progress;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A question that is answered sooner needs no line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Cells of the bar.
const BAR: u64 = 24;

/// To the front of the line, and nothing behind.
const ERASE: &str = "\r\x1b[K";

/// The line; copies are the same one.
#[derive(Clone)]
pub(crate) struct Line(Arc<Mutex<State>>);

struct State {
    began: Instant,
    shows: bool,
    is_there: bool,
}

impl Line {
    pub(crate) fn new(quiet: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            began: Instant::now(),
            shows: !quiet && std::io::stderr().is_terminal(),
            is_there: false,
        })))
    }

    pub(crate) fn show(&self, so_far: Progress) {
        let mut state = self.state();
        let took = state.began.elapsed();
        if state.shows && took >= PATIENCE {
            state.is_there = true;
            write(&format!("{ERASE}{}", text(so_far, took)));
        }
    }

    /// What is written next stands in its place, and it does not come again.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.shows = false;
        if std::mem::take(&mut state.is_there) {
            write(ERASE);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(so_far: Progress, took: Duration) -> String {
    let rows = so_far.rows as f64 / 1e6;
    let secs = took.as_secs();
    let Some(all) = so_far.rows_all.filter(|all| *all > 0) else {
        return format!("{rows:.1} M rows read, {secs} s");
    };
    let read = so_far.rows.min(all);
    let full = (read * BAR / all) as usize;
    let empty = BAR as usize - full;
    format!(
        "[{}{}] {rows:.1} of {:.1} M rows read, {secs} s",
        "=".repeat(full),
        " ".repeat(empty),
        all as f64 / 1e6,
    )
}

/// Who cannot see it misses nothing.
fn write(text: &str) {
    let mut out = std::io::stderr().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let so_far = Progress {
            rows: 5_000_000,
            rows_all: Some(10_000_000),
        };
        let line = text(so_far, Duration::from_millis(3900));
        let bar = "[============            ]";
        assert_eq!(line, format!("{bar} 5.0 of 10.0 M rows read, 3 s"));
        let none = text(Progress::default(), Duration::ZERO);
        assert_eq!(none, "0.0 M rows read, 0 s");
    }
}
