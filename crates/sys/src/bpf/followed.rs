//! A run of the programs as its reader sees it: those of this process, or of an agent that lends
//! them (`lend`).

use super::calls::CallRow;
use super::files::{FileOptions, FileRest, FileRow, Files, SocketInfo, Told};
use super::layout::RawEvent;
use super::run::{Run, RunTotals};
use crate::error::Error;
use std::fmt::Debug;
use std::os::fd::BorrowedFd;

/// One run. Ends when dropped; its members are then followed no more.
pub trait Followed: Debug + Send {
    /// Makes a process with one thread a member, which must not run meanwhile; its start since boot
    /// in nanoseconds ([`Run::add`]).
    ///
    /// # Errors
    /// [`Error::TooManyRuns`] if it is a member of 8 runs, else the kernel's or the agent's.
    fn add(&mut self, pid: u32) -> Result<u64, Error>;

    /// Gives every event written so far to `take`, in order ([`Run::drain`]).
    fn drain(&mut self, take: &mut dyn FnMut(RawEvent<'_>));

    /// The next event makes [`Followed::fd`] readable to whoever waits on it.
    ///
    /// # Errors
    /// The agent that lends the run is gone.
    fn sleep(&mut self) -> Result<(), Error>;

    /// Whoever waits for an edge of [`Followed::fd`] ([`crate::edge::Edge`]) is woken once half of
    /// the ring is full. False where nobody can say that to the programs.
    fn watch(&self) -> bool;

    /// Readable while there are events; without [`Followed::sleep`] nobody is woken for it.
    fn fd(&self) -> BorrowedFd<'_>;

    /// What the kernel has counted, as of the last [`Followed::count`] or later.
    fn totals(&self) -> RunTotals;

    /// Has the totals brought up to date.
    ///
    /// # Errors
    /// The agent that lends the run is gone.
    fn count(&mut self) -> Result<(), Error>;

    /// Whether that costs more than a look into memory.
    fn is_far(&self) -> bool;

    /// Follows the files of this run's processes from now on.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this kernel cannot have these programs, else the kernel's.
    fn follow_files(&self, options: FileOptions) -> Result<Box<dyn FollowedFiles>, Error>;

    /// Counts the system calls of this run's processes from now on.
    ///
    /// # Errors
    /// As [`Followed::follow_files`].
    fn follow_calls(&self) -> Result<Box<dyn FollowedCalls>, Error>;
}

/// The system calls of one run. Ends when dropped.
pub trait FollowedCalls: Debug + Send {
    /// Gives all that was counted so far to `take`, that of living threads included. Tells whether
    /// that is all: where an agent counts, what was called as another user is left out.
    ///
    /// # Errors
    /// The kernel's, or the agent's.
    fn read(&self, take: &mut dyn FnMut(CallRow)) -> Result<bool, Error>;
}

/// The files of one run. Ends when dropped. See [`Files`] for each of these.
pub trait FollowedFiles: Debug + Send {
    /// A process was added to the run by hand.
    fn refresh(&self);

    /// Rows in the table now.
    fn rows(&mut self) -> u64;

    /// Gives every folder and every change of a name that was told so far to `take`.
    ///
    /// # Errors
    /// The kernel's, or the agent's.
    fn told(&mut self, take: &mut dyn FnMut(Told)) -> Result<(), Error>;

    /// Whether rows have their pages.
    fn tells_pages(&self) -> bool;

    /// Becomes readable when there is much to take.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Empties the table; `alive`: threads of the run live.
    ///
    /// # Errors
    /// The kernel's, or the agent's.
    fn take_rows(&mut self, alive: bool, take: &mut dyn FnMut(FileRow)) -> Result<(), Error>;

    /// Gives what living threads counted and have not put into the table yet.
    ///
    /// # Errors
    /// The kernel's, or the agent's.
    fn pending(&self, take: &mut dyn FnMut(FileRow)) -> Result<(), Error>;

    /// Gives what is known of the sockets that the rows name, maybe of others too.
    ///
    /// # Errors
    /// The kernel's, or the agent's.
    fn sockets(&self, take: &mut dyn FnMut(SocketInfo)) -> Result<(), Error>;

    /// What found no place, so far.
    fn rest(&self) -> FileRest;
}

impl Followed for Run {
    fn add(&mut self, pid: u32) -> Result<u64, Error> {
        Run::add(self, pid)
    }

    fn drain(&mut self, take: &mut dyn FnMut(RawEvent<'_>)) {
        Run::drain(self, take);
    }

    fn sleep(&mut self) -> Result<(), Error> {
        Run::sleep(self);
        Ok(())
    }

    fn watch(&self) -> bool {
        Run::watch(self);
        true
    }

    fn fd(&self) -> BorrowedFd<'_> {
        Run::fd(self)
    }

    fn totals(&self) -> RunTotals {
        Run::totals(self)
    }

    fn count(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn is_far(&self) -> bool {
        false
    }

    fn follow_files(&self, options: FileOptions) -> Result<Box<dyn FollowedFiles>, Error> {
        Ok(Box::new(Run::follow_files(self, options)?))
    }

    fn follow_calls(&self) -> Result<Box<dyn FollowedCalls>, Error> {
        Ok(Box::new(Run::follow_calls(self, None)?))
    }
}

impl FollowedFiles for Files {
    fn refresh(&self) {
        Files::refresh(self);
    }

    fn rows(&mut self) -> u64 {
        Files::rows(self)
    }

    fn told(&mut self, take: &mut dyn FnMut(Told)) -> Result<(), Error> {
        Files::told(self, take)
    }

    fn tells_pages(&self) -> bool {
        Files::tells_pages(self)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        Files::fd(self)
    }

    fn take_rows(&mut self, alive: bool, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        Files::take_rows(self, alive, take)
    }

    fn pending(&self, take: &mut dyn FnMut(FileRow)) -> Result<(), Error> {
        Files::pending(self, take)
    }

    fn sockets(&self, take: &mut dyn FnMut(SocketInfo)) -> Result<(), Error> {
        Files::sockets(self, take)
    }

    fn rest(&self) -> FileRest {
        Files::rest(self)
    }
}
