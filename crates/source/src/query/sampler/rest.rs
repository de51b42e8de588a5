//! Whether a process has run since it was looked at last: told by the scheduler's line of its only
//! thread, which costs a tenth of a reading. Of one that has not, every counter is what it was, and
//! so is its memory but for what others do to it: pages that the kernel takes away or another
//! process unmaps. Its parent may be another, if that one has ended.

use super::kept::{Kept, read_at_start};
use crate::query::proc_pid_schedstat::{self, Schedstat};
use record::codec::series::Revision;
use record::sample::ProcessSample;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Resting {
    /// Its scheduler's line, while it has one thread.
    line: Option<Schedstat>,
    /// It slept in the last pass and had not run since the one before.
    confirmed: bool,
    /// What it told then.
    last: Option<ProcessSample>,
}

impl Resting {
    /// It is being read.
    pub(super) fn begin(&mut self) {
        self.confirmed = false;
    }

    /// It has more threads than one.
    pub(super) fn forget(&mut self) {
        self.line = None;
    }

    /// The line that was read.
    pub(super) fn take(&mut self, line: Option<Schedstat>) {
        self.confirmed = line.is_some() && line == self.line;
        self.line = line;
    }

    /// Its state, a letter: one that runs does not rest.
    pub(super) fn state(&mut self, state: char) {
        self.confirmed &= state != 'R';
    }

    /// Keeps what was told of it, for as long as it rests. `revisions` are those given so far.
    pub(super) fn keep(&mut self, sample: &mut ProcessSample, revisions: &mut u64) {
        if !self.confirmed {
            self.last = None;
            return;
        }
        sample.revision = self.last.as_ref().and_then(|last| last.revision);
        if self.last.as_ref() != Some(sample) {
            *revisions += 1;
            sample.revision = Revision::new(*revisions);
            self.last = Some(sample.clone());
        }
    }

    /// Whether it has not run since the last pass, and a pass would find the same again. `false`
    /// where one file does not tell.
    pub(super) fn is_still(&self, schedstat: &Kept, buffer: &mut Vec<u8>) -> bool {
        let Some(line) = self.line.filter(|_| self.confirmed) else {
            return false;
        };
        let read = schedstat.file().map(|file| read_at_start(file, buffer));
        let text = read
            .and_then(Result::ok)
            .and_then(|length| buffer.get(..length));
        text.and_then(proc_pid_schedstat::parse) == Some(line)
    }

    /// What it told last, if it has not run since.
    pub(super) fn repeated(&self, schedstat: &Kept, buffer: &mut Vec<u8>) -> Option<ProcessSample> {
        let last = self.last.as_ref()?;
        self.is_still(schedstat, buffer).then(|| last.clone())
    }
}
