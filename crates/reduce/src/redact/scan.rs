//! The text of an argument, looked at from its start to its end.

use super::HIDDEN;
use super::names::{
    ends_word, is_header, is_long_option, is_name, is_plain, is_quote, takes_secret, user_end,
};
use super::programs::{Hides, Program};

/// A quote, and the backslashes before it: text in a text has some.
#[derive(Clone, Copy)]
struct Quote {
    byte: u8,
    slashes: usize,
}

impl Quote {
    fn len(self) -> usize {
        self.slashes + 1
    }

    /// Whether such a quote behind so many backslashes ends the text that this one opens.
    fn is_closed_behind(self, mut slashes: usize) -> bool {
        let mut own = self.slashes;
        while own > 0 {
            // It is a quote of the text around: that ends, and so all in it.
            if slashes.is_multiple_of(2) {
                return true;
            }
            (own, slashes) = (own.saturating_sub(1) / 2, slashes / 2);
        }
        slashes.is_multiple_of(2)
    }
}

/// The text of an argument, looked at from its start to its end.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    /// All before is in `out`.
    at: usize,
    /// The quote that is open here.
    quote: Option<u8>,
    /// Where the first word ends, of an option: a name before that has all the rest as its value.
    head: usize,
    /// Whose options these are.
    program: Option<&'static Program>,
    out: Vec<u8>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a [u8], program: Option<&'static Program>) -> Self {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte);
        let first = || text.iter().position(is_end).unwrap_or(text.len());
        Self {
            text,
            at: 0,
            quote: None,
            head: if text.starts_with(b"-") { first() } else { 0 },
            program,
            out: Vec::with_capacity(text.len()),
        }
    }

    /// The text without its secrets.
    pub(super) fn run(mut self) -> Vec<u8> {
        while let Some(byte) = self.byte(self.at) {
            if is_plain(byte) {
                self.word();
            } else if self.rest(self.at).starts_with(b"://") {
                self.address();
            } else {
                let is_escaped = |next: u8| is_quote(next) || next == b'\\';
                let is_pair = byte == b'\\' && self.byte(self.at + 1).is_some_and(is_escaped);
                self.leave(byte);
                self.note(byte);
                self.copy_to(self.at + 1 + usize::from(is_pair));
            }
        }
        self.out
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    fn rest(&self, from: usize) -> &'a [u8] {
        self.text.get(from..).unwrap_or_default()
    }

    /// How many bytes from here on are such ones.
    fn run_of(&self, from: usize, is_one: impl Fn(u8) -> bool) -> usize {
        let rest = self.rest(from);
        let end = rest.iter().position(|byte| !is_one(*byte));
        end.unwrap_or(rest.len())
    }

    fn copy_to(&mut self, end: usize) {
        let end = end.min(self.text.len());
        self.out
            .extend(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn hide_to(&mut self, end: usize) {
        if end > self.at {
            self.out.extend(HIDDEN);
            self.at = end;
        }
    }

    /// Hides of a value, from here to its end, what is a secret.
    fn hide_value(&mut self, end: usize, hides: Hides) {
        let value = self.text.get(self.at..end).unwrap_or_default();
        // It is not the name of a user or a file alone, whatever it is.
        let is_other = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=';
        let has_other = value.iter().any(is_other);
        if let Hides::Behind(sign) = hides
            && let Some(sign) = value.iter().position(|byte| *byte == sign)
        {
            self.copy_to(self.at + sign + 1);
        } else if hides != Hides::All && !has_other {
            self.copy_to(end);
        }
        self.hide_to(end);
    }

    /// Keeps in mind that a command ends, and another one begins.
    fn leave(&mut self, byte: u8) {
        let is_end = match byte {
            b';' | b'|' | b'&' => true,
            b'\n' => !matches!(self.out.last(), Some(b'\\' | b',')),
            _ => false,
        };
        if is_end && self.quote.is_none() {
            self.program = None;
        }
    }

    /// Keeps in mind which quote is open.
    fn note(&mut self, byte: u8) {
        match self.quote {
            Some(open) if open == byte => self.quote = None,
            None if is_quote(byte) => self.quote = Some(byte),
            _ => {}
        }
    }

    /// The quote that begins here, with its backslashes.
    fn quote_at(&self, at: usize) -> Option<Quote> {
        let slashes = self.run_of(at, |byte| byte == b'\\');
        let byte = self.byte(at + slashes).filter(|byte| is_quote(*byte))?;
        Some(Quote { byte, slashes })
    }

    /// The quote that ends here.
    fn quote_before(&self, end: usize) -> Option<Quote> {
        let before = self.text.get(..end)?;
        let (byte, before) = before.split_last().filter(|(byte, _)| is_quote(**byte))?;
        let slashes = before.iter().rev().take_while(|byte| **byte == b'\\');
        Some(Quote {
            byte: *byte,
            slashes: slashes.count(),
        })
    }

    /// Where a text in quotes ends, the quote not included: at the end of all if it is not closed.
    fn close(&self, from: usize, quote: Quote) -> usize {
        let mut slashes = 0;
        for (at, byte) in self.rest(from).iter().enumerate() {
            match *byte {
                b'\\' => slashes += 1,
                byte if byte == quote.byte && quote.is_closed_behind(slashes) => {
                    return from + at - slashes.min(quote.slashes);
                }
                _ => slashes = 0,
            }
        }
        self.text.len()
    }

    /// Behind the quote that ends a text in quotes.
    fn behind(&self, from: usize, quote: Quote) -> usize {
        let end = self.close(from, quote);
        end + self.quote_at(end).map_or(0, Quote::len)
    }

    /// Where a value ends: at a blank, or at the quote that ends the text around it.
    fn value_end(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(byte) = self.byte(at) {
            at = match self.quote_at(at) {
                Some(quote) if at == from => {
                    let inside = at + quote.len();
                    let is_around = quote.slashes == 0 && self.quote == Some(quote.byte);
                    if is_around && self.byte(inside).is_none_or(ends_word) {
                        return at;
                    }
                    self.behind(inside, quote)
                }
                Some(quote) if quote.slashes.is_multiple_of(2) => {
                    if self.quote.is_some() {
                        return at + quote.slashes;
                    }
                    let slashes = 0;
                    self.behind(at + quote.len(), Quote { slashes, ..quote })
                }
                Some(quote) => at + quote.len(),
                None if byte.is_ascii_whitespace() => return at,
                None if byte == b'\\' => {
                    let slashes = self.run_of(at, |byte| byte == b'\\');
                    at + slashes + slashes % 2
                }
                None => at + 1,
            };
        }
        self.text.len()
    }

    /// A word, and what is behind it if the word tells a secret.
    fn word(&mut self) {
        let start = self.at;
        let end = start + self.run_of(start, is_plain);
        let word = self.text.get(start..end).unwrap_or_default();
        let before = start.checked_sub(1).and_then(|before| self.byte(before));
        if before.is_none_or(ends_word) && self.own_option(start, end) {
            return;
        }
        let is_whole = before.is_none_or(|byte| byte == b'/' || ends_word(byte))
            && self.byte(end).is_none_or(ends_word);
        self.program = Program::of(word).filter(|_| is_whole).or(self.program);
        let (is_header, is_name, next) = (is_header(word), is_name(word), self.byte(end));
        self.copy_to(end);
        if is_header && next == Some(b':') {
            self.header(start);
        } else if is_name && next == Some(b'=') {
            self.copy_to(end + 1);
            self.assignment(start, Hides::All);
        } else if is_header || is_name {
            let is_json = self.json();
            if !is_json && takes_secret(word) {
                self.option(Hides::All);
            }
        }
    }

    /// Hides what is behind the name of a header, to the end of the quoted text or of the line.
    fn header(&mut self, start: usize) {
        let slashes = 0;
        let open = self.quote.map(|byte| Quote { byte, slashes });
        let quote = self.quote_before(start).or(open);
        let blanks = self.run_of(self.at + 1, |byte| b" \t".contains(&byte));
        self.copy_to(self.at + 1 + blanks);
        self.hide_to(match quote {
            Some(quote) => self.close(self.at, quote),
            None => self.at + self.run_of(self.at, |byte| byte != b'\n'),
        });
    }

    /// Hides the value of an option of the program that is executed here; whether this is one.
    fn own_option(&mut self, start: usize, end: usize) -> bool {
        let end = end + usize::from(self.byte(end) == Some(b'='));
        let word = self.text.get(start..end).unwrap_or_default();
        let Some((own, at)) = self.program.and_then(|program| program.value(word)) else {
            return false;
        };
        let is_open = || {
            let is_end = |byte: u8| b"|&;<>()".contains(&byte);
            let is_value = self.quote_before(start).is_none() && self.value_end(end) > end;
            is_value && !self.byte(end).is_some_and(is_end)
        };
        let is_attached = at < word.len() || word.ends_with(b"=") || is_open();
        self.copy_to(start + at);
        if is_attached {
            self.assignment(start, own.hides);
        } else if own.takes_next {
            self.option(own.hides);
        }
        true
    }

    /// Hides what is behind `NAME=`.
    fn assignment(&mut self, start: usize, hides: Hides) {
        let end = match self.quote_before(start) {
            _ if start < self.head => self.text.len(),
            None => self.value_end(self.at),
            Some(quote) => {
                let (end, behind) = (self.close(self.at, quote), self.behind(self.at, quote));
                let is_end = |byte: u8| ends_word(byte) && byte != b'\\' && !is_quote(byte);
                if self.byte(behind).is_none_or(is_end) {
                    end
                } else {
                    // `'--password='x`: a word of a shell goes on behind a quote.
                    self.forget(quote);
                    self.value_end(behind)
                }
            }
        };
        self.hide_value(end, hides);
    }

    /// A quote that is open is closed.
    fn forget(&mut self, quote: Quote) {
        if quote.slashes == 0 && self.quote == Some(quote.byte) {
            self.quote = None;
        }
    }

    /// Hides the text that is the value of a key of JSON, if that is what is here: `":"x"`.
    fn json(&mut self) -> bool {
        let blanks = |at| self.run_of(at, |byte| byte.is_ascii_whitespace());
        let Some(key) = self.quote_at(self.at) else {
            return false;
        };
        let mut at = self.at + key.len();
        at += blanks(at);
        if self.byte(at) != Some(b':') {
            return false;
        }
        at += 1;
        at += blanks(at);
        let Some(value) = self.quote_at(at) else {
            return false;
        };
        self.copy_to(at + value.len());
        self.hide_to(self.close(self.at, value));
        true
    }

    /// Hides the word behind an option, also where both are quoted: `--password x`,
    /// `["--password", "x"]`.
    fn option(&mut self, hides: Hides) {
        let quote = self.quote_at(self.at);
        let gap = self.at + quote.map_or(0, Quote::len);
        let (mut at, mut is_list) = (gap, false);
        loop {
            at += match self.byte(at) {
                Some(b' ' | b'\t') => 1,
                Some(b',' | b'\n') if quote.is_some() => {
                    is_list = true;
                    1
                }
                Some(b'\\') if self.byte(at + 1) == Some(b'\n') => 2,
                _ => break,
            };
        }
        let value = self.quote_at(at);
        let inside = at + value.map_or(0, Quote::len);
        // It is a list only if all in it is quoted, and no word begins with one of these.
        let is_none = is_list && value.is_none()
            || self.byte(at).is_none_or(|byte| b"|&;<>()".contains(&byte));
        if at == gap || is_none || is_long_option(self.rest(inside)) {
            return;
        }
        if let Some(value) = value.filter(|_| is_list) {
            // A quote is open there, as it is here.
            self.copy_to(inside);
            self.hide_value(self.close(inside, value), hides);
            return;
        }
        if let Some(quote) = quote {
            self.forget(quote);
        }
        self.copy_to(at);
        self.hide_value(self.value_end(at), hides);
    }

    /// Hides the password of an address, or the token, behind its scheme.
    fn address(&mut self) {
        let before = self.text.get(..self.at).unwrap_or_default();
        self.copy_to(self.at + 3);
        let stop = |byte: u8| b"/?#".contains(&byte) || byte.is_ascii_whitespace();
        let end = self.at + self.run_of(self.at, |byte| !stop(byte));
        let authority = self.text.get(self.at..end).unwrap_or_default();
        let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
            return;
        };
        let user = authority.get(..at).unwrap_or_default();
        let kept = user_end(before, user);
        let is_empty = kept == user.len() && user.last() != Some(&b':');
        if !is_empty {
            let (start, end) = (self.at + kept, self.at + at);
            self.copy_to(start);
            for byte in self.text.get(start..end).unwrap_or_default() {
                self.note(*byte);
            }
            self.out.extend(HIDDEN);
            self.at = end;
        }
    }
}
