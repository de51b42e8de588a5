//! Everyone who is born on this node, followed to their ends: by programs in the kernel, or by
//! what the kernel tells over netlink.

mod netlink;

use crate::error::Error;
#[cfg(feature = "bpf")]
use crate::notify::bpf;
use netlink::Machine;
use record::context::Chain;
use record::identity::ProcessId;
use record::table::exit::Exit;
use record::unit::Nanos;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// What happened, in the order of the kernel.
#[derive(Debug)]
pub enum Happened<'a> {
    /// A process was born.
    Born {
        /// Who.
        pid: u32,
        /// Whose child it is.
        parent: u32,
        /// When, since boot.
        start: Nanos,
    },
    /// A process has become another program; what its control groups say of its job, if they are
    /// known.
    Became(Program<'a>, Option<Rc<Chain>>),
    /// A process is about to end by SIGKILL; what its control groups say of its job, likewise. By
    /// programs in the kernel alone, who tell it within a millisecond, a few times a second.
    Killed(ProcessId, Option<Rc<Chain>>),
    /// A process ended; what it used is final. What its control groups said, likewise.
    Ended(&'a Exit, Option<Rc<Chain>>),
    /// Somebody was missed so many times.
    Lost(u64),
}

/// A program that a process has become.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Who.
    pub id: ProcessId,
    /// When.
    pub at: Nanos,
    /// The arguments, separated by NUL; empty if nobody could read them.
    pub command: &'a [u8],
    /// There are more of them.
    pub is_cut: bool,
    /// Its short name, if that is told.
    pub comm: Option<&'a [u8]>,
    /// Its path as it was given; empty if that is not told.
    pub path: &'a [u8],
}

/// Everyone, by one way or the other.
#[derive(Debug)]
pub enum Everyone {
    /// By programs in the kernel.
    #[cfg(feature = "bpf")]
    Programs(Box<bpf::Everyone>),
    /// By the proc connector, and taskstats where that may be had.
    Netlink(Box<Machine>),
}

impl Everyone {
    /// Follows everyone by programs in the kernel.
    ///
    /// # Errors
    /// Where this user or this kernel cannot have them, in words that say what is missing.
    #[cfg(feature = "bpf")]
    pub fn by_programs() -> Result<Self, Error> {
        Ok(Self::Programs(Box::new(bpf::Everyone::open()?)))
    }

    /// Follows everyone by netlink.
    ///
    /// # Errors
    /// Where this user on this kernel gets no events, in words that say what is missing.
    pub fn by_netlink() -> Result<Self, Error> {
        Ok(Self::Netlink(Box::new(Machine::open()?)))
    }

    /// Whether each end is told with what was used up to it.
    pub const fn tells_all(&self) -> bool {
        match self {
            #[cfg(feature = "bpf")]
            Self::Programs(_) => true,
            Self::Netlink(_) => false,
        }
    }

    /// How everyone is followed.
    pub fn name(&self) -> &'static str {
        match self {
            #[cfg(feature = "bpf")]
            Self::Programs(_) => "bpf",
            Self::Netlink(machine) => machine.name(),
        }
    }

    /// Whether sockets are needed to go on after a loss.
    pub fn needs_sockets(&self) -> bool {
        matches!(self, Self::Netlink(_))
    }

    /// After how long to read again; nothing while there is nothing to read until
    /// [`Everyone::fd`] is readable.
    pub fn period(&self) -> Option<Nanos> {
        match self {
            #[cfg(feature = "bpf")]
            Self::Programs(everyone) => everyone.period(),
            Self::Netlink(machine) => Some(machine.period()),
        }
    }

    /// What is readable when there is something to read before that, if anything.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            #[cfg(feature = "bpf")]
            Self::Programs(everyone) => everyone.fd(),
            Self::Netlink(machine) => machine.fd(),
        }
    }

    /// Tells what happened since the last call, without blocking.
    ///
    /// # Errors
    /// Nobody will be told of from now on.
    pub fn read(&mut self, tell: &mut dyn FnMut(Happened<'_>)) -> Result<(), Error> {
        match self {
            #[cfg(feature = "bpf")]
            Self::Programs(everyone) => {
                everyone.read(tell);
                Ok(())
            }
            Self::Netlink(machine) => machine.read(tell),
        }
    }

    /// Looks for control groups that are not known, if one was told.
    pub fn refresh(&mut self) {
        match self {
            #[cfg(feature = "bpf")]
            Self::Programs(everyone) => everyone.refresh(),
            Self::Netlink(_) => {}
        }
    }
}
