//! `/proc/PID/mountinfo`: which file system a path is on, without touching the path: a hung server
//! cannot hold us.

use super::field::{lines, number, words};
use super::source::Source;
use crate::root::Root;
use record::value::Absent;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_mountinfo",
    file: "/proc/PID/mountinfo",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// File systems whose files are served by other machines, or by a program that may hang like one.
const NETWORK: &[&str] = &[
    "9p",
    "acfs",
    "afs",
    "autofs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "cvfs",
    "daos",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "panfs",
    "pvfs2",
    "smb2",
    "smb3",
    "smbfs",
    "wekafs",
];

/// File systems in user space that keep their files on this machine.
const FUSE_LOCAL: &[&str] = &[
    "fuse.fuse-overlayfs",
    "fuse.fuse2fs",
    "fuse.gocryptfs",
    "fuse.lxcfs",
    "fuse.portal",
    "fuse.squashfuse",
    "fuse.squashfuse_ll",
];

/// One line: a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its number, unique in the namespace.
    pub id: u64,
    /// The mount that it is mounted on.
    pub parent: u64,
    /// Device number as the kernel writes it (`254:0`).
    pub device: String,
    /// The part of the file system that is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// Type of the file system (`ext4`, `nfs4`, `fuse.sshfs`).
    pub kind: String,
    /// What is mounted (`/dev/vda`, `server:/export`).
    pub source: String,
    /// Options of the file system, separated by commas (`rw,memory`).
    pub options: String,
}

impl Mount {
    /// Whether its files are served by another machine, or by a program that may hang like one.
    pub fn is_network(&self) -> bool {
        let fuse = self.kind == "fuse" || self.kind.starts_with("fuse.");
        NETWORK.contains(&self.kind.as_str()) || (fuse && !FUSE_LOCAL.contains(&self.kind.as_str()))
    }
}

/// Parses the file; lines that are none are left out.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(line).collect()
}

/// `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw`: any number of fields before the lone
/// dash.
fn line(line: &[u8]) -> Option<Mount> {
    let mut words = words(line);
    let id = number(words.next()?)?;
    let parent = number(words.next()?)?;
    let device = super::field::text(words.next()?);
    let root = unescape(words.next()?);
    let point = unescape(words.next()?);
    words.by_ref().find(|word| *word == b"-")?;
    let kind = super::field::text(words.next()?);
    let source = unescape(words.next()?);
    let options = words.next().map(super::field::text).unwrap_or_default();
    Some(Mount {
        id,
        parent,
        device,
        root: PathBuf::from(root),
        point: PathBuf::from(point),
        kind,
        source: source.to_string_lossy().into_owned(),
        options,
    })
}

/// The kernel writes blank, tab, line end and backslash as `\040` and so on.
fn unescape(word: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| byte == b'\\').and_then(octal);
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() {
            tail.get(3..).unwrap_or_default()
        } else {
            tail
        };
    }
    OsString::from_vec(plain)
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The mount that the absolute path without links `path` is on: followed from the root down, as the
/// kernel does, so that a mount which hides another one wins. In a chroot without a mount at its
/// root, the deepest.
pub fn mount_of<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    let top = |mount: &&Mount| {
        mount.point == Path::new("/") && !mounts.iter().any(|m| m.id == mount.parent && m != *mount)
    };
    let Some(mut current) = mounts.iter().find(top) else {
        return mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.components().count());
    };
    if !path.is_absolute() {
        return None;
    }
    let mut prefixes: Vec<&Path> = path.ancestors().collect();
    prefixes.reverse();
    // A circle of parents cannot be, but the file is only text: no more steps than mounts.
    let mut steps_left = mounts.len();
    for prefix in prefixes {
        let on = |current: &Mount| {
            mounts
                .iter()
                .find(|m| m.parent == current.id && m.id != current.id && m.point == prefix)
        };
        while let Some(next) = on(current).filter(|_| steps_left > 0) {
            current = next;
            steps_left -= 1;
        }
    }
    Some(current)
}

/// Reads and parses the file of `pid`, or of this process.
pub fn read(root: &Root, pid: Option<u32>) -> Result<Vec<Mount>, Absent> {
    Ok(parse(&root.read_process(pid, "mountinfo")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"\
        1 0 8:1 / / rw - ext4 /dev/sda rw\n\
        2 1 0:40 / /home rw shared:2 master:1 - nfs4 srv:/h rw,vers=4\n\
        3 2 8:2 /sub /home/a\\040b rw - xfs /dev/sdb rw\n\
        4 2 0:9 / /home/s rw - fuse.sshfs me@host: rw\n\
        5 2 0:8 / /home rw - tmpfs none rw\n\
        6 1 8:3 / /srv rw - xfs /dev/sdc rw\n\
        7 6 0:50 / /srv/data rw - lustre mgs:/l rw\n";

    #[test]
    fn mounts_are_followed_from_the_root_down() {
        let mounts = parse(TABLE);
        let kind = |path: &str| mount_of(&mounts, Path::new(path)).map(|m| m.kind.as_str());
        assert_eq!(kind("/usr/bin"), Some("ext4"));
        assert_eq!(kind("/home/x"), Some("tmpfs"), "mounted over the nfs");
        assert_eq!(kind("/home/a b/c"), Some("tmpfs"), "hidden by the tmpfs");
        assert_eq!(kind("/srv/data/x"), Some("lustre"));
        assert_eq!(kind("/srv/dat"), Some("xfs"));
        assert_eq!(kind("/homework"), Some("ext4"));
        assert_eq!(mount_of(&mounts, Path::new("relative")), None);
        let circle =
            parse(b"1 0 1:1 / / r - a a r\n2 1 1:1 / / r - b b r\n1 2 1:1 / / r - c c r\n");
        assert!(mount_of(&circle, Path::new("/x")).is_some());
        let chroot = parse(b"9 8 1:1 / /proc r - proc proc r\n");
        assert!(mount_of(&chroot, Path::new("/proc/1")).is_some());
    }

    #[test]
    fn network_file_systems_are_known() {
        let mounts = parse(TABLE);
        let network: Vec<bool> = mounts.iter().map(Mount::is_network).collect();
        assert_eq!(network, [false, true, false, true, false, false, true]);
    }

    #[test]
    fn escapes_are_undone_and_lone_backslashes_kept() {
        assert_eq!(unescape(b"a\\040b\\134\\01"), OsString::from("a b\\\\01"));
    }
}
