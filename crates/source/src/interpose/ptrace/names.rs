//! Names that a task removes, changes, or truncates a file by.
//!
//! A call's paths and the folders from which they lead are read when it begins, as the kernel is
//! about to: once it is over a folder may have another name by that very call, a descriptor may be
//! closed and memory written by another thread. They are told if it succeeds.

use super::look::{WORKING_FOLDER, Written};
use super::watch::{Watch, What};
use record::name::{Name, NameChange};
use record::unit::Nanos;
use sys::seccomp::NameCall;

/// Names that wait to be taken, and bytes of their paths; what is beyond is counted as lost.
const WAITING_MAX: usize = 1 << 17;
const BYTES_MAX: usize = 16 << 20;

const AT_REMOVEDIR: u64 = 0x200;
const RENAME_EXCHANGE: u64 = 2;

/// What a call is about to do to a name; nothing if its paths cannot be read.
pub(super) type Changing = Option<Box<Name<Written>>>;

/// The names that were changed.
#[derive(Debug, Default)]
pub(super) struct Names {
    waiting: Vec<Name<Written>>,
    bytes: usize,
    /// Changes that are not told.
    pub(super) lost: u64,
    /// Some name was given to another file.
    pub(super) moved: bool,
}

impl Names {
    /// A call succeeded. It is told by when it began: what is opened by the name once it is another
    /// file's is opened after that.
    pub(super) fn changed(&mut self, changing: Changing) {
        let Some(name) = changing else {
            self.lost += 1;
            return;
        };
        self.moved |= name.to.is_some();
        let both = [Some(&name.path), name.to.as_ref()];
        let bytes: usize = both.into_iter().flatten().map(Written::bytes).sum();
        if self.waiting.len() >= WAITING_MAX || bytes > BYTES_MAX - self.bytes {
            self.lost += 1;
            return;
        }
        self.bytes += bytes;
        self.waiting.push(*name);
    }

    /// What was changed since this was last asked.
    pub(super) fn take(&mut self) -> Vec<Name<Written>> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

impl Written {
    fn bytes(&self) -> usize {
        self.folder.len() + self.text.len()
    }
}

impl Watch {
    /// A thread begins a call that changes a name.
    pub(super) fn name(
        &mut self,
        (pid, tid): (u32, u32),
        call: NameCall,
        arguments: &[u64; 6],
        at: Nanos,
    ) -> What {
        let [first, second, third, fourth, fifth, _] = *arguments;
        let here = |address| (WORKING_FOLDER, address);
        let (from, to) = ((first as i32, second), (third as i32, fourth));
        let (change, path, to) = match call {
            NameCall::Unlink => (NameChange::Removed, here(first), None),
            NameCall::Rmdir => (NameChange::FolderRemoved, here(first), None),
            NameCall::UnlinkAt if third & AT_REMOVEDIR != 0 => {
                (NameChange::FolderRemoved, from, None)
            }
            NameCall::UnlinkAt => (NameChange::Removed, from, None),
            NameCall::Rename => (NameChange::Renamed, here(first), Some(here(second))),
            NameCall::RenameAt2 if fifth & RENAME_EXCHANGE != 0 => {
                (NameChange::Exchanged, from, Some(to))
            }
            NameCall::RenameAt | NameCall::RenameAt2 => (NameChange::Renamed, from, Some(to)),
            NameCall::Truncate => (NameChange::Truncated, here(first), None),
        };
        let name = Name {
            change,
            pid,
            at,
            path,
            to,
        };
        let written = name.with_paths(|path| self.look.written(tid, path));
        What::Name(written.map(Box::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(bytes: usize, at: u64) -> Changing {
        Some(Box::new(Name {
            change: NameChange::Removed,
            pid: 7,
            at: Nanos(at),
            path: Written {
                folder: b"/".to_vec(),
                text: vec![b'x'; bytes - 1],
            },
            to: None,
        }))
    }

    #[test]
    fn names_that_cannot_be_read_or_do_not_fit_are_lost() {
        let mut names = Names::default();
        names.changed(None);
        assert_eq!((names.lost, names.take()), (1, Vec::new()));
        names.changed(removed(BYTES_MAX - 1, 2));
        names.changed(removed(2, 3));
        names.changed(removed(1, 4));
        assert_eq!(names.lost, 2);
        let told: Vec<_> = names.take().iter().map(|name| name.at).collect();
        assert_eq!(told, [Nanos(2), Nanos(4)]);
        for _ in 0..=WAITING_MAX {
            names.changed(removed(1, 5));
        }
        assert_eq!((names.lost, names.take().len()), (3, WAITING_MAX));
    }
}
