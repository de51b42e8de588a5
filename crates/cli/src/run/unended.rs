//! Signals to the processes of the task, and who could not be ended by them: another user's process
//! (a setuid program), which the kernel does not let us signal.

use crate::view::headline::NOT_ENDED;
use record::report::{Evidence, serde_free::Scalar};
use reduce::tree::Tree;
use source::follow::procfs;
use std::os::fd::AsFd;
use std::path::Path;
use sys::descriptor::{self, Waiting};

/// Most processes that are remembered; of the rest it is only known that there are some.
const UNENDED_MAX: usize = 64;

const EPERM: i32 = 1;

/// Those whose last signal the kernel refused while they lived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unended {
    list: Vec<One>,
}

#[derive(Debug, Clone)]
struct One {
    pid: u32,
    command: String,
}

impl Unended {
    /// Sends `signal` to each of `pids`; whether there was somebody, and every one was refused.
    pub(crate) fn signal(&mut self, pids: &[u32], signal: i32, tree: &Tree) -> bool {
        let mut refused = 0;
        for &pid in pids {
            match sys::process::kill(pid, signal) {
                Ok(()) => self.forget(&[pid]),
                Err(error) if error.errno() == Some(EPERM) => {
                    refused += 1;
                    self.refused(pid, tree);
                }
                // Gone meanwhile is what we want.
                Err(_) => {}
            }
        }
        refused > 0 && refused == pids.len()
    }

    /// A zombie of another user is refused too: it ended by itself, or was ended.
    fn refused(&mut self, pid: u32, tree: &Tree) {
        if !self.has(pid) && self.list.len() < UNENDED_MAX && is_alive(pid) {
            let command = tree.command(pid).unwrap_or_default();
            self.list.push(One { pid, command });
        }
    }

    /// What became of `pids` is told anew.
    pub(crate) fn forget(&mut self, pids: &[u32]) {
        self.list.retain(|one| !pids.contains(&one.pid));
    }

    /// Whether `pid` is one of them.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.list.iter().any(|one| one.pid == pid)
    }

    /// The first of them, and how many there are beside it.
    pub(crate) fn words(&self) -> Option<String> {
        let (first, rest) = self.list.split_first()?;
        Some(match rest.len() {
            0 => first.words(),
            more => format!("{} and {more} more", first.words()),
        })
    }

    /// What the report has of each.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = Evidence> + '_ {
        self.list.iter().map(|one| Evidence {
            kind: NOT_ENDED.to_owned(),
            value: Scalar::Text(one.words()),
            source: "kill(2): not permitted, another user's process".to_owned(),
        })
    }
}

impl One {
    fn words(&self) -> String {
        let command = super::cause::short(&self.command);
        match command.is_empty() {
            true => format!("pid {}", self.pid),
            false => format!("{command} (pid {})", self.pid),
        }
    }
}

/// Whether `pid`, which is thought to live, is the id of another process by now: its end was lost.
pub(super) fn is_stranger(pid: u32, tree: &Tree) -> bool {
    let found = procfs::read_process(Path::new("/proc"), pid);
    found.is_some_and(|found| !tree.knows(pid, Some(found.start)))
}

/// Whether the process `pid`, which there is, has not ended yet. `/proc` may hide it from us.
pub(super) fn is_alive(pid: u32) -> bool {
    let Ok(process) = sys::process::pidfd(pid) else {
        // Gone meanwhile, or too old a kernel: there it was a moment ago.
        return sys::process::exists(pid);
    };
    let waiting = [Waiting {
        fd: Some(process.as_fd()),
        exceptional: false,
    }];
    let ended = descriptor::poll(&waiting, Some(0));
    !ended.is_ok_and(|ready| ready.contains(&true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unended(pids: &[u32]) -> Unended {
        let one = |&pid: &u32| One {
            pid,
            command: "/usr/bin/su -c x".to_owned(),
        };
        Unended {
            list: pids.iter().map(one).collect(),
        }
    }

    #[test]
    fn the_first_is_named_and_the_rest_counted() {
        assert_eq!(unended(&[]).words(), None);
        let one = unended(&[7]).words().unwrap();
        assert_eq!(one, "/usr/bin/su -c x (pid 7)");
        let three = unended(&[7, 8, 9]).words().unwrap();
        assert_eq!(three, "/usr/bin/su -c x (pid 7) and 2 more");
    }

    #[test]
    fn whoever_is_looked_at_anew_is_forgotten() {
        let mut some = unended(&[7, 8]);
        some.forget(&[8, 9]);
        assert!(some.has(7) && !some.has(8));
        assert_eq!(some.evidence().count(), 1);
    }

    #[test]
    fn we_are_alive_and_nobody_is_not() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(u32::MAX >> 1));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        while is_alive(pid) {
            std::thread::yield_now();
        }
        assert!(
            sys::process::exists(pid),
            "a zombie is there, and not alive"
        );
        child.wait().unwrap();
    }
}
