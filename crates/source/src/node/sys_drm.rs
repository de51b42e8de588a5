//! `/sys/class/drm/cardN/device`: AMD's devices, how busy they are and their memory.

use super::fields::{Field, Scale, gauge};
use super::kept::Opener;
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::gpu::amd_sysfs;
use crate::root::Root;
use record::unit::{Nanos, Unit};
use record::value::Absent;

const BUSY: Field = gauge(
    "gpu_busy_percent",
    Scale::One,
    "gpu_device_busy",
    Unit::Millionths,
    "part of recent time in which the device was busy",
);
const USED: Field = gauge(
    "mem_info_vram_used",
    Scale::One,
    "gpu_device_memory_used",
    Unit::Bytes,
    "memory of the device in use",
);
const TOTAL: Field = gauge(
    "mem_info_vram_total",
    Scale::One,
    "gpu_device_memory",
    Unit::Bytes,
    "memory of the device",
);

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_drm",
    file: "/sys/class/drm/cardN/device",
    fields: &[&[BUSY, USED, TOTAL]],
    tried: Tried::FixtureOnly,
    period: Nanos(0),
    listed: true,
    open,
};

struct Cards(Root);

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let root = opener.root().clone();
    match amd_sysfs::read(&root).is_empty() {
        true => Err(Absent::NoDevice),
        false => Ok(Box::new(Cards(root))),
    }
}

impl Reading for Cards {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        for device in amd_sysfs::read(&self.0) {
            let instance = device.id.as_bytes();
            let busy = device.busy.map(|busy| (busy * 1e6).round() as u64);
            let used = device.memory_used.map(|bytes| bytes.0);
            let total = device.memory_total.map(|bytes| bytes.0);
            for (field, value) in [(BUSY, busy), (USED, used), (TOTAL, total)] {
                if let Some(value) = value {
                    field.put(rows, instance, value);
                }
            }
        }
        Ok(())
    }
}
