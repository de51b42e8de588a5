//! Whom the kernel ended for want of memory, as far as that can be told.

use super::eyes::Eyes;
use super::facts::Facts;
use record::unit::Nanos;
use reduce::live::Holder;
use std::time::Duration;

/// Looks, a millisecond apart, for the end of a process that the kernel has killed.
const VICTIM_LOOKS: u32 = 50;

impl Eyes {
    /// Whom the kernel likely ended for want of memory just now: the largest of those that were
    /// killed, or that are gone where no event tells; who holds most, if nobody was within 50 ms.
    pub(crate) fn starved(&mut self, now: Nanos, facts: &mut Facts) -> Holder {
        for _ in 0..VICTIM_LOOKS {
            self.listen(facts);
            let victim = if self.told() {
                self.tree.killed(now)
            } else {
                let alive = self.survivors();
                self.tree.largest_but(&alive)
            };
            if let Some(victim) = victim {
                return victim;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.largest(now)
    }
}
