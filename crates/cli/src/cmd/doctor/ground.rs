//! What several probes stand on, found once: the kernel, the user, its type information, a group.

use super::groups::GroupTrial;
use std::cell::OnceCell;
use std::path::Path;
use sys::probe::KernelTypes;

/// The machine and the user as they are.
#[derive(Debug)]
pub struct Ground {
    /// Release of the kernel; `unknown` without `/proc`.
    pub kernel: String,
    /// Effective user id.
    pub uid: u32,
    /// Effective capabilities, as `/proc/self/status` writes them.
    pub capabilities: Option<String>,
    types: OnceCell<Result<KernelTypes, String>>,
    group: OnceCell<GroupTrial>,
}

impl Ground {
    /// Looks around; trials wait until a probe asks.
    pub fn survey() -> Self {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        Self {
            kernel: release.map_or("unknown".to_owned(), |text| text.trim().to_owned()),
            uid: sys::probe::effective_uid(),
            capabilities: capabilities.map(|mask| mask.trim().to_owned()),
            types: OnceCell::new(),
            group: OnceCell::new(),
        }
    }

    /// The kernel's type information, or why there is none.
    pub fn types(&self) -> Result<&KernelTypes, &str> {
        let path = Path::new("/sys/kernel/btf/vmlinux");
        let read = || {
            KernelTypes::read(path)
                .map_err(|error| format!("{}: {}", path.display(), super::outcome::words(&error)))
        };
        self.types
            .get_or_init(read)
            .as_ref()
            .map_err(String::as_str)
    }

    /// What came of making a control group.
    pub(super) fn group(&self) -> &GroupTrial {
        self.group.get_or_init(GroupTrial::make)
    }
}
