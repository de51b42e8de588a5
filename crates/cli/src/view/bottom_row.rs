//! The bottom row of a terminal, taken out of what scrolls (DECSTBM) while a task writes above it.
//!
//! Pure: from a state and a size to the bytes that bring the terminal there. Each string leaves the
//! cursor and its looks as the task had them, and is to be written at once. Only sequences that
//! xterm, VTE, tmux, screen and the Linux console know.

/// The least rows of a terminal that can spare one.
pub const ROWS_MIN: u16 = 4;

/// The cursor with its looks is saved (DECSC).
const SAVE: &str = "\x1b7";
/// It is where it was saved (DECRC).
const RESTORE: &str = "\x1b8";
/// A row below the cursor's, by scrolling if need be (IND), the cursor as before. Not "\n": that
/// goes to the first column.
const ROOM_BELOW: &str = "\x1bD\x1b[A";
/// The whole screen scrolls; the cursor is anywhere.
const WHOLE: &str = "\x1b[r";
/// No colours: what is erased takes the colour that is set.
const PLAIN: &str = "\x1b[m";
/// Erased from the cursor to the end of its row.
const ERASE: &str = "\x1b[K";
/// Erased behind the cursor, without colours: a task that wrote on into our row stands before the
/// rest of our text.
const ERASE_REST: &str = "\x1b[m\x1b[K";
/// Erased: all rows below the cursor's.
const ERASE_BELOW: &str = "\x1b[B\r\x1b[J";

/// A terminal's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Its rows.
    pub rows: u16,
    /// Its columns.
    pub columns: u16,
}

/// Whose the bottom row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BottomRow {
    /// The task's.
    #[default]
    Free,
    /// Ours, in a terminal of this size.
    Ours(Size),
    /// It scrolls with the rest again, and may still have our text.
    Left,
}

impl BottomRow {
    /// Shows `text`, which is at most as wide as the terminal, in the bottom row of one of this
    /// size.
    pub fn show(&mut self, size: Size, text: &str) -> String {
        // Erased first: behind a text as wide as the terminal the cursor is still on its last
        // character.
        let shown = format!("\x1b[{};1H{PLAIN}{ERASE}{text}{RESTORE}", size.rows);
        let taken = *self == BottomRow::Ours(size);
        let left = *self == BottomRow::Left;
        let moved = match *self {
            BottomRow::Ours(_) if !taken => self.give_back(size),
            _ => String::new(),
        };
        *self = BottomRow::Ours(size);
        if taken {
            return format!("{SAVE}{shown}");
        }
        let rest = if left { ERASE_REST } else { "" };
        // In this order the cursor is never in the row that we take.
        let region = format!("\x1b[1;{}r", size.rows.saturating_sub(1));
        format!("{moved}{ROOM_BELOW}{SAVE}{rest}{region}{shown}")
    }

    /// Gives the row back, empty, in a terminal that now has this size.
    pub fn give_back(&mut self, size: Size) -> String {
        let erased = format!("{PLAIN}\x1b[{};1H{ERASE}{RESTORE}", size.rows);
        match std::mem::take(self) {
            BottomRow::Free => String::new(),
            BottomRow::Ours(held) if held == size => format!("{SAVE}{WHOLE}{erased}"),
            // Where our text is now, terminals do not agree on; it is below the cursor.
            BottomRow::Ours(_) => {
                format!("{SAVE}{WHOLE}{RESTORE}{ROOM_BELOW}{SAVE}{PLAIN}{ERASE_BELOW}{RESTORE}")
            }
            // What the task may have written there meanwhile scrolls up.
            BottomRow::Left => format!("{ROOM_BELOW}{SAVE}{ERASE_REST}{erased}"),
        }
    }

    /// Gives the row back, empty, to a program that may show a screen of its own: when it ends it
    /// brings back the one before, our text with it.
    pub fn lend(&mut self, size: Size) -> String {
        let given = self.give_back(size);
        *self = BottomRow::Left;
        given
    }

    /// Gives the row back as it is: a program may have drawn there.
    pub fn leave(&mut self) -> String {
        if let BottomRow::Ours(_) = *self {
            *self = BottomRow::Left;
            return format!("{SAVE}{WHOLE}{RESTORE}");
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        rows: 24,
        columns: 80,
    };
    const TALLER: Size = Size { rows: 30, ..SIZE };

    #[test]
    fn the_row_is_taken_once_and_then_rewritten() {
        let mut row = BottomRow::default();
        assert_eq!(
            row.show(SIZE, "one"),
            "\x1bD\x1b[A\x1b7\x1b[1;23r\x1b[24;1H\x1b[m\x1b[Kone\x1b8"
        );
        assert_eq!(row.show(SIZE, "two"), "\x1b7\x1b[24;1H\x1b[m\x1b[Ktwo\x1b8");
    }

    #[test]
    fn what_was_taken_is_given_back_once() {
        let mut row = BottomRow::default();
        assert_eq!(row.give_back(SIZE), "");
        row.show(SIZE, "one");
        let given = "\x1b7\x1b[r\x1b[m\x1b[24;1H\x1b[K\x1b8";
        assert_eq!(row.give_back(SIZE), given);
        assert_eq!(row.give_back(SIZE), "");
        assert_eq!(row.leave(), "");
    }

    #[test]
    fn in_a_changed_terminal_the_old_text_is_erased_below_the_cursor() {
        let mut row = BottomRow::Ours(SIZE);
        let moved = "\x1b7\x1b[r\x1b8\x1bD\x1b[A\x1b7\x1b[m\x1b[B\r\x1b[J\x1b8";
        let taken = "\x1bD\x1b[A\x1b7\x1b[1;29r\x1b[30;1H\x1b[m\x1b[Kone\x1b8";
        assert_eq!(row.show(TALLER, "one"), format!("{moved}{taken}"));
        assert_eq!(row.give_back(SIZE), moved);
    }

    /// The row is another program's for a while; whatever it left there scrolls up.
    #[test]
    fn a_row_that_was_left_is_taken_or_given_back_later() {
        let mut row = BottomRow::Ours(SIZE);
        assert_eq!(row.leave(), "\x1b7\x1b[r\x1b8");
        assert_eq!(row.leave(), "");
        let mut again = row;
        assert_eq!(
            row.give_back(SIZE),
            "\x1bD\x1b[A\x1b7\x1b[m\x1b[K\x1b[m\x1b[24;1H\x1b[K\x1b8"
        );
        assert_eq!(
            again.show(SIZE, "one"),
            "\x1bD\x1b[A\x1b7\x1b[m\x1b[K\x1b[1;23r\x1b[24;1H\x1b[m\x1b[Kone\x1b8"
        );
    }

    /// A pager saves the screen with our text, gives its own back empty, and restores ours.
    #[test]
    fn a_row_that_was_lent_is_empty_now_and_erased_again_later() {
        let mut row = BottomRow::Ours(SIZE);
        assert_eq!(row.lend(SIZE), BottomRow::Ours(SIZE).give_back(SIZE));
        assert_eq!(row, BottomRow::Left);
    }
}
