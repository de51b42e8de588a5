//! The front: the process that the user or the workflow system started.
//!
//! It passes signals to the monitor, stops when the command stops, and exits with the status that
//! the monitor
//! decides. If the monitor dies it adopts what is left and takes the status from the launcher.

use super::words::{MESSAGE_BYTES, ToFront, ToMonitor};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use sys::descriptor::{self, Received, Waiting};
use sys::process;
use sys::signal::{self, Signals};

/// Signals that a process may send us and that we pass on. The rest keeps its default action.
const PASSED_ON: &[i32] = &[
    1, 2, 3, 10, 12, 14, 15, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
];
const SIGCHLD: i32 = 17;
const SIGCONT: i32 = 18;

/// Serves as the front until the end; the exit status. `inherited` are the descriptors we were
/// started with.
pub(crate) fn serve(monitor: OwnedFd, monitor_pid: u32, inherited: &[RawFd]) -> u8 {
    let unneeded: Vec<RawFd> = inherited.iter().copied().filter(|fd| *fd != 2).collect();
    descriptor::close_inherited(&unneeded);
    // Without this an orphan is adopted by init when the monitor dies; nothing else is lost.
    drop(process::become_subreaper());
    signal::set_default(SIGCHLD);
    let caught = PASSED_ON
        .iter()
        .filter(|number| !signal::is_ignored(**number))
        .fold(signal::bit(SIGCHLD), |mask, number| {
            mask | signal::bit(*number)
        });
    signal::set_mask(u64::MAX);
    let Ok(signals) = Signals::open(caught) else {
        return wait_for(monitor_pid);
    };
    loop {
        let fds = [
            Waiting {
                fd: Some(signals.as_fd()),
                exceptional: false,
            },
            Waiting {
                fd: Some(monitor.as_fd()),
                exceptional: false,
            },
        ];
        if descriptor::poll(&fds, None).is_err() {
            return wait_for(monitor_pid);
        }
        while let Some(arrived) = signals.next() {
            if arrived.signal != SIGCHLD {
                // A monitor that is gone is noticed below.
                drop(descriptor::send(
                    monitor.as_fd(),
                    &ToMonitor::Signal(arrived).encode(),
                ));
            }
        }
        if let Some(status) = listen(&monitor, monitor_pid) {
            return status;
        }
    }
}

/// Hears what the monitor says; the exit status if all is over.
fn listen(monitor: &OwnedFd, monitor_pid: u32) -> Option<u8> {
    let mut bytes = [0; MESSAGE_BYTES];
    loop {
        match descriptor::receive(monitor.as_fd(), &mut bytes, false) {
            Ok(Received::Nothing) => return None,
            Ok(Received::Bytes(count)) => match bytes.get(..count).and_then(ToFront::decode) {
                Some(ToFront::Done(status)) => return Some(status),
                Some(ToFront::Stopped(signal)) => stop_with(signal),
                None => {}
            },
            Ok(Received::End) | Err(_) => return Some(wait_for(monitor_pid)),
        }
    }
}

/// Stops as the command did, so that the shell sees the job stopped; returns when continued.
fn stop_with(signal: i32) {
    signal::set_default(signal);
    process::raise(signal);
    // Unblocking delivers it: we stop in this call, and block again when continued.
    let mask = signal::set_mask(!signal::bit(signal) & !signal::bit(SIGCONT));
    signal::set_mask(mask);
}

/// The monitor is gone: waits for what is left of our processes. The launcher, now our child, exits
/// with
/// the command's status; the monitor itself only if it ended in order.
fn wait_for(monitor_pid: u32) -> u8 {
    let mut status = None;
    while let Ok(Some(waited)) = process::wait_any(true) {
        let stopped = waited.status & 0xff == 0x7f || waited.status == 0xffff;
        if !stopped {
            let shell = record::identity::Ending::from_wait_status(waited.status).shell_status();
            if waited.pid != monitor_pid || status.is_none() {
                status = Some(shell);
            }
            if waited.pid != monitor_pid {
                break;
            }
        }
    }
    super::warn("the monitor was ended from outside; no report was written");
    u8::try_from(status.unwrap_or(125)).unwrap_or(125)
}
