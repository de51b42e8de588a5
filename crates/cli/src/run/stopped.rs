//! Who is stopped: a front that stopped with the command cannot tell which signals wait for it, and
//! a monitor that was stopped with its group cannot pass on the one that continues the front.

use record::unit::Nanos;
use source::query::{proc_pid_stat, proc_pid_status};
use source::root::Root;

/// Time between two looks.
pub(super) const LOOK_EVERY: Nanos = Nanos::from_millis(250);

/// HUP, INT, QUIT, TERM.
const ENDING: &[i32] = &[1, 2, 3, 15];

/// Whether a signal that asks for an end waits for the stopped process `pid`.
pub(super) fn is_asked_to_end(pid: u32) -> bool {
    let status = proc_pid_status::read(&Root::default(), Some(pid));
    status.is_ok_and(|status| {
        let waits = |signal: &i32| status.has_pending(*signal) == Some(true);
        ENDING.iter().any(waits)
    })
}

/// Whether the process `pid` is stopped now.
pub(super) fn is_stopped(pid: u32) -> bool {
    let stopped = proc_pid_stat::read(&Root::default(), Some(pid), |stat| stat.state == 'T');
    stopped == Ok(true)
}
