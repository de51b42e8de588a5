//! Who the processes are: read once of each, once more a pass later, when its name is another, and
//! now and then; written where something differs. And who is wanted of them.

use super::Segments;
use super::cells::Cells;
use super::who::{self, Owner, Program, Users};
use record::identity::ProcessId;
use record::sample::ProcessSample;
use record::table;
use source::context::unfamiliar::{self, Layouts};
use source::follow::procfs;
use source::follow::select::Selection;
use source::root::Root;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use store::Error;
use store::segment::Instant;

/// A process is looked at again after so many passes: its folder, its user or its group may have
/// changed.
const PASSES_BETWEEN: u64 = 64;

/// Who was told already.
pub(super) struct Identities {
    root: Root,
    selection: Selection,
    known: HashMap<ProcessId, Known>,
    users: Users,
    /// Layouts of control groups that people were warned of.
    layouts: Layouts,
    pass: u64,
    told: u64,
    cells: Cells,
}

struct Known {
    comm: Vec<u8>,
    exe: Option<Vec<u8>>,
    execs: i64,
    /// Of its last row; none was written yet.
    row: Option<u64>,
    /// It is wanted for who owns it.
    is_owner: bool,
    /// The last pass that met it.
    pass: u64,
    /// When to look at it again.
    due: u64,
}

impl Known {
    /// Somebody to be looked at in this pass.
    fn new(comm: &[u8], pass: u64) -> Self {
        Self {
            comm: comm.to_vec(),
            exe: None,
            execs: 0,
            row: None,
            is_owner: false,
            pass,
            due: pass,
        }
    }
}

impl Identities {
    pub(super) fn new(root: Root, selection: Selection) -> Self {
        Self {
            root,
            selection,
            known: HashMap::new(),
            users: Users::default(),
            layouts: Layouts::default(),
            pass: 0,
            told: 0,
            cells: Cells::new(&table::process::TABLE),
        }
    }

    /// How many processes were told.
    pub(super) const fn told(&self) -> u64 {
        self.told
    }

    /// Who of these is wanted, in their order; writes who is new or has changed, with a new segment
    /// everyone.
    ///
    /// # Errors
    /// Some could not be written: they are written again with the next segment.
    pub(super) fn tell(
        &mut self,
        samples: &[ProcessSample],
        is_new: bool,
        when: Instant,
        writer: &mut Segments,
    ) -> (Vec<bool>, Result<(), Error>) {
        self.pass += 1;
        let mut wanted = self.selection.places(samples);
        let mut result = Ok(());
        for (sample, wanted) in samples.iter().zip(&mut wanted) {
            *wanted = self.look(sample, *wanted, is_new);
            if self.cells.is_full() {
                result = result.and(self.cells.flush(when, writer));
            }
        }
        let pass = self.pass;
        self.known.retain(|_, known| known.pass == pass);
        (wanted, result.and(self.cells.flush(when, writer)))
    }

    /// Looks at one process if that is due; whether it is wanted.
    fn look(&mut self, sample: &ProcessSample, by_place: bool, is_new: bool) -> bool {
        if !by_place && !self.selection.asks_owner() {
            return false;
        }
        let (pass, comm) = (self.pass, who::name(sample));
        let mut is_first = false;
        let known = self.known.entry(sample.id).or_insert_with(|| {
            is_first = true;
            Known::new(comm, pass)
        });
        known.pass = pass;
        let is_renamed = known.comm != comm;
        if !is_new && !is_renamed && pass < known.due {
            return by_place || known.is_owner;
        }
        // A child is often looked at before it has become another program, and moved elsewhere.
        known.due = pass + if is_first { 1 } else { PASSES_BETWEEN };
        let (root, id) = (&self.root, sample.id);
        let mut owner = Owner::read(root, id.pid);
        known.is_owner = self.selection.is_owner(&owner.status, &owner.groups);
        if !by_place && !known.is_owner {
            return false;
        }
        owner.read_job(root, id.pid);
        for path in &owner.job.unfamiliar {
            if self.layouts.is_new(path) {
                super::say(&format!("warning: {}", unfamiliar::warning(path)));
            }
        }
        let mut program = Program::read(root, id.pid);
        let found = procfs::read_process(&root.proc(""), id.pid);
        if found.is_none_or(|found| ProcessId::new(id.pid, found.start) != id) {
            // It ended meanwhile: what was read may be of somebody who has its pid now.
            (owner, program) = (Owner::default(), Program::default());
        }
        let is_other = match known.row {
            None => false,
            Some(_) if program.exe.is_none() => is_renamed,
            Some(_) => known.exe != program.exe,
        };
        known.execs += i64::from(is_other);
        known.comm = comm.to_vec();
        let (who, users) = ((&owner, &program), &mut self.users);
        let before = known.row;
        self.cells.push(
            |out| who::put(out, sample, known.execs, who, users),
            |row| {
                let row = Some(hash(row));
                let is_other = before != row;
                known.row = row;
                is_other || is_new
            },
        );
        known.exe = program.exe;
        self.told += u64::from(before.is_none());
        true
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
