//! Whether a run lies outside all that its kind did before.
//!
//! Beyond all of them it is named only if it is so by a quarter, and by half as far as the
//! outermost lies from the middle, on the scale of logarithms: where runs scatter widely one more
//! may lie a little farther out and tell nothing.

/// Fewer runs are not judged by.
pub const JUDGED_MIN: usize = 10;

/// Beyond the outermost by less than this factor is not named.
const FACTOR_MIN: f64 = 1.25;

/// Nor by less than this part of the way from the middle to the outermost.
const PART: f64 = 0.5;

/// Where a run lies among those before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Among {
    /// There are fewer than [`JUDGED_MIN`] of them.
    Few,
    /// Within them, or hardly beyond.
    Inside,
    /// So many times the largest, above 1.
    Above(f64),
    /// So many times the smallest, below 1.
    Below(f64),
}

/// Where `value` lies among `before`, all in one unit; those that are not above 0 count as nothing.
pub fn among(value: f64, before: &[f64]) -> Among {
    let mut logs: Vec<f64> = before
        .iter()
        .filter(|one| **one > 0.0 && one.is_finite())
        .map(|one| one.ln())
        .collect();
    logs.sort_by(f64::total_cmp);
    let middle = logs.get(logs.len() / 2).copied();
    let (Some(low), Some(middle), Some(high)) = (logs.first(), middle, logs.last()) else {
        return Among::Few;
    };
    if logs.len() < JUDGED_MIN {
        return Among::Few;
    }
    let far = |spread: f64| (PART * spread).max(FACTOR_MIN.ln());
    let log = value.ln();
    if log - high > far(high - middle) {
        Among::Above((log - high).exp())
    } else if value > 0.0 && low - log > far(middle - low) {
        Among::Below((log - low).exp())
    } else {
        Among::Inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_not_judged_by() {
        assert_eq!(among(1e9, &[1.0; 9]), Among::Few);
        assert_eq!(among(1e9, &[0.0; 40]), Among::Few);
        assert_eq!(among(1.0, &[1.0; 10]), Among::Inside);
    }

    #[test]
    fn far_beyond_all_is_outside() {
        let before: Vec<f64> = (0..20).map(|one| 100.0 + f64::from(one)).collect();
        assert_eq!(among(140.0, &before), Among::Inside);
        let Among::Above(times) = among(238.0, &before) else {
            panic!("not above");
        };
        assert!((times - 2.0).abs() < 1e-9);
        let Among::Below(times) = among(50.0, &before) else {
            panic!("not below");
        };
        assert!((times - 0.5).abs() < 1e-9);
    }

    #[test]
    fn where_runs_scatter_more_is_needed() {
        let before: Vec<f64> = (0..11).map(|one| f64::from(one).exp2()).collect();
        // From the middle, 32, to the largest, 1024, it is a factor of 32: half the way is 5.7.
        assert_eq!(among(5.0 * 1024.0, &before), Among::Inside);
        assert!(matches!(among(6.0 * 1024.0, &before), Among::Above(_)));
    }
}
