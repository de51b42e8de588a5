//! A place in a question, for people.

use std::fmt;

/// Where in a question something is: the line, and the letters that are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1 on.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The first letter that is meant, from 0 on.
    pub start: usize,
    /// How many.
    pub letters: usize,
}

impl Place {
    /// Line and column from 1 on, as parsers count; nothing if the question has no such place.
    pub(crate) fn of(question: &str, (line, column): (u64, u64), letters: u64) -> Option<Self> {
        let number = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = usize::try_from(column).ok()?.checked_sub(1)?;
        let text = question.lines().nth(number)?;
        let there = text.chars().count();
        (start <= there).then(|| Self {
            line: number + 1,
            text: text.to_owned(),
            start,
            letters: usize::try_from(letters)
                .unwrap_or(1)
                .clamp(1, (there - start).max(1)),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A tab is as wide in the line below.
        let before = self.text.chars().take(self.start);
        let blanks: String = before
            .map(|letter| if letter == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(out, "  {}", self.text)?;
        write!(out, "  {blanks}{}", "^".repeat(self.letters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_that_are_meant_are_marked() {
        let question = "SELECT é,\n\tcpu_tim FROM sample";
        let place = Place::of(question, (2, 2), 7).unwrap();
        assert_eq!(place.to_string(), "  \tcpu_tim FROM sample\n  \t^^^^^^^");
        let end = Place::of("SELECT", (1, 7), 1).unwrap();
        assert_eq!(end.to_string(), "  SELECT\n        ^");
        assert!(Place::of(question, (3, 1), 1).is_none());
        assert!(Place::of(question, (1, 40), 1).is_none());
        assert!(Place::of(question, (0, 0), 1).is_none());
    }
}
