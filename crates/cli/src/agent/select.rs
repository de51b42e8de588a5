//! Which processes an agent was asked for: words to [`Wanted`].

use crate::run::{person, surroundings};
use anyhow::{Context, Result, anyhow};
use source::follow::procfs;
use source::follow::select::{Wanted, group_of_job};
use source::query::{proc_pid_cgroup, proc_pid_status};
use source::root::Root;
use std::path::Path;

/// Ancestors looked at, at most.
const GENERATIONS_MAX: usize = 256;

/// Understands one `--select`.
///
/// # Errors
/// It is none, or the user or the job that it names is not known here.
pub(crate) fn parse(text: &str) -> Result<Wanted> {
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    let number = || {
        let number = value.parse::<u32>();
        number.with_context(|| format!("{kind}:N has a number"))
    };
    Ok(match (kind, value) {
        ("all", "") => Wanted::All,
        ("job", "") => job()?,
        ("pid", _) => Wanted::Below(number()?),
        ("session", _) => Wanted::Session(number()?),
        ("pgrp", _) => Wanted::ProcessGroup(number()?),
        ("gid", _) => Wanted::Gid(number()?),
        ("user", _) => Wanted::User(user(value)?),
        ("cgroup", path) if path.starts_with('/') => Wanted::Cgroup(path.into()),
        ("cgroup", _) => return Err(anyhow!("a path from the root, /...")),
        _ => {
            return Err(anyhow!(
                "all, job, pid:N, session:N, pgrp:N, gid:N, cgroup:PATH or user:NAME"
            ));
        }
    })
}

/// A name, or the number itself.
fn user(text: &str) -> Result<u32> {
    let found = text.parse().ok().or_else(|| person::id(text));
    found.ok_or_else(|| anyhow!("no such user in /etc/passwd"))
}

/// The batch job that this process is in: its control group, or, where it has none of its own,
/// everything below the first of our ancestors that is not another user's.
fn job() -> Result<Wanted> {
    let root = Root::default();
    let groups = proc_pid_cgroup::read(&root, None).unwrap_or_default();
    let context = surroundings::context_in(&groups);
    let Some(id) = context.job.id else {
        return Err(anyhow!(
            "this process is in no job of a scheduler that is known"
        ));
    };
    Ok(match group_of_job(&groups, &id) {
        Some(group) => Wanted::Cgroup(group),
        None => Wanted::Below(eldest(&root.proc(""), &root)),
    })
}

/// The topmost of our ancestors, ourselves counted, up to which all have our user.
fn eldest(proc: &Path, root: &Root) -> u32 {
    let user = |pid| proc_pid_status::read(root, Some(pid)).ok()?.uid;
    let mut pid = std::process::id();
    let ours = user(pid);
    for _ in 0..GENERATIONS_MAX {
        let above = procfs::read_process(proc, pid).map(|found| found.ppid);
        match above.filter(|above| *above > 1 && user(*above) == ours) {
            Some(above) => pid = above,
            None => break,
        }
    }
    pid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_understood_and_others_refused() {
        for (text, wanted) in [
            ("all", Wanted::All),
            ("pid:7", Wanted::Below(7)),
            ("session:8", Wanted::Session(8)),
            ("pgrp:9", Wanted::ProcessGroup(9)),
            ("gid:10", Wanted::Gid(10)),
            ("cgroup:/a:b", Wanted::Cgroup("/a:b".into())),
            ("user:root", Wanted::User(0)),
            ("user:65534", Wanted::User(65534)),
        ] {
            assert_eq!(parse(text).unwrap(), wanted, "{text}");
        }
        for text in [
            "",
            "al",
            "all:1",
            "pid:",
            "pid:-1",
            "cgroup:a",
            "user:no such",
            "user:",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_eldest_is_above_us() {
        let (root, me) = (Root::default(), std::process::id());
        let found = eldest(&root.proc(""), &root);
        let below = procfs::descendants(&root.proc(""), &[found]).unwrap();
        assert!(found == me || below.iter().any(|one| one.pid == me));
    }
}
