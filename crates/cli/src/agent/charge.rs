//! What the control group of a job was charged: the most memory, page cache included, and the CPU
//! time, those of its processes that ended included.

use record::table::job::Presence;
use record::unit::Nanos;
use source::group::GroupReader;

/// The group, while it is there. A scheduler may take it away between two steps of a job and make
/// it anew, which counts from nothing.
#[derive(Debug, Default)]
pub(super) struct Charge {
    group: Option<GroupReader>,
    /// It told its memory, and its CPU time.
    told: [bool; 2],
    /// CPU time of this group, and of those before.
    cpu: Nanos,
    cpu_before: Nanos,
}

impl Charge {
    /// Takes a group, unless it has one; whether it did.
    pub(super) fn opens(&mut self, group: Option<GroupReader>, seen: &mut Presence) -> bool {
        if self.group.is_some() || group.is_none() {
            return false;
        }
        (self.group, self.told) = (group, [false; 2]);
        !self.read(seen)
    }

    /// Whether there was one.
    pub(super) fn closes(&mut self) -> bool {
        self.group.take().is_some()
    }

    /// Reads it; whether it is gone, and with it what was open of it.
    pub(super) fn read(&mut self, seen: &mut Presence) -> bool {
        let Some(group) = &mut self.group else {
            return false;
        };
        let now = group.read();
        seen.cgroup_memory_peak = seen.cgroup_memory_peak.max(now.peak);
        if let Some(cpu) = now.cpu {
            self.cpu = cpu;
            let all = Nanos(self.cpu_before.0.saturating_add(cpu.0));
            seen.cgroup_cpu_time = seen.cgroup_cpu_time.max(Some(all));
        }
        let tells = [now.peak.is_some(), now.cpu.is_some()];
        let is_gone = self
            .told
            .iter()
            .zip(tells)
            .any(|(told, tells)| *told && !tells);
        self.told = tells;
        if is_gone {
            if now.cpu.is_none() {
                self.cpu_before = Nanos(self.cpu_before.0.saturating_add(self.cpu.0));
                self.cpu = Nanos(0);
            }
            self.group = None;
        }
        is_gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Bytes;
    use std::path::Path;
    use sys::cgroup::ControlDir;

    fn charged(folder: &Path, peak: &str, cpu: &str) {
        std::fs::write(folder.join("memory.peak"), peak).unwrap();
        std::fs::write(folder.join("cpu.stat"), format!("usage_usec {cpu}\n")).unwrap();
    }

    fn group(folder: &Path) -> Option<GroupReader> {
        let dir = ControlDir::new(folder);
        Some(GroupReader::open([(None, &dir)].into_iter()))
    }

    #[test]
    fn what_was_charged_stays_when_the_group_is_gone_and_goes_on_with_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (mut charge, mut seen) = (Charge::default(), Presence::default());
        let told = |seen: &Presence| (seen.cgroup_memory_peak.unwrap(), seen.cgroup_cpu_time);
        charged(folder, "4096\n", "5");
        assert!(charge.opens(group(folder), &mut seen));
        assert!(!charge.opens(group(folder), &mut seen), "it has one");
        assert_eq!(told(&seen), (Bytes(4096), Some(Nanos(5000))));
        charged(folder, "8192\n", "9");
        assert!(!charge.read(&mut seen));
        assert_eq!(told(&seen), (Bytes(8192), Some(Nanos(9000))));
        charged(folder, "", "");
        assert!(charge.read(&mut seen), "it is gone");
        assert!(!charge.read(&mut seen) && !charge.closes());
        assert_eq!(told(&seen), (Bytes(8192), Some(Nanos(9000))));
        // The same job's next one.
        charged(folder, "100\n", "2");
        assert!(charge.opens(group(folder), &mut seen));
        assert_eq!(told(&seen), (Bytes(8192), Some(Nanos(11_000))));
        // Its memory is not told any more; its CPU time is, and counts on.
        charged(folder, "", "3");
        assert!(charge.read(&mut seen));
        charged(folder, "100\n", "4");
        assert!(charge.opens(group(folder), &mut seen) && charge.closes());
        assert_eq!(told(&seen), (Bytes(8192), Some(Nanos(13_000))));
    }

    #[test]
    fn a_job_without_a_group_is_not_charged() {
        let (mut charge, mut seen) = (Charge::default(), Presence::default());
        assert!(!charge.opens(None, &mut seen) && !charge.read(&mut seen));
        assert_eq!(seen, Presence::default());
    }
}
