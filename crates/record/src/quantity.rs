//! Quantities as people write and read them: `4GiB`, `1.5h`, `3.4 GiB`, `2m03s`.

use crate::limit::{Limit, Resource};
use crate::unit::Unit;
use std::fmt;

/// Why a quantity could not be understood; `Display` names the accepted forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadQuantity {
    /// The offending text.
    pub text: String,
    /// The unit that was expected.
    pub unit: Unit,
}

impl fmt::Display for BadQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = match self.unit {
            Unit::Bytes => "a size such as 512MiB, 4GiB, 4G (= 4GiB), 4GB (= 10^9) or 1048576",
            Unit::Nanoseconds => "a time such as 200ms, 90s, 15m, 1.5h, 2d or 1h30m (90 = 90s)",
            Unit::Ratio | Unit::Cores => "a number above 0 such as 2 or 1.5",
            _ => "a whole number above 0 such as 64",
        };
        match read(&self.text, self.unit) {
            Some(0.0) => write!(f, "`{}` must be above 0: {forms}", self.text),
            Some(value) if value > 0.0 && value < 1.0 => {
                let least = match self.unit {
                    Unit::Nanoseconds => "0.000000001s",
                    Unit::Ratio | Unit::Cores => "0.001",
                    _ => "1",
                };
                write!(f, "`{}` is too small: at least {least}", self.text)
            }
            Some(value) if value >= TOO_LARGE => {
                let largest = match self.unit {
                    Unit::Bytes => "8000000TiB",
                    Unit::Nanoseconds => "100000d",
                    Unit::Ratio | Unit::Cores => "9000000000000000",
                    _ => "9000000000000000000",
                };
                write!(f, "`{}` is too large: at most {largest}", self.text)
            }
            _ => write!(f, "`{}` is not {forms}", self.text),
        }
    }
}

impl std::error::Error for BadQuantity {}

/// Values in base units are below this.
const TOO_LARGE: f64 = 9.2e18;

const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kib", 1024.0),
    ("kb", 1e3),
    ("m", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("mb", 1e6),
    ("g", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("gb", 1e9),
    ("t", 1_099_511_627_776.0),
    ("tib", 1_099_511_627_776.0),
    ("tb", 1e12),
];

const TIMES: &[(&str, f64)] = &[
    ("", 1e9),
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("m", 60e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

/// Reads `text` as a positive quantity of `unit`, in base units (cores: thousandths).
pub fn parse(text: &str, unit: Unit) -> Result<u64, BadQuantity> {
    let bad = || BadQuantity {
        text: text.to_owned(),
        unit,
    };
    let value = read(text, unit)
        .filter(|x| x.is_finite() && *x >= 1.0 && *x < TOO_LARGE)
        .ok_or_else(bad)?;
    Ok(value.round() as u64)
}

/// Reads `text` as [`parse`] does, nothing included.
pub fn parse_with_zero(text: &str, unit: Unit) -> Result<u64, BadQuantity> {
    match read(text, unit) {
        Some(0.0) => Ok(0),
        _ => parse(text, unit),
    }
}

/// The quantity as it is written, zero and far too large ones included.
fn read(text: &str, unit: Unit) -> Option<f64> {
    let trimmed = text.trim().to_ascii_lowercase();
    match unit {
        Unit::Bytes => one_term(&trimmed, SIZES),
        Unit::Nanoseconds => terms(&trimmed),
        Unit::Ratio | Unit::Cores => one_term(&trimmed, &[("", 1000.0)]),
        _ => {
            let whole = trimmed.bytes().all(|byte| byte.is_ascii_digit());
            trimmed.parse().ok().filter(|_| whole)
        }
    }
}

/// Reads the value of a limit.
pub fn parse_limit(resource: Resource, text: &str) -> Result<Limit, BadQuantity> {
    let unit = resource.kind().map_or(Unit::Count, |kind| kind.unit);
    Ok(Limit {
        resource,
        value: parse(text, unit)?,
    })
}

fn split_number(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text.split_at(end)
}

fn one_term(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, suffix) = split_number(text);
    let scale = units
        .iter()
        .find(|(name, _)| *name == suffix.trim_start())?
        .1;
    Some(number.parse::<f64>().ok()? * scale)
}

/// `1h30m`, `90`, `1.5h`: terms add up; only a lone number may lack its unit.
fn terms(text: &str) -> Option<f64> {
    if split_number(text).1.is_empty() {
        return one_term(text, TIMES);
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let (number, tail) = split_number(rest);
        let end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (suffix, next) = tail.split_at(end);
        let scale = TIMES
            .iter()
            .find(|(name, _)| !name.is_empty() && *name == suffix.trim())?
            .1;
        sum += number.parse::<f64>().ok()? * scale;
        rest = next.trim_start();
    }
    Some(sum)
}

/// A size for people: `3.4 GiB`, `512 MiB`, `17 B`.
pub fn show_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut index) = (bytes as f64, 0);
    while value >= 1023.5 && index + 1 < units.len() {
        value /= 1024.0;
        index += 1;
    }
    let unit = units.get(index).copied().unwrap_or("B");
    let digits = if index == 0 || value >= 99.95 || value.fract() < 0.005 {
        0
    } else {
        1
    };
    format!("{value:.digits$} {unit}")
}

/// A span of time for people: `2m03s`, `1h05m`, `1.20 s`, `3.4 ms`.
pub fn show_time(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds >= 3600.0 {
        let minutes = (seconds / 60.0).round() as u64;
        format!("{}h{:02}m", minutes / 60, minutes % 60)
    } else if seconds >= 59.995 {
        let whole = seconds.round() as u64;
        format!("{}m{:02}s", whole / 60, whole % 60)
    } else if seconds >= 0.9995 {
        format!("{seconds:.2} s")
    } else if seconds >= 0.000_999_5 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds >= 0.000_000_999_5 || ns == 0 {
        format!("{:.0} us", seconds * 1e6)
    } else {
        format!("{ns} ns")
    }
}

/// A value of `unit` for people.
pub fn show(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => show_bytes(value as u64),
        Unit::Nanoseconds => show_time(value as u64),
        Unit::Ratio => format!("{:.1} %", value * 100.0),
        Unit::Cores => show_cores(value),
        _ => format!("{value:.0}"),
    }
}

/// Two decimals, three of a small part of a core; what is not nothing is never `0.00`.
fn show_cores(value: f64) -> String {
    if value <= 0.0 || value >= 0.005 {
        format!("{value:.2}")
    } else if value >= 0.0005 {
        format!("{value:.3}")
    } else {
        "less than 0.001".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_read_as_the_manual_says() {
        for (text, bytes) in [
            ("4GiB", 4 << 30),
            ("4G", 4 << 30),
            ("4 gb", 4_000_000_000),
            ("17", 17),
            ("1.5k", 1536),
        ] {
            assert_eq!(parse(text, Unit::Bytes), Ok(bytes), "{text}");
        }
        for (text, ms) in [
            ("200ms", 200),
            ("90", 90_000),
            ("1.5h", 5_400_000),
            ("1h30m", 5_400_000),
            ("2m", 120_000),
        ] {
            assert_eq!(parse(text, Unit::Nanoseconds), Ok(ms * 1_000_000), "{text}");
        }
        assert_eq!(parse("1.5", Unit::Cores), Ok(1500));
    }

    #[test]
    fn nothing_is_read_where_it_may_be() {
        for text in ["0", "0ms", "0h0m", "0.0s"] {
            assert_eq!(parse_with_zero(text, Unit::Nanoseconds), Ok(0), "{text}");
        }
        assert_eq!(parse_with_zero("2s", Unit::Nanoseconds), Ok(2_000_000_000));
        assert!(parse_with_zero("-0s", Unit::Nanoseconds).is_err());
        assert!(parse_with_zero("", Unit::Bytes).is_err());
    }

    #[test]
    fn a_part_of_a_core_is_not_none() {
        let said = [0.0, 0.000_1, 0.000_5, 0.004_9, 0.005, 1.5].map(|it| show(it, Unit::Cores));
        let words = ["0.00", "less than 0.001", "0.001", "0.005", "0.01", "1.50"];
        assert_eq!(said, words);
    }

    #[test]
    fn what_is_out_of_range_is_told_the_range() {
        let said = |text, unit| parse(text, unit).unwrap_err().to_string();
        for (text, unit, largest) in [
            ("99999999999h", Unit::Nanoseconds, "100000d"),
            ("99999999999TiB", Unit::Bytes, "8000000TiB"),
            ("99999999999999999999", Unit::Count, "9000000000000000000"),
            ("99999999999999999", Unit::Cores, "9000000000000000"),
        ] {
            let why = format!("`{text}` is too large: at most {largest}");
            assert_eq!(said(text, unit), why);
            assert!(parse(largest, unit).is_ok(), "{largest}");
        }
        for (text, unit, least) in [
            ("0.1", Unit::Bytes, "1"),
            ("0.0000000001s", Unit::Nanoseconds, "0.000000001s"),
            ("0.0001", Unit::Cores, "0.001"),
        ] {
            let why = format!("`{text}` is too small: at least {least}");
            assert_eq!(said(text, unit), why);
            assert!(parse(least, unit).is_ok(), "{least}");
        }
        assert_eq!([show_time(0), show_time(100)], ["0 us", "100 ns"]);
    }

    #[test]
    fn nonsense_is_refused_with_the_accepted_forms() {
        for text in [
            "", "0", "-1", "4X", "1e400g", "GiB", "1.2.3", "nan", "inf", "4 G B",
        ] {
            let error = parse(text, Unit::Bytes).unwrap_err();
            assert!(error.to_string().contains("512MiB"), "{text}");
        }
        for text in ["0s", "1h30", "s", "5 parsecs"] {
            assert!(parse(text, Unit::Nanoseconds).is_err(), "{text}");
        }
        assert!(parse("1.5", Unit::Count).is_err());
    }

    #[test]
    fn zero_is_told_to_be_too_little_and_not_to_be_malformed() {
        for (text, unit) in [
            ("0", Unit::Bytes),
            ("0 GiB", Unit::Bytes),
            ("0h0m", Unit::Nanoseconds),
            ("0", Unit::Count),
            ("0.0", Unit::Cores),
        ] {
            let told = parse(text, unit).unwrap_err().to_string();
            assert!(
                told.starts_with(&format!("`{text}` must be above 0: ")),
                "{told}"
            );
        }
        let told = parse("0 parsecs", Unit::Nanoseconds)
            .unwrap_err()
            .to_string();
        assert!(told.starts_with("`0 parsecs` is not a time"), "{told}");
    }

    #[test]
    fn people_read_short_numbers() {
        assert_eq!(show_bytes(3_650_722_201), "3.4 GiB");
        assert_eq!(show_bytes(1 << 30), "1 GiB");
        assert_eq!(show_bytes(999), "999 B");
        assert_eq!(show_time(123_000_000_000), "2m03s");
        assert_eq!(show_time(59_999_000_000), "1m00s");
        assert_eq!(show_time(3_400_000), "3.4 ms");
        assert_eq!(show_time(3_900_000_000_000), "1h05m");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused_but_never_panics(text in ".{0,24}") {
            for unit in [Unit::Bytes, Unit::Nanoseconds, Unit::Count, Unit::Cores] {
                if let Ok(value) = parse(&text, unit) {
                    proptest::prop_assert!(value >= 1);
                }
            }
        }
    }
}
