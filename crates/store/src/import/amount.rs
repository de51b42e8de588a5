//! Amounts as other tools write them, in base units.

use record::quantity;
use record::unit::Unit;

/// Why a text is not what its column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad(pub(super) &'static str);

/// Amounts are below this, as in [`record::quantity`].
const TOO_LARGE: f64 = 9.2e18;

pub(super) const SECOND: u64 = 1_000_000_000;
pub(super) const MILLISECOND: u64 = 1_000_000;
pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;

/// A number, not below 0.
pub(super) fn real(text: &str) -> Result<f64, Bad> {
    let value: f64 = text.trim().parse().map_err(|_| Bad("is no number"))?;
    at_least_zero(value)
}

/// A number, if it is one that an amount can be.
pub(super) fn at_least_zero(value: f64) -> Result<f64, Bad> {
    match value {
        value if !value.is_finite() => Err(Bad("is no number")),
        value if value < 0.0 => Err(Bad("is below 0")),
        value if value >= TOO_LARGE => Err(Bad("is too large")),
        // Not -0.
        value => Ok(value + 0.0),
    }
}

/// So many times `scale`, to the nearest whole.
pub(super) fn scaled(value: f64, scale: f64) -> Result<u64, Bad> {
    let value = (at_least_zero(value)? * scale).round();
    match value < TOO_LARGE {
        true => Ok(value as u64),
        false => Err(Bad("is too large")),
    }
}

/// A number in units of `scale`, exact where it is whole.
pub(super) fn number(text: &str, scale: u64) -> Result<u64, Bad> {
    let text = text.trim();
    match text.parse::<u64>() {
        Ok(value) => whole(value, scale),
        Err(_) => scaled(real(text)?, scale as f64),
    }
}

/// So many times `scale`.
pub(super) fn whole(value: u64, scale: u64) -> Result<u64, Bad> {
    let product = value.checked_mul(scale);
    product
        .filter(|product| (*product as f64) < TOO_LARGE)
        .ok_or(Bad("is too large"))
}

/// A size whose letters are powers of 1024, whatever follows them: `1.2 GB`, `512M`, `17`.
pub(super) fn size(text: &str) -> Result<u64, Bad> {
    const LETTERS: &str = "KMGTPE";
    let text = text.trim();
    let begin = text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
    // `1e9` has an exponent, `2E` a unit.
    let begin = begin.or_else(|| text.len().checked_sub(1).filter(|_| text.ends_with('E')));
    let (value, unit) = text.split_at(begin.unwrap_or(text.len()));
    let unit = unit.to_ascii_uppercase();
    let letter = unit.trim_end_matches('B').trim_end_matches('I');
    let power = match letter {
        "" => 0,
        letter if letter.len() == 1 => 1 + LETTERS.find(letter).ok_or(Bad("is no size"))?,
        _ => return Err(Bad("is no size")),
    };
    let power = u32::try_from(power).unwrap_or(u32::MAX);
    let scale = 1024_u64.checked_pow(power).ok_or(Bad("is no size"))?;
    number(value, scale)
}

/// A time with units: `1h 2m 3s`, `345ms`.
pub(super) fn span(text: &str) -> Result<u64, Bad> {
    quantity::parse_with_zero(text, Unit::Nanoseconds).map_err(|_| Bad("is no time"))
}

/// A time with colons: `[DAYS-][HOURS:]MINUTES:SECONDS`, with `N day(s), ` in front, or the
/// seconds alone.
pub(super) fn clock(text: &str) -> Result<u64, Bad> {
    let bad = Bad("is no time");
    let text = text.trim();
    let (days, clock) = match (text.split_once(", "), text.split_once('-')) {
        (Some((days, clock)), _) => {
            let days = days.trim_end_matches('s').trim_end_matches(" day");
            (digits(days)?, clock)
        }
        (None, Some((days, clock))) => (digits(days)?, clock),
        (None, None) => (0, text),
    };
    let mut parts = clock.rsplit(':');
    let seconds = parts.next().filter(|text| !text.is_empty()).ok_or(bad)?;
    let seconds = number(seconds, SECOND)?;
    let minutes = parts.next().map_or(Ok(0), digits)?;
    let hours = parts.next().map_or(Ok(0), digits)?;
    if parts.next().is_some() {
        return Err(bad);
    }
    let minutes = days.checked_mul(24).and_then(|sum| {
        sum.checked_add(hours)?
            .checked_mul(60)?
            .checked_add(minutes)
    });
    let whole = minutes.and_then(|minutes| minutes.checked_mul(60));
    let whole = whole.ok_or(Bad("is too large"))?;
    let sum = whole_seconds(whole)?.checked_add(seconds);
    sum.filter(|sum| (*sum as f64) < TOO_LARGE)
        .ok_or(Bad("is too large"))
}

fn whole_seconds(seconds: u64) -> Result<u64, Bad> {
    whole(seconds, SECOND)
}

fn digits(text: &str) -> Result<u64, Bad> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| is_digits)
        .ok_or(Bad("is no time"))
}

/// A percentage as a share of 1: `98.7%`, `98.7`.
pub(super) fn percent(text: &str) -> Result<f64, Bad> {
    let text = text.trim();
    real(text.strip_suffix('%').unwrap_or(text)).map(|percent| percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("17 B", 17),
            ("1.5 KB", 1536),
            ("512M", 512 << 20),
            ("4GiB", 4 << 30),
            ("2E", 2 << 60),
            ("1e3", 1000),
            ("9007199254740993", 9_007_199_254_740_993),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "x",
            "-1",
            "NaN",
            "1Z",
            "1KMB",
            "99999999T",
            "1e400",
            "18446744073709551616",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn clocks_have_days_hours_and_parts_of_seconds() {
        for (text, ms) in [
            ("0:00:00", 0),
            ("1-02:03:04", 93_784_000),
            ("2 days, 10:00:00", 208_800_000),
            ("1 day, 0:00:01", 86_401_000),
            ("0:29.02", 29_020),
            ("00:00.123", 123),
            ("17.5", 17_500),
        ] {
            assert_eq!(clock(text), Ok(ms * MILLISECOND), "{text}");
        }
        for text in [
            "",
            ":",
            "1:2:3:4",
            "-1:00",
            "x days, 0:00:00",
            "1:-2",
            "UNLIMITED",
            "1:nan",
        ] {
            assert!(clock(text).is_err(), "{text}");
        }
        assert!(clock("999999999999999999999-00:00:00").is_err());
        assert!(clock("9999999999:00:00").is_err());
    }

    #[test]
    fn what_is_no_amount_says_why() {
        assert_eq!(number("-1", 1), Err(Bad("is below 0")));
        assert_eq!(number("nan", 1), Err(Bad("is no number")));
        assert_eq!(number("18446744073709551616", 1), Err(Bad("is too large")));
        assert_eq!(number("1e3", 2), Ok(2000));
        assert_eq!(percent("98.5%"), Ok(0.985));
        assert_eq!(span("3m 2s"), Ok(182 * SECOND));
        assert_eq!(span("0ms"), Ok(0));
    }
}
