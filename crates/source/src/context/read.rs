//! Reads what is known of a living process, for its chain.

use super::chain::{Input, of_path};
use super::daemon::Daemon;
use super::job_group;
use super::kin::Kin;
use super::surroundings::Tier;
use crate::query::proc_pid_cgroup::Membership;
use crate::query::proc_pid_status::{self, Status};
use crate::query::{proc_pid_cgroup, proc_pid_loginuid, proc_pid_sessionid};
use crate::root::Root;
use record::context::Unread;
use record::value::Absent;
use std::ops::RangeInclusive;

/// Ancestors that are asked.
const ANCESTORS_MAX: usize = 256;
/// Of the command line of a daemon so much is kept.
const COMMAND_BYTES_MAX: usize = 4096;

/// How a file is read that a process has in its own memory (`cmdline`, `environ`): that may wait
/// for the process, for ever.
pub type ReadMemory<'a> = &'a dyn Fn(u32, &str) -> Result<Vec<u8>, Absent>;

/// Everything that is known of `pid`, and what could not be read of it.
///
/// # Errors
/// `Gone`: there is no such process.
pub fn all(
    root: &Root,
    pid: u32,
    gid_range: Option<RangeInclusive<u32>>,
) -> Result<(Input, Vec<Unread>), Absent> {
    let memory = |pid: u32, file: &str| root.read_process(Some(pid), file);
    all_by(root, pid, gid_range, &memory)
}

/// The same, where the memory of processes is read by `memory`.
///
/// # Errors
/// As [`all`].
pub fn all_by(
    root: &Root,
    pid: u32,
    gid_range: Option<RangeInclusive<u32>>,
    memory: ReadMemory<'_>,
) -> Result<(Input, Vec<Unread>), Absent> {
    let status = proc_pid_status::read(root, Some(pid))?;
    let mut unread = Vec::new();
    let groups = proc_pid_cgroup::read(root, Some(pid)).unwrap_or_else(|absent| {
        unread.push(unread_of(pid, "cgroup", absent));
        Vec::new()
    });
    let (mut input, others) = rest(root, (pid, &status), groups, memory, &Kin::default());
    input.gid_range = gid_range;
    unread.extend(others);
    Ok((input, unread))
}

fn unread_of(pid: u32, file: &str, absent: Absent) -> Unread {
    Unread {
        source: format!("/proc/{pid}/{file}"),
        absent,
    }
}

/// What there is beside the status and the groups.
fn rest(
    root: &Root,
    (pid, status): (u32, &Status),
    groups: Vec<Membership>,
    memory: ReadMemory<'_>,
    kin: &Kin,
) -> (Input, Vec<Unread>) {
    let mut unread = Vec::new();
    let mut note = |file: &str, absent| unread.push(unread_of(pid, file, absent));
    let mut or_none = |file: &str, read: Result<Option<u32>, Absent>| {
        read.unwrap_or_else(|absent| {
            note(file, absent);
            None
        })
    };
    let login_uid = or_none("loginuid", proc_pid_loginuid::read(root, pid));
    // Without a login the kernel has no session either.
    let session = login_uid.and_then(|_| or_none("sessionid", proc_pid_sessionid::read(root, pid)));
    let environ = memory(pid, "environ").unwrap_or_else(|absent| {
        note("environ", absent);
        Vec::new()
    });
    let (ancestors, hidden) = ancestors(root, status.ppid, memory, kin);
    unread.extend(hidden);
    let input = Input {
        pid,
        holders: job_group::holders(root, &groups, memory),
        groups,
        ancestors,
        gids: status.groups.clone(),
        gid_range: None,
        login_uid,
        session,
        environ,
    };
    (input, unread)
}

/// The same of a process whose status and groups are known, without what cannot change who it is:
/// of one in the control group of a job or a container nothing else is read. What cannot be read is
/// left out.
pub fn enough(
    root: &Root,
    (pid, status): (u32, &Status),
    groups: &[Membership],
    memory: ReadMemory<'_>,
    kin: &Kin,
) -> Input {
    let is_job = |path| {
        of_path(path).is_some_and(|(of, found)| match of.tier {
            Tier::Batch => found.job.is_some(),
            Tier::Container => true,
            Tier::Unit => false,
        })
    };
    if groups.iter().any(|group| is_job(&group.path)) {
        return Input {
            pid,
            groups: groups.to_vec(),
            ..Input::default()
        };
    }
    rest(root, (pid, status), groups.to_vec(), memory, kin).0
}

/// Those up to the first process, or to one that ended meanwhile or is hidden from us.
fn ancestors(
    root: &Root,
    parent: Option<u32>,
    memory: ReadMemory<'_>,
    kin: &Kin,
) -> (Vec<Daemon>, Option<Unread>) {
    let mut all = Vec::new();
    let mut next = parent;
    while let Some(pid) = next.filter(|pid| *pid > 0 && all.len() < ANCESTORS_MAX) {
        match kin.read(pid, || daemon(root, pid, memory)) {
            Ok((ancestor, parent)) => {
                all.push(ancestor);
                next = parent;
            }
            Err(absent) => {
                let source = format!("/proc/{pid}/status");
                return (all, Some(Unread { source, absent }));
            }
        }
    }
    (all, None)
}

/// A process with its parent.
pub(super) fn daemon(
    root: &Root,
    pid: u32,
    memory: ReadMemory<'_>,
) -> Result<(Daemon, Option<u32>), Absent> {
    let status = proc_pid_status::read(root, Some(pid))?;
    let mut command = match memory(pid, "cmdline") {
        // Those above it answer.
        Err(Absent::NoAnswer) => Vec::new(),
        read => read?,
    };
    command.truncate(COMMAND_BYTES_MAX);
    let daemon = Daemon {
        pid,
        uid: status.uid,
        command,
    };
    Ok((daemon, status.ppid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn process(root: &Path, pid: u32, files: &[(&str, &str)]) {
        let folder = root.join(format!("proc/{pid}"));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn a_recorded_process_is_read_with_its_ancestors() {
        let folder = tempfile::tempdir().unwrap();
        let status = |parent: u32, uid: u32| {
            format!("PPid:\t{parent}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nGroups:\t4 20007 \n")
        };
        let root = Root::at(folder.path());
        process(
            folder.path(),
            9,
            &[
                ("status", &status(8, 1000)),
                ("cgroup", "0::/\n"),
                ("loginuid", "1000"),
                ("sessionid", "4294967295"),
            ],
        );
        let shepherd = [
            ("status", &*status(1, 0)),
            ("cmdline", "sge_shepherd-77\0-bg\0"),
        ];
        process(folder.path(), 8, &shepherd);
        let (input, unread) = all(&root, 9, None).unwrap();
        assert_eq!(input.gids, [4, 20007]);
        assert_eq!((input.login_uid, input.session), (Some(1000), None));
        assert_eq!(input.ancestors.len(), 1);
        assert_eq!(
            (input.ancestors[0].pid, input.ancestors[0].uid),
            (8, Some(0))
        );
        let sources: Vec<_> = unread.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(sources, ["/proc/9/environ", "/proc/1/status"]);
        assert_eq!(all(&root, 7, None).map(|_| ()), Err(Absent::Gone));
        // Not in a job's group: all is needed.
        let memory = |pid: u32, file: &str| root.read_process(Some(pid), file);
        let status = proc_pid_status::read(&root, Some(9)).unwrap();
        let enough = |groups: &[Membership], memory: ReadMemory<'_>| {
            enough(&root, (9, &status), groups, memory, &Kin::default())
        };
        assert_eq!(enough(&input.groups, &memory).ancestors.len(), 1);
        // An ancestor that does not answer is one nevertheless.
        let silent = |_: u32, _: &str| Err(Absent::NoAnswer);
        let ancestors = enough(&input.groups, &silent).ancestors;
        assert_eq!((ancestors.len(), ancestors[0].command.len()), (1, 0));
        let group = b"0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n";
        let groups = proc_pid_cgroup::parse(group);
        assert!(enough(&groups, &memory).ancestors.is_empty());
    }
}
