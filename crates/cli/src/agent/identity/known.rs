//! What is known of one process.

use super::super::names::Name;
use super::super::who;
use super::PASSES_BETWEEN;
use record::sample::ProcessSample;
use record::unit::Nanos;
use source::root::Root;
use std::rc::Rc;

/// One that was there for so long when it was met has become what it is.
const SETTLED_AGE: Nanos = Nanos::from_secs(10);

/// What is known of a process.
pub(super) struct Known {
    pub(super) comm: Vec<u8>,
    pub(super) ppid: u32,
    pub(super) exe: Option<Vec<u8>>,
    pub(super) execs: i64,
    /// It has another name since its last row.
    pub(super) is_renamed: bool,
    /// Of its last row; none was written yet.
    pub(super) row: Option<u64>,
    /// Its next row is written even if nothing differs: its segment is another.
    pub(super) is_owed: bool,
    /// It is wanted for who owns it.
    pub(super) is_owner: bool,
    pub(super) asked: Asked,
    /// What it was filed under when it was asked: at its end that is forgotten elsewhere.
    pub(super) filed: Option<Rc<Name>>,
    /// What it had run when it was asked; nothing if it did not answer, or nobody can tell.
    pub(super) ran: Option<Nanos>,
    /// A digest of its control groups when it answered, or at the last look.
    pub(super) groups: Option<u64>,
    /// The last pass that met it.
    pub(super) pass: u64,
    /// When to look at it again.
    pub(super) due: u64,
}

/// Whether somebody reads who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    No,
    Yes,
    /// And does not answer.
    Silent,
}

impl Known {
    /// Somebody to be looked at in this pass.
    pub(super) fn new(comm: &[u8], pass: u64) -> Self {
        Self {
            comm: comm.to_vec(),
            ppid: 0,
            exe: None,
            execs: 0,
            is_renamed: false,
            row: None,
            is_owed: false,
            is_owner: false,
            asked: Asked::No,
            filed: None,
            ran: None,
            groups: None,
            pass,
            due: pass,
        }
    }

    /// Whether it can only be who it was when it was asked. A thread of the kernel has no folder or
    /// program to change, however much it runs.
    pub(super) fn is_unchanged(&mut self, sample: &ProcessSample, root: &Root) -> bool {
        let slept = self.ran == ran(sample) && sample.revision.is_some();
        let rests = self.ran.is_some() && (slept || who::is_of_kernel(sample));
        if !rests || self.asked != Asked::No || self.groups.is_none() {
            return false;
        }
        let groups = who::groups(root, sample.id.pid).map(|groups| groups.1);
        let stays = self.groups == groups;
        self.groups = groups;
        stays && groups.is_some()
    }

    /// How long until it is looked at for the second time. A child is often met before it has
    /// become another program, and moved elsewhere; the others have their turns in different
    /// passes.
    pub(super) fn first_wait(sample: &ProcessSample, now: Nanos) -> u64 {
        match now.since(sample.id.start_ns) < SETTLED_AGE {
            true => 1,
            false => 1 + u64::from(sample.id.pid) % PASSES_BETWEEN,
        }
    }
}

/// What it has run. To the nanosecond that is known of those whose readings have revisions, and was
/// before of one with a single thread.
pub(super) fn ran(sample: &ProcessSample) -> Option<Nanos> {
    let is_known = sample.revision.is_some() || sample.threads == Some(1);
    sample.own.cpu.filter(|_| is_known)
}
