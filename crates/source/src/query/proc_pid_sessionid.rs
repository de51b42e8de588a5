//! `/proc/PID/sessionid`: the login session, counted by the kernel's audit.

use super::field::first_number;
use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_sessionid",
    file: "/proc/PID/sessionid",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// What stands for none: -1 as 32 bits.
const NONE: u32 = u32::MAX;

/// The session; `None` if there was none.
pub fn parse(text: &[u8]) -> Option<u32> {
    let id = u32::try_from(first_number(text)?).ok()?;
    (id != NONE).then_some(id)
}

/// Reads and parses the file of `pid`. Fails with `NoKernelSupport` where the kernel has no audit.
pub fn read(root: &Root, pid: u32) -> Result<Option<u32>, Absent> {
    Ok(parse(&root.read_process(Some(pid), "sessionid")?))
}
