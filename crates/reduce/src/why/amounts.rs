//! How much to ask for next time: the ladder's next rung where a limit was in the way, the peak
//! with headroom where it was not; both rounded up to what people write.

use super::case::{Amount, Case, show};
use super::verdict::Change;
use record::report::Claim;
use record::unit::Unit;
use record::value::Number;

const MIB: f64 = (1u64 << 20) as f64;
const GIB: f64 = (1u64 << 30) as f64;
const SECOND: f64 = 1e9;
const MINUTE: f64 = 60.0 * SECOND;
const HOUR: f64 = 60.0 * MINUTE;

/// What a rung is above the one below it.
const RUNG: f64 = 2.0;

/// Doubled more often, a number has no meaning.
const RUNGS_MAX: u32 = 16;

/// Beyond a peak that is known.
const HEADROOM: f64 = 1.2;

/// Beyond a peak that may have been missed.
const HEADROOM_SAMPLED: f64 = 1.5;

/// Of what was asked for: a change of less is not worth it.
const NEAR: f64 = 0.8;

/// Less memory is never asked for.
const MEMORY_LEAST: f64 = 64.0 * MIB;

/// Less time is never asked for.
const TIME_LEAST: f64 = MINUTE;

/// Steps to which numbers are rounded up, by the size from which on.
const SIZE_STEPS: &[(f64, f64)] = &[
    (16.0 * GIB, GIB),
    (4.0 * GIB, 512.0 * MIB),
    (GIB, 128.0 * MIB),
    (256.0 * MIB, 32.0 * MIB),
    (16.0 * MIB, 8.0 * MIB),
    (0.0, MIB),
];
const TIME_STEPS: &[(f64, f64)] = &[
    (8.0 * HOUR, HOUR),
    (HOUR, 10.0 * MINUTE),
    (10.0 * MINUTE, MINUTE),
    (MINUTE, 10.0 * SECOND),
    (0.0, SECOND),
];

/// `value` rounded up to what people write.
pub(super) fn round_up(value: f64, unit: Unit) -> Number {
    let steps = match unit {
        Unit::Bytes => SIZE_STEPS,
        Unit::Nanoseconds => TIME_STEPS,
        _ => &[(0.0, 1.0)],
    };
    let step = steps.iter().find(|(from, _)| value >= *from);
    let step = step.map_or(1.0, |(_, step)| *step);
    Number::Whole(((value / step).ceil() * step) as u64)
}

/// Twice what was not enough, and twice again as long as that is not above what was found. What
/// would be enough is not known.
pub(super) fn rung(resource: &str, from: Number, found: f64, unit: Unit, source: &str) -> Change {
    let mut to = from.as_f64() * RUNG;
    let mut rungs = 1;
    while to <= found && rungs < RUNGS_MAX {
        to *= RUNG;
        rungs += 1;
    }
    let times = match rungs {
        1 => "twice what was not enough".to_owned(),
        _ => format!("what was not enough, doubled {rungs} times to be above what was found"),
    };
    Change {
        resource: resource.to_owned(),
        from: Some(from),
        from_source: Some(source.to_owned()),
        to: round_up(to, unit),
        unit,
        reason: format!("{times}; how much it needs is not known"),
        own_limit: false,
    }
}

/// The same of what a scheduler or a control group allowed.
pub(super) fn rung_of(resource: &str, claim: &Claim) -> Change {
    rung(resource, claim.value, 0.0, claim.unit, &claim.source)
}

/// What it used and some more; nothing where as much was asked for, or nearly.
pub(super) fn with_headroom(
    case: &Case<'_>,
    resource: &str,
    used: Amount,
    metric: &str,
) -> Option<Change> {
    let change = peak_and_more(case, resource, used, metric);
    let is_near = |from: Number| change.to.as_f64() > from.as_f64() * NEAR;
    (!change.from.is_some_and(is_near)).then_some(change)
}

/// What it used and some more.
pub(super) fn peak_and_more(case: &Case<'_>, resource: &str, used: Amount, metric: &str) -> Change {
    let share = match (used.unit, used.most) {
        // The next one may meet a slower machine.
        (Unit::Nanoseconds, _) | (_, None) => HEADROOM_SAMPLED,
        (_, Some(_)) => HEADROOM,
    };
    let least = match used.unit {
        Unit::Nanoseconds => TIME_LEAST,
        Unit::Bytes => MEMORY_LEAST,
        _ => 0.0,
    };
    let from = case.report.request.get(resource);
    let percent = (share - 1.0) * 100.0;
    Change {
        resource: resource.to_owned(),
        from: from.map(|from| from.value),
        from_source: from.map(|from| from.source.clone()),
        to: round_up((used.safe() * share).max(least), used.unit),
        unit: used.unit,
        reason: format!(
            "{metric} {} and {percent:.0} % more, rounded up",
            show(used.safe(), used.unit)
        ),
        own_limit: case.is_own_limit(resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_up_to_what_people_write() {
        let up = |value: f64, unit| round_up(value, unit).as_f64();
        for (value, rounded) in [
            (1.0, MIB),
            (80.0 * MIB, 80.0 * MIB),
            (81.0 * MIB, 88.0 * MIB),
            (1.01 * GIB, 1152.0 * MIB),
            (5.2 * GIB, 5.5 * GIB),
            (20.1 * GIB, 21.0 * GIB),
        ] {
            assert_eq!(up(value, Unit::Bytes), rounded);
        }
        assert_eq!(up(0.2 * SECOND, Unit::Nanoseconds), SECOND);
        assert_eq!(up(61.0 * SECOND, Unit::Nanoseconds), 70.0 * SECOND);
        assert_eq!(up(9.2 * HOUR, Unit::Nanoseconds), 10.0 * HOUR);
        assert_eq!(up(2.5, Unit::Count), 3.0);
    }

    #[test]
    fn the_ladder_goes_on_until_it_is_above_what_was_found() {
        let to = |found| rung("files", Number::Whole(10), found, Unit::Count, "x").to;
        assert_eq!(to(11.0), Number::Whole(20));
        assert_eq!(to(20.0), Number::Whole(40));
        // Nothing is doubled for ever.
        assert_eq!(to(f64::INFINITY), Number::Whole(10 << RUNGS_MAX));
    }
}
