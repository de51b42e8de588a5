//! `/proc/PID/fd`: the open files of a process, as far as they tell how it reads and writes.
//!
//! What goes through an `io_uring` is in no count of calls or bytes of the process
//! (`/proc/PID/io`), so whether one is open must be known. The folder is listed by whoever may
//! trace the process.

use super::field::lines;
use super::source::Source;
use crate::root::{Root, process_absent};
use record::value::Absent;
use std::os::unix::ffi::OsStrExt;

/// Its row of the table of sources. The recorded input is the links, one a line.
pub const SOURCE: Source = Source {
    name: "proc_pid_fd",
    file: "/proc/PID/fd/*",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// Descriptors that are looked at: rings are opened early and get low numbers.
const DESCRIPTORS_MAX: usize = 64;

/// What the descriptors of a process refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptors {
    /// How many were looked at.
    pub looked_at: u64,
    /// How many of them are rings of `io_uring`.
    pub io_urings: u64,
}

/// Counts the links, one a line.
pub fn parse(links: &[u8]) -> Descriptors {
    let mut descriptors = Descriptors::default();
    for link in lines(links) {
        descriptors.count(link);
    }
    descriptors
}

impl Descriptors {
    fn count(&mut self, link: &[u8]) {
        self.looked_at += 1;
        self.io_urings += u64::from(is_io_uring(link));
    }
}

fn is_io_uring(link: &[u8]) -> bool {
    link == b"anon_inode:[io_uring]"
}

/// Looks at the descriptors of `pid` above standard error, at most `DESCRIPTORS_MAX` of them and
/// none after the first ring.
///
/// # Errors
/// `Gone` where there is no such process, `NoPermission` where it is not ours to look at.
pub fn read(root: &Root, pid: u32) -> Result<Descriptors, Absent> {
    let folder = root.process(pid, "fd");
    let mut descriptors = Descriptors::default();
    let entries = std::fs::read_dir(&folder).map_err(|error| process_absent(&error))?;
    for entry in entries.flatten().take(DESCRIPTORS_MAX) {
        if matches!(entry.file_name().as_bytes(), b"0" | b"1" | b"2") {
            continue;
        }
        // One that was closed meanwhile tells nothing.
        if let Ok(link) = std::fs::read_link(entry.path()) {
            descriptors.count(link.as_os_str().as_bytes());
        }
        if descriptors.io_urings > 0 {
            break;
        }
    }
    Ok(descriptors)
}

/// How many descriptors `pid` has open, standard ones included: the size of the folder, which the
/// kernel tells since Linux 6.2.
pub fn count(root: &Root, pid: u32) -> Option<u64> {
    let folder = std::fs::metadata(root.process(pid, "fd")).ok()?;
    Some(folder.len()).filter(|open| *open > 0)
}

/// Whether `pid` holds an `io_uring` above standard error; `None` where it cannot be looked at.
/// Cheap for a process with nothing open above it, as most are at their end.
pub fn holds_io_uring(root: &Root, pid: u32) -> Option<bool> {
    let folder = std::fs::File::open(root.process(pid, "fd")).ok()?;
    match sys::descriptor::any_above_stderr(&folder) {
        Ok(false) => Some(false),
        _ => read(root, pid).ok().map(|seen| seen.io_urings > 0),
    }
}

/// Whether a process may have an `io_uring` at all: `kernel.io_uring_disabled` is not 2. It is
/// there since Linux 6.6; a kernel without the file may have rings.
pub fn io_uring_is_possible(root: &Root) -> bool {
    let switch = root.read_machine(&root.proc("sys/kernel/io_uring_disabled"));
    !switch.is_ok_and(|text| text.trim_ascii() == b"2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_told_from_files_that_are_named_like_it() {
        let text = b"/tmp/anon_inode:[io_uring]\nanon_inode:[eventpoll]\nanon_inode:[io_uring]\n";
        assert_eq!(
            parse(text),
            Descriptors {
                looked_at: 3,
                io_urings: 1
            }
        );
    }

    #[test]
    fn this_process_can_be_looked_at_and_has_no_ring() {
        let _open = std::fs::File::open("/proc/self/stat").unwrap();
        let seen = read(&Root::default(), std::process::id()).unwrap();
        assert!(seen.looked_at >= 1);
        assert_eq!(seen.io_urings, 0);
    }

    #[test]
    fn an_open_file_more_is_counted() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let (root, pid) = (Root::default(), child.id());
        let listed = || {
            std::fs::read_dir(format!("/proc/{pid}/fd"))
                .unwrap()
                .count() as u64
        };
        // A spawn returns before what closes on exec is closed.
        let equal = (0..10_000).any(|_| count(&root, pid).is_none_or(|open| open == listed()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(equal);
        assert_eq!(count(&root, pid), None);
    }

    #[test]
    fn a_ring_is_found_among_many_files_and_standard_ones_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let links = folder.path().join("proc/7/fd");
        std::fs::create_dir_all(&links).unwrap();
        let root = Root::at(folder.path());
        for (name, target) in [("0", "/dev/null"), ("2", "/dev/null"), ("5", "pipe:[1]")] {
            std::os::unix::fs::symlink(target, links.join(name)).unwrap();
        }
        let without = Descriptors {
            looked_at: 1,
            io_urings: 0,
        };
        assert_eq!(read(&root, 7), Ok(without));
        std::os::unix::fs::symlink("anon_inode:[io_uring]", links.join("9")).unwrap();
        assert_eq!(read(&root, 7).unwrap().io_urings, 1);
    }

    #[test]
    fn a_process_that_is_gone_is_gone() {
        assert_eq!(read(&Root::default(), u32::MAX >> 1), Err(Absent::Gone));
    }

    #[test]
    fn only_a_two_switches_rings_off() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path().join("proc/sys/kernel");
        std::fs::create_dir_all(&sys).unwrap();
        let root = Root::at(folder.path());
        assert!(io_uring_is_possible(&root));
        for (text, possible) in [("0\n", true), ("1\n", true), ("2\n", false)] {
            std::fs::write(sys.join("io_uring_disabled"), text).unwrap();
            assert_eq!(io_uring_is_possible(&root), possible, "{text}");
        }
    }
}
