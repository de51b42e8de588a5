//! Which format a file probably has, by its name and how it begins.

use super::{FORMATS, Format};

/// Bytes of the beginning that are looked at.
const LOOK_MAX: usize = 1 << 16;

/// What is known of a file whose format is not.
#[derive(Debug)]
pub(super) struct Look<'l> {
    /// The last part of its name, in small letters, without `.gz`.
    pub(super) name: String,
    /// How it begins.
    pub(super) text: &'l str,
}

impl Look<'_> {
    /// The fields of the first line.
    pub(super) fn fields(&self, separator: char) -> impl Iterator<Item = &str> {
        let line = self.text.lines().next().unwrap_or_default();
        line.split(separator).map(str::trim)
    }

    /// Whether one of the first line's fields is called `name`.
    pub(super) fn has_field(&self, separator: char, name: &str) -> bool {
        self.fields(separator).any(|field| field == name)
    }
}

/// The format that a file of this name probably has, if `first` is
/// [how it begins](super::Unpacked::beginning), unpacked.
pub fn detect(file_name: &str, first: &[u8]) -> Option<&'static Format> {
    let first = first.get(..LOOK_MAX).unwrap_or(first);
    let name = file_name.rsplit('/').next().unwrap_or(file_name);
    let name = name.to_ascii_lowercase();
    let text = String::from_utf8_lossy(first);
    let look = Look {
        name: name.strip_suffix(".gz").unwrap_or(&name).to_owned(),
        text: text.trim_start(),
    };
    FORMATS
        .iter()
        .copied()
        .find(|format| (format.detects)(&look))
}
