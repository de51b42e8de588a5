//! The in-kernel programs that are lent, and whom they are lent to.

use anyhow::Result;
use sys::bpf::TaskPrograms;

pub(super) use sys::bpf::Guest;
/// A copy of its own: nothing of it stays behind, and other runs do not depend on it.
pub(super) type Programs = TaskPrograms;

/// Puts them in place.
///
/// # Errors
/// They cannot be had here.
pub(super) fn open() -> Result<Programs> {
    let programs = TaskPrograms::open_private()?;
    // Where this kernel cannot have these, who asks for files is told so.
    drop(programs.prepare_files());
    Ok(programs)
}
