//! Instants as text: RFC 3339 in UTC with microseconds, from nanoseconds since 1970. Pure
//! arithmetic, no clock.

/// The instant `unix_ns` nanoseconds after 1970-01-01T00:00:00Z, as `2026-11-21T01:02:03.000004Z`.
pub fn rfc3339(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let micros = unix_ns % 1_000_000_000 / 1000;
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let rest = seconds % 86_400;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of the proleptic Gregorian calendar, `days` after 1970-01-01 (the era
/// arithmetic published by Howard Hinnant as `civil_from_days`).
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Nanoseconds since 1970 of an instant as [`rfc3339`] writes it; none for any other text.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(clock, ':')?;
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day) && year >= 1970;
    if !valid || hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 {
        return None;
    }
    let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
    let days = days_from_civil(year, month, day)?;
    let seconds = days.checked_mul(86_400)? + hour * 3600 + minute * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>()
            .ok()
            .filter(|_| digits && part.len() <= 4)
    });
    let found = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(found)
}

/// The inverse of [`civil_from_days`], for years from 1970 on.
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year - u64::from(month <= 2);
    let year_of_era = year % 400;
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (year / 400 * 146_097 + day_of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for instant in [
            0,
            951_782_400_000_001_000,
            1_795_222_923_999_999_000,
            4_102_444_799_000_000_000,
        ] {
            assert_eq!(parse_rfc3339(&rfc3339(instant)), Some(instant));
        }
        for bad in [
            "",
            "Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+01:00",
            "1969-12-31T23:59:59Z",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.1234567890Z",
        ] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }

    #[test]
    fn known_instants_read_as_date_does() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            rfc3339(951_782_400_000_001_000),
            "2000-02-29T00:00:00.000001Z"
        );
        assert_eq!(
            rfc3339(1_795_222_923_999_999_999),
            "2026-11-21T01:02:03.999999Z"
        );
    }
}
