//! Instants as other tools write them, as nanoseconds since 1970.

use super::amount::{self, Bad};
use record::timestamp::parse_rfc3339;

const BAD: Bad = Bad("is no date");

/// A date with a time: `2026-11-21 01:02:03.004`, with `T` between them or a zone behind; without
/// one it is a local time, `offset` seconds ahead of UTC.
pub(super) fn date(text: &str, offset: i32) -> Result<i64, Bad> {
    let text = text.trim();
    let (date, rest) = text.split_at_checked("2026-11-21".len()).ok_or(BAD)?;
    let time = rest.strip_prefix([' ', 'T']).ok_or(BAD)?;
    let end = time.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.');
    let (time, zone) = time.split_at(end.unwrap_or(time.len()));
    let offset = match zone {
        "" => offset,
        zone => seconds_of_zone(zone).ok_or(BAD)?,
    };
    // Parts of a second beyond nanoseconds are no parts of an instant here.
    let time = match time.split_once('.') {
        Some((clock, parts)) => {
            let parts = parts.get(..9).unwrap_or(parts);
            format!("{date}T{clock}.{parts}Z")
        }
        None => format!("{date}T{time}Z"),
    };
    let utc = parse_rfc3339(&time).and_then(|ns| i64::try_from(ns).ok());
    let ahead = i64::from(offset).checked_mul(1_000_000_000);
    utc.zip(ahead)
        .and_then(|(utc, ahead)| utc.checked_sub(ahead))
        .ok_or(BAD)
}

/// `Z`, `+01:00`, `-0530`, `+01`.
fn seconds_of_zone(zone: &str) -> Option<i32> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at(2),
        _ => return None,
    };
    let hours: i32 = hours.parse().ok().filter(|_| is_digits)?;
    let minutes: i32 = minutes.parse().ok()?;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// A number of units since 1970, so many nanoseconds each.
pub(super) fn since_1970(text: &str, unit: u64) -> Result<i64, Bad> {
    let ns = amount::number(text, unit)?;
    i64::try_from(ns).map_err(|_| BAD)
}

/// A number of units since 1970, or a date.
pub(super) fn either(text: &str, unit: u64, offset: i32) -> Result<i64, Bad> {
    let is_number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    match is_number {
        true => since_1970(text, unit),
        false => date(text, offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_takes_the_offset_and_a_zone_its_own() {
        let utc = 1_795_222_923_004_000_000;
        for (text, offset) in [
            ("2026-11-21 01:02:03.004", 0),
            ("2026-11-21T01:02:03.004Z", 7200),
            ("2026-11-21 02:02:03.004", 3600),
            ("2026-11-21T02:02:03.0040000000001+01:00", 0),
            ("2026-11-20T19:32:03.004-0530", 0),
            ("2026-11-21T02:02:03.004+01", 0),
        ] {
            assert_eq!(date(text, offset), Ok(utc), "{text}");
        }
        for text in [
            "",
            "Unknown",
            "2026-11-21",
            "2026-11-21 1",
            "2026-13-21 01:02:03",
            "2026-11-21 01:02:03 CET",
            "2026-11-21T01:02:03+1",
            "2026-11-2é 01:02:03",
            "1969-12-31T23:59:59",
        ] {
            assert_eq!(date(text, 0), Err(BAD), "{text}");
        }
        assert_eq!(either("1795222923004", 1_000_000, 9), Ok(utc));
        assert!(either("99999999999999999999", 1_000_000, 0).is_err());
    }
}
