//! Whether a process of one thread has run since it was looked at last: told by its CPU clock, or
//! where that may be another's by the scheduler's line, which cost a twentieth and a tenth of a
//! reading. Of one that has not, every counter is what it was, and
//! so is its memory but for what others do to it: pages that the kernel takes away or another
//! process unmaps. Its parent may be another, if that one has ended. So it is read as a whole now
//! and then, and less often each time that found the same.

use super::kept::{Kept, read_at_start};
use crate::query::proc_pid_schedstat::{self, Schedstat};
use record::codec::series::Revision;
use record::sample::ProcessSample;
use sys::clock;

/// How often the passes between two whole readings of one that rests may double.
const DOUBLINGS_MAX: u32 = 3;

/// How often they double at once where so many rest, if `each_pass` of them may be read as a whole
/// in a pass and `passes` are between two whole readings of one.
pub(super) fn doublings(resting: u64, passes: u64, each_pass: u64) -> u32 {
    let is_enough = |doublings: &u32| (each_pass * passes) << doublings >= resting;
    let enough = (0..DOUBLINGS_MAX).find(is_enough);
    enough.unwrap_or(DOUBLINGS_MAX)
}

/// What is another once it has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// CPU time of its whole life, nanoseconds.
    Time(u64),
    Line(Schedstat),
}

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Resting {
    /// What it had run, while it has one thread.
    ran: Option<Ran>,
    /// What it had as its reading began, where its clock is known.
    at_begin: Option<u64>,
    /// It slept in the last pass and had not run since the one before.
    confirmed: bool,
    /// What it told then.
    last: Option<ProcessSample>,
    /// How many readings have told the same since, of those that lengthen the time to the next.
    doublings: u32,
}

impl Resting {
    /// It is going to be read, and has had so much CPU time, if its clock is known.
    pub(super) fn begin(&mut self, cpu_time: Option<u64>) {
        self.confirmed = false;
        self.at_begin = cpu_time;
    }

    /// It has more threads than one.
    pub(super) fn forget(&mut self) {
        self.ran = None;
    }

    /// The line of its only thread that was read.
    pub(super) fn take(&mut self, line: Option<Schedstat>) {
        let by_line = || line.map(Ran::Line);
        let ran = self.at_begin.map(Ran::Time).or_else(by_line);
        self.confirmed = ran.is_some() && ran == self.ran;
        self.ran = ran;
    }

    /// Whether no file is needed to see whether it rests.
    pub(super) const fn has_clock(&self) -> bool {
        self.at_begin.is_some()
    }

    /// Its state, a letter: one that runs does not rest.
    pub(super) fn state(&mut self, state: char) {
        self.confirmed &= state != 'R';
    }

    /// Keeps what was told of it, for as long as it rests. `revisions` are those given so far, the
    /// `doublings` those of one that tells something new.
    pub(super) fn keep(&mut self, sample: &mut ProcessSample, revisions: &mut u64, doublings: u32) {
        if !self.confirmed {
            (self.last, self.doublings) = (None, 0);
            return;
        }
        sample.revision = self.last.as_ref().and_then(|last| last.revision);
        if self.last.as_ref() == Some(sample) {
            self.doublings = DOUBLINGS_MAX.min(self.doublings + 1);
            return;
        }
        *revisions += 1;
        sample.revision = Revision::new(*revisions);
        (self.last, self.doublings) = (Some(sample.clone()), doublings);
    }

    /// Whether this pass reads it as a whole, where one that has just begun to rest is read so once
    /// in `passes`. Those that rest have their turns in different passes.
    pub(super) fn is_due(&self, pid: u32, pass: u64, passes: u64) -> bool {
        let spacing = passes.saturating_mul(1 << self.doublings);
        passes < 2 || (pass + u64::from(pid)).is_multiple_of(spacing)
    }

    /// Whether it had not run between the last two passes.
    pub(super) const fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Whether it has not run since the last pass, and a pass would find the same again. `false`
    /// where neither its clock nor one file tells.
    pub(super) fn is_still(&self, pid: u32, schedstat: &Kept, buffer: &mut Vec<u8>) -> bool {
        match self.ran.filter(|_| self.confirmed) {
            None => false,
            Some(Ran::Time(time)) => clock::cpu_time(pid) == Some(time),
            Some(Ran::Line(line)) => {
                let read = schedstat.file().map(|file| read_at_start(file, buffer));
                let length = read.and_then(Result::ok);
                let text = length.and_then(|length| buffer.get(..length));
                text.and_then(proc_pid_schedstat::parse) == Some(line)
            }
        }
    }

    /// What it told last, if it has not run since.
    pub(super) fn repeated(
        &self,
        pid: u32,
        schedstat: &Kept,
        buffer: &mut Vec<u8>,
    ) -> Option<&ProcessSample> {
        let last = self.last.as_ref()?;
        self.is_still(pid, schedstat, buffer).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::proc_pid_stat;

    const PASSES: u64 = 10;

    /// How many of 2400 passes read it as a whole.
    fn turns(rest: &Resting) -> usize {
        (0..2400)
            .filter(|pass| rest.is_due(4711, *pass, PASSES))
            .count()
    }

    #[test]
    fn the_longer_it_stays_the_same_the_less_often_it_is_read() {
        let line = proc_pid_schedstat::parse(b"1950440 989502 1\n");
        assert!(line.is_some());
        let told = b"7 (cat) S 1 7 7 0 -1 0 9 0 0 0 1 2 0 0 20 0 1 0 500 0 0";
        let stat = proc_pid_stat::parse(told).unwrap();
        let mut sample = super::super::told::as_sample(&stat);
        let (mut rest, mut revisions) = (Resting::default(), 0);
        let mut read = |rest: &mut Resting, sample: &mut ProcessSample| {
            rest.begin(None);
            rest.take(line);
            rest.keep(sample, &mut revisions, 0);
            turns(rest)
        };
        // It may have run before; then it begins to rest; then it does.
        let seen: Vec<usize> = (0..6).map(|_| read(&mut rest, &mut sample)).collect();
        assert_eq!(seen, [240, 240, 120, 60, 30, 30]);
        // What others did to it is told, and it is read more often again.
        sample.ppid = 2;
        assert_eq!(read(&mut rest, &mut sample), 240);
        assert_eq!(read(&mut rest, &mut sample), 120);
        // It has run.
        rest.take(proc_pid_schedstat::parse(b"1950441 989502 2\n"));
        rest.keep(&mut sample, &mut 0, 0);
        assert_eq!(turns(&rest), 240);
        let each: Vec<bool> = (0..9).map(|pass| rest.is_due(4711, pass, 1)).collect();
        assert!(!each.contains(&false), "who asks for each pass has it");
    }

    #[test]
    fn where_many_rest_each_is_read_less_often_from_the_start() {
        let of = |resting| doublings(resting, PASSES, 60);
        assert_eq!([0, 600, 601, 1200, 1201].map(of), [0, 0, 1, 1, 2]);
        assert_eq!([2400, 2401, 100_000].map(of), [2, 3, DOUBLINGS_MAX]);
        assert_eq!(doublings(7, 0, 0), DOUBLINGS_MAX);
    }
}
