//! Memory that must be provided: each page once, what can be had again left out.

use super::{Bounds, MemoryPeak, timeless};
use crate::pass::Peak;
use record::value::{Field, Method};

/// Bounds of memory that must be provided are one value within this part of it.
const MEMORY_PART: u64 = 1000;

/// A resident set less the file pages that were seen in it may be so far from the truth: of file
/// pages 16 come at once, and each CPU holds back a part of the kernel's counters.
const ROUGH: u64 = 256 << 10;

/// Two counts of one thing are at most this part of it apart.
const LIKELY: u64 = 8;

/// Faults on files of a program in its first moment, more than most have.
const FIRST_FAULTS: u64 = 50;

/// A fault that maps a file brings so many pages beside its own, most often more.
const PAGES_BESIDE: u64 = 4;

/// What is charged and unexplained is something where it is this part of what was written.
const LESS: u64 = 4;

/// The kernel keeps no more for a process: stacks, and tables that hold more than memory.
const OF_A_PROCESS: u64 = 256 << 10;

/// Tables of pages take less than this part of what they map.
const TABLES: u64 = 64;

/// What was charged is known of a group of which no more than this part may be something else.
const OTHER: u64 = 6;

/// More than a program has in its first moment, whatever its language.
const LARGE: u64 = 8 << 20;

impl MemoryPeak<'_> {
    /// Memory that must be provided.
    pub(crate) fn memory(&self) -> Field {
        let bounds = self.memory_bounds();
        let by_charge = self.charged(self.tree.whole_charge());
        let source = match bounds.lower {
            Some(lower) if bounds.counted.value == Some(lower) => self.counter(lower),
            Some(lower) if by_charge == Some(lower) => {
                "the cgroup's own peak, less what may be page cache"
            }
            _ => "largest process, file pages left out",
        };
        let Some(upper) = bounds.upper else {
            return self.field("memory_peak", bounds, 0, source);
        };
        if bounds.lower.is_none() {
            let by_charge = self.tree.whole_charge() == Some(upper);
            let source = match by_charge {
                true => "the cgroup's own peak",
                false => "resident sets, file pages included",
            };
            return self.value("memory_peak", upper, Method::UpperBound, source, None);
        }
        self.one_of(bounds, upper, source)
    }

    /// Bounds that are one value are what was counted. Where nobody counted at the peak, it is what
    /// page faults brought: a resident set less its file pages is rough.
    fn one_of(&self, bounds: Bounds, upper: u64, source: &str) -> Field {
        let firm = bounds.firm.unwrap_or(u64::MAX);
        let near = |lower: u64| firm.saturating_sub(lower) <= firm / MEMORY_PART;
        let counted = bounds.counted.value.filter(|counted| near(*counted));
        let value = |value, source, at| {
            let method = Method::Exact;
            self.value("memory_peak", value, method, source, at)
        };
        match counted {
            Some(counted) => value(counted, self.counter(counted), bounds.counted.at),
            None if bounds.by_faults && !bounds.inferred && bounds.lower.is_some_and(near) => {
                value(upper, "page faults and the largest process", bounds.at)
            }
            None => self.bounded("memory_peak", bounds, upper, source),
        }
    }

    /// Who counted `value`.
    fn counter(&self, value: u64) -> &'static str {
        let peaks = &self.tree.peaks;
        let by = |peak: Peak| peak.value == Some(value);
        if by(peaks.group) {
            "cgroup anon + shmem in samples"
        } else if by(peaks.pss) {
            "proportional set sizes in samples"
        } else if by(peaks.unreclaimable_process) {
            "largest process, file pages left out"
        } else {
            "anonymous memory of each program in samples"
        }
    }

    fn memory_bounds(&self) -> Bounds {
        let peaks = &self.tree.peaks;
        let tree_known = self.tree.knows_tree();
        let mut bounds = Bounds::default();
        bounds.raise(peaks.group, true);
        bounds.raise(peaks.pss, true);
        bounds.raise(peaks.unreclaimable_process, false);
        if tree_known {
            // Otherwise a child may be taken for a program of its own.
            bounds.raise(peaks.images, true);
        }
        bounds.counted = Peak {
            value: bounds.lower,
            at: bounds.at,
        };
        // More than was charged to a group of our own cannot have been new memory: then the file
        // pages are not known well enough.
        // Nor can more than page faults brought.
        let with_faultless = |upper: u64| Some(upper.saturating_add(self.faultless?));
        let own_upper = self.own_upper.and_then(with_faultless);
        let ever = self.most.and_then(with_faultless);
        let charge = self.tree.whole_charge();
        let most = charge.into_iter().chain(own_upper).chain(ever).min();
        // What was counted is nearer than what is about the same and was not.
        let beyond = bounds.counted.value.unwrap_or(0).saturating_add(ROUGH);
        let possible = |value: &u64| *value > beyond && most.is_none_or(|all| *value <= all);
        let mut own = peaks.rss_process_less_file;
        own.value = own.value.filter(possible);
        bounds.raise(own, false);
        let (largest, seen) = self.chain_less_file();
        let chain = largest.filter(possible);
        if seen {
            bounds.raise(timeless(chain), false);
        } else {
            let grown = chain.filter(|_| self.chain_grew_by_itself());
            // Of the huge pages of the machine none may be the task's.
            let brought = [own_upper, ever, self.small].into_iter().flatten();
            let brought = brought.filter_map(|most| self.brought_by_faults(largest?, most));
            let brought = brought.max().or(self.alone()).filter(possible);
            bounds.infer(grown.or(brought));
        }
        bounds.infer(self.charged(charge).filter(possible));
        bounds.sampled |= self.samples_saw(bounds.lower);
        bounds.sampled &= !self.missed_much(bounds.lower);
        // Shared memory that nobody maps is charged but not resident: the lower bound wins.
        let lower = bounds.lower;
        let holds = |upper: &u64| Some(*upper) >= lower;
        let charge = charge.filter(holds);
        bounds.cap(charge);
        bounds.firm = bounds.upper;
        // What nobody maps is charged to a group, or is some of what the machine has.
        let unmapped = self.unmapped_of(charge, own_upper);
        let all = |mapped: u64| mapped.saturating_add(unmapped);
        bounds.cap(self.rss_bounds().upper.map(all).filter(holds));
        let by_faults = own_upper.into_iter().chain(self.ever_upper);
        let by_faults = by_faults.map(all).filter(holds).min();
        bounds.by_faults =
            by_faults.is_some() && bounds.upper.is_none_or(|old| by_faults <= Some(old));
        bounds.cap(by_faults);
        let firm = bounds.firm.into_iter().chain(by_faults).min();
        let heirs = self.tree.began_as_heirs;
        bounds.firm = if heirs { firm } else { bounds.upper };
        bounds
    }

    /// The same where a group was charged more than page faults and storage brought: much of what
    /// was written may be in files in memory that came and went between two looks.
    fn unmapped_of(&self, charge: Option<u64>, own_upper: Option<u64>) -> u64 {
        let explained = own_upper
            .zip(self.stored())
            .map(|(own, stored)| own.saturating_add(stored));
        let unexplained = charge.zip(explained);
        let unexplained = unexplained.map_or(0, |(all, some)| all.saturating_sub(some));
        match self.unstored {
            Some(written) if unexplained >= written / LESS => written.max(self.unmapped),
            _ => self.unmapped,
        }
    }

    /// Whether what several processes had together was seen in samples to be about `lower`: then
    /// that is what is known, where no bound says more.
    fn samples_saw(&self, lower: Option<u64>) -> bool {
        let peaks = &self.tree.peaks;
        let several = self.tree.alive_peak.value > Some(1);
        let seen = [peaks.pss, peaks.images, peaks.unreclaimable_process];
        let seen = seen.iter().filter_map(|peak| peak.value).max();
        let near = |(seen, lower): (u64, u64)| seen >= lower - lower / 10;
        several && seen.zip(lower).is_some_and(near)
    }

    /// Whether one process may have had far more than `lower` unseen: then samples are not what is
    /// known.
    fn missed_much(&self, lower: Option<u64>) -> bool {
        let unseen = self.chain_less_file().0.unwrap_or(0);
        lower.is_some_and(|lower| unseen > lower.saturating_mul(2).saturating_add(LARGE))
    }

    /// The largest process of the chain less the most file pages seen in any, and whether a process
    /// was seen that near to it.
    fn chain_less_file(&self) -> (Option<u64>, bool) {
        let peaks = &self.tree.peaks;
        let Some(chain) = self.chain else {
            return (None, false);
        };
        let seen = peaks.rss_process.value.unwrap_or(0);
        let near = seen.saturating_mul(10) >= chain.saturating_mul(9);
        let file = peaks.file_process;
        let less_file = chain.saturating_sub(file.unwrap_or(0));
        (Some(less_file), near && file.is_some())
    }

    fn chain_grew_by_itself(&self) -> bool {
        let mix = self.tree.peaks.mix_process;
        mix.zip(self.chain)
            .is_some_and(|(mix, chain)| mix.grew_by_itself(chain))
    }

    /// What a group of the task's own was charged at its highest, less all that can have been
    /// something else: page cache, which comes from storage or is written, what the kernel kept
    /// beside it whenever it was looked at, and keeps for each process while that lives.
    fn charged(&self, charge: Option<u64>) -> Option<u64> {
        let (charge, rest) = (charge?, self.tree.peaks.group_rest?);
        let kept = self.tree.alive_peak.value?.saturating_mul(OF_A_PROCESS);
        let other = [self.files?, rest, kept, charge / TABLES];
        let other = other.into_iter().fold(0, u64::saturating_add);
        (other <= charge / OTHER).then(|| charge - other)
    }

    /// What the only process had, by its page faults: they brought what it had, but for those that
    /// mapped files, as its first moments do. Of those each brought some pages beside its own,
    /// which no fault did.
    fn alone(&self) -> Option<u64> {
        let (largest, brought) = (self.chain?, self.small?);
        let stored = self.stored()?;
        if self.tree.total != 1 || stored > largest / LIKELY || !self.tree.growth.maps_around() {
            return None;
        }
        let beside = largest.saturating_sub(brought);
        let files = (beside / PAGES_BESIDE).saturating_add(self.tree.growth.pages(FIRST_FAULTS)?);
        let own = brought.min(largest).checked_sub(files)?;
        (own > files).then_some(own)
    }

    /// What came from storage, and went there.
    fn stored(&self) -> Option<u64> {
        let counters = self.waited?;
        let (read, written) = (counters.disk_read?, counters.disk_written?);
        Some(read.0.saturating_add(written.0))
    }

    /// What the largest process had, where page faults brought about as much and storage little:
    /// then it was likely memory of its own. A file that is in memory comes many pages a fault, and
    /// any other one comes from storage, or goes there.
    fn brought_by_faults(&self, largest: u64, most: u64) -> Option<u64> {
        let part = largest / LIKELY;
        let stored = self.stored().filter(|_| self.tree.growth.maps_around())?;
        let likely = largest >= LARGE && most.abs_diff(largest) <= part && stored <= part;
        likely.then(|| largest.min(most))
    }
}
