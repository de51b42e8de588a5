//! Who the processes are: asked once of each, once more a pass later, when its name is another, and
//! now and then; written where something differs. And who is wanted of them.
//!
//! What a process executes is in its own memory, so it is read by a thread that may wait for it
//! (`detail`), and its row comes when that has answered, or says that it did not.

mod known;

use super::Segments;
use super::cells::Cells;
use super::detail::{Asker, Job};
use super::jobs::Jobs;
use super::names::{self, Names, Outside};
use super::who::{self, Face, Owner, Users, Who};
use known::{Asked, Known, ran};
use record::identity::ProcessId;
use record::sample::ProcessSample;
use record::table;
use record::unit::Nanos;
use record::value::Absent;
use rustc_hash::FxHashMap;
use source::aside::Haste;
use source::context::unfamiliar::{self, Layouts};
use source::follow::select::Selection;
use source::roll::Roll;
use source::root::Root;
use store::Error;
use store::segment::Instant;
use sys::burst;

/// A process is looked at again after so many passes: its folder, its user or its group may have
/// changed. One that has not run since it was asked has its folder and its user still, and others
/// can only have moved it to another group.
const PASSES_BETWEEN: u64 = 64;
/// The same of one that could not be asked, as too many others do not answer.
const PASSES_UNASKED: u64 = 16;

/// So many processes are looked at in one piece.
const LOOKS_BETWEEN_RESTS: usize = 128;

/// Who was told already.
pub(super) struct Identities {
    root: Root,
    selection: Selection,
    known: Roll<ProcessId, Known>,
    /// How many of them this pass has met so far.
    met: usize,
    /// Which jobs they are in.
    pub(super) names: Names,
    users: Users,
    /// Layouts of control groups that people were warned of.
    layouts: Layouts,
    pass: u64,
    /// When that was.
    at: Nanos,
    told: u64,
    cells: Cells,
}

impl Identities {
    pub(super) fn new(root: Root, selection: Selection, outside: Option<&Outside>) -> Self {
        Self {
            root,
            selection,
            known: Roll::default(),
            met: 0,
            names: Names::new(outside, Jobs::new()),
            users: Users::default(),
            layouts: Layouts::default(),
            pass: 0,
            at: Nanos(0),
            told: 0,
            cells: Cells::new(&table::process::TABLE),
        }
    }

    /// From now on others are wanted: everyone is looked at anew.
    pub(super) fn select(&mut self, selection: Selection) {
        self.selection = selection;
        for known in self.known.values_mut() {
            (known.due, known.ran) = (self.pass, None);
        }
    }

    /// How many processes were told.
    pub(super) const fn told(&self) -> u64 {
        self.told
    }

    /// Whether an answer is to come.
    pub(super) fn waits(&self) -> bool {
        self.known.iter().any(|(_, one)| one.asked == Asked::Yes)
    }

    /// Who of these is wanted, in their order; asks for who is new or may have changed, with a new
    /// segment for everyone.
    ///
    /// # Errors
    /// Some could not be written: they are written again with the next segment.
    pub(super) fn tell(
        &mut self,
        samples: &[ProcessSample],
        asker: &Asker,
        (is_new, when): (bool, Instant),
        writer: &mut Segments,
    ) -> (Vec<bool>, Result<(), Error>) {
        self.pass += 1;
        self.at = when.at;
        self.met = 0;
        self.known.begin();
        let mut wanted = self.selection.places(samples);
        for (place, (sample, wanted)) in samples.iter().zip(&mut wanted).enumerate() {
            if place % LOOKS_BETWEEN_RESTS == 0 {
                burst::rest();
            }
            *wanted = self.look(sample, *wanted, is_new, asker);
        }
        burst::rest();
        self.names.leave_become();
        self.leave_ended();
        (wanted, self.flush(when, writer))
    }

    /// Forgets whom this pass has not met.
    fn leave_ended(&mut self) {
        if self.met == self.known.len() {
            return;
        }
        let pass = self.pass;
        let mut known = std::mem::take(&mut self.known);
        known.keep(|id, known| {
            let is_there = known.pass == pass;
            if !is_there && known.asked != Asked::No && known.row.is_none() {
                // It ended before it could be read.
                self.write(id, known, &Who::gone());
            }
            is_there
        });
        self.known = known;
    }

    /// Whether nobody is left out.
    pub(super) fn is_everyone(&self) -> bool {
        self.selection.is_everyone()
    }

    /// Who was met already and is in no job that began less than `age` ago.
    pub(super) fn others(&self, now: Nanos, age: Nanos) -> FxHashMap<u32, ProcessId> {
        let ids = self.known.iter().map(|(id, _)| id);
        let others = ids.filter(|id| !self.names.is_young(*id, now, age));
        others.map(|id| (id.pid, id)).collect()
    }

    /// Asks for some who they are, between two readings of everyone, as [`Identities::tell`] does.
    pub(super) fn meet(&mut self, samples: &[&ProcessSample], asker: &Asker, at: Nanos) {
        self.at = at;
        for sample in samples {
            let is_wanted = self.selection.is_place(sample);
            self.look(sample, is_wanted, false, asker);
        }
    }

    /// Looks at one process if that is due; whether it is wanted.
    fn look(
        &mut self,
        sample: &ProcessSample,
        by_place: bool,
        is_new: bool,
        asker: &Asker,
    ) -> bool {
        let asks_owner = self.selection.asks_owner();
        if !by_place && !asks_owner {
            return false;
        }
        let (pass, comm, id) = (self.pass, who::name(sample), sample.id);
        let (known, is_first) = self.known.meet(id, || Known::new(comm, pass));
        self.met += usize::from(is_first || known.pass != pass);
        known.pass = pass;
        // What an exec told is written behind what may have been read after it, and is less.
        let has_become = self.names.has_become(id);
        known.is_owed |= is_new | has_become;
        let is_renamed = known.comm != comm;
        if !known.is_owed && !is_renamed && pass < known.due {
            return by_place || known.is_owner;
        }
        known.due = pass
            + match is_first {
                true => Known::first_wait(sample, self.at),
                false => PASSES_BETWEEN,
            };
        if known.is_unchanged(sample, &self.root) && !known.is_owed && !is_renamed {
            return by_place || known.is_owner;
        }
        if asks_owner {
            let owner = Owner::read(&self.root, id.pid);
            known.is_owner = self.selection.is_owner(&owner.status, &owner.groups);
        }
        if !by_place && !known.is_owner {
            return false;
        }
        known.is_renamed |= is_renamed;
        known.comm = comm.to_vec();
        known.ppid = sample.ppid;
        if known.asked != Asked::No {
            // What is answered may be of before.
            known.due = pass + 1;
            return true;
        }
        known.filed = self.names.known(id);
        match asker.ask(Job::Who(id), Haste::Now) {
            Ok(()) => (known.asked, known.ran) = (Asked::Yes, ran(sample)),
            Err(_) => self.unanswered(id, false),
        }
        true
    }

    /// What was asked of a process.
    pub(super) fn answered(&mut self, id: ProcessId, who: &Who) {
        self.with(id, |all, known| {
            known.asked = Asked::No;
            known.groups = who.owner.groups_digest;
            all.write(id, known, who);
        });
    }

    /// A process does not answer, or could not be asked: what else can be read of it is told.
    pub(super) fn unanswered(&mut self, id: ProcessId, is_asked: bool) {
        let who = Who::silent(&self.root, id);
        self.with(id, |all, known| {
            known.asked = match is_asked {
                true => Asked::Silent,
                false => Asked::No,
            };
            known.ran = None;
            if !is_asked {
                known.due = all.pass + PASSES_UNASKED;
            }
            all.write(id, known, &who);
        });
    }

    fn with(&mut self, id: ProcessId, act: impl FnOnce(&mut Self, &mut Known)) {
        // One that is not known any more was told to have ended.
        let Some(place) = self.known.get_mut(id) else {
            return;
        };
        let mut known = std::mem::replace(place, Known::new(b"", 0));
        act(self, &mut known);
        if let Some(place) = self.known.get_mut(id) {
            *place = known;
        }
    }

    /// Puts down the row of a process, if it differs from its last one.
    fn write(&mut self, id: ProcessId, known: &mut Known, who: &Who) {
        for path in &who.owner.job.unfamiliar {
            if self.layouts.is_new(path) {
                super::say(&format!("warning: {}", unfamiliar::warning(path)));
            }
        }
        let exe = &who.program.exe;
        let is_other = match known.row {
            None => false,
            Some(_) if exe.is_none() => known.is_renamed,
            Some(_) => known.exe != *exe,
        };
        known.execs += i64::from(is_other);
        known.is_renamed = false;
        known.exe.clone_from(exe);
        let read = self.names.read(id, &who.owner.job, who.is_whole, self.at);
        let filed = known.filed.take().filter(|_| !who.is_whole);
        let job = read.or(filed);
        let face = Face {
            id,
            ppid: known.ppid,
            comm: &known.comm,
            execs: known.execs,
            job: names::pair(job.as_ref()),
        };
        let (before, is_owed) = (known.row, std::mem::take(&mut known.is_owed));
        let (users, row) = (&mut self.users, &mut known.row);
        self.cells.push(
            |out| who::put(out, face, who, users),
            |bytes| {
                *row = Some(who::digest(bytes));
                *row != before || is_owed
            },
        );
        self.told += u64::from(before.is_none());
    }

    /// Asks about the jobs of which too little is known.
    pub(super) fn ask_jobs(&mut self, asker: &Asker) {
        for id in self.names.jobs.questions() {
            if asker.ask(Job::Facts(id), Haste::Now).is_err() {
                let facts = super::jobs::Facts::absent(Absent::NoAnswer);
                self.names.jobs.answered(id, facts);
            }
        }
    }

    /// Whether there are as many rows as a frame should have.
    pub(super) fn is_full(&self) -> bool {
        self.cells.is_full()
    }

    /// Writes the rows of those that answered.
    ///
    /// # Errors
    /// They could not be written: they are written again with the next segment.
    pub(super) fn flush(&mut self, when: Instant, writer: &mut Segments) -> Result<(), Error> {
        self.cells.flush(when, writer)
    }

    /// Tells who did not answer up to the end.
    pub(super) fn end(&mut self) {
        let ids = self.known.iter().filter(|(_, one)| one.asked == Asked::Yes);
        for id in ids.map(|(id, _)| id).collect::<Vec<_>>() {
            self.unanswered(id, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::codec::cells::{Cell, take_row};
    use record::codec::series::Revision;
    use record::context::{Chain, Trust};

    /// The identifier of the row of one that ended before it could be read; whether its end was
    /// told by an event.
    fn identifier_of_one_that_ended(is_told: bool) -> Option<String> {
        let mut all = Identities::new(Root::default(), Selection::new(Vec::new()), None);
        let id = ProcessId::new(7, Nanos(1));
        let chain = Chain {
            identifier: Some("42".to_owned()),
            scheduler: Some("slurm".to_owned()),
            trust: Some(Trust::Enforced),
            ..Chain::default()
        };
        all.names.became(id, Some(&chain), Nanos(2));
        let mut known = Known::new(b"sh", 0);
        known.filed = all.names.known(id);
        known.asked = Asked::Yes;
        all.known.meet(id, || known);
        if is_told {
            all.names.ended((id, None), Some(&chain), Nanos(3));
        }
        all.pass = 1;
        all.leave_ended();
        assert_eq!(all.known.len(), 0);
        let column = |column: &record::table::Column| column.name == "identifier";
        let place = table::process::TABLE
            .columns
            .iter()
            .position(column)
            .unwrap();
        let place = place + table::process::TABLE.key.len();
        let row = take_row(&mut all.cells.payload()).unwrap();
        let cell = row.into_iter().find(|(n, _)| usize::from(*n) == place);
        cell.map(|(_, cell)| match cell {
            Cell::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        })
    }

    fn that_ran(ns: u64, revision: u64) -> ProcessSample {
        let mut sample = who::tests::sample(b"sh", 1);
        sample.own.cpu = Some(Nanos(ns));
        sample.revision = Revision::new(revision);
        sample
    }

    #[test]
    fn one_that_has_not_run_and_was_not_moved_is_not_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let (one, root) = (that_ran(5, 1), Root::at(folder.path()));
        let file = root.process(one.id.pid, "cgroup");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "0::/a\n").unwrap();
        let mut known = Known::new(b"sh", 1);
        known.ran = ran(&one);
        assert!(!known.is_unchanged(&one, &root), "its group is new to us");
        known.groups = who::groups(&root, one.id.pid).map(|groups| groups.1);
        assert!(known.is_unchanged(&one, &root));
        let paged_out = that_ran(5, 2);
        assert!(known.is_unchanged(&paged_out, &root));
        std::fs::write(&file, "0::/b\n").unwrap();
        assert!(!known.is_unchanged(&one, &root), "it was moved");
        assert!(known.is_unchanged(&one, &root));
        assert!(!known.is_unchanged(&that_ran(6, 3), &root), "it has run");
        known.asked = Asked::Silent;
        assert!(!known.is_unchanged(&one, &root), "it may answer now");
        let by_ticks = that_ran(5, 0);
        (known.asked, known.ran) = (Asked::No, ran(&by_ticks));
        assert!(!known.is_unchanged(&by_ticks, &root), "nobody can tell");
    }

    #[test]
    fn who_was_there_long_is_not_looked_at_again_at_once() {
        let mut one = who::tests::sample(b"sh", 1);
        one.id.start_ns = Nanos::from_secs(100);
        let wait = |secs| Known::first_wait(&one, Nanos::from_secs(secs));
        assert_eq!([100, 109].map(wait), [1, 1]);
        assert!((1..=PASSES_BETWEEN).contains(&wait(110)));
        let mut other = one.clone();
        other.id.pid += 1;
        assert_ne!(Known::first_wait(&other, Nanos::from_secs(110)), wait(110));
    }

    #[test]
    fn one_that_ends_before_it_is_read_is_in_the_job_that_its_events_told() {
        for is_told in [false, true] {
            assert_eq!(identifier_of_one_that_ended(is_told).as_deref(), Some("42"));
        }
    }
}
