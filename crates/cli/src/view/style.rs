//! Colour and width of a text, and what may reach a terminal at all.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// How a text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences for colour are written.
    pub color: bool,
    /// Columns of a line.
    pub width: usize,
    /// Whether it goes to a terminal, which would wrap what is wider.
    pub terminal: bool,
}

/// Columns of a text that goes to no terminal.
pub const WIDTH: usize = 80;

const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 120;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first line, when all went well.
    Headline,
    /// The first line, when something went wrong.
    Failure,
    /// The name of a row.
    Label,
    /// Of little weight.
    Aside,
    /// Something that works.
    Good,
}

impl Style {
    /// No colour, 80 columns.
    pub const PLAIN: Style = Style {
        color: false,
        width: WIDTH,
        terminal: false,
    };

    /// The style for `stream`: its terminal's width, and colour if `colorful`, on a terminal alone.
    pub fn of(stream: &(impl IsTerminal + AsFd), colorful: bool) -> Style {
        if !stream.is_terminal() {
            return Style::PLAIN;
        }
        let width = terminal_size::terminal_size_of(stream)
            .map_or(WIDTH, |(terminal_size::Width(width), _)| usize::from(width));
        Style {
            color: colorful,
            width: width.clamp(WIDTH_MIN, WIDTH_MAX),
            terminal: true,
        }
    }

    /// `text` as `role` looks.
    pub fn paint(self, role: Role, text: &str) -> String {
        let code = match role {
            Role::Headline => "1",
            Role::Failure => "1;31",
            Role::Label => "36",
            Role::Aside => "2",
            Role::Good => "32",
        };
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Whether the environment allows colour: `NO_COLOR` unset or empty, `TERM` not `dumb`.
pub fn environment_allows_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// `text` on one line, without control characters, which could drive the terminal.
pub fn printable(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if is_hostile(c) => '?',
            c => c,
        })
        .collect()
}

/// Whether it is of printable ASCII alone, each letter a column.
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Control characters, and those that turn the direction of the text around.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first `width` characters of `text`; a cut one ends in `...`.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{kept}{}", ".".repeat(width.min(3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_replaced() {
        assert_eq!(printable("a\x1b[2Jb\nc\u{202e}d\u{e4}"), "a?[2Jb c?d\u{e4}");
    }

    #[test]
    fn a_cut_text_says_so_and_is_never_wider() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abc...");
        assert_eq!(cut("abcdefg", 2), "..");
    }

    #[test]
    fn colour_is_only_where_asked_for() {
        assert_eq!(Style::PLAIN.paint(Role::Failure, "x"), "x");
        let style = Style {
            color: true,
            ..Style::PLAIN
        };
        assert_eq!(style.paint(Role::Failure, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(style.paint(Role::Failure, ""), "");
    }
}
