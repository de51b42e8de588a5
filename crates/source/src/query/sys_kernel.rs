//! `/proc/sys/kernel/{hostname,osrelease,random/boot_id}`: one line each.

use super::field::text;
use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_kernel",
    file: "/proc/sys/kernel/NAME",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// The first line; `None` if it is empty.
pub fn parse(file: &[u8]) -> Option<String> {
    let line = text(super::field::lines(file).next()?);
    (!line.is_empty()).then_some(line)
}

/// Reads the file `name` below `/proc/sys/kernel`.
pub fn read(root: &Root, name: &str) -> Result<String, Absent> {
    let file = root.read_machine(&root.proc("sys/kernel").join(name))?;
    parse(&file).ok_or(Absent::NoKernelSupport)
}
