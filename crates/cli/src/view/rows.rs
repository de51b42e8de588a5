//! Rows of a screen: a name on the left, pieces on the right, wrapped between pieces.

use super::style::{Role, Style};

/// Columns of the names.
pub const LABEL_WIDTH: usize = 12;

/// Stands for a blank at which no line may end.
const GLUE: char = '\u{a0}';

/// One named row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name; short.
    pub label: &'static str,
    /// What it says; lines end at its blanks.
    pub body: String,
    /// Whether it is of little weight.
    pub aside: bool,
}

impl Row {
    /// A row of pieces, joined by commas; a line ends between pieces where that is possible.
    pub fn pieces(label: &'static str, pieces: Vec<String>) -> Option<Row> {
        let glued: Vec<_> = pieces.iter().map(|piece| glue(piece)).collect();
        (!pieces.is_empty()).then(|| Row {
            label,
            body: glued.join(", "),
            aside: false,
        })
    }

    /// A row of running text.
    pub fn text(label: &'static str, text: impl Into<String>) -> Row {
        Row {
            label,
            body: text.into(),
            aside: false,
        }
    }

    /// The row as lines of at most `style.width` columns where its words allow it.
    pub fn render(&self, style: Style, out: &mut String) {
        let width = style.width.saturating_sub(LABEL_WIDTH).max(20);
        for (index, line) in wrap(&self.body, width).iter().enumerate() {
            let label = if index == 0 { self.label } else { "" };
            let padded = format!("{label:<LABEL_WIDTH$}");
            let body = if self.aside {
                style.paint(Role::Aside, line)
            } else {
                line.clone()
            };
            out.push_str(&style.paint(Role::Label, &padded));
            out.push_str(&body);
            out.push('\n');
        }
    }
}

/// `text` with blanks at which no line ends.
pub fn glue(text: &str) -> String {
    text.replace(' ', &GLUE.to_string())
}

/// `text` in lines of at most `width` columns; a glued piece that is wider is torn at its blanks.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').flat_map(|word| tear(word, width)) {
        let used = line.chars().count();
        if used > 0 && used + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines.iter().map(|line| line.replace(GLUE, " ")).collect()
}

/// A glued piece as one word if it fits, else as its words.
fn tear(word: &str, width: usize) -> Vec<String> {
    if word.chars().count() <= width {
        vec![word.to_owned()]
    } else {
        word.split(GLUE).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_pieces_and_wide_pieces_are_torn() {
        let row = Row::pieces("CPU", vec!["6m21s used".into(), "user 5m58s".into()]).unwrap();
        let mut text = String::new();
        row.render(
            Style {
                width: 32,
                ..Style::PLAIN
            },
            &mut text,
        );
        assert_eq!(text, "CPU         6m21s used,\n            user 5m58s\n");
        assert_eq!(wrap(&glue("one two three"), 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(Row::pieces("x", vec![]), None);
    }
}
