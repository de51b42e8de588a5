//! Programs that tell the CPU time they used.

use super::expect::{Rigour, Truth, holds, number};
use super::mechanism::Mechanism;
use super::run::{Done, Run};
use std::ffi::OsString;

/// A busy machine may charge a program for what it does not do after its last look at its clock.
const RUNS_MAX: u32 = 4;

/// Nanoseconds for what starts and ends a program.
const SLACK: u64 = 2_000_000;

/// Runs `command`, which prints the CPU time that it used as `cpu_us`, and holds `cpu_time` to
/// that, give or take `ratio` of it. It is run again where the report has more; too little is
/// never excused.
#[track_caller]
pub(crate) fn told(mechanism: Mechanism, command: &[OsString], ratio: f64) -> Done {
    let mut runs = 1;
    loop {
        let done = Run::watched(mechanism, command.to_vec()).finish();
        done.expect_status(0);
        let truth = Truth::near_cpu(done.printed("cpu_us") * 1000, ratio, SLACK);
        if truth.is_below(number(&done, "cpu_time")) && runs < RUNS_MAX {
            println!("run {runs} was charged for more than it used");
            runs += 1;
            continue;
        }
        holds(&done, "cpu_time", truth, Rigour::Near);
        return done;
    }
}
