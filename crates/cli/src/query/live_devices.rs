//! The devices of one job as the agent of this machine tells them: one reading of theirs.

use crate::live::device;
use query::job::Gpu;
use record::codec::key::{Part, parts};
use record::codec::series::Row;
use record::table::gpu;
use std::collections::{BTreeMap, BTreeSet};

/// What its processes have of one together.
#[derive(Debug, Default)]
struct Used {
    memory: Option<i64>,
    busy: Option<i64>,
}

/// The devices of the machine, and those that are used.
#[derive(Debug, Default)]
pub(super) struct Devices {
    told: BTreeSet<Vec<u8>>,
    used: BTreeMap<Vec<u8>, Used>,
}

impl Devices {
    /// Takes a row of `node`.
    pub(super) fn of_machine(&mut self, key: &[u8]) {
        self.told.extend(device::name(key));
    }

    /// Takes a row of `gpu`.
    pub(super) fn of_process(&mut self, row: Row<'_>) {
        let parts = parts(gpu::TABLE.key, row.key).unwrap_or_default();
        let [_, _, Part::Text(device)] = parts.as_slice() else {
            return;
        };
        let value = |place: usize| {
            let is_there = row.present >> place & 1 == 1;
            row.values.get(place).copied().filter(|_| is_there)
        };
        let used = self.used.entry(device.clone()).or_default();
        // In the order of the table.
        for (sum, more) in [(&mut used.memory, value(0)), (&mut used.busy, value(1))] {
            *sum = match (*sum, more) {
                (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
                (sum, more) => sum.or(more),
            };
        }
    }

    /// How many the machine tells of.
    pub(super) fn told(&self) -> i64 {
        i64::try_from(self.told.len()).unwrap_or(i64::MAX)
    }

    /// Those that are used.
    pub(super) fn used(&self, host: &str) -> Vec<Gpu> {
        let part = |millionths: i64| millionths as f64 / 1e6;
        let gpu = |(device, used): (&Vec<u8>, &Used)| Gpu {
            host: host.to_owned(),
            device: String::from_utf8_lossy(device).into_owned(),
            memory_peak: used.memory,
            busy_mean: used.busy.map(part),
            busy_peak: used.busy.map(part),
        };
        self.used.iter().map(gpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::identity::ProcessId;
    use record::table::node;
    use record::unit::Nanos;

    #[test]
    fn what_processes_have_of_a_device_adds_up() {
        let mut devices = Devices::default();
        for (metric, name) in [
            ("gpu_device_busy", "GPU-0"),
            ("gpu_device_power", "GPU-0"),
            ("gpu_device_busy", "GPU-1"),
            ("gpu_device_busy", "card0"),
            ("node_memory", ""),
        ] {
            let mut key = Vec::new();
            node::key(metric, name.as_bytes(), &mut key);
            devices.of_machine(&key);
        }
        assert_eq!(devices.told(), 2);
        assert_eq!(devices.used("h"), []);
        for (pid, present, values) in [(7, 0b11, [30, 250_000]), (8, 0b01, [12, 0])] {
            let mut key = Vec::new();
            gpu::key(ProcessId::new(pid, Nanos(10)), "GPU-0", &mut key);
            devices.of_process(Row {
                key: &key,
                present,
                values: &values,
            });
        }
        let expected = Gpu {
            host: "h".to_owned(),
            device: "GPU-0".to_owned(),
            memory_peak: Some(42),
            busy_mean: Some(0.25),
            busy_peak: Some(0.25),
        };
        assert_eq!(devices.used("h"), [expected]);
    }
}
