//! Statistics against what they are by construction: two passes over all numbers with compensated
//! sums.

use proptest::prelude::*;
use reduce::statistics::{Moments, QUANTILE_ERROR, Statistics};

/// A sum that loses nothing that matters (Neumaier 1974).
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for number in numbers {
        let next = sum + number;
        lost += if sum.abs() >= number.abs() {
            (sum - next) + number
        } else {
            (number - next) + sum
        };
        sum = next;
    }
    sum + lost
}

/// Mean, deviation, skewness and excess kurtosis in two passes.
fn truth(numbers: &[f64]) -> [f64; 4] {
    let count = numbers.len() as f64;
    let origin = numbers.first().copied().unwrap_or_default();
    let mean = sum(numbers.iter().map(|it| it - origin)) / count;
    let moment = |power| sum(numbers.iter().map(|it| ((it - origin) - mean).powi(power))) / count;
    let deviation = moment(2).sqrt();
    let skewness = moment(3) / deviation.powi(3);
    [
        origin + mean,
        deviation,
        skewness,
        moment(4) / deviation.powi(4) - 3.0,
    ]
}

fn told(moments: &Moments) -> [f64; 4] {
    [
        moments.mean(),
        moments.deviation(),
        moments.skewness(),
        moments.kurtosis_excess(),
    ]
    .map(|it| it.unwrap_or(f64::NAN))
}

/// Numbers that look random, the same each time: SplitMix64.
fn uniform(index: u64) -> f64 {
    let mut bits = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn of(numbers: &[f64]) -> Statistics {
    let mut statistics = Statistics::default();
    for number in numbers {
        statistics.add(*number, 1.0);
    }
    statistics
}

#[track_caller]
fn close(told: [f64; 4], truth: [f64; 4]) {
    for (told, truth) in told.iter().zip(&truth) {
        assert!((told / truth - 1.0).abs() <= 1e-9, "{told} {truth}");
    }
}

fn exponential(offset: f64) -> Vec<f64> {
    let numbers = (1..=1_000_000).map(|it| offset - uniform(it).ln());
    numbers.collect()
}

#[test]
fn a_million_with_an_offset_of_an_instant_are_right_to_a_part_in_a_billion() {
    let numbers = exponential(1.6e9);
    close(told(of(&numbers).moments()), truth(&numbers));
}

#[test]
fn parts_merge_to_the_whole_in_any_sizes() {
    let numbers = exponential(1.6e9);
    let mut merged = Statistics::default();
    let mut rest = numbers.as_slice();
    let mut size = 1;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(size.min(rest.len()));
        merged.merge(&of(part));
        rest = after;
        size = size * 3 % 70_001 + 1;
    }
    let whole = of(&numbers);
    close(told(merged.moments()), truth(&numbers));
    assert_eq!(merged.sketch(), whole.sketch());
    assert_eq!(merged.extremes(), whole.extremes());
}

#[test]
fn a_first_number_far_from_all_others_does_no_harm() {
    let mut numbers = exponential(1.6e9);
    numbers.insert(0, 0.0);
    let whole = of(&numbers);
    close(told(whole.moments()), truth(&numbers));
}

#[test]
fn quantiles_are_within_a_hundredth() {
    // Ten orders of magnitude.
    let mut numbers: Vec<f64> = (1..=200_000).map(|it| (uniform(it) * 23.0).exp()).collect();
    let statistics = of(&numbers);
    numbers.sort_by(f64::total_cmp);
    for permille in 0..=1000 {
        let share = f64::from(permille) / 1000.0;
        let count = f64::from(permille) * numbers.len() as f64 / 1000.0;
        let exact = numbers[(count.ceil() as usize).max(1) - 1];
        let told = statistics.quantile(share).unwrap_or(f64::NAN);
        let off = (told / exact - 1.0).abs();
        assert!(off <= QUANTILE_ERROR + 1e-9, "{share}: {told} {exact}");
    }
    assert!(statistics.sketch().buckets().count() < 1200);
}

#[test]
fn quantiles_of_few_lie_between_the_extremes() {
    // In the midst of no bucket: what the sketch tells of it is beside it.
    for number in [450_971_566_080.0, 1.0, -3.7, 0.0, 5e-13] {
        let one = of(&[number]);
        assert_eq!(one.extremes(), Some((number, number)));
        for share in [0.0, 0.01, 0.5, 0.95, 1.0] {
            assert_eq!(one.quantile(share), Some(number), "{number} {share}");
        }
    }
    let two = of(&[100.1, 100.2]);
    for share in [0.01, 0.5, 0.95] {
        let told = two.quantile(share).unwrap_or(f64::NAN);
        assert!((100.1..=100.2).contains(&told), "{share} {told}");
    }
    // Two of three are no 95 of 100.
    let three = of(&[10.0, 20.0, 30.0]);
    let near = |share, number: f64| {
        let told = three.quantile(share).unwrap_or(f64::NAN);
        (told / number - 1.0).abs() <= QUANTILE_ERROR
    };
    assert!(near(0.33, 10.0) && near(0.5, 20.0) && near(0.67, 30.0) && near(0.95, 30.0));
    assert!(near(1.0 / 3.0, 10.0) && near(2.0 / 3.0, 20.0));
}

#[test]
fn the_smallest_above_nothing_is_known_exactly() {
    let mut some = of(&[-7.0, 0.0, 3.3, 5.0]);
    assert_eq!(some.spread().least_above_zero(), Some(3.3));
    some.merge(&of(&[2.2]));
    assert_eq!(some.spread().least_above_zero(), Some(2.2));
    assert_eq!(of(&[-1.0, 0.0]).spread().least_above_zero(), None);
}

#[test]
fn weights_add_up_by_bucket() {
    let mut statistics = Statistics::default();
    for it in 0..100 {
        statistics.add(if it % 4 == 0 { 8e9 } else { 1e9 }, 60.0);
    }
    let buckets: Vec<(u64, f64)> = statistics
        .sketch()
        .buckets()
        .map(|(_, count, weight)| (count, weight))
        .collect();
    assert_eq!(buckets, [(75, 4500.0), (25, 1500.0)]);
}

#[test]
fn none_of_none_and_no_shape_of_one() {
    let none = Statistics::default();
    assert_eq!(none.moments().mean(), None);
    assert_eq!((none.quantile(0.5), none.extremes()), (None, None));
    let mut one = Statistics::default();
    one.add(5.0, f64::NAN);
    one.add(f64::NAN, 1.0);
    one.add(f64::INFINITY, 1.0);
    let moments = one.moments();
    assert_eq!((moments.count(), one.refused()), (1, 2));
    assert_eq!(
        (moments.mean(), moments.deviation()),
        (Some(5.0), Some(0.0))
    );
    assert_eq!(
        (moments.skewness(), moments.kurtosis_excess()),
        (None, None)
    );
    assert_eq!(one.quantile(0.5), Some(5.0));
}

#[test]
fn the_kurtosis_is_the_excess() {
    // A fair coin has 1, a normal distribution 3: the excess is -2.
    let moments = of(&[0.0, 1.0, 0.0, 1.0]);
    assert_eq!(moments.moments().kurtosis_excess(), Some(-2.0));
    assert_eq!(moments.moments().skewness(), Some(0.0));
}

proptest! {
    #[test]
    fn any_numbers_are_taken(
        numbers in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..40),
        share in any::<f64>(),
    ) {
        let mut statistics = Statistics::default();
        for (number, weight) in &numbers {
            statistics.add(*number, *weight);
        }
        let mut twice = statistics.clone();
        twice.merge(&statistics);
        prop_assert_eq!(twice.moments().count(), 2 * statistics.moments().count());
        let some = statistics.moments().count() > 0;
        prop_assert_eq!(statistics.quantile(share).is_some(), some);
    }
}
