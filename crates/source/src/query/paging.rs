//! The sizes of pages, and what of them the machine has: with page faults, a bound on the memory
//! that a process gained.

use super::proc_self_auxv;
use super::proc_vmstat::{self, Vmstat};
use crate::root::Root;
use record::sample::PageSizes;
use record::unit::Bytes;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

/// More than `/proc/vmstat` has (about 4 KiB).
const BUFFER_BYTES: usize = 32 << 10;

/// The pages of this machine.
#[derive(Debug)]
pub struct Paging {
    /// Their sizes; `None` where a fault may bring what nobody counts for all: pages of sizes
    /// between the two.
    pub sizes: Option<PageSizes>,
    page: Option<u64>,
    vmstat: Option<File>,
    buffer: Vec<u8>,
}

/// What the machine counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// Huge pages made since the machine started; 0 where there are none, `None` where that is not
    /// told.
    pub huge_made: Option<u64>,
    /// Shared memory and files in tmpfs, whosever; of the last second each CPU may hold back half a
    /// megabyte.
    pub shared: Option<Bytes>,
}

impl Paging {
    /// The pages as the files below `root` tell.
    pub fn open(root: &Root) -> Self {
        let page = proc_self_auxv::read(root).ok();
        let sizes = |huge: Option<u64>| {
            let page = Bytes(page?);
            let huge = huge.map(Bytes);
            Some(PageSizes { page, huge })
        };
        Self {
            sizes: huge_bytes(root).and_then(sizes),
            page,
            // Without it nothing is told.
            vmstat: File::open(root.proc("vmstat")).ok(),
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    /// What is counted by now.
    pub fn look(&mut self) -> Look {
        let vmstat = self.vmstat().unwrap_or_default();
        let huge_made = self.sizes.and_then(|sizes| match sizes.huge {
            Some(_) => vmstat.huge(),
            None => Some(0),
        });
        let shared = vmstat.shared_pages.zip(self.page);
        Look {
            huge_made,
            shared: shared.map(|(pages, page)| Bytes(pages.saturating_mul(page))),
        }
    }

    fn vmstat(&mut self) -> Option<Vmstat> {
        let length = self.vmstat.as_ref()?.read_at(&mut self.buffer, 0).ok()?;
        Some(proc_vmstat::parse(self.buffer.get(..length)?))
    }
}

/// The size of huge pages; `Some(None)` where no process gets any, `None` where it may get others.
fn huge_bytes(root: &Root) -> Option<Option<u64>> {
    let folder = root.sys("kernel/mm/transparent_hugepage");
    let Ok(mode) = std::fs::read_to_string(folder.join("enabled")) else {
        // A kernel without them does not count them; else /sys is hidden from us.
        let vmstat = root.read_machine(&root.proc("vmstat")).ok()?;
        return proc_vmstat::parse(&vmstat).huge().is_none().then_some(None);
    };
    let size = std::fs::read_to_string(folder.join("hpage_pmd_size")).ok();
    let size: u64 = size?.trim().parse().ok()?;
    let off = mode.contains("[never]");
    // Before 6.8 there is one size only.
    for entry in std::fs::read_dir(&folder).ok()?.flatten() {
        let name = entry.file_name();
        let kib = name
            .to_str()
            .and_then(|name| name.strip_prefix("hugepages-"));
        let Some(kib) = kib.and_then(|kib| kib.strip_suffix("kB")) else {
            continue;
        };
        let mode = match std::fs::read_to_string(entry.path().join("enabled")) {
            Ok(mode) => mode,
            // A size of shared memory alone.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        let inherited_off = off && mode.contains("[inherit]");
        let other = kib.parse() != Ok(size >> 10);
        let none = mode.contains("[never]") || inherited_off;
        if other && !none {
            return None;
        }
    }
    // Shared memory has a switch of its own, and so does one process: the count tells.
    Some(Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("plimsoll-paging-{name}-{}", std::process::id());
            let machine = Self(std::env::temp_dir().join(name));
            for (file, text) in files {
                let path = machine.0.join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            machine
        }

        fn huge(&self) -> Option<Option<u64>> {
            huge_bytes(&Root::at(&self.0))
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            // Nothing was written where there are no files.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const VMSTAT: &str = "proc/vmstat";
    const ENABLED: (&str, &str) = (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never\n",
    );
    const SIZE: (&str, &str) = (
        "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        "2097152\n",
    );

    #[test]
    fn huge_pages_are_of_one_size_or_nothing_is_said() {
        // What cannot be read is no proof that there are none.
        assert_eq!(Machine::new("unread", &[]).huge(), None);
        let without = [(VMSTAT, "nr_shmem 5\n")];
        assert_eq!(Machine::new("none", &without).huge(), Some(None));
        let hidden = [(VMSTAT, "thp_fault_alloc 5\nthp_collapse_alloc 0\n")];
        assert_eq!(Machine::new("hidden", &hidden).huge(), None);
        let old = Machine::new("old", &[ENABLED, SIZE]);
        assert_eq!(old.huge(), Some(Some(2 << 20)));
        let inherit = "always [inherit] madvise never\n";
        let never = "always inherit madvise [never]\n";
        let large = "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled";
        let (large, small) = ((large, inherit), large.replace("2048", "64"));
        let quiet = [ENABLED, SIZE, large, (small.as_str(), never)];
        assert_eq!(Machine::new("quiet", &quiet).huge(), Some(Some(2 << 20)));
        let mixed = [ENABLED, SIZE, large, (small.as_str(), inherit)];
        assert_eq!(Machine::new("mixed", &mixed).huge(), None);
    }

    #[test]
    fn this_machine_tells() {
        let mut paging = Paging::open(&Root::default());
        let look = paging.look();
        assert!(look.shared.is_some());
        let Some(sizes) = paging.sizes else {
            return println!("skipped: pages of several sizes");
        };
        assert!(sizes.page.0 >= 4096 && look.huge_made.is_some());
    }
}
