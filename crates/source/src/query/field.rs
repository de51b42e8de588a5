//! The alphabet of kernel text: words, numbers, `key: value` lines. Nothing here fails loudly: what
//! cannot be read is `None`, so a truncated or renamed field costs that field alone.

use record::unit::{Bytes, Nanos};

/// Ticks a second in every file of /proc (`USER_HZ`): 100 on all architectures that Rust has for
/// Linux.
pub(crate) const USER_HZ: u64 = 100;

const NANOS_PER_TICK: u64 = 1_000_000_000 / USER_HZ;

/// The words of `text`, separated by blanks of any kind.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// The lines of `text` without their ends; empty ones are left out.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, tail) = rest.split_at(end);
            rest = tail.get(1..).unwrap_or_default();
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    })
}

/// The `key: value` lines of `text`, blanks around either side cut off.
pub(crate) fn pairs(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(text).filter_map(|line| {
        let (key, rest) = line.split_at(memchr::memchr(b':', line)?);
        Some((key.trim_ascii(), rest.get(1..)?.trim_ascii()))
    })
}

/// A decimal number: digits only, and no more than 64 bits of it.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A decimal number that may be below 0.
pub(crate) fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(number(digits)?),
        None => i64::try_from(number(word)?).ok(),
    }
}

/// The first word of `text` as a number.
pub(crate) fn first_number(text: &[u8]) -> Option<u64> {
    number(words(text).next()?)
}

/// A decimal fraction, finite and not negative.
pub(crate) fn fraction(word: &[u8]) -> Option<f64> {
    let value = std::str::from_utf8(word).ok()?.parse::<f64>().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// `1234 kB`, the kernel's way to write kibibytes.
pub(crate) fn kib(text: &[u8]) -> Option<Bytes> {
    let mut words = words(text);
    let kib = number(words.next()?)?;
    (words.next()? == b"kB").then_some(())?;
    kib.checked_mul(1024).map(Bytes)
}

/// Ticks of `USER_HZ` as time.
pub(crate) const fn ticks(ticks: u64) -> Nanos {
    Nanos(ticks.saturating_mul(NANOS_PER_TICK))
}

/// A time cut to whole ticks, as files of /proc show it.
#[cfg(feature = "bpf")]
pub(crate) const fn tick_of(time: Nanos) -> Nanos {
    ticks(time.0 / NANOS_PER_TICK)
}

/// Text for people: bytes that are no UTF-8 are replaced, blanks around it cut off.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_that_fit() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            &b""[..],
            b"18446744073709551616",
            b"-1",
            b"1x",
            b" 1",
            b"+1",
        ] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_sign_comes_first_and_once() {
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!((signed(b"-20"), signed(b"7")), (Some(-20), Some(7)));
        for bad in [&b""[..], b"-", b"--1", b"+1", b"9223372036854775808"] {
            assert_eq!(signed(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn kibibytes_need_their_unit_and_must_fit() {
        assert_eq!(kib(b"  3060 kB"), Some(Bytes(3060 * 1024)));
        assert_eq!(kib(b"3060"), None);
        assert_eq!(kib(b"18446744073709551615 kB"), None);
    }

    #[test]
    fn pairs_split_at_the_first_colon() {
        let pairs: Vec<_> = pairs(b"Name:\ta:b \nbroken\n x : 1\n").collect();
        assert_eq!(pairs, [(&b"Name"[..], &b"a:b"[..]), (b"x", b"1")]);
    }
}
