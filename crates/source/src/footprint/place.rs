//! Which folders are not walked unless asked for: those on a server, where each look costs others
//! too, and the home.
//!
//! The type of the file system comes from the table of mounts: `statfs` would hang with a dead
//! server.

use std::path::Path;
use sys::mountinfo::{self, Mount};

/// Types of file systems that are on a server, or may be.
const REMOTE: &[&str] = &[
    "9p",
    "acfs",
    "afs",
    "autofs",
    "beegfs",
    "beegfs_nodev",
    "ceph",
    "cifs",
    "coda",
    "cvmfs",
    "davfs",
    "gfs",
    "gfs2",
    "gpfs",
    "lustre",
    "mmfs",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "panfs",
    "pvfs2",
    "smb3",
    "smbfs",
    "virtiofs",
    "wekafs",
];

/// Types of file systems that the kernel makes up, which take no disk space; and those that mount
/// others when they are looked into.
const MADE_UP: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "mqueue",
    "nfsd",
    "nsfs",
    "proc",
    "pstore",
    "resctrl",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Why a folder is not walked by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// It is on a file system of this type, which is or may be on a server.
    Remote(String),
    /// It is the user's home or lies above it.
    Home,
    /// Nobody can tell: it is no absolute path, or there is no table of mounts.
    Unknown,
}

/// Whether `dir` (absolute, symbolic links resolved) is better left alone, and why; `None` if it
/// may be walked. Touches neither `dir` nor its file system, so it cannot hang.
pub fn leave_alone(dir: &Path, home: Option<&Path>) -> Option<Leave> {
    match mountinfo::read() {
        Ok(mounts) => judge(dir, home, &mounts),
        Err(_) => Some(Leave::Unknown), // no /proc: no way to know
    }
}

/// Whether what is mounted at `dir` is made up by the kernel; no, where nobody can tell. Touches
/// neither `dir` nor its file system.
pub(super) fn is_made_up(dir: &Path) -> bool {
    mountinfo::read().is_ok_and(|mounts| makes_up(dir, &mounts))
}

fn makes_up(dir: &Path, mounts: &[Mount]) -> bool {
    mountinfo::holding(dir, mounts).is_some_and(|mount| MADE_UP.contains(&&*mount.fs_type))
}

fn judge(dir: &Path, home: Option<&Path>, mounts: &[Mount]) -> Option<Leave> {
    let Some(mount) = mountinfo::holding(dir, mounts) else {
        return Some(Leave::Unknown);
    };
    if is_remote(&mount.fs_type) {
        return Some(Leave::Remote(mount.fs_type.clone()));
    }
    let above = |home: &Path| home.is_absolute() && home.starts_with(dir);
    home.is_some_and(above).then_some(Leave::Home)
}

/// FUSE may be anything, a dead server among it; only `fuseblk` is always a local disk.
fn is_remote(fs_type: &str) -> bool {
    fs_type == "fuse" || fs_type.starts_with("fuse.") || REMOTE.contains(&fs_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:44 / /home rw - nfs4 server:/home rw
3 1 0:45 / /scratch rw - lustre mds:/x rw
4 3 8:2 / /scratch/local rw - xfs /dev/b rw
5 1 0:46 / /mnt/ssh rw - fuse.sshfs me@there: rw
6 1 8:3 / /mnt/usb rw - fuseblk /dev/c rw
";

    fn judged(dir: &str, home: Option<&str>) -> Option<Leave> {
        let mounts: Vec<_> = mountinfo::parse(MOUNTS).collect();
        judge(Path::new(dir), home.map(Path::new), &mounts)
    }

    #[test]
    fn servers_are_left_alone_and_local_disks_are_not() {
        let remote = |name: &str| Some(Leave::Remote(name.to_owned()));
        assert_eq!(judged("/home/me/work", None), remote("nfs4"));
        assert_eq!(judged("/scratch/x", None), remote("lustre"));
        assert_eq!(judged("/mnt/ssh", None), remote("fuse.sshfs"));
        assert_eq!(judged("/scratch/local/x", None), None);
        assert_eq!(judged("/mnt/usb", None), None);
        assert_eq!(judged("/var/tmp", None), None);
    }

    #[test]
    fn the_home_and_what_holds_it_are_left_alone() {
        assert_eq!(judged("/root", Some("/root")), Some(Leave::Home));
        assert_eq!(judged("/", Some("/root")), Some(Leave::Home));
        assert_eq!(judged("/root/work", Some("/root")), None);
        assert_eq!(judged("/var", Some("")), None);
    }

    #[test]
    fn what_the_kernel_makes_up_is_known_by_its_type() {
        let text = format!("{MOUNTS}7 1 0:5 / /w/proc rw - proc none rw\n");
        let mounts: Vec<_> = mountinfo::parse(&text).collect();
        assert!(makes_up(Path::new("/w/proc"), &mounts));
        assert!(!makes_up(Path::new("/scratch/local"), &mounts));
        assert!(!makes_up(Path::new("/w"), &mounts));
    }

    #[test]
    fn what_cannot_be_told_is_left_alone() {
        assert_eq!(judged("relative", None), Some(Leave::Unknown));
        assert_eq!(judge(Path::new("/x"), None, &[]), Some(Leave::Unknown));
    }
}
