//! The identity of an attempt: 128 bits of what tells it from all others, the same however often
//! and wherever it is computed. XXH3, whose values are fixed; nobody is kept from making two texts
//! of one value on purpose.

use twox_hash::XxHash3_128;

/// What tells an attempt from all others, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    bytes: Vec<u8>,
}

impl Identity {
    /// That of an attempt that `format` told.
    pub fn new(format: &str) -> Self {
        let bytes = Vec::with_capacity(128);
        Self { bytes }.with(format.as_bytes())
    }

    /// With one more part. Parts do not run into one another: `ab`, `c` is not `a`, `bc`.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        let length = part.len() as u64;
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(part);
        self
    }

    /// With one more text that may be missing, which is not the same as an empty one.
    #[must_use]
    pub fn maybe(self, part: Option<&str>) -> Self {
        match part {
            Some(part) => self.with(b"+").with(part.as_bytes()),
            None => self.with(b"-"),
        }
    }

    /// The 128 bits.
    pub fn value(&self) -> u128 {
        XxHash3_128::oneshot(&self.bytes)
    }

    /// As text: 32 hexadecimal digits.
    pub fn text(&self) -> String {
        text_of(self.value())
    }
}

/// The 128 bits as text.
pub(crate) fn text_of(value: u128) -> String {
    format!("{value:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_always_the_same() {
        let id = Identity::new("nextflow").with(b"ab/123456").maybe(None);
        // As Python's xxhash computes it of the same bytes.
        assert_eq!(id.text(), "3a994ff6d71e65dc7eb02fccaef29e9f");
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        let of = |parts: &[&str]| {
            let none = Identity::new("x");
            let all = parts.iter().fold(none, |id, part| id.with(part.as_bytes()));
            all.value()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        let some = Identity::new("x").maybe(Some("")).value();
        assert_ne!(some, Identity::new("x").maybe(None).value());
    }
}
