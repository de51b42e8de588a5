//! The hard memory limit of a group.

use super::control::ControlDir;
use super::error::Error;
use super::group::Group;
use super::places::Controller;

impl Group {
    /// Holds the group to `memory` bytes, of which `swap` bytes more may be swapped out. Call it before the first process is added.
    ///
    /// With `swap` = 0 memory and swap together cannot exceed `memory`: a task that swaps would otherwise grow past its limit unseen.
    /// v1 limits the sum (`memory.memsw.limit_in_bytes` = `memory` + `swap`, set after the limit itself);
    /// where the kernel does not account swap, the group does not swap at all (`memory.swappiness` = 0).
    /// v2 limits swap by itself (`memory.swap.max`). The kernel also charges page cache, which it takes back at need, and a
    /// little kernel memory, which it cannot. The number of processes is not limited here: that would make `fork` fail.
    ///
    /// # Errors
    /// Why there is no memory controller, or as the kernel says.
    pub fn set_memory_limit(&self, memory: u64, swap: u64) -> Result<(), Error> {
        let part = match self.memory_part() {
            Some(part) => part,
            None => return Err(self.no_memory()),
        };
        let dir = &part.dir;
        if part.controller.is_none() {
            dir.write("memory.max", &memory.to_string())?;
            return optional(dir.write("memory.swap.max", &swap.to_string()));
        }
        dir.write("memory.limit_in_bytes", &memory.to_string())?;
        let both = memory.saturating_add(swap).to_string();
        match dir.write("memory.memsw.limit_in_bytes", &both) {
            Err(Error::NoKernelSupport { .. } | Error::NoPermission { .. }) if swap == 0 => {
                optional(dir.write("memory.swappiness", "0"))
            }
            other => optional(other),
        }
    }

    /// The reason why this group has no memory controller, as an error of its own.
    pub(crate) fn no_memory(&self) -> Error {
        let path = self.parts.first().map(|part| part.dir.path().to_owned());
        Error::NoKernelSupport {
            path: path.unwrap_or_default(),
            what: "this group has no memory controller",
        }
    }
}

/// Takes the limits of a group away, so that what is left in it may go on.
pub(crate) fn lift(controller: Option<Controller>, dir: &ControlDir) {
    let files: &[(&str, &str)] = match controller {
        Some(Controller::Memory) => &[
            ("memory.memsw.limit_in_bytes", "-1"),
            ("memory.limit_in_bytes", "-1"),
        ],
        None => &[("memory.max", "max"), ("memory.swap.max", "max")],
        _ => &[],
    };
    for (file, value) in files {
        // A file that is not there limits nothing; the processes move out in any case.
        let _ = dir.write(file, value);
    }
}

/// A kernel built or started without swap accounting has no such file.
fn optional(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::NoKernelSupport { .. }) => Ok(()),
        other => other,
    }
}
