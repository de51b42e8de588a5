//! Who may submit: a file of names and tokens that nobody else may read.

use sha2::{Digest, Sha256};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A shorter token can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// A larger file is none of tokens.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What stands before the SHA-256 of a token.
const DIGEST: &str = "sha256:";

/// Why there are no tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Others could submit in the name of its owner.
    #[error("others may read or write {0}: `chmod 600 {0}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is much larger than tokens are.
    #[error("{} is no file of tokens: it is no regular file of at most 1 MiB", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// A line that is none.
    #[error(
        "{}, line {line}: a line is `NAME TOKEN`, where the token has 16 bytes or more, or \
         `NAME sha256:` and its SHA-256 in 64 hexadecimal digits", path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
    },
}

/// A file of tokens, read anew whenever it has changed.
#[derive(Debug)]
pub(super) struct Tokens {
    path: PathBuf,
    read: Mutex<(State, Vec<Entry>)>,
}

/// What tells that a file is another.
type State = (u64, u64, u32, Option<SystemTime>);

#[derive(Debug)]
struct Entry {
    name: String,
    digest: [u8; 32],
}

impl Tokens {
    pub(super) fn open(path: &Path) -> Result<Self, TokensError> {
        let read = read(path)?;
        Ok(Self {
            path: path.to_owned(),
            read: Mutex::new(read),
        })
    }

    /// Reads the file.
    pub(super) fn reload(&self) -> Result<(), TokensError> {
        let new = read(&self.path)?;
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// Whose token it is. A file that is no longer good lets nobody in.
    pub(super) fn name(&self, token: &[u8]) -> Result<Option<String>, TokensError> {
        let now = state(&self.path).map(|(_, state)| state)?;
        let has_changed = {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.0 != now
        };
        if has_changed {
            self.reload()?;
        }
        let digest = digest(token);
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // All of them are compared, and all bytes of each: the time tells nothing.
        let found = read.1.iter().fold(None, |found, entry| {
            match is_equal(&entry.digest, &digest) {
                true => Some(entry.name.clone()),
                false => found,
            }
        });
        Ok(found)
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn is_equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let pairs = one.iter().zip(other);
    pairs.fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

fn state(path: &Path) -> Result<(Metadata, State), TokensError> {
    let data = fs::metadata(path).map_err(|source| TokensError::Read {
        path: path.to_owned(),
        source,
    })?;
    let state = (data.ino(), data.len(), data.mode(), data.modified().ok());
    Ok((data, state))
}

fn read(path: &Path) -> Result<(State, Vec<Entry>), TokensError> {
    let (data, state) = state(path)?;
    let path = path.to_owned();
    if !data.is_file() || data.len() > FILE_BYTES_MAX {
        return Err(TokensError::Kind { path });
    }
    if data.mode() & 0o077 != 0 {
        return Err(TokensError::Open { path });
    }
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(TokensError::Read { path, source }),
    };
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match entry(line) {
            Some(entry) => entries.push(entry),
            None => {
                let line = number + 1;
                return Err(TokensError::Line { path, line });
            }
        }
    }
    Ok((state, entries))
}

fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split_whitespace();
    let (name, token) = (words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let digest = match token.strip_prefix(DIGEST) {
        Some(digits) => from_digits(digits)?,
        None if token.len() >= TOKEN_BYTES_MIN => digest(token.as_bytes()),
        None => return None,
    };
    Some(Entry {
        name: name.to_owned(),
        digest,
    })
}

fn from_digits(digits: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = digits
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|it| u8::try_from(it).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high * 16 + low).collect();
    bytes.try_into().ok().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const TOKEN: &str = "correct-horse-battery";

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_token_is_known_by_itself_or_its_digest() {
        let digits: String = digest(b"another-long-token-1")
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let text = format!("# who\nann {TOKEN}\n\n ben sha256:{digits}\n");
        let file = file(&text, 0o600);
        let tokens = Tokens::open(file.path()).unwrap();
        let name = |token: &str| tokens.name(token.as_bytes()).unwrap();
        assert_eq!(name(TOKEN).as_deref(), Some("ann"));
        assert_eq!(name("another-long-token-1").as_deref(), Some("ben"));
        assert_eq!(name("correct-horse-batterz"), None);
        assert_eq!(name(&digits), None);
        assert_eq!(name(""), None);
        fs::write(file.path(), "eve another-long-token-22").unwrap();
        assert_eq!(name(TOKEN), None);
        assert_eq!(name("another-long-token-22").as_deref(), Some("eve"));
    }

    #[test]
    fn a_file_that_is_not_good_lets_nobody_in() {
        let error = |text: &str, mode| {
            let file = file(text, mode);
            Tokens::open(file.path()).unwrap_err().to_string()
        };
        assert!(error(&format!("ann {TOKEN}"), 0o640).contains("chmod 600"));
        for text in [
            "ann",
            "ann short",
            "ann sha256:12",
            "ann a-very-long-token-it-is x",
        ] {
            assert!(
                error(&format!("# x\n{text}"), 0o600).contains("line 2"),
                "{text}"
            );
        }
        let file = file(&format!("ann {TOKEN}"), 0o600);
        let tokens = Tokens::open(file.path()).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            tokens.name(TOKEN.as_bytes()),
            Err(TokensError::Open { .. })
        ));
        assert!(Tokens::open(Path::new("/nowhere/tokens")).is_err());
    }
}
