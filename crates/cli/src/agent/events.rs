//! What happens between two readings: programs executed, and every end with what was used up to it.

use super::Segments;
use super::balance::Balance;
use super::cells::Cells;
use super::names::{self, Names};
use super::who;
use record::identity::ProcessId;
use record::sample::ProcessSample;
use record::table::{exit, process};
use record::unit::Nanos;
use source::everyone::{Everyone, Happened};
use source::follow::select::Wanted;
use std::collections::HashSet;
use store::Error;
use store::segment::Instant;

/// Processes that are known to be wanted, at most; more are taken for strangers.
const WANTED_MAX: usize = 1 << 17;

/// Everyone who is there or is born while the agent is.
pub(super) struct Events {
    /// Nothing once it has failed.
    everyone: Option<Everyone>,
    wanted: Chosen,
    exits: Cells,
    programs: Cells,
    count: u64,
    lost: u64,
    failed: Option<source::error::Error>,
    balance: Balance,
}

/// Of whom to tell.
struct Chosen {
    is_everyone: bool,
    users: Vec<u32>,
    /// Who was wanted in the last reading, and who was born to one of them since.
    pids: HashSet<u32>,
    /// The same of the reading before: one that had ended when it was read, or was not met at its
    /// birth, has an end that is told after the reading.
    before: HashSet<u32>,
}

impl Events {
    /// Tells of everyone who is followed from now on.
    pub(super) fn new(everyone: Everyone, wanted: &[Wanted]) -> Self {
        let balance = Balance::new(everyone.tells_all());
        Self {
            everyone: Some(everyone),
            wanted: Chosen::new(wanted),
            exits: Cells::new(&exit::TABLE),
            programs: Cells::new(&process::TABLE),
            count: 0,
            lost: 0,
            failed: None,
            balance,
        }
    }

    /// Who is followed, and how.
    pub(super) const fn everyone(&self) -> Option<&Everyone> {
        self.everyone.as_ref()
    }

    /// Why nobody is followed any more, once.
    pub(super) fn failure(&mut self) -> Option<source::error::Error> {
        self.failed.take()
    }

    /// Takes what happened up to now; `of` knows who is in which job.
    ///
    /// # Errors
    /// Some of it could not be written, and is counted as lost.
    pub(super) fn read(
        &mut self,
        when: Instant,
        of: &mut Names,
        writer: &mut Segments,
    ) -> Result<(), Error> {
        let Some(everyone) = &mut self.everyone else {
            return Ok(());
        };
        let (wanted, exits, programs) = (&mut self.wanted, &mut self.exits, &mut self.programs);
        let balance = &mut self.balance;
        let (mut count, mut lost, mut result) = (0, 0, Ok(()));
        let read = everyone.read(&mut |happened| {
            match happened {
                Happened::Born { pid, parent, start } => {
                    wanted.born(pid, parent);
                    of.born(ProcessId::new(pid, start), parent);
                }
                Happened::Became(program, groups) if wanted.has(program.id.pid) => {
                    let job = of.became(program.id, groups.as_deref(), program.at);
                    let job = names::pair(job.as_ref());
                    programs.push(|out| who::put_exec(out, &program, job), |_| true);
                }
                Happened::Killed(id, groups) if wanted.has(id.pid) => {
                    of.killed(id, groups.as_deref(), when.at);
                }
                Happened::Ended(exit, groups) if wanted.ended(exit.id.pid, exit.uid) => {
                    balance.ended(exit);
                    let job = of.ended((exit.id, exit.uid), groups.as_deref(), exit.at);
                    let job = names::pair(job.as_ref());
                    exits.push(|out| exit::put(out, exit, job), |_| true);
                    count += 1;
                }
                Happened::Became(..) | Happened::Killed(..) | Happened::Ended(..) => {}
                Happened::Lost(more) => lost += more,
            }
            for cells in [&mut *exits, &mut *programs] {
                if cells.is_full() {
                    let written = cells.flush(when, writer);
                    if result.is_ok() {
                        result = written;
                    }
                }
            }
        });
        if let Err(error) = read {
            (self.everyone, self.failed) = (None, Some(error));
        }
        self.count += count;
        self.lost += lost;
        writer.lose(u32::try_from(lost).unwrap_or(u32::MAX));
        result
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// It could not be written, and is counted as lost.
    pub(super) fn flush(&mut self, when: Instant, writer: &mut Segments) -> Result<(), Error> {
        let programs = self.programs.flush(when, writer);
        programs.and(self.exits.flush(when, writer))
    }

    /// Looks for control groups that an event named and nobody knew.
    pub(super) fn refresh(&mut self) {
        if let Some(everyone) = &mut self.everyone {
            everyone.refresh();
        }
    }

    /// From now on these are wanted; until the next reading, of those found by a place in the tree,
    /// nobody is known.
    pub(super) fn select(&mut self, wanted: &[Wanted]) {
        self.wanted = Chosen::new(wanted);
    }

    /// Who is wanted according to a reading.
    pub(super) fn want(&mut self, pids: impl Iterator<Item = u32>) {
        if !self.wanted.is_everyone {
            self.wanted.before = std::mem::take(&mut self.wanted.pids);
            self.wanted.pids.extend(pids);
        }
    }

    /// These are wanted too.
    pub(super) fn want_too(&mut self, pids: impl Iterator<Item = u32>) {
        let room = WANTED_MAX.saturating_sub(self.wanted.pids.len());
        if !self.wanted.is_everyone {
            self.wanted.pids.extend(pids.take(room));
        }
    }

    /// A reading of everyone met these, the machine had spent so much.
    pub(super) fn met(&mut self, at: Nanos, samples: &[ProcessSample], machine: Nanos) {
        if self.wanted.is_everyone {
            self.balance.reading(at, samples, machine);
        }
    }

    /// Whether what was told adds up, for people.
    pub(super) fn balance(&self) -> Option<String> {
        self.balance.line()
    }

    /// How many ends were told, and how many events were missed.
    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.count, self.lost)
    }
}

impl Chosen {
    fn new(wanted: &[Wanted]) -> Self {
        let users = wanted.iter().filter_map(|wanted| match wanted {
            Wanted::User(uid) => Some(*uid),
            _ => None,
        });
        Self {
            is_everyone: wanted.contains(&Wanted::All),
            users: users.collect(),
            pids: HashSet::new(),
            before: HashSet::new(),
        }
    }

    fn is_one(&self, pid: u32) -> bool {
        self.pids.contains(&pid) || self.before.contains(&pid)
    }

    fn has(&self, pid: u32) -> bool {
        self.is_everyone || self.is_one(pid)
    }

    fn born(&mut self, pid: u32, parent: u32) {
        let room = self.pids.len() < WANTED_MAX;
        if !self.is_everyone && room && self.is_one(parent) {
            self.pids.insert(pid);
        }
    }

    /// Whether one that ended was wanted: it is not any more.
    fn ended(&mut self, pid: u32, uid: Option<u32>) -> bool {
        let was = self.pids.remove(&pid) | self.before.remove(&pid);
        was || self.is_everyone || uid.is_some_and(|uid| self.users.contains(&uid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_the_wanted_are_wanted_to_their_end() {
        let mut chosen = Chosen {
            is_everyone: false,
            users: vec![5],
            pids: HashSet::from([1]),
            before: HashSet::from([4]),
        };
        chosen.born(2, 1);
        chosen.born(3, 2);
        chosen.born(8, 9);
        // Its parent was over by the last reading.
        chosen.born(5, 4);
        assert!(chosen.has(5) && chosen.ended(5, None) && chosen.ended(4, None));
        assert!(chosen.has(3) && !chosen.has(8));
        assert!(chosen.ended(2, Some(0)) && !chosen.ended(2, None));
        assert!(chosen.ended(3, Some(0)) && chosen.ended(8, Some(5)));
    }
}
