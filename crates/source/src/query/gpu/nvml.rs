//! The NVIDIA driver's library, loaded at run time: `libnvidia-ml.so.1`, the name that driver
//! packages and containers have (the one without a number belongs to development packages).

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use record::gpu::{GpuAccount, GpuPids, GpuProcess, GpuSample};
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

/// No machine has more devices.
const DEVICES_MAX: u32 = 256;

/// A session with the library.
pub(super) struct Library {
    nvml: Nvml,
    /// Time of the latest utilisation sample seen, by device, microseconds of the driver's clock.
    pub(super) seen: BTreeMap<String, u64>,
    /// Pids of which there were accounts before we came.
    before: BTreeSet<u32>,
}

impl Library {
    /// Loads the library; `NoDevice` where there is none, or no driver.
    pub(super) fn load() -> Result<Self, Absent> {
        Self::load_from("libnvidia-ml.so.1".as_ref())
    }

    fn load_from(path: &OsStr) -> Result<Self, Absent> {
        let nvml = Nvml::builder()
            .lib_path(path)
            .init()
            .map_err(|error| absent(&error))?;
        if nvml.device_count().map_err(|error| absent(&error))? == 0 {
            return Err(Absent::NoDevice);
        }
        let mut library = Self {
            nvml,
            seen: BTreeMap::new(),
            before: BTreeSet::new(),
        };
        library.before = library.devices().flat_map(|d| accounted(&d)).collect();
        Ok(library)
    }

    /// The devices that answer: one that fell off the bus does not.
    pub(super) fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let count = self.nvml.device_count().unwrap_or(0).min(DEVICES_MAX);
        (0..count).filter_map(|index| self.nvml.device_by_index(index).ok())
    }

    /// Every device with its processes.
    pub(super) fn sample(&mut self) -> Vec<GpuSample> {
        let mut latest = std::mem::take(&mut self.seen);
        let mut samples = Vec::new();
        for device in self.devices() {
            let Ok(id) = device.uuid() else { continue };
            let processes = processes(&device, latest.entry(id.clone()).or_default());
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
        self.seen = latest;
        samples
    }

    /// The accounts on every device of pids seen there, and of others that had none before we came:
    /// the driver keeps the accounts of earlier processes of the same pid.
    pub(super) fn accounts(&self, pids: &GpuPids) -> Vec<GpuAccount> {
        let new = pids.others.iter().filter(|pid| !self.before.contains(pid));
        let wanted: BTreeSet<u32> = pids.seen.iter().chain(new).copied().collect();
        let mut accounts = Vec::new();
        for device in self.devices() {
            let Ok(id) = device.uuid() else { continue };
            let pids = accounted(&device);
            for pid in pids.into_iter().filter(|pid| wanted.contains(pid)) {
                let Ok(stats) = device.accounting_stats_for(pid) else {
                    continue;
                };
                accounts.push(GpuAccount {
                    device: id.clone(),
                    pid,
                    memory_peak: stats.max_memory_usage.map(Bytes),
                    busy: stats.gpu_utilization.map(share),
                    open_for: (stats.time > 0).then(|| Nanos::from_millis(stats.time)),
                });
            }
        }
        accounts
    }
}

/// The pids of which a device keeps accounts; none where it keeps no accounts.
fn accounted(device: &Device<'_>) -> Vec<u32> {
    if device.is_accounting_enabled().unwrap_or(false) {
        device.accounting_pids().unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// Compute and graphics processes, each once, with its mean share of the time since the last look.
pub(super) fn processes(device: &Device<'_>, seen: &mut u64) -> Vec<GpuProcess> {
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
    // The driver lists who worked since; where it lists nobody, nobody did.
    let samples = match device.process_utilization_stats(*seen) {
        Err(NvmlError::NotFound) => Vec::new(),
        Err(_) => return processes.into_values().collect(),
        Ok(samples) => samples,
    };
    let instants: BTreeSet<u64> = samples.iter().map(|sample| sample.timestamp).collect();
    for process in processes.values_mut() {
        let own = samples.iter().filter(|sample| sample.pid == process.pid);
        let sum: f64 = own.map(|sample| share(sample.sm_util)).sum();
        process.busy = Some(sum / instants.len().max(1) as f64);
    }
    *seen = instants.last().copied().unwrap_or_default().max(*seen);
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

/// The library of `tests/programs/nvml.c`, which says what it holds.
#[cfg(test)]
pub(super) fn stand_in(folder: &std::path::Path, options: &[&str]) -> Library {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/nvml.c");
    let library = folder.join("libnvidia-ml.so.1");
    let mut cc = std::process::Command::new("cc");
    let cc = cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let built = cc.arg(&library).args(options).arg(source).status();
    assert!(built.unwrap().success());
    Library::load_from(library.as_os_str()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_processes_and_accounts_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut library = stand_in(folder.path(), &[]);
        let devices = library.sample();
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].id, "GPU-0");
        assert_eq!(devices[0].memory_used, Some(Bytes::from_mib(800)));
        assert_eq!(devices[0].accounting, Some(true));
        let process = |pid, mib, busy| GpuProcess {
            pid,
            memory: Some(Bytes::from_mib(mib)),
            busy: Some(busy),
        };
        let both = [process(7, 700, 0.5), process(8, 100, 0.0)];
        assert_eq!(devices[0].processes, both);
        assert_eq!(
            (devices[1].accounting, devices[1].processes.len()),
            (Some(false), 1)
        );
        let idle = library.sample();
        assert_eq!(
            idle[0].processes[0].busy,
            Some(0.0),
            "no work since the last look"
        );
    }

    fn pids(seen: &[u32], others: &[u32]) -> GpuPids {
        GpuPids {
            seen: seen.to_vec(),
            others: others.to_vec(),
        }
    }

    #[test]
    fn an_account_from_before_counts_only_for_a_process_that_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let library = stand_in(folder.path(), &[]);
        assert_eq!(library.accounts(&pids(&[], &[7, 8])), []);
        let accounts = library.accounts(&pids(&[7], &[8, 9]));
        assert_eq!(accounts.len(), 1);
        assert_eq!(accounts[0].memory_peak, Some(Bytes::from_mib(900)));
        assert_eq!(accounts[0].gpu_time(), Some(Nanos::from_secs(2)));
    }

    #[test]
    fn a_library_that_is_not_there_is_no_device() {
        let missing = Library::load_from("/does/not/exist.so".as_ref());
        assert_eq!(missing.err(), Some(Absent::NoDevice));
    }
}
