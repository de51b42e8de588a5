//! What the agent waits for between two readings.

use super::Agent;
use anyhow::{Context, Result};
use record::unit::Nanos;
use std::os::fd::AsFd;
use sys::descriptor::{self, Waiting};
use sys::signal::Signals;
use sys::{burst, scheduling};

pub(super) const SIGHUP: i32 = 1;

/// The least that the kernel knows.
const SLICE_NS: u64 = 100_000;

/// From now on this thread has a CPU for moments only, and soon: where thousands end at once, what
/// they tell has to be taken before all of them have.
pub(super) fn be_brief() {
    burst::hold(burst::USUAL_NS);
    // Where the kernel refuses, it is as it was.
    drop(scheduling::take_slices(SLICE_NS));
}

/// What ended a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    Time,
    /// Somebody answered that was asked aside.
    Answers,
    Signal(i32),
    Keeper,
}

/// Sleeps so long, but for a signal to end, the end of the keeper or an answer.
pub(super) fn wait(signals: &Signals, agent: &Agent, pause: Nanos) -> Result<Woken> {
    let waiting = [
        Some(signals.as_fd()),
        Some(agent.keeper.as_fd()),
        Some(agent.detail.as_fd()),
        // It is listened to, then, as it is when the time is over.
        agent.listener.fd(),
        agent.gpus.fd(),
    ];
    let waiting = waiting.map(|fd| Waiting {
        fd,
        exceptional: false,
    });
    let ready = descriptor::poll(&waiting, Some(pause.0)).context("waiting")?;
    Ok(if let Some(arrived) = signals.next() {
        Woken::Signal(arrived.signal)
    } else if ready.get(1) == Some(&true) {
        Woken::Keeper
    } else if ready.get(2) == Some(&true) || ready.get(4) == Some(&true) {
        Woken::Answers
    } else {
        Woken::Time
    })
}
