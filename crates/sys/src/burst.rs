//! A thread that lets others have its CPU now and then: where it has run for some time in one
//! piece it sleeps a moment (`nanosleep(2)`).
//!
//! Whoever reads much may call [`rest`] wherever a moment does no harm. It does nothing in threads
//! that were never asked to be held ([`hold`]).

use crate::clock::{self, Clock};
use std::cell::Cell;
use std::time::Duration;

/// How long a thread runs in one piece, where nobody says otherwise, nanoseconds.
pub const USUAL_NS: u64 = 200_000;

/// How long a thread sleeps; the kernel makes some 60 us of it (`PR_SET_TIMERSLACK`).
const REST: Duration = Duration::from_micros(10);

thread_local! {
    static BURST: Cell<Burst> = const { Cell::new(Burst::NONE) };
}

/// The present burst of a thread, in nanoseconds of its CPU time.
#[derive(Debug, Clone, Copy)]
struct Burst {
    /// 0: it is not held.
    limit_ns: u64,
    begun_ns: u64,
    /// The same instant by a clock that takes no system call.
    begun_at: u64,
    longest_ns: u64,
}

impl Burst {
    const NONE: Self = Self {
        limit_ns: 0,
        begun_ns: 0,
        begun_at: 0,
        longest_ns: 0,
    };

    const fn is_held(&self) -> bool {
        self.limit_ns > 0
    }

    fn begin(&mut self) {
        self.begun_at = clock::boot();
        self.begun_ns = clock::now(Clock::Thread);
    }

    /// How long it takes by now.
    fn look(&mut self) -> u64 {
        let ran = clock::now(Clock::Thread).saturating_sub(self.begun_ns);
        self.longest_ns = self.longest_ns.max(ran);
        ran
    }
}

/// From now on this thread sleeps where it calls [`rest`] and has used a CPU for `limit_ns` since
/// it slept last.
pub fn hold(limit_ns: u64) {
    let mut burst = Burst {
        limit_ns,
        ..Burst::NONE
    };
    burst.begin();
    BURST.set(burst);
}

/// This thread has just waited for something: a burst begins.
pub fn begin() {
    let mut burst = BURST.get();
    if burst.is_held() {
        burst.begin();
        BURST.set(burst);
    }
}

/// A place where this thread may sleep.
#[inline]
pub fn rest() {
    let burst = BURST.get();
    // It has not run for longer than has passed.
    if burst.is_held() && clock::boot().saturating_sub(burst.begun_at) >= burst.limit_ns {
        sleep(burst);
    }
}

fn sleep(mut burst: Burst) {
    if burst.look() >= burst.limit_ns {
        std::thread::sleep(REST);
        burst.begin();
    }
    BURST.set(burst);
}

/// The burst that began last is over, as the thread is about to wait; how long the longest one was
/// since this was asked the last time, nanoseconds of CPU time.
pub fn end() -> u64 {
    let mut burst = BURST.get();
    if burst.is_held() {
        burst.look();
    }
    let longest = std::mem::take(&mut burst.longest_ns);
    BURST.set(burst);
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_for(ns: u64) {
        let begin = clock::now(Clock::Thread);
        while clock::now(Clock::Thread) - begin < ns {}
    }

    #[test]
    fn a_thread_sleeps_where_it_ran_for_long_and_only_if_it_is_held() {
        let waits = || {
            let usage = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = usage
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        let threads = std::thread::spawn(move || {
            let before = waits();
            run_for(2_000_000);
            rest();
            assert_eq!((waits(), end()), (before, 0), "it was not held");
            hold(1_000_000);
            rest();
            assert_eq!(waits(), before, "it has not run for long");
            run_for(1_500_000);
            rest();
            assert_eq!(waits(), before + 1);
            rest();
            assert_eq!(waits(), before + 1, "it slept just now");
            assert!(end() >= 1_500_000);
            begin();
            assert!(end() < 1_500_000);
        });
        threads.join().unwrap();
    }
}
