//! What a process gives up for good: privileges (`capabilities(7)`), files and networks
//! (`landlock(7)`), system calls (`seccomp(2)`).
//!
//! What is given up stays so for this process and all that it would start. All of it is of a
//! thread: a process confines itself while it has one.

mod calls;
mod files;
mod privileges;

pub use calls::Forbidden;
pub use files::{Files, Held};
pub use privileges::{Capability, User};

use crate::error::{Error, check};
use std::io;

/// What is left to a process.
#[derive(Debug, Clone, Default)]
pub struct Rules<'a> {
    /// Whom it becomes; itself if that is not said.
    pub user: Option<User>,
    /// Of root's privileges, those that stay.
    pub keep: &'a [Capability],
    /// Which files it may use; all that its user may if that is not said.
    pub files: Option<Files<'a>>,
    /// What it may not call.
    pub forbidden: &'a [Forbidden],
}

/// Gives up all but what `rules` leave. How far files are held: an older kernel has less of that.
///
/// # Errors
/// The kernel's; what was given up by then stays so. `EBUSY` if there are other threads: they would
/// give up nothing.
pub fn confine(rules: &Rules<'_>) -> Result<Held, Error> {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return Err(failed("confine beside other threads", libc::EBUSY));
    }
    confine_thread(rules)
}

fn confine_thread(rules: &Rules<'_>) -> Result<Held, Error> {
    // Before the privileges: opening the folders may need them.
    // SAFETY: no pointers.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    check("prctl(PR_SET_NO_NEW_PRIVS)", i64::from(result))?;
    let held = match &rules.files {
        Some(files) => files::hold(files)?,
        None => Held::NotAsked,
    };
    privileges::give_up(rules.user, rules.keep)?;
    calls::forbid(rules.forbidden)?;
    Ok(held)
}

fn failed(call: &'static str, errno: i32) -> Error {
    Error::Call {
        call,
        source: io::Error::from_raw_os_error(errno),
    }
}

#[cfg(test)]
mod tests;
