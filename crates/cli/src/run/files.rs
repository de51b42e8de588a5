//! The files of the task, at level io: read from the mechanism, reduced to a table.

use super::calls::Calls;
use super::facts::Facts;
use super::notifier::Notifier;
use crate::cmd::run::{Level, RunOptions};
use anyhow::Result;
#[cfg(feature = "bpf")]
use record::file::FileKind;
use record::unit::Nanos;
use reduce::calls::CallSummary;
use reduce::files::FileSummary;
#[cfg(feature = "bpf")]
use reduce::files::FileTable;
#[cfg(feature = "bpf")]
use source::query::proc_pid_mountinfo;
#[cfg(feature = "bpf")]
use source::root::Root;
use std::os::fd::BorrowedFd;
#[cfg(feature = "bpf")]
use std::path::Path;

/// Where files are counted.
pub(crate) const SOURCE: &str = "sys_exit";

/// The files of one task, and its system calls, if they were asked for.
pub(crate) struct Files {
    #[cfg(feature = "bpf")]
    seen: Option<source::interpose::bpf::Files>,
    #[cfg(feature = "bpf")]
    table: FileTable,
    calls: Calls,
}

impl Files {
    /// Begins to count what the task that `notifier` follows does with files, if that was asked
    /// for.
    pub(crate) fn begin(options: &RunOptions, notifier: &Notifier) -> Result<Self> {
        let asked = options.level == Some(Level::Io);
        #[cfg(not(feature = "bpf"))]
        let _ = (asked, notifier);
        Ok(Self {
            #[cfg(feature = "bpf")]
            seen: match notifier {
                Notifier::Bpf(bpf) if asked => Some(bpf.follow_files(options.times)?),
                _ => None,
            },
            #[cfg(feature = "bpf")]
            table: FileTable::new(usize::try_from(options.files_max).unwrap_or(usize::MAX)),
            calls: Calls::begin(options, notifier)?,
        })
    }

    /// The system calls of the task; nothing if they were not asked for.
    pub(crate) fn calls(&self, facts: &mut Facts) -> Option<CallSummary> {
        self.calls.finish(facts)
    }

    /// Whether files are counted.
    pub(crate) const fn is_on(&self) -> bool {
        #[cfg(feature = "bpf")]
        return self.seen.is_some();
        #[cfg(not(feature = "bpf"))]
        false
    }

    /// Readable when there is much to read.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        #[cfg(feature = "bpf")]
        return self.seen.as_ref().map(source::interpose::bpf::Files::fd);
        #[cfg(not(feature = "bpf"))]
        None
    }

    /// Takes what was told.
    pub(crate) fn read(&mut self, facts: &mut Facts) {
        #[cfg(feature = "bpf")]
        if let Some(seen) = &mut self.seen {
            let table = &mut self.table;
            if let Err(error) = seen.read(&mut |event| take(table, event)) {
                facts.note(unread(error));
            }
        }
        #[cfg(not(feature = "bpf"))]
        let _ = facts;
    }

    /// The end of a task that began at `start`; `alive`: some of its processes live on.
    #[cfg(feature = "bpf")]
    pub(crate) fn finish(
        &mut self,
        alive: bool,
        start: Nanos,
        facts: &mut Facts,
    ) -> Option<FileSummary> {
        let seen = self.seen.as_mut()?;
        let mut table = std::mem::take(&mut self.table);
        let read = seen.finish(alive, &mut |event| take(&mut table, event));
        let mut summary = table.finish(&seen.rest(), start);
        if let Err(error) = read {
            facts.note(unread(error));
            summary.complete = false;
        }
        look_at_mounts(&mut summary);
        summary.notes.drain(..).for_each(|note| facts.note(note));
        Some(summary)
    }

    /// Nothing was seen.
    #[cfg(not(feature = "bpf"))]
    pub(crate) fn finish(&mut self, _: bool, _: Nanos, _: &mut Facts) -> Option<FileSummary> {
        None
    }
}

#[cfg(feature = "bpf")]
fn unread(error: source::Error) -> String {
    format!("files could not be read: {}", super::chain(&error.into()))
}

#[cfg(feature = "bpf")]
fn take(table: &mut FileTable, event: source::interpose::bpf::FileEvent) {
    use source::interpose::bpf::FileEvent;
    match event {
        FileEvent::Folder(folder) => table.folder(folder),
        FileEvent::Use(used) => table.take(*used),
        FileEvent::Socket(socket) => table.socket(socket),
    }
}

/// Says where the file systems are mounted, and which files are gone; what is mounted elsewhere
/// alone (another mount namespace) has no name here, and other machines are not asked.
#[cfg(feature = "bpf")]
fn look_at_mounts(summary: &mut FileSummary) {
    // Without /proc there are devices and no names.
    let mounts = proc_pid_mountinfo::read(&Root::default(), None).unwrap_or_default();
    let find = |device: &str| mounts.iter().find(|mount| mount.device == device);
    for line in &mut summary.file_systems {
        let mount = find(&line.device);
        line.mount = mount.map(|it| it.point.to_string_lossy().into_owned());
        line.kind = mount.map(|it| it.kind.clone());
    }
    for line in &mut summary.lines {
        let asked = line.kind == FileKind::File && line.path_hex.is_none() && !line.path_cut;
        let mount = proc_pid_mountinfo::mount_of(&mounts, Path::new(&line.path));
        let here = mount.is_some_and(|it| it.device == line.device && !it.is_network());
        if asked && here {
            let found = std::fs::symlink_metadata(&line.path);
            line.deleted = match found {
                Ok(_) => Some(false),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(true),
                Err(_) => None,
            };
        }
    }
}
