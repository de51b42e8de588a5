//! By how much `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`, by which the library tells time.

use sys::clock::{self, Clock};

/// What is less is how long it took to ask.
const SLEPT_NS: u64 = 1_000_000;
/// Times to ask: the quickest answer is the nearest one.
const ASKED: usize = 3;

/// By how much, nanoseconds: for as long as the machine has slept, in a time namespace also by what
/// that sets them apart, which may be less. What was told by one clock keeps its order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ahead(i64);

impl Ahead {
    /// As it is now.
    pub(super) fn now(&mut self) -> i64 {
        let asked = (0..ASKED).map(|_| ask());
        if let Some((_, ahead)) = asked.min_by_key(|(took, _)| *took)
            && ahead.abs_diff(self.0) > SLEPT_NS
        {
            self.0 = ahead;
        }
        self.0
    }
}

/// How long it took to ask, and the answer.
fn ask() -> (u64, i64) {
    let before = clock::now(Clock::Monotonic);
    let boot = clock::boot();
    let took = clock::now(Clock::Monotonic).wrapping_sub(before);
    (took, boot.wrapping_sub(before) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_number_as_long_as_the_machine_does_not_sleep() {
        let mut ahead = Ahead::default();
        let first = ahead.now();
        for _ in 0..1000 {
            assert_eq!(ahead.now(), first);
        }
    }
}
