//! Which words say that a secret follows: tables, and how a word is compared with them.

/// An option or a variable with one of these in its name has a secret as its value.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "bearer",
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

/// Those that end so say how many pieces of text a program may take or make.
const COUNTS: &[&str] = &[
    "--tokens",
    "max-tokens",
    "max_tokens",
    "num-tokens",
    "num_tokens",
];

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

/// Whether a word is the name of an option or a variable that holds a secret.
pub(super) fn is_name(word: &[u8]) -> bool {
    if !word.iter().copied().all(is_plain) || FOLDERS.contains(&word) {
        return false;
    }
    let name = String::from_utf8_lossy(word).to_ascii_lowercase();
    let ends_in = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if ends_in(COUNTS) {
        return false;
    }
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
