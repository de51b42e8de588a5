//! `/proc/PID/cgroup`: the control groups of a process, one line a hierarchy. Paths are as seen
//! from our cgroup namespace; one outside of it begins with `/..`.

use super::field::{lines, number};
use super::source::Source;
use crate::root::Root;
use record::value::Absent;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_cgroup",
    file: "/proc/PID/cgroup",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// One line: where a process is in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Number of the hierarchy; 0 is version 2.
    pub hierarchy: u64,
    /// Its controllers (`memory`, `cpu`, `name=systemd`); none for version 2.
    pub controllers: Vec<String>,
    /// The path of the group below the mount point of the hierarchy.
    pub path: PathBuf,
}

impl Membership {
    /// Whether the group called `name` is on the path.
    pub fn is_below(&self, name: &OsStr) -> bool {
        self.path.components().any(|part| part.as_os_str() == name)
    }

    /// Whether the hierarchy is version 2.
    pub fn is_v2(&self) -> bool {
        self.hierarchy == 0 && self.controllers.is_empty()
    }
}

/// Parses the file; lines that are none are left out.
pub fn parse(text: &[u8]) -> Vec<Membership> {
    lines(text).filter_map(line).collect()
}

/// `4:memory:/path` or `0::/path`; the path may hold colons.
fn line(line: &[u8]) -> Option<Membership> {
    let mut fields = line.splitn(3, |byte| *byte == b':');
    let hierarchy = number(fields.next()?)?;
    let controllers = fields.next()?;
    let path = fields.next().filter(|path| path.starts_with(b"/"))?;
    let controllers = controllers
        .split(|byte| *byte == b',')
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    Some(Membership {
        hierarchy,
        controllers,
        path: PathBuf::from(OsStr::from_bytes(path)),
    })
}

/// Reads and parses the file of `pid`, or of this process.
pub fn read(root: &Root, pid: Option<u32>) -> Result<Vec<Membership>, Absent> {
    Ok(parse(&root.read_process(pid, "cgroup")?))
}
