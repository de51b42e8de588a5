//! Calls that move messages, whose results do not tell all of what was moved.

use super::process::Slot;
use super::watch::{Watch, What};
use record::unit::Nanos;
use sys::ptrace;
use sys::seccomp::FileCall;

/// Messages of one call: as many as the kernel takes (`UIO_MAXIOV`).
const MESSAGES_MAX: u64 = 1024;
/// `struct mmsghdr`, and where it has the bytes of its message.
const MESSAGE_BYTES: u64 = 64;
const MESSAGE_LENGTH_AT: u64 = 56;

const MSG_PEEK: u64 = 0x2;
const MSG_TRUNC: u64 = 0x20;
const MSG_ERRQUEUE: u64 = 0x2000;

/// What is to be done at the end of a call that receives, or of one that sends many: nothing if it
/// only looks.
pub(super) fn begin(
    call: FileCall,
    arguments: &[u64; 6],
    mut slot: impl FnMut(u64) -> Option<Slot>,
) -> Option<What> {
    use FileCall as Do;
    let [fd, second, third, fourth, ..] = *arguments;
    let flags = match call {
        Do::ReceiveMessage => third,
        Do::SendMessages => 0,
        _ => fourth,
    };
    if flags & (MSG_PEEK | MSG_ERRQUEUE) != 0 {
        return None;
    }
    let slot = slot(fd)?;
    Some(match call {
        Do::ReceiveMessages | Do::SendMessages => What::Messages {
            slot,
            vector: second,
            is_read: call == Do::ReceiveMessages,
        },
        _ => What::Transfer {
            from: Some(slot),
            to: None,
            // The result is the length of the message, whatever there was room for.
            most: match call {
                Do::Receive if flags & MSG_TRUNC != 0 => i64::try_from(third).unwrap_or(i64::MAX),
                _ => i64::MAX,
            },
        },
    })
}

impl Watch {
    /// Each message counts for itself; the time of the call is that of the first.
    pub(super) fn messages(
        &mut self,
        pid: u32,
        tid: u32,
        (slot, vector, is_read): (Slot, u64, bool),
        result: i64,
        (at, time): (Nanos, Nanos),
    ) {
        let Ok(count) = u64::try_from(result) else {
            return self.transfer(pid, slot, is_read, result, (at, time));
        };
        for index in 0..count.min(MESSAGES_MAX) {
            let mut length = [0; 4];
            let place = vector.saturating_add(index * MESSAGE_BYTES + MESSAGE_LENGTH_AT);
            // The kernel just wrote there.
            let known = ptrace::memory(tid, place, &mut length).is_ok();
            let bytes = if known { u32::from_ne_bytes(length) } else { 0 };
            let time = if index == 0 { time } else { Nanos(0) };
            self.transfer(pid, slot, is_read, i64::from(bytes), (at, time));
        }
    }
}
