//! JSON objects one behind the other: a line each, in any layout, or as a list. Each is cut out of
//! the input by its brackets, so that one that is broken takes no other with it.

use super::intake::Halt;
use std::io::{BufRead, ErrorKind};

/// Nesting that is followed; the parser takes no more either.
const DEPTH_MAX: usize = 120;

/// What of a broken piece is kept.
const BROKEN_MAX: usize = 1 << 10;

/// A piece of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'p> {
    /// What is probably an object, whole.
    Object(&'p [u8]),
    /// What is none, and why; the beginning of it.
    Broken(&'p [u8], &'static str),
}

/// The objects of an input.
pub(super) struct Objects<'r> {
    input: &'r mut dyn BufRead,
    /// Bytes that an object may have.
    bytes_max: usize,
    /// How each begins at the start of a line, which nothing within one does; empty where that is
    /// not known.
    begin: &'static [u8],
    /// Whether that was read of the next one, in search of the end of the one before.
    is_begun: bool,
    held: Vec<u8>,
}

/// Where in an object the scan is.
#[derive(Debug)]
struct Scan {
    /// For each bracket that is open whether it is a list's; of the first [`DEPTH_MAX`].
    lists: Vec<bool>,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    at_line_start: bool,
    /// The last byte outside of texts that is no white space.
    last: u8,
    is_deep: bool,
    is_large: bool,
    /// Bytes that were met.
    length: usize,
    /// How each object begins.
    begin: &'static [u8],
    /// How much of that was met, from which byte on.
    begun: usize,
    begun_at: usize,
}

/// What a byte means for an object.
enum Step {
    Within,
    End,
    /// It begins another object: this one has no end.
    Another,
    /// It is the last of how another object begins.
    Begun,
}

/// What may stand between objects; byte order marks too, where files were put together.
const SPACE: &[u8] = b" \t\r\n,[]\x1e\xef\xbb\xbf";

/// Whether the input begins with an object, or a list of them, as far as it is there already.
pub(super) fn are_there(input: &mut dyn BufRead) -> Result<bool, Halt> {
    let begins = fill(input)?.iter().find(|byte| !SPACE.contains(byte));
    Ok(begins == Some(&b'{'))
}

impl<'r> Objects<'r> {
    /// Those of an input. Where an object is cut off in front of a value, the next may be that
    /// value: one that begins with `begin` at the start of a line is none.
    pub(super) fn new(input: &'r mut dyn BufRead, bytes_max: usize, begin: &'static [u8]) -> Self {
        Self {
            input,
            bytes_max,
            begin,
            is_begun: false,
            held: Vec::new(),
        }
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Option<Piece<'_>>, Halt> {
        self.held.clear();
        if self.is_begun {
            return self.object().map(Some);
        }
        match self.first()? {
            None => Ok(None),
            Some(b'{') => self.object().map(Some),
            Some(_) => self.stray().map(Some),
        }
    }

    /// The first byte that is not between objects, left where it is.
    fn first(&mut self) -> Result<Option<u8>, Halt> {
        loop {
            let chunk = fill(self.input)?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let at = chunk.iter().position(|byte| !SPACE.contains(byte));
            let found = at.and_then(|at| chunk.get(at)).copied();
            let skipped = at.unwrap_or(chunk.len());
            self.input.consume(skipped);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// What is no object, to the end of its line.
    fn stray(&mut self) -> Result<Piece<'_>, Halt> {
        loop {
            let chunk = fill(self.input)?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            let room = BROKEN_MAX.saturating_sub(self.held.len());
            self.held
                .extend_from_slice(part.get(..room).unwrap_or(part));
            let (used, is_over) = (part.len(), end.is_some() || chunk.is_empty());
            self.input.consume(used);
            if is_over {
                return Ok(Piece::Broken(&self.held, "is no JSON object"));
            }
        }
    }

    fn object(&mut self) -> Result<Piece<'_>, Halt> {
        let mut scan = Scan::new(self.begin);
        if std::mem::take(&mut self.is_begun) {
            for byte in self.begin {
                scan.step(*byte);
            }
            self.held.extend_from_slice(self.begin);
        }
        loop {
            let chunk = fill(self.input)?;
            if chunk.is_empty() {
                return Ok(Piece::Broken(self.beginning(), "has no end"));
            }
            let mut used = 0;
            let mut end = None;
            for byte in chunk {
                match scan.step(*byte) {
                    Step::Within => used += 1,
                    step => {
                        used += usize::from(!matches!(step, Step::Another));
                        end = Some(step);
                        break;
                    }
                }
            }
            let part = chunk.get(..used).unwrap_or(chunk);
            let room = self.bytes_max.saturating_sub(self.held.len());
            scan.is_large |= part.len() > room;
            self.held
                .extend_from_slice(part.get(..room).unwrap_or(part));
            self.input.consume(used);
            if matches!(end, Some(Step::Begun)) {
                self.is_begun = true;
                self.held.truncate(scan.begun_at);
            }
            return Ok(match end {
                None => continue,
                Some(_) if scan.is_large => Piece::Broken(self.beginning(), "is too large"),
                Some(_) if scan.is_deep => Piece::Broken(self.beginning(), "is nested too deep"),
                Some(Step::End) => Piece::Object(&self.held),
                Some(_) => Piece::Broken(self.beginning(), "has no end"),
            });
        }
    }

    fn beginning(&self) -> &[u8] {
        self.held.get(..BROKEN_MAX).unwrap_or(&self.held)
    }
}

impl Scan {
    fn new(begin: &'static [u8]) -> Self {
        Self {
            lists: Vec::new(),
            depth: 0,
            in_text: false,
            is_escaped: false,
            at_line_start: false,
            last: 0,
            is_deep: false,
            is_large: false,
            length: 0,
            begin,
            begun: 0,
            begun_at: 0,
        }
    }

    fn step(&mut self, byte: u8) -> Step {
        self.length += 1;
        if self.begun > 0 {
            let is_next = self.begin.get(self.begun) == Some(&byte);
            self.begun = if is_next { self.begun + 1 } else { 0 };
            if self.begun == self.begin.len() {
                return Step::Begun;
            }
        }
        let at_line_start = std::mem::replace(&mut self.at_line_start, byte == b'\n');
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                // No text goes over a line end: it was cut off.
                b'\n' => self.in_text = false,
                _ => {}
            }
            return Step::Within;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return Step::Within,
            b'"' => self.in_text = true,
            b'{' if at_line_start && self.depth > 0 && !self.takes_value() => {
                return Step::Another;
            }
            b'{' | b'[' => {
                if byte == b'{' && at_line_start && self.depth > 0 && !self.begin.is_empty() {
                    (self.begun, self.begun_at) = (1, self.length - 1);
                }
                self.depth += 1;
                match self.lists.len() < DEPTH_MAX {
                    true => self.lists.push(byte == b'['),
                    false => self.is_deep = true,
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.lists.truncate(self.depth);
            }
            _ => {}
        }
        self.last = byte;
        match self.depth {
            0 => Step::End,
            _ => Step::Within,
        }
    }

    /// Whether JSON has a value here.
    fn takes_value(&self) -> bool {
        match self.lists.last() {
            Some(true) => matches!(self.last, b',' | b'['),
            _ => self.last == b':',
        }
    }
}

fn fill(input: &mut dyn BufRead) -> Result<&[u8], Halt> {
    // An interrupted read is tried again; the borrow ends before the bytes are asked for.
    loop {
        match input.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(input.fill_buf()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn pieces(text: &str, bytes_max: usize) -> Vec<String> {
        pieces_that_begin(b"", text, bytes_max)
    }

    fn pieces_that_begin(begin: &'static [u8], text: &str, bytes_max: usize) -> Vec<String> {
        let mut input = BufReader::with_capacity(3, text.as_bytes());
        let mut objects = Objects::new(&mut input, bytes_max, begin);
        let mut all = Vec::new();
        while let Some(piece) = objects.next().ok().flatten() {
            all.push(match piece {
                Piece::Object(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Piece::Broken(bytes, why) => {
                    format!("{}: {why}", String::from_utf8_lossy(bytes).trim_end())
                }
            });
        }
        all
    }

    #[test]
    fn objects_are_parted_in_every_layout() {
        assert_eq!(
            pieces("{\"a\":1}{\"b\":\"}{\"}", 99),
            ["{\"a\":1}", "{\"b\":\"}{\"}"]
        );
        assert_eq!(
            pieces("[\n{},\n {\"a\": [{}]}\n]\n", 99),
            ["{}", "{\"a\": [{}]}"]
        );
        assert_eq!(
            pieces("{}\n\u{feff}{\"a\":\n{}}\n", 99),
            ["{}", "{\"a\":\n{}}"]
        );
        let list = "{\"a\":[\n{},\n{}\n]}";
        assert_eq!(pieces(list, 99), [list]);
        assert!(pieces(" \n", 99).is_empty());
    }

    #[test]
    fn a_broken_object_takes_no_other_with_it() {
        let text = "{\"a\": \"x\n{\"b\":1}\nstray {}\n{\"c\":2,\n{\"d\":3}\n{\"e\"";
        let expected = [
            "{\"a\": \"x: has no end",
            "{\"b\":1}",
            "stray {}: is no JSON object",
            "{\"c\":2,: has no end",
            "{\"d\":3}",
            "{\"e\": has no end",
        ];
        assert_eq!(pieces(text, 99), expected);
        let deep = "{\"a\":".repeat(500) + "1" + &"}".repeat(500);
        let deep = pieces(&format!("{deep}\n{{}}"), 1 << 20);
        assert!(
            deep[0].ends_with("nested too deep") && deep[1] == "{}",
            "{deep:?}"
        );
        let large = pieces("{\"a\":\"0123456789\"}{}", 9);
        assert_eq!(large, ["{\"a\":\"012: is too large", "{}"]);
    }

    #[test]
    fn an_object_that_is_cut_off_in_front_of_a_value_takes_no_other_with_it() {
        let next = "{\"id\":{\"b\":[1]}}";
        for cut in [
            "{\"id\":",
            "{\"id\":[",
            "{\"id\":[{},",
            "{\"id\":{\"id\": ",
            "{\"id\":1,\"c",
        ] {
            let text = format!("{next}\n{cut}\n{cut}\n{next}\n{next}\n{cut}");
            let broken = format!("{}: has no end", cut.trim_end());
            let expected = [next, &broken, &broken, next, next, &broken];
            assert_eq!(pieces_that_begin(b"{\"id\":", &text, 99), expected);
        }
        // What begins in another way may be a value.
        let list = "{\"id\":[\n{\"i\":1},\n{\"ideas\":2}\n]}";
        assert_eq!(pieces_that_begin(b"{\"id\":", list, 99), [list]);
        let large = "{\"id\":[1111111111,\n{\"id\":2}";
        let expected = ["{\"id\":[11: is too large", "{\"id\":2}"];
        assert_eq!(pieces_that_begin(b"{\"id\":", large, 9), expected);
    }
}
