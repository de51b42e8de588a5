//! Which words say that a secret follows: tables, and how a word is compared with them.

use super::HIDDEN;

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
const ENDS: &[&str] = &["pass", "pwd", "passin", "passout"];

/// Unless it ends in one of these.
const NO_ENDS: &[&str] = &["bypass", "compass"];

/// These variables of shells are folders.
const FOLDERS: &[&[u8]] = &[b"PWD", b"OLDPWD"];

/// What is behind a header whose name ends in one of these is a secret.
const HEADERS: &[&str] = &[
    "authorization",
    "cookie",
    "private-token",
    "job-token",
    "deploy-token",
    "x-api-key",
    "x-auth-token",
    "x-vault-token",
    "x-amz-security-token",
    "x-goog-api-key",
];

/// In addresses of these the name of a user without a password is a token.
const TOKEN_SCHEMES: &[&str] = &["http", "https", "git+http", "git+https"];

/// What stands for a password where the name of the user is a token.
const NO_PASSWORDS: &[&[u8]] = &[b"", b"x-oauth-basic"];

/// Programs that have options of which the name alone does not say that the value is a secret.
const PROGRAMS: &[Program] = &[
    Program {
        names: &["curl"],
        flags: b"#012346BGIJLNORSVZafgijklnpqsv",
        letters: b"uU",
        options: &["--user", "--proxy-user"],
        takes_next: true,
        hides: Hides::BehindColon,
    },
    Program {
        names: &[
            "mysql",
            "mysqladmin",
            "mysqlbinlog",
            "mysqlcheck",
            "mysqldump",
            "mysqlimport",
            "mysqlpump",
            "mysqlsh",
            "mysqlshow",
            "mysqlslap",
            "mariadb",
            "mariadb-admin",
            "mariadb-binlog",
            "mariadb-check",
            "mariadb-dump",
            "mariadb-import",
            "mariadb-show",
            "mariadb-slap",
        ],
        flags: b"ABCGHNXbfnstv",
        letters: b"p",
        options: &[],
        takes_next: false,
        hides: Hides::All,
    },
];

/// A program by its names, with what its secrets stand behind.
#[derive(Debug)]
pub(super) struct Program {
    names: &'static [&'static str],
    /// Letters that may stand before one of `letters` in the same word.
    flags: &'static [u8],
    /// Short options that have a secret, in the same word or the next one.
    letters: &'static [u8],
    /// Long ones.
    options: &'static [&'static str],
    /// The value may be the next word.
    pub(super) takes_next: bool,
    pub(super) hides: Hides,
}

/// How much of a value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hides {
    /// All of it.
    All,
    /// What is behind the first colon.
    BehindColon,
}

impl Program {
    /// The program of this name, or at this path.
    pub(super) fn of(word: &[u8]) -> Option<&'static Self> {
        let name = word.rsplit(|byte| *byte == b'/').next()?;
        PROGRAMS
            .iter()
            .find(|program| program.names.iter().any(|own| own.as_bytes() == name))
    }

    /// Where in a word the secret value of an option begins: at its end if that is in the next one.
    pub(super) fn value(&self, word: &[u8]) -> Option<usize> {
        let letters = word.strip_prefix(b"-")?;
        if letters.starts_with(b"-") {
            let end = word.iter().position(|byte| *byte == b'=');
            let name = word.get(..end.unwrap_or(word.len()))?;
            let is_own = self.options.iter().any(|own| own.as_bytes() == name);
            return is_own.then(|| end.map_or(word.len(), |end| end + 1));
        }
        let is_flag = |letter: &&u8| self.flags.contains(letter);
        let flags = letters.iter().take_while(is_flag).count();
        let letter = letters.get(flags)?;
        self.letters.contains(letter).then_some(flags + 2)
    }
}

impl Hides {
    /// What is kept of a value.
    pub(super) fn of(self, value: &[u8]) -> Vec<u8> {
        let open = match self {
            Self::All => 0,
            Self::BehindColon => match value.iter().position(|byte| *byte == b':') {
                Some(colon) => colon + 1,
                None => value.len(),
            },
        };
        let (open, secret) = value.split_at(open);
        match secret.is_empty() {
            true => open.to_vec(),
            false => [open, HIDDEN].concat(),
        }
    }
}

/// Whether a word is the name of an option or a variable that holds a secret.
pub(super) fn is_name(word: &[u8]) -> bool {
    if !word.iter().copied().all(is_plain) || FOLDERS.contains(&word) {
        return false;
    }
    let name = String::from_utf8_lossy(word).to_ascii_lowercase();
    let ends_in = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    NAMES.iter().any(|secret| name.contains(secret)) || ends_in(ENDS) && !ends_in(NO_ENDS)
}

/// Whether a word is an option whose value, a secret, is the next one.
pub(super) fn takes_secret(word: &[u8]) -> bool {
    word.starts_with(b"-") && !word.starts_with(b"--no-") && is_name(word)
}

/// Whether a text begins with a long option as most are written, or with `--`.
pub(super) fn is_long_option(text: &[u8]) -> bool {
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
pub(super) fn is_header(word: &[u8]) -> bool {
    HEADERS.iter().any(|name| {
        let end = word.len().checked_sub(name.len());
        end.and_then(|end| word.get(end..))
            .is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// How much of the name of a user, and of the password behind it, is kept in an address: all up to
/// here. `before` ends with the scheme.
pub(super) fn user_end(before: &[u8], user: &[u8]) -> usize {
    let colon = user.iter().position(|byte| *byte == b':');
    let is_scheme = |byte: &u8| is_plain(*byte) || *byte == b'+';
    let length = before
        .iter()
        .rev()
        .take_while(|byte| is_scheme(byte))
        .count();
    let scheme = before.get(before.len() - length..).unwrap_or_default();
    let is_token_scheme = TOKEN_SCHEMES
        .iter()
        .any(|name| name.as_bytes().eq_ignore_ascii_case(scheme));
    let password = colon.and_then(|colon| user.get(colon + 1..));
    match colon {
        _ if is_token_scheme && NO_PASSWORDS.contains(&password.unwrap_or_default()) => 0,
        Some(colon) => colon + 1,
        None => user.len(),
    }
}

/// Whether a byte may be part of a name.
pub(super) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

pub(super) fn is_quote(byte: u8) -> bool {
    b"\"'`".contains(&byte)
}

/// Whether a byte cannot be part of a word of a shell or of JSON that is not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || is_quote(byte) || b"\\,;:|&<>()[]{}".contains(&byte)
}
