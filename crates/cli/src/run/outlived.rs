//! Who outlived the command until a signal of ours ended it.

use super::ending::Reason;
use super::unended::is_alive;
use record::report::SURVIVORS_MAX;
use record::unit::Nanos;
use reduce::tree::Tree;
use source::query::proc_pid_cmdline;
use source::root::Root;
use std::collections::BTreeMap;

/// What is about to end has this long after the command to do so.
pub(super) const LINGER: Nanos = Nanos::from_millis(30);

/// Of a command line that nobody told.
const COMMAND_BYTES_MAX: u64 = 4096;

/// Process ids and command lines, at most as many as a report has room for.
#[derive(Debug, Default)]
pub(crate) struct Outlived(BTreeMap<u32, String>);

/// A round of signals to all that is left of the task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Why.
    pub(crate) reason: Option<Reason>,
    /// It is not the first round of SIGKILL.
    pub(crate) again: bool,
    /// How long ago the command ended, if it did.
    pub(crate) since_end: Option<Nanos>,
}

impl Round {
    /// Whether those that it is for outlived the command: the user asked for their end, or they had
    /// time to end with the command. Who is slow to die of an earlier round did not.
    pub(crate) fn is_for_survivors(self) -> bool {
        let Some(since) = self.since_end else {
            return false;
        };
        !self.again && (self.reason == Some(Reason::Descendants) || since >= LINGER)
    }
}

impl Outlived {
    /// Those of `pids` that live.
    pub(crate) fn add(&mut self, pids: &[u32], tree: &Tree) {
        for &pid in pids {
            // The command itself may be in there, where its end is not told yet.
            if self.0.len() < SURVIVORS_MAX && is_alive(pid) {
                self.0.entry(pid).or_insert_with(|| command(pid, tree));
            }
        }
    }

    /// Process ids and command lines.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0.iter().map(|(pid, command)| (*pid, command.as_str()))
    }
}

/// The command line of a living process.
fn command(pid: u32, tree: &Tree) -> String {
    let told = tree.command(pid).filter(|command| !command.is_empty());
    told.unwrap_or_else(|| {
        // Nobody told of its start yet. One that is gone by now stays without.
        let text = proc_pid_cmdline::read_start(&Root::default(), pid, COMMAND_BYTES_MAX);
        let text = text.unwrap_or_default();
        let words = proc_pid_cmdline::parse(&text).into_iter();
        let words = words.map(String::from_utf8_lossy);
        words.collect::<Vec<_>>().join(" ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos(0);

    fn round(reason: Reason, since_end: Option<Nanos>) -> Round {
        Round {
            reason: Some(reason),
            again: false,
            since_end,
        }
    }

    #[test]
    fn who_had_time_to_end_with_the_command_outlived_it() {
        assert!(round(Reason::Descendants, Some(NOW)).is_for_survivors());
        assert!(!round(Reason::Limit, None).is_for_survivors());
        assert!(!round(Reason::Signal(15), Some(NOW)).is_for_survivors());
        assert!(round(Reason::Limit, Some(LINGER)).is_for_survivors());
        let again = Round {
            again: true,
            ..round(Reason::Limit, Some(LINGER))
        };
        assert!(!again.is_for_survivors());
    }
}
