//! Everyone by the proc connector (forks, executed programs, ends), with what each had used by
//! taskstats where the user may have that (`CAP_NET_ADMIN`).
//!
//! The programs of [`crate::notify::bpf`] tell more and lose less. Here a command line is read
//! from `/proc` after its program has begun, so a process that is over by then goes by its name;
//! and what is read and written by calls is not told (see [`crate::notify::taskstats`]).

use super::{Happened, Program};
use crate::error::Error;
use crate::follow::procfs;
use crate::notify::Notify;
use crate::notify::connector::Connector;
use crate::notify::taskstats::{ExitValues, Last};
use record::event::Event;
use record::identity::{Ending, ProcessId};
use record::table::exit::Exit;
use record::unit::Nanos;
use std::collections::{HashMap, HashSet};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// How often to read while events come: an unprivileged user's buffer holds some 500 of them,
/// root's 20 000; and the command line of a process that is gone cannot be read.
const PERIOD: Nanos = Nanos::from_millis(20);
/// The same while none do: the subscription is asked whether it stands.
const QUIET_PERIOD: Nanos = Nanos::from_secs(1);
/// Whom everyone descends from, and whom the kernel's own threads and helpers.
const INIT: u32 = 1;
const KTHREADD: u32 = 2;
const PROC: &str = "/proc";

/// What is known of a living process.
#[derive(Debug, Clone)]
struct Known {
    start: Nanos,
    parent: u32,
    /// Its short name, if that is told.
    comm: Option<Vec<u8>>,
    /// It was there before us, or its birth was lost: some of its threads may have ended unseen.
    is_doubtful: bool,
}

/// All processes of the machine.
#[derive(Debug)]
pub struct Machine {
    connector: Connector,
    values: Option<ExitValues>,
    values_lost: u64,
    events: Vec<Event>,
    living: HashMap<u32, Known>,
    /// The last reading found nothing.
    is_quiet: bool,
}

impl Machine {
    /// Subscribes, and learns who lives.
    ///
    /// # Errors
    /// Where this user on this kernel gets no events, in words that say what is missing.
    pub fn open() -> Result<Self, Error> {
        let proc = Path::new(PROC);
        let mut connector = Connector::open(proc)?;
        connector.follow(INIT, KTHREADD);
        connector.tell_whole_commands();
        let mut events = Vec::new();
        connector.resync(&mut events)?;
        let mut machine = Self {
            connector,
            // What it had to say is in its mechanism's line of `doctor`.
            values: ExitValues::open().ok(),
            values_lost: 0,
            events: Vec::new(),
            living: HashMap::new(),
            is_quiet: false,
        };
        for event in events {
            if let Event::Fork {
                at, pid, parent, ..
            } = event
            {
                machine.born(pid, parent.unwrap_or(0), at);
            }
        }
        machine
            .living
            .values_mut()
            .for_each(|one| one.is_doubtful = true);
        Ok(machine)
    }

    /// The name of the mechanism.
    pub fn name(&self) -> &'static str {
        match self.values {
            Some(_) => crate::notify::taskstats::MECHANISM.name,
            None => self.connector.name(),
        }
    }

    /// How often to read.
    pub fn period(&self) -> Nanos {
        if self.is_quiet { QUIET_PERIOD } else { PERIOD }
    }

    /// Readable with the next event, where none came of late. While they come they are taken in
    /// batches.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.is_quiet.then(|| self.connector.fd())
    }

    /// Tells what happened since the last call, without blocking.
    ///
    /// # Errors
    /// The subscription is gone for good.
    pub fn read(&mut self, tell: &mut dyn FnMut(Happened<'_>)) -> Result<(), Error> {
        let mut events = std::mem::take(&mut self.events);
        let read = self.connector.read(&mut events);
        if let Some(values) = &mut self.values {
            values.drain()?;
        }
        self.is_quiet = events.is_empty();
        let last = last_programs(&events);
        for (index, event) in events.drain(..).enumerate() {
            self.take(event, last.contains(&index), tell);
        }
        self.events = events;
        if let (Some(values), Some(tree)) = (&mut self.values, self.connector.tree()) {
            values.keep(tree.pids());
            let lost = values.lost();
            if lost > self.values_lost {
                tell(Happened::Lost(lost - self.values_lost));
                self.values_lost = lost;
            }
        }
        read
    }

    fn born(&mut self, pid: u32, parent: u32, start: Nanos) {
        // A fork says nothing of the program: it is the parent's.
        let comm = self.living.get(&parent).and_then(|one| one.comm.clone());
        let known = Known {
            start,
            parent,
            comm,
            is_doubtful: false,
        };
        self.living.insert(pid, known);
    }

    /// `is_last`: of the programs of a process in these events.
    fn take(&mut self, event: Event, is_last: bool, tell: &mut dyn FnMut(Happened<'_>)) {
        match event {
            Event::Fork {
                at,
                pid,
                parent,
                start,
                ..
            } => {
                let parent = parent.unwrap_or(0);
                self.born(pid, parent, at);
                // Found in `/proc`, and not told.
                if let Some(known) = self.living.get_mut(&pid) {
                    known.is_doubtful = start.is_some();
                }
                tell(Happened::Born {
                    pid,
                    parent,
                    start: at,
                });
            }
            Event::Exec {
                at,
                pid,
                command,
                truncated,
                ..
            } => {
                let program = (command.as_slice(), truncated, is_last);
                self.became(at, pid, program, tell);
            }
            Event::Exit {
                at, pid, ending, ..
            } => self.ended(at, pid, ending, tell),
            Event::Final { .. } => {}
            Event::Lost { count, .. } => tell(Happened::Lost(count)),
        }
    }

    fn became(
        &mut self,
        at: Nanos,
        pid: u32,
        (command, is_cut, is_last): (&[u8], bool, bool),
        tell: &mut dyn FnMut(Happened<'_>),
    ) {
        // What `/proc` and its end say is of its last program.
        let command = if is_last { command } else { &[] };
        let values = self.values.as_ref().filter(|_| is_last);
        let name = values.and_then(|values| values.name_of(pid));
        let Some(known) = self.living.get_mut(&pid) else {
            return;
        };
        // Of one that is over its name is all there is.
        known.comm = name.map(<[u8]>::to_vec);
        // As `/proc` says it, so that readings and events speak of the same process.
        if let Some((found, comm)) = procfs::read_named(Path::new(PROC), pid)
            && found.start <= at
        {
            known.start = found.start;
            known.comm = is_last.then_some(comm);
        }
        tell(Happened::Became(
            Program {
                id: ProcessId::new(pid, known.start),
                at,
                command,
                is_cut,
                comm: known.comm.as_deref(),
                path: &[],
            },
            None,
        ));
    }

    fn ended(
        &mut self,
        at: Nanos,
        pid: u32,
        ending: Option<Ending>,
        tell: &mut dyn FnMut(Happened<'_>),
    ) {
        let last = self.values.as_mut().and_then(|values| values.end(pid));
        let Some(known) = self.living.remove(&pid) else {
            return;
        };
        // Of one whose end nobody told nothing is known; that it was lost is told by itself.
        let Some(ending) = ending else {
            return;
        };
        let (comm, parent, uid) = match &last {
            Some(last) => (last.name.clone(), Some(last.parent), Some(last.uid)),
            None => (None, None, None),
        };
        let mut last = last.unwrap_or_default();
        if known.is_doubtful {
            last = Last::default();
        }
        // It goes on for a moment, and what came since the last tick may not be in it.
        let cpu_least = last.counters.cpu.take();
        tell(Happened::Ended(
            &Exit {
                id: ProcessId::new(pid, known.start),
                at,
                parent: parent.unwrap_or(known.parent),
                uid,
                comm: comm.or(known.comm),
                ending,
                own: last.counters,
                cpu_least,
                peaks: last.peaks,
            },
            None,
        ));
    }
}

/// Which of these events tell the last program of a process.
fn last_programs(events: &[Event]) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let execs = events.iter().enumerate().rev();
    let last =
        execs.filter(|(_, event)| matches!(event, Event::Exec { pid, .. } if seen.insert(*pid)));
    last.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_program_of_each_is_found() {
        let exec = |pid| Event::Exec {
            at: Nanos(1),
            pid,
            command: Vec::new(),
            truncated: false,
            path: None,
            former: None,
        };
        let end = Event::Exit {
            at: Nanos(2),
            pid: 7,
            ending: None,
            own: None,
            peaks: None,
        };
        let events = [exec(7), exec(8), exec(7), end];
        assert_eq!(last_programs(&events), HashSet::from([1, 2]));
    }
}
