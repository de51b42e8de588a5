//! Limits of this process (`getrlimit(2)`), which what it starts inherits.

/// A soft limit that was raised, as it was.
#[derive(Debug, Clone, Copy)]
pub struct Raised {
    resource: Resource,
    before: libc::rlimit,
}

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// Raises the soft limit on the size of files to the hard one: files in memory have a size too.
/// `None` if that is so already, or cannot be.
pub fn raise_file_size() -> Option<Raised> {
    let resource = libc::RLIMIT_FSIZE;
    let before = get(resource).filter(|limit| limit.rlim_cur != limit.rlim_max)?;
    let raised = libc::rlimit {
        rlim_cur: before.rlim_max,
        ..before
    };
    set(resource, &raised).then_some(Raised { resource, before })
}

/// Raises the soft limit on open files to `files`, or as far as the hard one allows; never lowers
/// it. Not for who starts programs: some take a high limit for a reason to close them all. How many
/// may be open now, if that is told.
pub fn raise_open_files(files: u64) -> Option<u64> {
    let limit = get(libc::RLIMIT_NOFILE)?;
    let raised = libc::rlimit {
        rlim_cur: limit.rlim_max.min(files),
        ..limit
    };
    if raised.rlim_cur > limit.rlim_cur {
        // Where it may not be raised, what it was is left.
        set(libc::RLIMIT_NOFILE, &raised);
    }
    get(libc::RLIMIT_NOFILE).map(|limit| limit.rlim_cur)
}

/// The most bytes that a file may have, once [`raise_file_size`] did what it can; `None` is no
/// limit.
pub fn file_size_max() -> Option<u64> {
    let limit = get(libc::RLIMIT_FSIZE)?;
    (limit.rlim_max != libc::RLIM_INFINITY).then_some(limit.rlim_max)
}

/// The most bytes of the stack that this process was started on; `None` is no limit.
pub(crate) fn stack() -> Option<u64> {
    let limit = get(libc::RLIMIT_STACK)?;
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

impl Raised {
    /// Gives the limit back as it was, in a process to be: async-signal-safe.
    pub(crate) fn give_back(&self) {
        // The soft limit may always be lowered.
        set(self.resource, &self.before);
    }
}

fn get(resource: Resource) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is live and of the kernel's form.
    let got = unsafe { libc::getrlimit(resource, &raw mut limit) };
    (got == 0).then_some(limit)
}

fn set(resource: Resource, limit: &libc::rlimit) -> bool {
    // SAFETY: the structure is live; the kernel only reads it.
    (unsafe { libc::setrlimit(resource, limit) }) == 0
}
