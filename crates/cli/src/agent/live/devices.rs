//! What the devices of NVIDIA tell: who is on them by the last readings of theirs.
//!
//! A reading of devices is written a while after that of everyone to whose instant it belongs, its
//! values of the machine behind its processes: where these come alone nobody is on a device any
//! more, so that who has left one is no longer told to be on it.

use super::machine::STAYS_NS;
use super::picture::Key;
use crate::live::device;
use record::codec::series::Row;
use record::table::gpu;
use std::collections::VecDeque;

/// Readings that are kept: of two of everyone, and what a driver was late with.
const READINGS_MAX: usize = 4;
/// Rows of one that are kept.
const ROWS_MAX: usize = 1 << 14;

/// A process on a device.
#[derive(Debug)]
pub(super) struct OnDevice {
    key: Box<[u8]>,
    present: u128,
    values: [i64; gpu::COLUMN_COUNT],
}

/// Who was on one at one instant.
#[derive(Debug)]
pub(super) struct Reading {
    /// Since boot.
    pub(super) at_ns: u64,
    pub(super) rows: Vec<OnDevice>,
}

/// The last readings.
#[derive(Debug, Default)]
pub(super) struct Devices(VecDeque<Reading>);

impl OnDevice {
    /// Its process.
    pub(super) fn process(&self) -> Option<Key> {
        self.key.first_chunk().copied()
    }

    pub(super) fn row(&self) -> Row<'_> {
        Row {
            key: &self.key,
            present: self.present,
            values: &self.values,
        }
    }
}

impl Devices {
    /// A value of the machine was read then: those of other makers' devices are told with each
    /// reading of everyone.
    pub(super) fn value(&mut self, key: &[u8], at_ns: u64) {
        if self.is_later(at_ns) && device::name(key).is_some() {
            self.begin(at_ns);
        }
    }

    /// A process was on a device then.
    pub(super) fn row(&mut self, row: Row<'_>, at_ns: u64) {
        if self.is_later(at_ns) {
            self.begin(at_ns);
        }
        let (Some(reading), Ok(values)) = (self.0.back_mut(), row.values.try_into()) else {
            return;
        };
        if at_ns == reading.at_ns && reading.rows.len() < ROWS_MAX {
            reading.rows.push(OnDevice {
                key: row.key.into(),
                present: row.present,
                values,
            });
        }
    }

    /// A reading of everyone is over: devices that nobody reads any more are told no longer.
    pub(super) fn settle(&mut self, at_ns: u64) {
        self.0
            .retain(|one| one.at_ns.saturating_add(STAYS_NS) >= at_ns);
    }

    /// The readings behind `at_ns`; `is_full`: the last one of them alone.
    pub(super) fn since(&self, at_ns: u64, is_full: bool) -> impl Iterator<Item = &Reading> {
        let passed = match is_full {
            true => self.0.len().saturating_sub(1),
            false => 0,
        };
        let all = self.0.iter().skip(passed);
        all.filter(move |one| one.at_ns > at_ns)
    }

    fn is_later(&self, at_ns: u64) -> bool {
        self.0.back().is_none_or(|last| at_ns > last.at_ns)
    }

    fn begin(&mut self, at_ns: u64) {
        if self.0.len() == READINGS_MAX {
            self.0.pop_front();
        }
        let rows = Vec::new();
        self.0.push_back(Reading { at_ns, rows });
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::pid;
    use super::*;
    use record::identity::ProcessId;
    use record::table::node;
    use record::unit::Nanos;

    fn is_on(devices: &mut Devices, pid: u32, at_ns: u64) {
        let mut key = Vec::new();
        gpu::key(ProcessId::new(pid, Nanos(10)), "GPU-0", &mut key);
        let row = Row {
            key: &key,
            present: 1,
            values: &[5, 0],
        };
        devices.row(row, at_ns);
    }

    fn is_read(devices: &mut Devices, (metric, name): (&str, &[u8]), at_ns: u64) {
        let mut key = Vec::new();
        node::key(metric, name, &mut key);
        devices.value(&key, at_ns);
    }

    fn told(devices: &Devices, at_ns: u64, is_full: bool) -> Vec<(u64, Vec<i64>)> {
        let readings = devices.since(at_ns, is_full);
        let pids = |one: &Reading| {
            let processes = one.rows.iter().filter_map(OnDevice::process);
            processes.map(|key| pid(&key)).collect()
        };
        readings.map(|one| (one.at_ns, pids(one))).collect()
    }

    #[test]
    fn each_reading_is_told_and_who_has_left_a_device_no_longer() {
        let mut devices = Devices::default();
        is_on(&mut devices, 7, 10);
        is_on(&mut devices, 8, 10);
        let busy = ("gpu_device_busy", &b"GPU-0"[..]);
        is_read(&mut devices, busy, 10);
        // Of everyone's reading.
        is_read(&mut devices, ("node_memory", b""), 20);
        is_read(&mut devices, ("gpu_device_busy", b"card0"), 20);
        assert_eq!(told(&devices, 0, true), [(10, vec![7, 8])]);
        assert_eq!(told(&devices, 10, false), []);
        is_read(&mut devices, busy, 20);
        assert_eq!(told(&devices, 0, true), [(20, vec![])]);
        is_on(&mut devices, 8, 20);
        // Late.
        is_on(&mut devices, 7, 10);
        assert_eq!(told(&devices, 0, true), [(20, vec![8])]);
        let both = [(10, vec![7, 8]), (20, vec![8])];
        assert_eq!(told(&devices, 0, false), both);
        let row = devices.since(10, false).next().unwrap().rows[0].row();
        assert_eq!((row.present, row.values), (1, &[5, 0][..]));
        devices.settle(11 + STAYS_NS);
        assert_eq!(told(&devices, 0, false), [(20, vec![8])]);
        devices.settle(21 + STAYS_NS);
        assert_eq!(told(&devices, 0, false), []);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut devices = Devices::default();
        for at_ns in 1..100 {
            is_on(&mut devices, 7, at_ns);
        }
        let kept: Vec<u64> = devices.since(0, false).map(|one| one.at_ns).collect();
        assert_eq!(kept, [96, 97, 98, 99]);
        for pid in 0..40_000 {
            is_on(&mut devices, pid, 100);
        }
        assert_eq!(devices.since(0, true).next().unwrap().rows.len(), ROWS_MAX);
    }
}
