//! `/proc/self/mountinfo`: what is mounted where. Reading it never touches the file systems that it names,
//! so it cannot hang on a dead server.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The folder inside the file system that is the root of this mount.
    pub root: PathBuf,
    /// Where it is mounted, as this process sees it.
    pub point: PathBuf,
    /// Type of the file system (`ext4`, `nfs4`, `fuse.sshfs`, `cgroup2`, ...).
    pub fs_type: String,
    /// Options of the super block, comma separated (for cgroup v1: its controllers).
    pub super_options: String,
}

impl Mount {
    /// Whether `name` is one of the options of the super block.
    pub fn has_option(&self, name: &str) -> bool {
        self.super_options.split(',').any(|option| option == name)
    }
}

/// The mounts that `text` (the content of `mountinfo`) names, in its order; bad lines are skipped.
pub fn parse(text: &str) -> impl Iterator<Item = Mount> + '_ {
    text.lines().filter_map(parse_line)
}

/// The mounts of this process, from `/proc/self/mountinfo`.
///
/// # Errors
/// What reading the file gives: mostly that there is no `/proc`.
pub fn read() -> std::io::Result<Vec<Mount>> {
    let raw = std::fs::read("/proc/self/mountinfo")?;
    Ok(parse(&String::from_utf8_lossy(&raw)).collect())
}

/// The mount that holds `path` (absolute, symbolic links resolved): the last one whose point is its longest prefix.
pub fn holding<'m>(path: &Path, mounts: &'m [Mount]) -> Option<&'m Mount> {
    let depth = |mount: &Mount| mount.point.components().count();
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| depth(mount))
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/x rw,errors=continue`.
fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ').skip(3);
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let mut tail = right.split(' ');
    let fs_type = tail.next()?.to_owned();
    let super_options = tail.nth(1).unwrap_or("").to_owned();
    Some(Mount {
        root: PathBuf::from(&*root),
        point: PathBuf::from(&*point),
        fs_type,
        super_options,
    })
}

/// Undoes the kernel's octal escapes (`\040` is a blank).
fn unescape(field: &str) -> Cow<'_, str> {
    if !field.contains('\\') {
        return Cow::Borrowed(field);
    }
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = (first == b'\\')
            .then(|| tail.get(..3).and_then(octal))
            .flatten();
        match code {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

fn octal(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    u8::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
60 27 0:44 /sub /mnt/with\\040blank rw shared:7 master:2 - nfs4 server:/x rw,vers=4.2
61 60 0:45 / /mnt rw - tmpfs none rw
garbage
62 1 - only
35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
";

    #[test]
    fn lines_are_read_and_garbage_is_skipped() {
        let mounts: Vec<_> = parse(TEXT).collect();
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[1].point, Path::new("/mnt/with blank"));
        assert_eq!(mounts[1].root, Path::new("/sub"));
        assert_eq!(mounts[1].fs_type, "nfs4");
        assert!(mounts[3].has_option("cpuacct"));
        assert!(!mounts[3].has_option("acct"));
    }

    #[test]
    fn the_longest_mount_point_holds_a_path() {
        let mounts: Vec<_> = parse(TEXT).collect();
        let of = |path: &str| holding(Path::new(path), &mounts).map(|m| m.fs_type.as_str());
        assert_eq!(of("/mnt/with blank/a"), Some("nfs4"));
        assert_eq!(of("/mnt/other"), Some("tmpfs"));
        assert_eq!(of("/mntx"), Some("ext4"));
        assert_eq!(of("relative"), None);
    }

    #[test]
    fn the_own_table_has_a_root() {
        let Ok(mounts) = read() else {
            println!("skipped: no /proc");
            return;
        };
        assert!(holding(Path::new("/"), &mounts).is_some());
    }
}
