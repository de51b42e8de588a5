//! Whether numbers of one time are larger or smaller than those of another, and how sure that is.

/// With fewer numbers on either side nothing is said.
pub const FEWEST: usize = 4;

/// How the numbers of two times compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// The middle of those before.
    pub before: f64,
    /// The middle of those after.
    pub after: f64,
    /// How probable it is that numbers without any difference lie as far apart as these: by the
    /// rank sum (Wilcoxon 1945; Mann and Whitney 1947), both sides, ties corrected, as a normal
    /// distribution.
    pub chance: f64,
}

/// Compares; none where there are too few.
pub fn compare(before: &[f64], after: &[f64]) -> Option<Moved> {
    let fewest = before.len().min(after.len());
    if fewest < FEWEST {
        return None;
    }
    Some(Moved {
        before: middle(before)?,
        after: middle(after)?,
        chance: chance(before, after),
    })
}

/// The same chances, so that of all that are looked at together one is too small by chance as
/// seldom as a single one is (Holm 1979); in their order.
pub fn together(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    let of = |place: &usize| chances.get(*place).copied().unwrap_or(1.0);
    order.sort_by(|one, other| of(one).total_cmp(&of(other)));
    let mut corrected = vec![1.0; chances.len()];
    let mut least: f64 = 0.0;
    for (rank, place) in order.iter().enumerate() {
        least = least
            .max(of(place) * (chances.len() - rank) as f64)
            .min(1.0);
        if let Some(slot) = corrected.get_mut(*place) {
            *slot = least;
        }
    }
    corrected
}

fn middle(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let high = *sorted.get(half)?;
    match sorted.len() % 2 {
        0 => Some(f64::midpoint(*sorted.get(half.checked_sub(1)?)?, high)),
        _ => Some(high),
    }
}

fn chance(before: &[f64], after: &[f64]) -> f64 {
    let (n, m) = (before.len() as f64, after.len() as f64);
    let mut all: Vec<(f64, bool)> = before.iter().map(|number| (*number, true)).collect();
    all.extend(after.iter().map(|number| (*number, false)));
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut ranks, mut ties, mut done) = (0.0, 0.0, 0.0);
    for equal in all.chunk_by(|one, other| one.0 == other.0) {
        let count = equal.len() as f64;
        let mine = equal.iter().filter(|(_, is_before)| *is_before).count() as f64;
        ranks += mine * (done + (count + 1.0) / 2.0);
        ties += count * count * count - count;
        done += count;
    }
    let total = n + m;
    let distance = (ranks - n * (total + 1.0) / 2.0).abs();
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // From whole ranks to a distribution without steps.
    let z = (distance - 0.5).max(0.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_tables_of_the_distribution_have_it() {
        let before = [1.1, 2.2, 3.3, 4.4, 5.5];
        let after = [6.6, 7.7, 8.8, 9.9, 11.0];
        let moved = compare(&before, &after).unwrap();
        assert_eq!((moved.before, moved.after), (3.3, 8.8));
        // U = 0: z = (12.5 - 0.5) / sqrt(25 * 11 / 12) = 2.5067.
        assert!((moved.chance - 0.012_186).abs() < 1e-5, "{}", moved.chance);
        let same = compare(&before, &before).unwrap();
        assert_eq!((same.chance, same.before), (1.0, same.after));
        assert!(compare(&before[..3], &after).is_none());
    }

    #[test]
    fn ties_count_for_both() {
        let (before, after) = ([1.0, 1.0, 2.0, 2.0], [2.0, 2.0, 3.0, 3.0]);
        // Ranks 1.5, 1.5, 4.5, 4.5 = 12 of 18: (6 - 0.5) / sqrt(16 / 12 * (9 - 72 / 56)).
        let z: f64 = 5.5 / (16.0 / 12.0 * (9.0 - 72.0 / 56.0_f64)).sqrt();
        let told = compare(&before, &after).unwrap().chance;
        assert!(
            (told - libm::erfc(z / 2.0_f64.sqrt())).abs() < 1e-12,
            "{told}"
        );
        assert_eq!(compare(&[5.0; 4], &[5.0; 9]).unwrap().chance, 1.0);
        let nan = compare(&[f64::NAN; 4], &[1.0; 4]).unwrap();
        assert!((0.0..=1.0).contains(&nan.chance));
    }

    #[test]
    fn many_that_are_looked_at_together_are_less_sure() {
        assert_eq!(together(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(together(&[0.9, 0.9]), [1.0, 1.0]);
        assert!(together(&[]).is_empty());
    }

    /// Of equal distributions one in twenty is below 0.05, or fewer.
    #[test]
    fn what_did_not_move_is_seldom_said_to() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64
        };
        let draws = 2000;
        let found = (0..draws).filter(|_| {
            let before: Vec<f64> = (0..12).map(|_| random()).collect();
            let after: Vec<f64> = (0..9).map(|_| random()).collect();
            compare(&before, &after).unwrap().chance < 0.05
        });
        let found = found.count();
        assert!((50..=120).contains(&found), "{found} of {draws}");
    }
}
