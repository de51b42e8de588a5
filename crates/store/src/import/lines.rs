//! Lines of an input, each held only up to a bound.

use super::intake::Halt;
use memchr::memchr;
use std::io::{BufRead, ErrorKind};

/// What is held of a line.
pub(super) const LINE_MAX: usize = 1 << 20;

/// The lines of an input.
pub(super) struct Lines<'r> {
    input: &'r mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'l> {
    /// Its number, from 1 on.
    pub(super) number: u64,
    /// Its bytes, or the first [`LINE_MAX`] of them.
    pub(super) bytes: &'l [u8],
    /// Whether these are all.
    pub(super) is_whole: bool,
    /// Whether an end of line was behind them.
    pub(super) is_ended: bool,
}

impl<'r> Lines<'r> {
    pub(super) fn new(input: &'r mut dyn BufRead) -> Self {
        let line = Vec::new();
        Self {
            input,
            line,
            number: 0,
        }
    }

    /// The next line; the last one needs no end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Halt> {
        self.line.clear();
        let (mut is_there, mut is_whole, mut is_ended) = (false, true, false);
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if chunk.is_empty() {
                break;
            }
            is_there = true;
            let end = memchr(b'\n', chunk);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            let room = LINE_MAX.saturating_sub(self.line.len());
            is_whole &= part.len() <= room;
            self.line
                .extend_from_slice(part.get(..room).unwrap_or(part));
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.input.consume(used);
            is_ended = end.is_some();
            if is_ended {
                break;
            }
        }
        if !is_there {
            return Ok(None);
        }
        self.number += 1;
        let bytes = self.line.as_slice();
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Ok(Some(Line {
            number: self.number,
            bytes,
            is_whole,
            is_ended,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn a_long_line_is_cut_and_the_next_is_whole() {
        let text = format!("a\r\n\n{}\nb", "x".repeat(LINE_MAX + 7));
        let mut input = BufReader::with_capacity(1000, text.as_bytes());
        let mut lines = Lines::new(&mut input);
        let mut all = Vec::new();
        while let Some(line) = lines.next().ok().flatten() {
            all.push((line.number, line.bytes.len(), line.is_whole, line.is_ended));
        }
        let expected = [
            (1, 1, true, true),
            (2, 0, true, true),
            (3, LINE_MAX, false, true),
            (4, 1, true, false),
        ];
        assert_eq!(all, expected);
    }
}
