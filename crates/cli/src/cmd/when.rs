//! Instants as people write them.

use anyhow::{Context, Result, bail};
use record::quantity;
use record::timestamp::parse_rfc3339;
use record::unit::{Nanos, Unit};
use sys::clock::{self, Clock};

/// What is understood, for messages.
const FORMS: &str = "2026-11-20, 2026-11-20 13:05, 2026-11-20T13:05:30Z or +01:00 (UTC where no \
                     zone is named), or how long ago: 2h, 7d";

/// An instant since 1970.
pub(super) fn instant(text: &str) -> Result<Nanos> {
    of(text, Nanos(clock::now(Clock::Real)))
}

fn of(text: &str, now: Nanos) -> Result<Nanos> {
    let text = text.trim();
    if text == "now" {
        return Ok(now);
    }
    let is_date = text.get(4..5) == Some("-");
    if !is_date {
        let ago = quantity::parse(text, Unit::Nanoseconds);
        let ago = ago.map_err(|_| anyhow::anyhow!("an instant is {FORMS}"))?;
        return Ok(Nanos(now.0.saturating_sub(ago)));
    }
    let (local, offset) = zone(text).with_context(|| format!("an instant is {FORMS}"))?;
    let local = local.replace(' ', "T");
    let whole = match (local.contains('T'), local.matches(':').count()) {
        (false, _) => format!("{local}T00:00:00Z"),
        (true, 0) => format!("{local}:00:00Z"),
        (true, 1) => format!("{local}:00Z"),
        (true, _) => format!("{local}Z"),
    };
    let Some(at) = parse_rfc3339(&whole) else {
        bail!("an instant is {FORMS}");
    };
    let at = i128::from(at) - i128::from(offset) * 1_000_000_000;
    Ok(Nanos(u64::try_from(at).context("before 1970")?))
}

/// The text without its zone, and how many seconds that is ahead of UTC.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Some((local, 0));
    }
    let at = text.rfind(['+', '-']).filter(|at| *at > 10);
    let Some(at) = at else {
        return Some((text, 0));
    };
    let (local, zone) = text.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.get(1..)?.replace(':', "");
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at(2),
        _ => return None,
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some((local, sign * (hours * 3600 + minutes * 60)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_people_write_them() {
        let now = Nanos(parse_rfc3339("2026-11-24T20:00:00Z").unwrap());
        for (text, at) in [
            ("2026-11-20", "2026-11-20T00:00:00Z"),
            ("2026-11-20 13:05", "2026-11-20T13:05:00Z"),
            ("2026-11-20T13", "2026-11-20T13:00:00Z"),
            ("2026-11-20T13:05:30.5Z", "2026-11-20T13:05:30.5Z"),
            ("2026-11-20T13:05+01:00", "2026-11-20T12:05:00Z"),
            ("2026-11-20 13:05:00-0230", "2026-11-20T15:35:00Z"),
            ("2h", "2026-11-24T18:00:00Z"),
            ("now", "2026-11-24T20:00:00Z"),
        ] {
            assert_eq!(
                of(text, now).unwrap().0,
                parse_rfc3339(at).unwrap(),
                "{text}"
            );
        }
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11-20 25:00",
            "2026-11-20T13:05+1",
        ] {
            let said = of(bad, now).unwrap_err().to_string();
            assert!(said.contains("how long ago"), "{bad}: {said}");
        }
    }
}
