//! What an agent asks the driver's library: all that a device tells, its parts (MIG), and who is on
//! them. A library that lacks a function tells the rest.

use super::machine::{FIELDS, bounded, in_base_units, of_process};
use super::nvml::{Library, Look};
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use record::gpu::{GpuDevice, GpuMachine, GpuUse};
use std::collections::{BTreeMap, BTreeSet};

/// Parts of a device, at most.
const PARTS_MAX: u32 = 32;
/// `NVML_FI_DEV_PCIE_COUNT_TX_BYTES` and `..._RX_BYTES`.
const PCIE_BYTES: [FieldId; 2] = [FieldId(197), FieldId(198)];
const MIG_ENABLED: u32 = 1;

impl Library {
    /// Every device, each followed by its parts.
    pub(super) fn machine(&mut self) -> GpuMachine {
        let mut looks = std::mem::take(&mut self.looks);
        let mut all = Vec::new();
        for device in self.devices() {
            let Ok(id) = device.uuid() else { continue };
            let parts = parts(&device, &id, &mut looks);
            // The device lists who is on its parts, too.
            let on_parts: BTreeSet<u32> = parts
                .iter()
                .flat_map(|part| part.processes.iter().map(|process| process.pid))
                .collect();
            let mut processes = on(&device, &id, &mut looks);
            processes.retain(|process| !on_parts.contains(&process.pid));
            all.push(GpuDevice {
                values: in_base_units(numbers(&device).into_iter()),
                instance: id,
                processes,
            });
            all.extend(parts);
        }
        self.looks = looks;
        bounded(all)
    }
}

/// The parts of a device that is divided.
fn parts(device: &Device<'_>, id: &str, looks: &mut BTreeMap<String, Look>) -> Vec<GpuDevice> {
    let is_divided = device
        .mig_mode()
        .is_ok_and(|mode| mode.current == MIG_ENABLED);
    let count = match is_divided {
        true => device.mig_device_count().unwrap_or(0).min(PARTS_MAX),
        false => 0,
    };
    let part = |index| {
        let part = device.mig_device_by_index(index).ok()?;
        let own = part.uuid().ok()?;
        let memory = part.memory_info().ok();
        // The rest is the device's alone.
        let told = [
            None,
            memory.as_ref().map(|it| it.used),
            memory.map(|it| it.total),
        ];
        let instance = format!("{id} {own}");
        Some(GpuDevice {
            values: in_base_units(told.into_iter()),
            processes: on(&part, &instance, looks),
            instance,
        })
    };
    (0..count).filter_map(part).collect()
}

fn on(device: &Device<'_>, instance: &str, looks: &mut BTreeMap<String, Look>) -> Vec<GpuUse> {
    let look = looks.entry(instance.to_owned());
    let look = look.or_insert_with(|| Look::first(device));
    let (_, processes) = look.again(device);
    processes.iter().map(of_process).collect()
}

/// The driver's numbers, in the order of [`FIELDS`].
fn numbers(device: &Device<'_>) -> [Option<u64>; FIELDS.len()] {
    let rates = device.utilization_rates().ok();
    let memory = device.memory_info().ok();
    let errors = |which| device.total_ecc_errors(which, EccCounter::Volatile).ok();
    let clock = |which| device.clock_info(which).ok().map(u64::from);
    let [sent, received] = pcie_bytes(device);
    [
        rates.as_ref().map(|rates| rates.gpu.min(100).into()),
        memory.as_ref().map(|memory| memory.used),
        memory.as_ref().map(|memory| memory.total),
        rates.as_ref().map(|rates| rates.memory.min(100).into()),
        device.total_energy_consumption().ok(),
        device.power_usage().ok().map(u64::from),
        device
            .temperature(TemperatureSensor::Gpu)
            .ok()
            .map(u64::from),
        clock(Clock::SM),
        clock(Clock::Memory),
        errors(MemoryError::Corrected),
        errors(MemoryError::Uncorrected),
        sent,
        received,
        device.pcie_replay_counter().ok().map(u64::from),
    ]
}

/// Bytes sent and received; newer drivers count them.
fn pcie_bytes(device: &Device<'_>) -> [Option<u64>; 2] {
    let told = device.field_values_for(&PCIE_BYTES).unwrap_or_default();
    let mut told = told
        .into_iter()
        .map(|sample| match sample.ok()?.value.ok()? {
            SampleValue::U64(bytes) => Some(bytes),
            SampleValue::U32(bytes) => Some(bytes.into()),
            SampleValue::I64(_) | SampleValue::F64(_) => None,
        });
    [told.next().flatten(), told.next().flatten()]
}

#[cfg(test)]
mod tests {
    use super::super::nvml::stand_in;
    use super::*;
    use record::unit::Bytes;

    fn told(device: &GpuDevice) -> BTreeMap<&'static str, u64> {
        let named = FIELDS.iter().zip(&device.values);
        let known = named.filter_map(|(field, value)| Some((field.metric.name, (*value)?)));
        known.collect()
    }

    #[test]
    fn devices_their_parts_and_who_is_on_them_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut library = stand_in(folder.path(), &[]);
        let machine = library.machine();
        let instances: Vec<_> = machine.devices.iter().map(|it| &it.instance).collect();
        assert_eq!(instances, ["GPU-0", "GPU-1", "GPU-1 MIG-1-0"]);
        let [first, divided, part] = machine.devices.as_slice() else {
            panic!("{machine:?}");
        };
        let all = BTreeMap::from([
            ("gpu_device_busy", 700_000),
            ("gpu_device_memory_used", 800 << 20),
            ("gpu_device_memory", 16 << 30),
            ("gpu_device_memory_busy", 50_000),
            ("gpu_device_energy", 1_000_000),
            ("gpu_device_power", 250_500_000),
            ("gpu_device_temperature", 61_000),
            ("gpu_device_clock", 1_410_000_000),
            ("gpu_device_memory_clock", 1_593_000_000),
            ("gpu_device_errors_corrected", 3),
            ("gpu_device_errors_uncorrected", 1),
            ("gpu_device_pcie_sent", (1 << 40) + 1),
            ("gpu_device_pcie_received", (1 << 41) + 1),
            ("gpu_device_pcie_replays", 2),
        ]);
        assert_eq!(told(first), all);
        let process = |pid, mib, busy_millionths| GpuUse {
            pid,
            memory: Some(Bytes::from_mib(mib)),
            busy_millionths,
        };
        let both = [process(7, 700, Some(500_000)), process(8, 100, Some(0))];
        assert_eq!(first.processes, both);
        assert_eq!(divided.processes, [], "on its part");
        assert_eq!(part.processes, [process(9, 300, None)]);
        let memory = BTreeMap::from([
            ("gpu_device_memory_used", 300 << 20),
            ("gpu_device_memory", 5 << 30),
        ]);
        assert_eq!(told(part), memory);
        let next = told(&library.machine().devices[0]);
        assert_eq!(next.get("gpu_device_energy"), Some(&2_000_000));
    }

    #[test]
    fn an_older_library_tells_what_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let mut library = stand_in(folder.path(), &["-DOLDER"]);
        let machine = library.machine();
        assert_eq!(machine.devices.len(), 2);
        let first = told(&machine.devices[0]);
        assert_eq!(first.get("gpu_device_power"), Some(&250_500_000));
        for newer in [
            "gpu_device_memory",
            "gpu_device_energy",
            "gpu_device_pcie_sent",
        ] {
            assert_eq!(first.get(newer), None, "{newer}");
        }
        assert_eq!(machine.devices[0].processes, []);
    }
}
