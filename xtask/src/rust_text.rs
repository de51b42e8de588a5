//! What a line-based check must know of Rust: what is code, what is test code, where functions
//! begin and end.

use std::ops::RangeInclusive;

/// A Rust file, taken apart.
#[derive(Debug)]
pub(crate) struct RustText {
    /// The text with comments, string and character contents blanked; the same lines.
    code: String,
    /// Lines (from 1) of `#[cfg(test)]` blocks.
    tests: Vec<RangeInclusive<usize>>,
}

/// A function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// Its lines (from 1), from the word `fn` to the closing brace.
    pub(crate) lines: RangeInclusive<usize>,
}

impl RustText {
    /// Takes a file apart.
    pub(crate) fn read(text: &str) -> Self {
        let code = blanked(text);
        let tests = test_blocks(&code);
        Self { code, tests }
    }

    /// Lines of code, numbered from 1; what is blanked is spaces.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }

    /// Whether this line (from 1) is in a `#[cfg(test)]` block.
    pub(crate) fn in_test(&self, line: usize) -> bool {
        self.tests.iter().any(|block| block.contains(&line))
    }

    /// How many lines are outside `#[cfg(test)]` blocks.
    pub(crate) fn lines_outside_tests(&self) -> usize {
        self.lines()
            .filter(|(line, _)| !self.in_test(*line))
            .count()
    }

    /// Every function with a body.
    pub(crate) fn functions(&self) -> Vec<Function> {
        words(&self.code, "fn")
            .filter_map(|at| self.function(at))
            .collect()
    }

    fn function(&self, at: usize) -> Option<Function> {
        let rest = self.code.get(at + 2..)?;
        let name: String = rest
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if name.is_empty() {
            return None;
        }
        let open = at + 2 + body(rest)?;
        let close = matching_brace(&self.code, open)?;
        Some(Function {
            name,
            lines: line_of(&self.code, at)..=line_of(&self.code, close),
        })
    }
}

/// Byte offsets of a word in blanked code.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = code.get(..*at).and_then(|text| text.chars().next_back());
            let after = code
                .get(at + word.len()..)
                .and_then(|text| text.chars().next());
            !before.is_some_and(part) && !after.is_some_and(part)
        })
}

/// Where the body of a function opens, if it has one: the first brace outside parentheses and
/// brackets.
fn body(signature: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn matching_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code.get(open..)?.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            _ => continue,
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

fn line_of(code: &str, at: usize) -> usize {
    1 + code.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn test_blocks(code: &str) -> Vec<RangeInclusive<usize>> {
    code.match_indices("#[cfg(")
        .filter_map(|(at, _)| {
            let rest = code.get(at..)?;
            let attribute = rest.get(..rest.find(']')?)?;
            words(attribute, "test").next()?;
            let open = at + attribute.len() + body(rest.get(attribute.len() + 1..)?)? + 1;
            Some(line_of(code, at)..=line_of(code, matching_brace(code, open)?))
        })
        .collect()
}

/// The text with everything that is not code blanked.
fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut last = ' ';
    while let Some(c) = rest.chars().next() {
        let glued = last.is_alphanumeric() || last == '_';
        let length = not_code(rest, glued).unwrap_or(0);
        let (skipped, after) = rest.split_at(length);
        if length > 0 {
            out.extend(skipped.chars().map(blank));
            last = ' ';
            rest = after;
        } else {
            out.push(if c.is_ascii() { c } else { blank(c) });
            last = c;
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    out
}

fn blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

/// Length of the comment, string or character that this text begins with; `glued` to a name before
/// it.
fn not_code(text: &str, glued: bool) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    if text.starts_with('"') {
        return Some(quoted(text, 1, '"'));
    }
    if text.starts_with('\'') {
        return character(text);
    }
    if glued {
        return None;
    }
    let prefix = ["br", "cr", "r", "b", "c"]
        .into_iter()
        .find(|prefix| text.starts_with(prefix))?;
    let after = text.get(prefix.len()..)?;
    if prefix.ends_with('r') {
        return Some(prefix.len() + raw_string(after)?);
    }
    if prefix == "b" && after.starts_with('\'') {
        return Some(1 + character(after)?);
    }
    after
        .starts_with('"')
        .then(|| prefix.len() + quoted(after, 1, '"'))
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth = depth.saturating_sub(1);
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at.min(text.len())
}

fn quoted(text: &str, start: usize, end: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().filter(|(at, _)| *at >= start) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == end => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character, not a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        return Some(quoted(text, 1, '\''));
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.bytes().take_while(|byte| *byte == b'#').count();
    let inner = text.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
    Some(hashes + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_no_code() {
        let text =
            "a(\"fn {\\\"\", 'x', '{', b'}', r#\"}\"#); // {\n/* { /* } */ */ let l: &'a u8;";
        let code = RustText::read(text).code;
        assert_eq!(code.lines().count(), 2);
        assert!(!code.contains(['{', '}', '"']), "{code}");
        assert!(code.contains("let l: &'a u8;"), "{code}");
        assert_eq!(code.len(), text.len());
    }

    #[test]
    fn functions_are_found_with_their_lines() {
        let text = "trait T { fn none(&self); }\n\n\
                    fn one(\n    a: [u8; 2],\n) -> u8 {\n    {}\n}\nfn two() {}\n";
        let found = RustText::read(text).functions();
        let names: Vec<_> = found
            .iter()
            .map(|f| (f.name.as_str(), f.lines.clone()))
            .collect();
        assert_eq!(names, [("one", 3..=7), ("two", 8..=8)]);
    }

    #[test]
    fn test_blocks_are_told_from_the_rest() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n\
                    #[cfg(test)]\nmod far;\nfn c() {}\n";
        let read = RustText::read(text);
        assert!(!read.in_test(1) && read.in_test(2) && read.in_test(5) && !read.in_test(8));
        assert_eq!(read.lines_outside_tests(), 4);
    }

    #[test]
    fn an_unfinished_string_ends_with_the_file() {
        for text in [
            "\"abc",
            "r#\"abc",
            "/* abc",
            "'\\",
            "b'",
            "fn",
            "#[cfg(test)]",
        ] {
            let read = RustText::read(text);
            assert_eq!(read.code.chars().count(), text.chars().count());
            assert!(read.functions().is_empty());
        }
    }
}
