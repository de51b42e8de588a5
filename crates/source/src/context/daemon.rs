//! A process that may be the daemon of a job: an ancestor of another, or who holds its group.

use record::context::Trust;
use std::borrow::Cow;

/// Characters of a command line that are kept as evidence.
const SHOWN_CHARS: usize = 256;

/// A process that may be a job's daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// Process id.
    pub pid: u32,
    /// Its real user, where that could be read.
    pub uid: Option<u32>,
    /// Its arguments, each ended by NUL; a daemon may have written one text over them.
    pub command: Vec<u8>,
}

impl Daemon {
    /// The first argument, without the blanks that a daemon leaves behind its text.
    pub(super) fn first(&self) -> Cow<'_, str> {
        let first = self.command.split(|byte| *byte == 0).next();
        part(
            String::from_utf8_lossy(first.unwrap_or_default()),
            str::trim_end,
        )
    }

    /// The name of its program: of the first argument what is behind the last `/` and before the
    /// first blank or colon.
    pub(super) fn program(&self) -> Cow<'_, str> {
        part(self.first(), |first| {
            let word = first.split([' ', ':']).next().unwrap_or_default();
            word.rsplit('/').next().unwrap_or_default()
        })
    }

    /// How far it may be believed: anybody can call a process of his own anything.
    pub(super) fn trust(&self) -> Trust {
        match self.uid {
            Some(0) => Trust::Observed,
            _ => Trust::Claimed,
        }
    }

    /// The command line as text.
    pub(super) fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.command).replace('\0', " ");
        text.trim_end().chars().take(SHOWN_CHARS).collect()
    }
}

/// A part of a text.
fn part<'a>(text: Cow<'a, str>, of: impl for<'b> Fn(&'b str) -> &'b str) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(of(text)),
        Cow::Owned(text) => Cow::Owned(of(&text).to_owned()),
    }
}

#[cfg(test)]
pub(super) fn of_root(command: &[u8]) -> Daemon {
    Daemon {
        pid: 1,
        uid: Some(0),
        command: command.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_last_part_of_the_first_argument() {
        let program = |command: &[u8]| of_root(command).program().into_owned();
        assert_eq!(program(b"/opt/pbs/sbin/pbs_mom\0-p\0"), "pbs_mom");
        assert_eq!(program(b"slurmstepd: [7.0]\0\0\0"), "slurmstepd");
        assert_eq!(program(b""), "");
        assert_eq!(of_root(b"a\0b\xff\0\0").shown(), "a b\u{fffd}");
    }

    #[test]
    fn only_roots_processes_are_observed() {
        let mut daemon = of_root(b"x");
        assert_eq!(daemon.trust(), Trust::Observed);
        for uid in [Some(1000), None] {
            daemon.uid = uid;
            assert_eq!(daemon.trust(), Trust::Claimed);
        }
    }
}
