//! Rows under a heading, each column as wide as its widest word.

use super::style::{cut, printable};

/// On which side the words of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Letters between two columns.
const GAP: usize = 2;

/// No column on the left is cut to less.
const LEAST: usize = 12;

/// A table that is being filled.
#[derive(Debug)]
pub(crate) struct Table {
    heading: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[(&'static str, Side)]) -> Self {
        Self {
            heading: heading.to_vec(),
            rows: Vec::new(),
        }
    }

    /// One more row; what drives a terminal is replaced.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows
            .push(row.iter().map(|word| printable(word)).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As text, no wider than `width` where that can be done by cutting words on the left.
    pub(crate) fn text(&self, width: Option<usize>) -> String {
        let widths = self.widths(width.unwrap_or(usize::MAX));
        let heading: Vec<String> = self
            .heading
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let mut out = String::new();
        for row in std::iter::once(&heading).chain(&self.rows) {
            let mut line = String::new();
            for ((word, (_, side)), width) in row.iter().zip(&self.heading).zip(&widths) {
                let word = cut(word, *width);
                match side {
                    Side::Left => line.push_str(&format!("{word:<width$}")),
                    Side::Right => line.push_str(&format!("{word:>width$}")),
                }
                line.push_str(&" ".repeat(GAP));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn widths(&self, room: usize) -> Vec<usize> {
        let letters = |word: &str| word.chars().count();
        let columns = self.heading.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(place, (name, _))| {
                let words = self.rows.iter().filter_map(|row| row.get(place));
                words
                    .map(|word| letters(word))
                    .max()
                    .unwrap_or(0)
                    .max(letters(name))
            })
            .collect();
        loop {
            let whole: usize = widths.iter().map(|width| width + GAP).sum();
            let over = whole.saturating_sub(GAP).saturating_sub(room);
            let sides = self.heading.iter().map(|(_, side)| *side);
            let widest = widths
                .iter_mut()
                .zip(sides)
                .filter(|(width, side)| *side == Side::Left && **width > LEAST)
                .max_by_key(|(width, _)| **width);
            match widest {
                Some((width, _)) if over > 0 => {
                    *width -= over.min(*width - LEAST).div_ceil(2).max(1)
                }
                _ => return widths,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_and_numbers_are_not() {
        let mut table = Table::new(&[("NAME", Side::Left), ("COUNT", Side::Right)]);
        table.push(vec![
            "a name that is very long indeed".to_owned(),
            "123456789".to_owned(),
        ]);
        table.push(vec!["b\u{1b}[31m".to_owned(), "1".to_owned()]);
        assert_eq!(
            table.text(None),
            "NAME                                 COUNT\n\
             a name that is very long indeed  123456789\n\
             b?[31m                                   1\n"
        );
        let text = table.text(Some(30));
        assert_eq!(text.lines().nth(1), Some("a name that is v...  123456789"));
        assert!(
            table
                .text(Some(3))
                .lines()
                .all(|line| line.chars().count() <= 23)
        );
    }
}
