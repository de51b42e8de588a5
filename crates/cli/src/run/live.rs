//! The status line of `--live` in the bottom row of the terminal, and when it must not be there.
//!
//! The task writes to the same terminal, and the terminal is the task's: the row is ours only while
//! we are in the foreground and nobody reads keys or a password. Nothing here waits for the
//! terminal but the last word.

use crate::view::bottom_row::{BottomRow, ROWS_MIN, Size};
use record::unit::Nanos;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use sys::terminal::{self, Modes};
use terminal_size::{Height, Width};

/// The terminal got another size.
pub(crate) const SIGWINCH: i32 = 28;

/// The line is redrawn this often. The row must have been free for as long before it is taken: a
/// full-screen program that is the command itself has begun by then.
const DRAW_PERIOD: Nanos = Nanos::from_millis(500);
/// While the row is ours we look this often whether it may stay so: the kernel tells nobody that a
/// program changed the terminal's modes.
const LOOK_PERIOD: Nanos = Nanos::from_millis(50);

/// The status line, and the terminal that it stands in.
#[derive(Debug)]
pub(crate) struct Live {
    /// For writing only, without waiting.
    terminal: File,
    row: BottomRow,
    /// What of a string the terminal did not take; without it the rest makes no sense.
    unsent: Vec<u8>,
    was_free: bool,
    next_look: Nanos,
    next_draw: Nanos,
}

impl Live {
    /// None where stderr is not our terminal, or not one that can do it.
    pub(crate) fn open() -> Option<Self> {
        let term = std::env::var_os("TERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" || !std::io::stderr().is_terminal() {
            return None;
        }
        Some(Self {
            // Without a controlling terminal nobody tells whose turn it is.
            terminal: terminal::open_without_waiting().ok()?,
            row: BottomRow::default(),
            unsent: Vec::new(),
            was_free: false,
            next_look: Nanos(0),
            next_draw: Nanos(0),
        })
    }

    /// When to look next.
    pub(crate) const fn next(&self) -> Nanos {
        self.next_look
    }

    /// The terminal may have another size: to be looked at now, before the task writes on over what
    /// stood in the row.
    pub(crate) const fn resized(&mut self) {
        self.next_look = Nanos(0);
    }

    /// Whether the bottom row is ours.
    pub(crate) const fn has_row(&self) -> bool {
        matches!(self.row, BottomRow::Ours(_))
    }

    /// Draws the line if it is time and the row is free, gives the row back if it is not; `text`
    /// makes the line for so many columns, `stopped`: the task is.
    pub(crate) fn look(&mut self, now: Nanos, stopped: bool, text: impl FnOnce(usize) -> String) {
        if now < self.next_look {
            return;
        }
        let seen = Seen::now();
        match seen.and_then(Seen::free).filter(|_| !stopped) {
            Some(size) => {
                let due = now >= self.next_draw || self.row != BottomRow::Ours(size);
                if due && (self.was_free || self.has_row()) {
                    let mut row = self.row;
                    let bytes = row.show(size, &text(usize::from(size.columns)));
                    if self.send(&bytes) {
                        (self.row, self.next_draw) = (row, now.plus(DRAW_PERIOD));
                    }
                }
                self.was_free = true;
            }
            None => self.release(seen),
        }
        let period = if self.has_row() {
            LOOK_PERIOD
        } else {
            DRAW_PERIOD
        };
        self.next_look = now.plus(period);
    }

    /// The task was stopped or is over: whoever has the terminal next finds all of it.
    pub(crate) fn pause(&mut self) {
        self.release(Seen::now());
    }

    /// Gives back for ever what is still ours, and waits for the terminal to hear it.
    pub(crate) fn end(&mut self) {
        let mut row = self.row;
        let bytes = released(&mut row, Seen::now());
        self.row = row;
        let mut last = std::mem::take(&mut self.unsent);
        last.extend(bytes.as_bytes());
        // A terminal that went away has no rows.
        drop(std::io::stderr().write_all(&last));
    }

    fn release(&mut self, seen: Option<Seen>) {
        self.was_free = false;
        let mut row = self.row;
        let bytes = released(&mut row, seen);
        // One that is busy now is tried again at the next look.
        if self.send(&bytes) {
            self.row = row;
        }
    }

    /// Whether `bytes` are on their way.
    fn send(&mut self, bytes: &str) -> bool {
        if !self.unsent.is_empty() {
            let sent = self.terminal.write(&self.unsent).unwrap_or(0);
            self.unsent.drain(..sent);
        }
        if !self.unsent.is_empty() {
            return false;
        }
        let Ok(sent) = self.terminal.write(bytes.as_bytes()) else {
            return false;
        };
        self.unsent.extend(bytes.as_bytes().iter().skip(sent));
        true
    }
}

/// Gives the bottom row of the terminal back in the place of a monitor that died with it.
pub(crate) fn give_back_for_another() {
    if let Some(seen) = Seen::now() {
        let bytes = released(&mut BottomRow::Ours(seen.size), Some(seen));
        // A terminal that went away has no rows.
        drop(std::io::stderr().write_all(bytes.as_bytes()));
    }
}

/// The terminal at one instant.
#[derive(Debug, Clone, Copy)]
struct Seen {
    size: Size,
    modes: Modes,
    foreground: bool,
}

impl Seen {
    /// None if stderr is no terminal, or one that does not tell its size.
    fn now() -> Option<Self> {
        let stderr = std::io::stderr();
        let (Width(columns), Height(rows)) = terminal_size::terminal_size_of(&stderr)?;
        Some(Self {
            size: Size { rows, columns },
            modes: terminal::modes(stderr.as_fd()).ok()?,
            foreground: terminal::in_foreground(stderr.as_fd()),
        })
    }

    /// Its size if we may draw.
    fn free(self) -> Option<Size> {
        let free = self.foreground && self.modes.lines && self.modes.echo;
        (free && self.size.rows >= ROWS_MIN).then_some(self.size)
    }
}

/// What gives the row back in a terminal that was just seen.
fn released(row: &mut BottomRow, seen: Option<Seen>) -> String {
    let Some(seen) = seen else {
        return String::new();
    };
    // Editors take even Ctrl-C as a key. They scroll the whole screen and draw in its bottom row;
    // what asks or shows pages rather counts on an empty one.
    let draws_itself = !seen.modes.lines && !seen.modes.signals;
    match row {
        _ if draws_itself => row.leave(),
        BottomRow::Ours(_) if !seen.modes.lines => row.lend(seen.size),
        BottomRow::Ours(_) => row.give_back(seen.size),
        BottomRow::Left if seen.free().is_some() => row.give_back(seen.size),
        BottomRow::Left | BottomRow::Free => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        rows: 24,
        columns: 80,
    };
    const LINES: Modes = Modes {
        lines: true,
        echo: true,
        signals: true,
    };

    fn seen(modes: Modes) -> Seen {
        Seen {
            size: SIZE,
            modes,
            foreground: true,
        }
    }

    #[test]
    fn the_row_is_free_where_the_task_reads_lines_in_the_foreground() {
        assert_eq!(seen(LINES).free(), Some(SIZE));
        let (lines, echo) = (false, false);
        assert_eq!(seen(Modes { lines, ..LINES }).free(), None);
        assert_eq!(seen(Modes { echo, ..LINES }).free(), None);
        let background = Seen {
            foreground: false,
            ..seen(LINES)
        };
        assert_eq!(background.free(), None);
        let low = Seen {
            size: Size { rows: 3, ..SIZE },
            ..seen(LINES)
        };
        assert_eq!(low.free(), None);
    }

    /// The bottom row of an editor is not erased, that of everything else is.
    #[test]
    fn an_editors_row_is_left_as_it_is() {
        let keys = Modes {
            lines: false,
            echo: false,
            ..LINES
        };
        let editor = Modes {
            signals: false,
            ..keys
        };
        let mut row = BottomRow::Ours(SIZE);
        assert_eq!(
            released(&mut row, Some(seen(editor))),
            BottomRow::Ours(SIZE).leave()
        );
        assert_eq!(row, BottomRow::Left);
        assert_eq!(released(&mut row, Some(seen(keys))), "");
        assert_eq!(
            released(&mut row, Some(seen(LINES))),
            BottomRow::Left.give_back(SIZE)
        );
        let mut row = BottomRow::Ours(SIZE);
        assert_eq!(
            released(&mut row, Some(seen(keys))),
            BottomRow::Ours(SIZE).give_back(SIZE)
        );
        assert_eq!(row, BottomRow::Left);
        let password = Modes {
            echo: false,
            ..LINES
        };
        let mut row = BottomRow::Ours(SIZE);
        released(&mut row, Some(seen(password)));
        assert_eq!(row, BottomRow::Free);
    }
}
