//! Bytes that somebody chose, such as a command line, as texts that every reader takes.

use std::borrow::Cow;

/// U+FFFD.
#[cfg(feature = "dataset")]
pub(crate) const MARK: &[u8] = "\u{fffd}".as_bytes();

/// What is UTF-8 as it is. What is not begins with U+FFFD and has `\xNN` for each byte that does
/// not belong and `\\` for each backslash, so that nothing is lost; so does what begins with U+FFFD
/// anyway.
pub fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(char::REPLACEMENT_CHARACTER) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::from(char::REPLACEMENT_CHARACTER);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Undoes [`utf8`].
#[cfg(feature = "dataset")]
pub(crate) fn raw(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut rest) = text.strip_prefix(MARK) else {
        return Cow::Borrowed(text);
    };
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        let escaped = match (byte, behind) {
            (b'\\', [b'\\', behind @ ..]) => Some((b'\\', behind)),
            (b'\\', [b'x', high, low, behind @ ..]) => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                let value = digit(high)
                    .zip(digit(low))
                    .map(|(high, low)| high * 16 + low);
                value.and_then(|value| Some((u8::try_from(value).ok()?, behind)))
            }
            _ => None,
        };
        let (byte, behind) = escaped.unwrap_or((*byte, rest));
        bytes.push(byte);
        rest = behind;
    }
    Cow::Owned(bytes)
}

#[cfg(all(test, feature = "dataset"))]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_utf8_is_kept_whole() {
        let of = |bytes: &[u8]| utf8(bytes).into_owned();
        assert_eq!(of("a\\b é".as_bytes()), "a\\b é");
        assert_eq!(of(b"a\\\xff"), "\u{fffd}a\\\\\\xff");
        assert_eq!(of("\u{fffd}".as_bytes()), "\u{fffd}\u{fffd}");
        for bytes in [
            &b"a\\b"[..],
            b"a\\\xff\\x41",
            b"\xef\xbf\xbdx",
            b"",
            b"\xff",
        ] {
            assert_eq!(raw(utf8(bytes).as_bytes()), bytes);
        }
    }
}
