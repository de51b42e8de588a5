//! What is said between the process that reads, the warden of the drivers and who asks them.

use anyhow::{Context, Result};
use record::gpu::GpuMachine;
use record::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;
use sys::descriptor::{self, Received};

/// A message, at most: a kernel takes it whole by default.
const MESSAGE_BYTES: usize = 128 << 10;
/// A reason, at most, in letters.
const REASON_CHARS: usize = 300;

/// Bytes of a message of somebody who wants a reading: the instant that it is for.
pub(super) type Ask = [u8; 8];

/// What is told of drivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Told {
    /// They are asked this way, and this is kept of privileges, if anything is to be said of that.
    Way { source: String, kept: String },
    /// An answer to what was asked for that instant.
    Reading { at: Nanos, machine: GpuMachine },
    /// Nobody can be asked for that instant: the one before is not answered, or nobody is there.
    Refused { at: Nanos },
    /// There is nothing to ask, for this reason; somebody looks again later.
    Absent(String),
    /// Who asked did not come back: the next one is started after a while.
    Ended(String),
}

/// Says it. What is too long for a message has fewer processes.
///
/// # Errors
/// Nobody listens, or not now.
pub(super) fn say(channel: BorrowedFd<'_>, told: &mut Told, waits: bool) -> Result<()> {
    let mut bytes = serde_json::to_vec(told)?;
    while bytes.len() > MESSAGE_BYTES {
        let Told::Reading { machine, .. } = told else {
            anyhow::bail!("too long for a message");
        };
        cut(machine);
        bytes = serde_json::to_vec(told)?;
    }
    forward(channel, &bytes, waits)
}

/// Passes a message on.
///
/// # Errors
/// As [`say`].
pub(super) fn forward(channel: BorrowedFd<'_>, bytes: &[u8], waits: bool) -> Result<()> {
    if waits {
        return Ok(descriptor::send(channel, bytes)?);
    }
    let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
    rustix::net::send(channel, bytes, flags)?;
    Ok(())
}

/// Leaves out half of the processes; devices once there are none.
fn cut(machine: &mut GpuMachine) {
    let mut left_out = 0;
    for device in &mut machine.devices {
        let all = device.processes.len();
        device.processes.truncate(all / 2);
        left_out += all - device.processes.len();
    }
    if left_out == 0 {
        let all = machine.devices.len();
        machine.devices.truncate(all / 2);
        left_out = all - machine.devices.len();
    }
    machine.left_out += left_out as u64;
}

/// Room for a message.
pub(super) fn room() -> Vec<u8> {
    vec![0; MESSAGE_BYTES]
}

/// The next message, if there is one; an error if nobody is there any more.
pub(super) fn next<'r>(channel: BorrowedFd<'_>, room: &'r mut [u8]) -> Result<Option<&'r [u8]>> {
    match descriptor::receive(channel, room, false)? {
        Received::Bytes(bytes) => Ok(room.get(..bytes)),
        Received::Nothing => Ok(None),
        Received::End => anyhow::bail!("nobody is there any more"),
    }
}

/// What a message says; texts are what people can be shown.
///
/// # Errors
/// It says nothing.
pub(super) fn read(message: &[u8]) -> Result<Told> {
    let mut told = serde_json::from_slice(message).context("a message")?;
    let shown = |text: &mut String| {
        *text = text
            .chars()
            .filter(|letter| !letter.is_control())
            .take(REASON_CHARS)
            .collect();
    };
    match &mut told {
        Told::Way { source, kept } => {
            shown(source);
            shown(kept);
        }
        Told::Absent(why) | Told::Ended(why) => shown(why),
        Told::Reading { .. } | Told::Refused { .. } => {}
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::gpu::{GpuDevice, GpuUse};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_said_is_understood_and_what_is_too_long_is_cut() {
        let (here, there) = descriptor::channel().unwrap();
        let mut room = room();
        let device = |processes| GpuDevice {
            instance: "GPU-0".to_owned(),
            values: vec![Some(1), None],
            processes: vec![GpuUse::default(); processes],
        };
        for (processes, kept) in [(2, 2), (5000, 2500)] {
            let mut told = Told::Reading {
                at: Nanos(7),
                machine: GpuMachine {
                    devices: vec![device(processes)],
                    left_out: 0,
                },
            };
            say(here.as_fd(), &mut told, true).unwrap();
            let message = next(there.as_fd(), &mut room).unwrap().unwrap();
            let Told::Reading { at, machine } = read(message).unwrap() else {
                panic!("no reading");
            };
            assert_eq!(at, Nanos(7));
            assert_eq!(machine.devices[0].processes.len(), kept);
            assert_eq!(machine.left_out, (processes - kept) as u64);
        }
        assert!(next(there.as_fd(), &mut room).unwrap().is_none());
        drop(here);
        // A program that another test starts just now may have it until then.
        while let Ok(told) = next(there.as_fd(), &mut room) {
            assert!(told.is_none());
        }
    }

    #[test]
    fn a_text_from_elsewhere_is_one_short_line() {
        let told = serde_json::to_vec(&Told::Ended(format!("a\nb\x1b[2J{}", "x".repeat(999))));
        let Told::Ended(why) = read(&told.unwrap()).unwrap() else {
            panic!("another message");
        };
        assert!(why.starts_with("ab[2Jx") && why.len() == REASON_CHARS);
        assert!(read(b"{\"Reading\":{\"devices\":7}}").is_err());
    }
}
