//! How far a question is, on one line of a terminal that goes away again.

use query::Progress;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A question that is answered sooner needs no line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Cells of the bar.
const BAR: u64 = 24;

/// To the front of the line, and nothing behind.
const ERASE: &str = "\r\x1b[K";

pub(super) struct Line {
    began: Instant,
    shows: bool,
    is_there: bool,
}

impl Line {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            began: Instant::now(),
            shows: !quiet && std::io::stderr().is_terminal(),
            is_there: false,
        }
    }

    pub(super) fn show(&mut self, so_far: Progress) {
        let took = self.began.elapsed();
        if self.shows && took >= PATIENCE {
            self.is_there = true;
            write(&format!("{ERASE}{}", text(so_far, took)));
        }
    }

    /// What is written next stands in its place.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_there) {
            write(ERASE);
        }
    }
}

fn text(so_far: Progress, took: Duration) -> String {
    let all = so_far.files_all.max(1);
    let full = (so_far.files.min(all) * BAR / all) as usize;
    let empty = BAR as usize - full;
    format!(
        "[{}{}] {} of {} files, {:.1} M rows, {} s",
        "=".repeat(full),
        " ".repeat(empty),
        so_far.files,
        so_far.files_all,
        so_far.rows as f64 / 1e6,
        took.as_secs()
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
            rows: 12_345_678,
            files: 5,
            files_all: 10,
        };
        let line = text(so_far, Duration::from_millis(3900));
        let bar = "[============            ]";
        assert_eq!(line, format!("{bar} 5 of 10 files, 12.3 M rows, 3 s"));
        let none = text(Progress::default(), Duration::ZERO);
        assert!(none.starts_with("[                        ] 0 of 0"));
    }
}
