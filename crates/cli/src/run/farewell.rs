//! The last word of the monitor to the front.

use super::ending::SIGCONT;
use super::words::{MESSAGE_BYTES, ToFront};
use record::unit::Nanos;
use std::os::fd::{AsFd, OwnedFd};
use sys::descriptor::{self, Received, Waiting};

/// How often a front that stopped with the command is told to go on, and how long it then has.
const ROUSES_MAX: u32 = 400;
const ROUSE_PAUSE: Nanos = Nanos::from_millis(5);

/// Gives the front the last word. One that `stopped` with the command may be about to do so only
/// now: it is continued until it has heard us.
pub(super) fn dismiss(front: &OwnedFd, stopped: bool, last: ToFront) {
    // A front that died has nobody to tell.
    drop(last.say(front));
    let pid = sys::process::parent();
    let waiting = [Waiting {
        fd: Some(front.as_fd()),
        exceptional: false,
    }];
    let mut bytes = [0; MESSAGE_BYTES];
    for _ in 0..ROUSES_MAX {
        if !stopped || sys::process::kill(pid, SIGCONT).is_err() {
            return;
        }
        if descriptor::poll(&waiting, Some(ROUSE_PAUSE.0)).is_err() {
            return;
        }
        if !matches!(
            descriptor::receive(front.as_fd(), &mut bytes, false),
            Ok(Received::Bytes(_) | Received::Nothing)
        ) {
            return;
        }
    }
}
