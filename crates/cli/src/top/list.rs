//! The table of processes as lines.

use super::columns::{self, ABSENT, COMMAND, Column};
use super::look::{Look, Shown};
use crate::live::people::Person;
use crate::view::style::{cut, is_plain, printable};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// A share of a CPU above which a process stands out.
const BUSY: f64 = 0.5;

/// The names of the columns; that by which they are sorted is marked.
pub(super) fn title(look: &Look, width: usize) -> Line<'static> {
    let mut spans = Vec::new();
    for column in columns::shown(width) {
        let mut text = String::new();
        put_cell(column, &mut text, |out| out.push_str(column.title));
        let is_sorted = column.sort == Some(look.sort);
        let style = match is_sorted {
            true => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => Style::new(),
        };
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    spans.push(Span::raw(COMMAND));
    Line::from(spans)
}

/// Writes a cell of this column, in its width.
fn put_cell(column: &Column, out: &mut String, put: impl FnOnce(&mut String)) {
    let start = out.len();
    put(out);
    let text = out.get(start..).unwrap_or_default();
    let mut length = text.len();
    if !is_plain(text) || length > column.width {
        let text = cut(&printable(text), column.width);
        length = text.chars().count();
        out.truncate(start);
        out.push_str(&text);
    }
    let blanks = BLANKS.get(..column.width.saturating_sub(length));
    let blanks = blanks.unwrap_or(BLANKS);
    match column.is_text {
        true => out.push_str(blanks),
        false => out.insert_str(start, blanks),
    }
}

/// More than any column is wide.
const BLANKS: &str = "                    ";

/// Writes the columns of one process.
fn put_cells(one: &Person, width: usize, out: &mut String) {
    for column in columns::shown(width) {
        put_cell(column, out, |out| (column.put)(one, out));
        out.push(' ');
    }
}

/// Who has come this moment may not be known yet.
fn command(one: &Person) -> &str {
    match one.command.is_empty() {
        true => ABSENT,
        false => &one.command,
    }
}

/// The line of one process without colour, its command whole.
pub(super) fn put_line(shown: &Shown<'_>, width: usize, out: &mut String) {
    let start = out.len();
    put_cells(shown.person, width, out);
    let room = width.saturating_sub(out.len() - start) / 2;
    out.push_str(&branch_within(&shown.branch, room));
    let command = command(shown.person);
    match is_plain(command) {
        true => out.push_str(command),
        false => out.push_str(&printable(command)),
    }
    out.truncate(out.trim_end().len().max(start));
    out.push('\n');
}

/// The line of one process, on so many columns; as much of its command as there is room for.
pub(super) fn line(shown: &Shown<'_>, width: usize) -> Line<'static> {
    let one = shown.person;
    let mut text = String::new();
    put_cells(one, width, &mut text);
    let style = if one.state == Some('D') {
        Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD)
    } else if one
        .weight(crate::live::people::Sort::Cpu)
        .is_some_and(|share| share >= BUSY)
    {
        Style::new().add_modifier(Modifier::BOLD)
    } else if one.is_kernel() {
        Style::new().add_modifier(Modifier::DIM)
    } else {
        Style::new()
    };
    let room = width.saturating_sub(text.len()) / 2;
    Line::from(vec![
        Span::styled(text, style),
        Span::styled(
            branch_within(&shown.branch, room),
            Style::new().add_modifier(Modifier::DIM),
        ),
        Span::styled(printable(command(one)), style),
    ])
}

/// The branches of a tree, as ASCII, on so many columns: of those deep in it the nearest, behind
/// a `<`.
fn branch_within(branch: &str, room: usize) -> String {
    match branch.len().checked_sub(room) {
        None | Some(0) => branch.to_owned(),
        // What stands next to the command is never cut.
        Some(over) => format!("<{}", &branch[(over + 1).min(branch.len() - 3)..]),
    }
}

/// The column at a place of the line of names.
pub(super) fn column_at(x: usize, width: usize) -> Option<&'static Column> {
    let mut from = 0;
    for column in columns::shown(width) {
        if (from..=from + column.width).contains(&x) {
            return Some(column);
        }
        from += column.width + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::branch_within;

    #[test]
    fn a_deep_branch_leaves_room_for_its_command() {
        let deep = "|  |           |- ";
        assert_eq!(branch_within(deep, 18), deep);
        assert_eq!(branch_within(deep, 8), "<    |- ");
        assert_eq!(branch_within(deep, 1), "<|- ");
        assert_eq!(branch_within("", 0), "");
        assert_eq!(branch_within("`- ", 0), "<`- ");
    }
}
