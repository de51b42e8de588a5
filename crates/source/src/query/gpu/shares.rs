//! Whose the work of a device was.
//!
//! NVML tells two things of the time since a look (found by trial with driver 580 on an H200, whose
//! samples are 0.2 s apart). `nvmlDeviceGetSamples` tells how busy the device was in each sample:
//! right, but nobody's. `nvmlDeviceGetProcessUtilization` tells a mean for each process: one entry
//! a process, stamped with its last work, together at most 100 %. That mean leaves out samples from
//! before the process came, may hold those of an ended process whose place it took, and a process
//! that ended is not listed at all. So the first gives how much, the second gives in which parts.

use std::collections::{BTreeMap, BTreeSet};

/// How busy a device was in the time up to an instant.
pub(super) struct Sampled {
    /// The driver's microseconds.
    pub(super) at: u64,
    pub(super) share: f64,
}

/// The mean of samples after `since`, each for the time since the one before it, and when the last
/// one was; nothing of no time.
pub(super) fn mean(samples: impl Iterator<Item = Sampled>, since: u64) -> (Option<f64>, u64) {
    let (mut until, mut busy) = (since, 0.0);
    for sample in samples {
        // Samples are in order of time; one that is not stands for no time.
        busy += sample.share * sample.at.saturating_sub(until) as f64;
        until = until.max(sample.at);
    }
    let time = until - since;
    ((time > 0).then(|| busy / time as f64), until)
}

/// The share of each process that lives, and of each that ended since the last look: `told` are the
/// driver's entries, `on_it` the shares at the last look, which this replaces.
pub(super) fn divide(
    busy: Option<f64>,
    told: impl Iterator<Item = (u32, f64)>,
    living: &BTreeSet<u32>,
    on_it: &BTreeMap<u32, f64>,
) -> BTreeMap<u32, f64> {
    let mut entries: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for (pid, share) in told {
        let (sum, count) = entries.entry(pid).or_default();
        *sum += share;
        *count += 1;
    }
    let of = |pid| {
        entries
            .get(pid)
            .map_or(0.0, |(sum, count)| sum / f64::from(*count))
    };
    let listed: f64 = entries.keys().map(of).sum();
    let room = busy.unwrap_or(1.0);
    let scale = if listed > room { room / listed } else { 1.0 };
    let mut shares: BTreeMap<u32, f64> = living.iter().map(|pid| (*pid, of(pid) * scale)).collect();
    let ended = on_it.iter().filter(|(pid, _)| !living.contains(pid));
    let before: f64 = ended.clone().map(|(_, share)| share).sum();
    let rest = busy.map_or(0.0, |busy| (busy - listed).max(0.0));
    if before > 0.0 && rest > 0.0 {
        shares.extend(ended.map(|(pid, share)| (*pid, rest * share / before)));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(busy: f64, told: &[(u32, f64)], living: &[u32], on_it: &[(u32, f64)]) -> Vec<(u32, u32)> {
        let living = living.iter().copied().collect();
        let on_it = on_it.iter().copied().collect();
        let shares = divide(Some(busy), told.iter().copied(), &living, &on_it);
        let percent = |share: f64| (share * 100.0).round() as u32;
        shares
            .into_iter()
            .map(|(pid, share)| (pid, percent(share)))
            .collect()
    }

    #[test]
    fn the_mean_weighs_each_sample_with_its_time() {
        let samples = |list: &[(u64, f64)]| -> Vec<Sampled> {
            list.iter()
                .map(|&(at, share)| Sampled { at, share })
                .collect()
        };
        let two = samples(&[(1_200, 1.0), (2_000, 0.5)]);
        assert_eq!(mean(two.into_iter(), 1_000), (Some(0.6), 2_000));
        assert_eq!(mean(samples(&[]).into_iter(), 1_000), (None, 1_000));
        let older = samples(&[(900, 1.0), (1_100, 0.25)]);
        assert_eq!(mean(older.into_iter(), 1_000), (Some(0.25), 1_100));
    }

    /// Readings of an H200: two processes that want it all, each with an entry of its own time.
    #[test]
    fn processes_that_share_a_device_have_all_of_it_together() {
        let told = [(462, 0.20), (463, 0.80)];
        assert_eq!(of(0.99, &told, &[462, 463], &[]), [(462, 20), (463, 79)]);
    }

    /// 462 came to the place of one that had ended: its 73 % are mostly of that.
    #[test]
    fn nobody_has_more_than_the_device_did() {
        let told = [(463, 0.17), (462, 0.73)];
        assert_eq!(of(0.27, &told, &[462, 463], &[]), [(462, 22), (463, 5)]);
        assert_eq!(of(0.18, &[(450, 0.31)], &[450], &[]), [(450, 18)]);
    }

    /// The process of 99 % ended after four of five samples: the driver lists nobody.
    #[test]
    fn what_is_left_was_done_by_those_that_ended() {
        assert_eq!(of(0.82, &[], &[], &[(450, 0.99)]), [(450, 82)]);
        let both = [(462, 0.4), (463, 0.6)];
        assert_eq!(of(0.5, &[], &[], &both), [(462, 20), (463, 30)]);
        let one = [(463, 0.3)];
        assert_eq!(of(0.5, &one, &[463], &both), [(462, 20), (463, 30)]);
        assert_eq!(
            of(0.5, &one, &[463], &[(463, 0.6)]),
            [(463, 30)],
            "nobody ended"
        );
    }

    #[test]
    fn who_is_on_it_and_idle_did_nothing() {
        assert_eq!(of(0.33, &[(7, 0.33)], &[7, 8], &[]), [(7, 33), (8, 0)]);
    }

    #[test]
    fn a_device_without_samples_of_its_own_has_the_driver_s_entries() {
        let told = [(7, 0.4), (7, 0.6), (8, 0.25)].into_iter();
        let shares = divide(
            None,
            told,
            &BTreeSet::from([7, 8]),
            &BTreeMap::from([(9, 1.0)]),
        );
        assert_eq!(shares, BTreeMap::from([(7, 0.5), (8, 0.25)]));
    }
}
