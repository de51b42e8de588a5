//! NVIDIA's devices as an agent records them: which of the driver's numbers is which metric of the
//! machine, and who has what of a device.
//!
//! Whoever asks must be able to bear that the driver's library does not answer, or crashes.

use super::nvidia_smi;
use super::reader::Run;
use crate::node::fields::{Field, Scale, count, counter, gauge};
use record::gpu::{GpuDevice, GpuMachine, GpuProcess, GpuSample, GpuUse};
use record::unit::Unit;
use record::value::Absent;

/// Devices and their parts, at most, and processes on all of them; what is beyond is counted.
pub const DEVICES_MAX: usize = 512;
/// As above.
pub const PROCESSES_MAX: usize = 1024;
/// The longest name of a device that is kept, bytes.
const INSTANCE_BYTES_MAX: usize = 256;

/// Percent of a share.
const PERCENT: Scale = Scale::By(10_000);
const MEGA: Scale = Scale::By(1_000_000);
const MILLI: Scale = Scale::By(1000);

/// What a device tells, in the order of `GpuDevice::values`. A part of one tells its memory alone.
pub const FIELDS: &[Field] = &[
    gauge(
        "nvmlDeviceGetUtilizationRates gpu, nvidia-smi utilization.gpu",
        PERCENT,
        "gpu_device_busy",
        Unit::Millionths,
        "part of recent time in which the device was busy",
    ),
    gauge(
        "nvmlDeviceGetMemoryInfo_v2 used, nvidia-smi memory.used",
        Scale::One,
        "gpu_device_memory_used",
        Unit::Bytes,
        "memory of the device in use",
    ),
    gauge(
        "nvmlDeviceGetMemoryInfo_v2 total, nvidia-smi memory.total",
        Scale::One,
        "gpu_device_memory",
        Unit::Bytes,
        "memory of the device",
    ),
    gauge(
        "nvmlDeviceGetUtilizationRates memory",
        PERCENT,
        "gpu_device_memory_busy",
        Unit::Millionths,
        "part of recent time in which memory of the device was read or written",
    ),
    counter(
        "nvmlDeviceGetTotalEnergyConsumption",
        MILLI,
        "gpu_device_energy",
        Unit::Microjoules,
        "what the device used since the driver was loaded",
    ),
    gauge(
        "nvmlDeviceGetPowerUsage",
        MILLI,
        "gpu_device_power",
        Unit::Microwatts,
        "what the device draws",
    ),
    gauge(
        "nvmlDeviceGetTemperature",
        MILLI,
        "gpu_device_temperature",
        Unit::Millicelsius,
        "temperature of the processor",
    ),
    gauge(
        "nvmlDeviceGetClockInfo SM",
        MEGA,
        "gpu_device_clock",
        Unit::Hertz,
        "clock of the processors",
    ),
    gauge(
        "nvmlDeviceGetClockInfo MEM",
        MEGA,
        "gpu_device_memory_clock",
        Unit::Hertz,
        "clock of the memory",
    ),
    count(
        "nvmlDeviceGetTotalEccErrors corrected, volatile",
        "gpu_device_errors_corrected",
        "errors of memory that were corrected, since the driver was loaded",
    ),
    count(
        "nvmlDeviceGetTotalEccErrors uncorrected, volatile",
        "gpu_device_errors_uncorrected",
        "errors of memory that could not be corrected, since the driver was loaded",
    ),
    counter(
        "nvmlDeviceGetFieldValues PCIE_COUNT_TX_BYTES",
        Scale::One,
        "gpu_device_pcie_sent",
        Unit::Bytes,
        "bytes that the device sent over PCI Express; may wrap",
    ),
    counter(
        "nvmlDeviceGetFieldValues PCIE_COUNT_RX_BYTES",
        Scale::One,
        "gpu_device_pcie_received",
        Unit::Bytes,
        "bytes that the device received over PCI Express; may wrap",
    ),
    count(
        "nvmlDeviceGetPcieReplayCounter",
        "gpu_device_pcie_replays",
        "packets that were sent over PCI Express once more",
    ),
];

/// Asks the driver again and again.
pub struct MachineReader(Way);

enum Way {
    #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
    Library(Box<super::nvml::Library>),
    Program(Box<Run>),
}

impl MachineReader {
    /// By the driver's library, which is loaded into this process.
    ///
    /// # Errors
    /// `NoDevice` where there is no library, driver or device; `Off` in a program that cannot load
    /// one.
    #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
    pub fn by_library() -> Result<Self, Absent> {
        let library = super::nvml::Library::load()?;
        Ok(Self(Way::Library(Box::new(library))))
    }

    /// As above: this program cannot load one.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(all(feature = "nvml", not(target_feature = "crt-static"))))]
    pub const fn by_library() -> Result<Self, Absent> {
        Err(Absent::Off)
    }

    /// By the driver's program, which `run` starts and bounds; it tells less.
    ///
    /// # Errors
    /// `NoDevice` where it is not there, or tells of none.
    pub fn by_program(run: Box<Run>) -> Result<Self, Absent> {
        let mut reader = Self(Way::Program(run));
        match reader.read().devices.is_empty() {
            true => Err(Absent::NoDevice),
            false => Ok(reader),
        }
    }

    /// What it reads from, to name as the source.
    pub const fn source(&self) -> &'static str {
        match &self.0 {
            #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
            Way::Library(_) => "NVML",
            Way::Program(_) => nvidia_smi::PROGRAM,
        }
    }

    /// Every device with what it tells and who is on it.
    pub fn read(&mut self) -> GpuMachine {
        match &mut self.0 {
            #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
            Way::Library(library) => library.machine(),
            Way::Program(run) => {
                let ask = |arguments: &[&str]| run(nvidia_smi::PROGRAM, arguments);
                let devices = ask(&nvidia_smi::DEVICES).unwrap_or_default();
                let mut devices = nvidia_smi::parse_devices(&devices);
                let processes = ask(&nvidia_smi::PROCESSES).unwrap_or_default();
                nvidia_smi::parse_processes(&processes, &mut devices);
                bounded(devices.into_iter().map(of_sample).collect())
            }
        }
    }
}

/// The driver's numbers, in the order of [`FIELDS`], as values in base units.
pub(super) fn in_base_units(numbers: impl Iterator<Item = Option<u64>>) -> Vec<Option<u64>> {
    let one = |(number, field): (Option<u64>, &Field)| field.in_base_unit(number?);
    numbers.zip(FIELDS).map(one).collect()
}

/// What the program tells of a device.
fn of_sample(sample: GpuSample) -> GpuDevice {
    let percent = sample.busy.map(|busy| (busy * 100.0).round() as u64);
    let memory = [sample.memory_used, sample.memory_total];
    let told = [percent]
        .into_iter()
        .chain(memory.map(|bytes| bytes.map(|bytes| bytes.0)));
    GpuDevice {
        instance: sample.id,
        values: in_base_units(told),
        processes: sample.processes.iter().map(of_process).collect(),
    }
}

pub(super) fn of_process(process: &GpuProcess) -> GpuUse {
    GpuUse {
        pid: process.pid,
        memory: process.memory,
        busy_millionths: process.busy.map(|busy| (busy * 1e6).round() as u64),
    }
}

/// As many as are kept, with a count of the others.
pub(super) fn bounded(mut devices: Vec<GpuDevice>) -> GpuMachine {
    let before = devices.len();
    devices.truncate(DEVICES_MAX);
    devices.retain(|device| device.instance.len() <= INSTANCE_BYTES_MAX);
    let mut left_out = before - devices.len();
    let mut room = PROCESSES_MAX;
    for device in &mut devices {
        let there = device.processes.len();
        device.processes.truncate(room);
        room -= device.processes.len();
        left_out += there - device.processes.len();
    }
    GpuMachine {
        devices,
        left_out: left_out as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Bytes;

    #[test]
    fn what_the_program_tells_is_in_base_units() {
        let file = include_str!("../../../tests/fixtures/gpu/input");
        let run = move |_: &str, arguments: &[&str]| {
            let which = match *arguments.first()? {
                query if query.starts_with("--query-gpu") => 0,
                _ => 1,
            };
            file.split("--\n").nth(which).map(str::to_owned)
        };
        let mut reader = MachineReader::by_program(Box::new(run)).unwrap();
        let machine = reader.read();
        assert_eq!((machine.devices.len(), machine.left_out), (2, 0));
        let first = &machine.devices[0];
        assert_eq!(first.values[1], Some(1234 << 20));
        assert_eq!(first.processes.len(), 2);
        assert!(MachineReader::by_program(Box::new(|_, _| None)).is_err());
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let one = |processes| GpuDevice {
            instance: "GPU-0".to_owned(),
            values: Vec::new(),
            processes: vec![GpuUse::default(); processes],
        };
        let long = GpuDevice {
            instance: "x".repeat(INSTANCE_BYTES_MAX + 1),
            ..one(0)
        };
        let all = bounded(vec![one(PROCESSES_MAX - 1), one(3), long]);
        let counts: Vec<_> = all.devices.iter().map(|it| it.processes.len()).collect();
        assert_eq!((counts, all.left_out), (vec![PROCESSES_MAX - 1, 1], 3));
        assert_eq!(bounded(vec![one(0); DEVICES_MAX + 2]).left_out, 2);
    }

    #[test]
    fn a_share_keeps_its_millionths() {
        let process = GpuProcess {
            pid: 1,
            memory: Some(Bytes(3)),
            busy: Some(0.123_456),
        };
        assert_eq!(of_process(&process).busy_millionths, Some(123_456));
    }
}
