//! Judges a field of the report against a truth known by construction.

use super::run::Done;
use record::value::{Field, Method, Value};

/// One mebibyte.
pub(crate) const MIB: u64 = 1 << 20;

/// A bound counts only if its high end is at most this times its low end.
const BOUND_RATIO_MAX: f64 = 1.25;

/// How much slower than usual this machine is (`PLIMSOLL_TEST_SLOWNESS`, under emulation).
pub(crate) fn slowness() -> u64 {
    let told = std::env::var("PLIMSOLL_TEST_SLOWNESS");
    told.ok().and_then(|told| told.parse().ok()).unwrap_or(1)
}

/// What is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rigour {
    /// The value itself is near the truth; bounds around it are, too.
    Near,
    /// Or a pair of bounds holds the truth, the high one at most 1.25 times the low one.
    Bound,
    /// Or it says that it is sampled, and is not above the truth.
    Sampled,
}

/// The truth, give or take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    low: f64,
    high: f64,
}

impl Truth {
    /// `value`, give or take `ratio` of it and `slack` more.
    pub(crate) fn near(value: u64, ratio: f64, slack: u64) -> Self {
        let value = value as f64;
        let distance = value * ratio + slack as f64;
        Self {
            low: value - distance,
            high: value + distance,
        }
    }

    /// `least` nanoseconds of CPU time and what starting and ending programs takes, up to `more`:
    /// that is longer on a slow machine.
    pub(crate) fn cpu(least: u64, more: u64) -> Self {
        Self::between(least, least + more * slowness())
    }

    /// `value` nanoseconds of CPU time, give or take `ratio` of it and `slack` more, which is for
    /// what starts and ends a program.
    pub(crate) fn near_cpu(value: u64, ratio: f64, slack: u64) -> Self {
        Self::near(value, ratio, slack * slowness())
    }

    /// `value` and nothing else.
    pub(crate) fn exactly(value: u64) -> Self {
        Self::near(value, 0.0, 0)
    }

    /// Whether `value` is accepted.
    #[cfg(feature = "dataset")]
    pub(crate) fn takes(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Whether `value` is more than is accepted.
    pub(crate) fn is_below(self, value: f64) -> bool {
        value > self.high
    }

    /// Anything from `low` to `high`.
    pub(crate) fn between(low: u64, high: u64) -> Self {
        Self {
            low: low as f64,
            high: high as f64,
        }
    }
}

/// A memory peak of `mib` MiB: within 1 % and 2 MiB.
pub(crate) fn memory(mib: u64) -> Truth {
    Truth::near(mib * MIB, 0.01, 2 * MIB)
}

/// Fails unless the field `name` of the report is true to `truth` as `rigour` asks.
#[track_caller]
pub(crate) fn holds(done: &Done, name: &str, truth: Truth, rigour: Rigour) {
    let field = field(done, name);
    let Some(value) = field.value() else {
        panic!("{name} is absent: {field:?}\n{}", done.context());
    };
    if let Err(why) = judge(value, truth, rigour) {
        panic!(
            "{name}: {why}\ntruth: {} to {}, {rigour:?}\ngot: {}\n{}",
            truth.low,
            truth.high,
            serde_json::to_string(value).unwrap(),
            done.context()
        );
    }
}

/// The field `name`, which the schema promises in every report.
#[track_caller]
pub(crate) fn field<'a>(done: &'a Done, name: &str) -> &'a Field {
    match done.report().usage.get(name) {
        Some(field) => field,
        None => panic!("the report has no field {name}\n{}", done.context()),
    }
}

/// The number of a field that must be there.
#[track_caller]
pub(crate) fn number(done: &Done, name: &str) -> f64 {
    match field(done, name) {
        Field::Present(value) => value.value.as_f64(),
        Field::Missing { absent } => panic!("{name}: {}\n{}", absent.words(), done.context()),
    }
}

fn judge(value: &Value, truth: Truth, rigour: Rigour) -> Result<(), String> {
    let number = value.value.as_f64();
    let near = number >= truth.low && number <= truth.high;
    match &value.method {
        Method::LowerBound { upper: Some(upper) } if (*upper as f64) < truth.low => {
            Err("the upper bound is below the truth".to_owned())
        }
        // However near its low end is: it says too little.
        Method::LowerBound { upper: Some(upper) }
            if *upper as f64 > truth.high.max(number * BOUND_RATIO_MAX) =>
        {
            Err(format!(
                "the bounds are {:.2} apart",
                *upper as f64 / number
            ))
        }
        _ if near => Ok(()),
        Method::Exact => Err("called exact and is wrong".to_owned()),
        Method::LowerBound { .. } | Method::Sampled { .. } if number > truth.high => {
            Err("more than the truth".to_owned())
        }
        Method::LowerBound { upper: Some(_) } if rigour != Rigour::Near => Ok(()),
        Method::Sampled { .. } | Method::LowerBound { .. } if rigour == Rigour::Sampled => Ok(()),
        other => Err(format!("{other:?} is not enough here")),
    }
}

mod tests {
    use super::*;
    use record::unit::{Nanos, Unit};
    use record::value::Number;

    fn verdict(number: u64, method: Method, rigour: Rigour) -> bool {
        let value = Value::new(Number::Whole(number), Unit::Bytes, method, "test");
        judge(&value, Truth::near(1000, 0.01, 0), rigour).is_ok()
    }

    #[test]
    fn a_value_called_exact_must_be_true() {
        assert!(verdict(1009, Method::Exact, Rigour::Near));
        assert!(!verdict(1011, Method::Exact, Rigour::Sampled));
    }

    #[test]
    fn a_bound_must_hold_the_truth_and_be_narrow() {
        let bound = |low, upper, rigour| verdict(low, Method::LowerBound { upper }, rigour);
        assert!(bound(900, Some(1100), Rigour::Bound));
        assert!(!bound(900, Some(1100), Rigour::Near));
        assert!(!bound(900, Some(1200), Rigour::Bound));
        assert!(!bound(900, Some(980), Rigour::Bound));
        assert!(!bound(900, None, Rigour::Bound));
        assert!(!bound(1020, Some(1100), Rigour::Sampled));
        assert!(!bound(100, Some(1100), Rigour::Sampled));
        assert!(!bound(995, Some(2000), Rigour::Near));
        assert!(bound(100, None, Rigour::Sampled));
    }

    #[test]
    fn a_sample_may_be_low_where_it_may_but_never_high() {
        let sampled = Method::Sampled {
            period_ns: Nanos::from_secs(1),
        };
        assert!(verdict(100, sampled, Rigour::Sampled));
        assert!(!verdict(100, sampled, Rigour::Bound));
        assert!(!verdict(1100, sampled, Rigour::Sampled));
    }
}
