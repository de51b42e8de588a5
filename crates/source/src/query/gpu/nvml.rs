//! The NVIDIA driver's library, loaded at run time: `libnvidia-ml.so.1`, the name that driver
//! packages and containers have (the one without a number belongs to development packages).

use super::device::{GpuAccount, GpuProcess, GpuSample};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::collections::BTreeMap;

/// No machine has more devices.
const DEVICES_MAX: u32 = 256;

/// A session with the library.
pub(super) struct Library {
    nvml: Nvml,
    /// Time of the latest utilisation sample seen, by device, microseconds of the driver's clock.
    seen: BTreeMap<String, u64>,
}

impl Library {
    /// Loads the library; `NoDevice` where there is none, or no driver.
    pub(super) fn load() -> Result<Self, Absent> {
        let nvml = Nvml::builder()
            .lib_path("libnvidia-ml.so.1".as_ref())
            .init()
            .map_err(|error| absent(&error))?;
        if nvml.device_count().map_err(|error| absent(&error))? == 0 {
            return Err(Absent::NoDevice);
        }
        Ok(Self {
            nvml,
            seen: BTreeMap::new(),
        })
    }

    /// Every device with its processes. A device that cannot be asked (fallen off the bus) is left
    /// out.
    pub(super) fn sample(&mut self) -> Vec<GpuSample> {
        let count = self.nvml.device_count().unwrap_or(0).min(DEVICES_MAX);
        let mut samples = Vec::new();
        for index in 0..count {
            let Ok(device) = self.nvml.device_by_index(index) else {
                continue;
            };
            let Ok(id) = device.uuid() else { continue };
            let seen = self.seen.entry(id.clone()).or_default();
            let processes = processes(&device, seen);
            let memory = device.memory_info().ok();
            samples.push(GpuSample {
                id,
                name: device.name().ok(),
                busy: device
                    .utilization_rates()
                    .ok()
                    .map(|rates| share(rates.gpu)),
                memory_used: memory.as_ref().map(|memory| Bytes(memory.used)),
                memory_total: memory.as_ref().map(|memory| Bytes(memory.total)),
                accounting: device.is_accounting_enabled().ok(),
                processes,
            });
        }
        samples
    }

    /// The accounts of `pid` on every device that keeps them.
    pub(super) fn accounts(&self, pid: u32) -> Vec<GpuAccount> {
        let count = self.nvml.device_count().unwrap_or(0).min(DEVICES_MAX);
        let account = |index| {
            let device = self.nvml.device_by_index(index).ok()?;
            // `NotFound` for a process that was not on this device, `NotSupported` where no
            // accounts are kept.
            let stats = device.accounting_stats_for(pid).ok()?;
            Some(GpuAccount {
                device: device.uuid().ok()?,
                pid,
                memory_peak: stats.max_memory_usage.map(Bytes),
                busy: stats.gpu_utilization.map(share),
                open_for: (stats.time > 0).then(|| Nanos::from_millis(stats.time)),
            })
        };
        (0..count).filter_map(account).collect()
    }
}

/// Compute and graphics processes, each once, with the latest share of time of each.
fn processes(device: &Device<'_>, seen: &mut u64) -> Vec<GpuProcess> {
    let mut processes: BTreeMap<u32, GpuProcess> = BTreeMap::new();
    // A device that does not tell has no processes to show: graphics cards of some drivers, MIG
    // instances.
    let running = device.running_compute_processes().unwrap_or_default();
    let drawing = device.running_graphics_processes().unwrap_or_default();
    for info in running.into_iter().chain(drawing) {
        let memory = match info.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(Bytes(bytes)),
            UsedGpuMemory::Unavailable => None,
        };
        let process = processes.entry(info.pid).or_default();
        process.pid = info.pid;
        process.memory = process.memory.max(memory);
    }
    let mut samples = device.process_utilization_stats(*seen).unwrap_or_default();
    samples.sort_by_key(|sample| sample.timestamp);
    for sample in samples {
        *seen = (*seen).max(sample.timestamp);
        if let Some(process) = processes.get_mut(&sample.pid) {
            process.busy = Some(share(sample.sm_util));
        }
    }
    processes.into_values().collect()
}

fn share(percent: u32) -> f64 {
    f64::from(percent.min(100)) / 100.0
}

fn absent(error: &NvmlError) -> Absent {
    match error {
        NvmlError::NoPermission => Absent::NoPermission,
        NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_) => Absent::NoKernelSupport,
        _ => Absent::NoDevice,
    }
}
