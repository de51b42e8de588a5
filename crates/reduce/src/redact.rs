//! Secrets on command lines: what stands behind a word that says so is replaced.
//!
//! An argument may be a command line itself, a script, a header or JSON: words are looked for in
//! all of its text, once from its start to its end. Where it is unclear how far a secret goes, more
//! is hidden rather than less.

/// What stands for a secret.
const HIDDEN: &[u8] = b"***";

/// An option or a variable with one of these in its name has a secret as its value.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "private-key",
    "private_key",
    "access-key",
    "access_key",
];

/// So does one whose name ends in one of these.
const ENDS: &[&str] = &["pass", "pwd"];

/// Unless it ends in one of these.
const NO_ENDS: &[&str] = &["bypass", "compass"];

/// These variables of shells are folders.
const FOLDERS: &[&[u8]] = &[b"PWD", b"OLDPWD"];

/// The arguments of a command line, secrets in them replaced by `***`, as many as before:
/// `--password=x`, `--password x`, `TOKEN=x`, `scheme://user:x@host`, `Authorization: x` and
/// `{"password":"x"}`, also within the text of an argument (`sh -c '...'`).
///
/// A value in an argument of its own is all hidden, unless it looks like an option (`--verbose`).
pub fn redact(arguments: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut next_is_secret = false;
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if std::mem::take(&mut next_is_secret) && !is_long_option(argument) {
            out.push(HIDDEN.to_vec());
            continue;
        }
        let end = argument.iter().position(|byte| *byte == b'=');
        next_is_secret = end.is_none() && takes_secret(argument);
        match end.and_then(|end| argument.get(..end)) {
            Some(name) if is_name(name) => out.push([name, b"=", HIDDEN].concat()),
            _ => out.push(Scan::new(argument).run()),
        }
    }
    out
}

/// Whether a word is the name of an option or a variable that holds a secret.
fn is_name(word: &[u8]) -> bool {
    if !word.iter().copied().all(is_plain) || FOLDERS.contains(&word) {
        return false;
    }
    let name = String::from_utf8_lossy(word).to_ascii_lowercase();
    let ends_in = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    NAMES.iter().any(|secret| name.contains(secret)) || ends_in(ENDS) && !ends_in(NO_ENDS)
}

/// Whether a word is an option whose value, a secret, is the next one.
fn takes_secret(word: &[u8]) -> bool {
    word.starts_with(b"-") && !word.starts_with(b"--no-") && is_name(word)
}

/// Whether a text begins with a long option as most are written, or with `--`.
fn is_long_option(text: &[u8]) -> bool {
    let Some(name) = text.strip_prefix(b"--") else {
        return false;
    };
    let end = name.iter().position(|byte| !is_plain(*byte));
    let (name, rest) = name.split_at(end.unwrap_or(name.len()));
    let is_lower = |byte: &u8| !byte.is_ascii_uppercase();
    let is_word = name.first().is_none_or(u8::is_ascii_lowercase) && name.iter().all(is_lower);
    is_word
        && rest
            .first()
            .is_none_or(|byte| *byte == b'=' || ends_word(*byte))
}

/// Whether a word is the name of a header that holds a secret.
fn is_header(word: &[u8]) -> bool {
    let name = b"authorization";
    let end = word.len().checked_sub(name.len());
    end.and_then(|end| word.get(end..))
        .is_some_and(|end| end.eq_ignore_ascii_case(name))
}

/// Whether a byte may be part of a name.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn is_quote(byte: u8) -> bool {
    b"\"'`".contains(&byte)
}

/// Whether a byte cannot be part of a word of a shell or of JSON that is not quoted.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || is_quote(byte) || b"\\,;:|&<>()[]{}".contains(&byte)
}

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
struct Scan<'a> {
    text: &'a [u8],
    /// All before is in `out`.
    at: usize,
    /// The quote that is open here.
    quote: Option<u8>,
    /// Where the first word ends, of an option: a name before that has all the rest as its value.
    head: usize,
    out: Vec<u8>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8]) -> Self {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte);
        let first = || text.iter().position(is_end).unwrap_or(text.len());
        Self {
            text,
            at: 0,
            quote: None,
            head: if text.starts_with(b"-") { first() } else { 0 },
            out: Vec::with_capacity(text.len()),
        }
    }

    fn run(mut self) -> Vec<u8> {
        while let Some(byte) = self.byte(self.at) {
            if is_plain(byte) {
                self.word();
            } else if self.rest(self.at).starts_with(b"://") {
                self.address();
            } else {
                let is_escaped = |next: u8| is_quote(next) || next == b'\\';
                let is_pair = byte == b'\\' && self.byte(self.at + 1).is_some_and(is_escaped);
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
        let (is_header, is_name, next) = (is_header(word), is_name(word), self.byte(end));
        self.copy_to(end);
        if is_header && next == Some(b':') {
            self.header(start);
        } else if is_name && next == Some(b'=') {
            self.assignment(start);
        } else if is_header || is_name {
            let is_json = self.json();
            if !is_json && takes_secret(word) {
                self.option();
            }
        }
    }

    /// Hides what is behind `Authorization`, to the end of the quoted text or of the line.
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

    /// Hides what is behind `NAME=`.
    fn assignment(&mut self, start: usize) {
        self.copy_to(self.at + 1);
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
        self.hide_to(end);
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
    fn option(&mut self) {
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
            self.hide_to(self.close(inside, value));
            return;
        }
        if let Some(quote) = quote {
            self.forget(quote);
        }
        self.copy_to(at);
        self.hide_to(self.value_end(at));
    }

    /// Hides the password of an address, behind its scheme.
    fn address(&mut self) {
        self.copy_to(self.at + 3);
        let stop = |byte: u8| b"/?#".contains(&byte) || byte.is_ascii_whitespace();
        let end = self.at + self.run_of(self.at, |byte| !stop(byte));
        let authority = self.text.get(self.at..end).unwrap_or_default();
        let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
            return;
        };
        let user = authority.get(..at).unwrap_or_default();
        if let Some(colon) = user.iter().position(|byte| *byte == b':') {
            let (start, end) = (self.at + colon + 1, self.at + at);
            self.copy_to(start);
            for byte in self.text.get(start..end).unwrap_or_default() {
                self.note(*byte);
            }
            self.out.extend(HIDDEN);
            self.at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        let kept = redact(&words);
        let words: Vec<_> = kept
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        words.join(" ")
    }

    /// What is kept of one argument.
    fn one(argument: &str) -> String {
        let kept = redact(&[argument.as_bytes()]);
        assert_eq!(kept.len(), 1);
        String::from_utf8(kept[0].clone()).unwrap()
    }

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        for (line, kept) in [
            ("mysql --password=abc -u x", "mysql --password=*** -u x"),
            ("curl --token abc https://h", "curl --token *** https://h"),
            (
                "env API_KEY=abc AWS_SECRET_ACCESS_KEY=d ./a",
                "env API_KEY=*** AWS_SECRET_ACCESS_KEY=*** ./a",
            ),
            (
                "git clone https://me:pw@host/x?a=b",
                "git clone https://me:***@host/x?a=b",
            ),
            ("tool --token --verbose", "tool --token --verbose"),
            (
                "tokenize --input=a secret.txt",
                "tokenize --input=a secret.txt",
            ),
            ("cc -DTOKEN_MAX=4 a.c", "cc -DTOKEN_MAX=*** a.c"),
            ("ssh://host:22/x", "ssh://host:22/x"),
        ] {
            assert_eq!(of(line), kept);
        }
    }

    #[test]
    fn names_may_end_in_a_short_word() {
        for (line, kept) in [
            ("env MYSQL_PWD=LEAK3 a", "env MYSQL_PWD=*** a"),
            ("env DBPASS=a SSHPASS=b c", "env DBPASS=*** SSHPASS=*** c"),
            (
                "env X_PASSWD=a GPG_PASSPHRASE=b",
                "env X_PASSWD=*** GPG_PASSPHRASE=***",
            ),
            (
                "a --pwd=LEAK8 --pass=b -pwd=c",
                "a --pwd=*** --pass=*** -pwd=***",
            ),
            ("a --pwd LEAK8 --pass LEAK9 b", "a --pwd *** --pass *** b"),
            (
                "a --passphrase X --db-pass Y",
                "a --passphrase *** --db-pass ***",
            ),
        ] {
            assert_eq!(of(line), kept);
        }
    }

    #[test]
    fn what_is_no_secret_is_kept() {
        for line in [
            "env PWD=/x OLDPWD=/y a",
            "docker run --env=PWD=/x a",
            "cc --pass-through a",
            "cc --pass-through=a",
            "psql --no-password base",
            "sh -c psql\u{a0}--no-password\u{a0}base",
            "a --bypass b --compass=c",
            "a PASSTHROUGH=1 PASS_THROUGH=2",
            "a --password",
            "a --token -- b",
            "a --token --dry-run=x",
            "curl -H Accept:x authorization authorizations:y",
            "kube --authorization-mode=RBAC",
        ] {
            assert_eq!(of(line), line);
        }
        for text in [
            "psql --no-password base; cd $PWD; PWD=/x make",
            "a --token | b",
            "a --password; b",
            "a --token --verbose b",
            "document `--token`, and more",
            r#"{"pass_through":"x","PWD":"/x","token":null,"password":["#,
            "'--password' --verbose x",
            "a 'b c' \"d\" \\\"e\\\" \\ f\\",
            "",
        ] {
            assert_eq!(one(text), text);
        }
    }

    /// Names of files and switches were hidden before short names were: they still are.
    #[test]
    fn a_name_within_a_longer_one_counts() {
        assert_eq!(of("a --password-file=/path"), "a --password-file=***");
        assert_eq!(of("a --password-file /path"), "a --password-file ***");
        assert_eq!(of("make PASS=1"), "make PASS=***");
    }

    #[test]
    fn a_value_may_look_like_a_short_option() {
        for (line, kept) in [
            ("a --password -x b", "a --password *** b"),
            ("a --pass -----BEGIN b", "a --pass *** b"),
            ("a --password --Xk9 b", "a --password *** b"),
            ("a --password --x!y b", "a --password *** b"),
            ("a --password --token x", "a --password --token ***"),
        ] {
            assert_eq!(of(line), kept);
        }
        assert_eq!(one("a --password -x b"), "a --password *** b");
    }

    #[test]
    fn scripts_are_searched() {
        for (text, kept) in [
            (
                r#"curl --password=LEAK1 -H "Authorization: Bearer LEAK2"; :"#,
                r#"curl --password=*** -H "Authorization: ***"; :"#,
            ),
            ("a; X_TOKEN=L b", "a; X_TOKEN=*** b"),
            ("cd a\nMYSQL_PWD=L\tb", "cd a\nMYSQL_PWD=***\tb"),
            ("a --password L -x", "a --password *** -x"),
            ("a --password \\\n  L -x", "a --password \\\n  *** -x"),
            ("a --password  'L L' b", "a --password  *** b"),
            (r#"a --password="L \" L" b"#, "a --password=*** b"),
            (r"a --password='L'\''L L' b", "a --password=*** b"),
            (r"a --password=L\ L b", "a --password=*** b"),
            (r#"a --password=L"L L"L b"#, "a --password=*** b"),
            ("a '--password=L L' b", "a '--password=***' b"),
            ("a '--password='L b", "a '--password=*** b"),
            (r#"a "--password"="L L" b"#, r#"a "--password"="L L" b"#),
            ("su -c 'a --password=L' b", "su -c 'a --password=***' b"),
            (r#"su -c "a --pass 'L L'" b"#, r#"su -c "a --pass ***" b"#),
            ("grep '--password=' b", "grep '--password=' b"),
            ("a '--password' 'L L' b", "a '--password' *** b"),
            (
                r#"run(["a", "--token", "L L"])"#,
                r#"run(["a", "--token", "***"])"#,
            ),
            ("a --password 'L", "a --password ***"),
            (
                r#"["--token", "L"]; a "b --pass=L" c"#,
                r#"["--token", "***"]; a "b --pass=***" c"#,
            ),
            (
                "git clone https://a:L@b; git clone c://d:L@e",
                "git clone https://a:***@b; git clone c://d:***@e",
            ),
            (
                "wget 'https://h/?token=L&x=1' y",
                "wget 'https://h/?token=***' y",
            ),
            (
                r#"{"url":"https://h/?token=L","x":1}"#,
                r#"{"url":"https://h/?token=***","x":1}"#,
            ),
            ("--env=DB_PASSWORD=L L", "--env=DB_PASSWORD=***"),
            ("PASSWORD=L; a", "PASSWORD=***"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn headers_are_hidden_to_the_end_of_the_text() {
        for (text, kept) in [
            ("Authorization: Bearer LEAK6", "Authorization: ***"),
            ("AUTHORIZATION:Basic L=", "AUTHORIZATION:***"),
            (
                "-HProxy-authorization: Digest a=\"L\", b='L'",
                "-HProxy-authorization: ***",
            ),
            (
                "--header=Authorization: Bearer L",
                "--header=Authorization: ***",
            ),
            (
                "curl -H 'authorization: Basic L L' x",
                "curl -H 'authorization: ***' x",
            ),
            (
                "curl '-HAuthorization: Basic L' x",
                "curl '-HAuthorization: ***' x",
            ),
            (
                r"curl -H Authorization:\ Basic\ L",
                "curl -H Authorization:***",
            ),
            (
                "it's; curl -H \"Authorization: L\" 'x'",
                "it's; curl -H \"Authorization: ***\" 'x'",
            ),
            (
                r#"b -c "c -H \"Authorization: L\" x" y"#,
                r#"b -c "c -H \"Authorization: ***\" x" y"#,
            ),
            ("Authorization: L\nx", "Authorization: ***\nx"),
            ("Authorization:", "Authorization:"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn texts_of_json_are_hidden() {
        for (text, kept) in [
            (r#"{"password":"LEAK7"}"#, r#"{"password":"***"}"#),
            (
                r#"{"a":1, "apiKey" : "L L", "b":2}"#,
                r#"{"a":1, "apiKey" : "***", "b":2}"#,
            ),
            (
                r#"{"db_pwd":"L\"L\\","b":"c"}"#,
                r#"{"db_pwd":"***","b":"c"}"#,
            ),
            (
                r#"{'Authorization': 'Bearer L'}"#,
                r#"{'Authorization': '***'}"#,
            ),
            (
                r#"curl -d '{"token":"L"}' x"#,
                r#"curl -d '{"token":"***"}' x"#,
            ),
            (
                r#"curl -d "{\"token\":\"L\\\"L\",\"b\":\"c\"}" x"#,
                r#"curl -d "{\"token\":\"***\",\"b\":\"c\"}" x"#,
            ),
            (r#"{"password":"L"#, r#"{"password":"***"#),
            (
                r#"{"password":"","token":7}"#,
                r#"{"password":"","token":7}"#,
            ),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let arguments: [&[u8]; 3] = [b"\xff --password=\xfe\xfd \xfc", b"", b"\x80TOKEN=\xff"];
        let kept: [&[u8]; 3] = [b"\xff --password=*** \xfc", b"", b"\x80TOKEN=***"];
        assert_eq!(redact(&arguments), kept);
    }

    /// Were it not linear, this would take minutes.
    #[test]
    fn long_arguments_are_read_once() {
        for part in [
            "\\",
            "\"",
            "'\\",
            "\\\"",
            "token\\\"",
            "--token ",
            "--token\\\n",
            "token=\"",
            "'token='",
            "\"token\":\"",
            "\"token\" ",
            "\\\"token\\\":\\\\\"",
            "authorization:",
            "\"authorization:",
            "a://",
            "a://b:c@",
            "a",
            "-",
            "--token --a",
            "--token \\",
            "\"token\":",
            " ",
            "token=\\",
        ] {
            let text = part.repeat((1 << 20) / part.len());
            redact(&[text.as_bytes()]);
            redact(&[format!("--token \"token\" :{text}").as_bytes()]);
        }
    }
}
