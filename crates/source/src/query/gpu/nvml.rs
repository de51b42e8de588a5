//! The NVIDIA driver's library, loaded at run time: `libnvidia-ml.so.1`, the name that driver
//! packages and containers have (the one without a number belongs to development packages).

use super::shares::{Sampled, divide, mean};
use nvml_wrapper::enum_wrappers::device::Sampling;
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use record::gpu::{GpuAccount, GpuPids, GpuProcess, GpuSample};
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

/// No machine has more devices.
const DEVICES_MAX: u32 = 256;

/// What a look at a device leaves for the next one.
#[derive(Debug)]
pub(super) struct Look {
    /// Time of the newest sample of the device, microseconds of the driver's clock.
    until: u64,
    /// Who was on it, with the share that each had.
    on_it: BTreeMap<u32, f64>,
}

/// A session with the library.
pub(super) struct Library {
    nvml: Nvml,
    /// The last look at each device.
    pub(super) looks: BTreeMap<String, Look>,
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
            looks: BTreeMap::new(),
            before: BTreeSet::new(),
        };
        library.before = library.devices().flat_map(|d| accounted(&d)).collect();
        let looks = library.devices().filter_map(|device| {
            let id = device.uuid().ok()?;
            Some((id, Look::first(&device)))
        });
        library.looks = looks.collect();
        Ok(library)
    }

    /// The devices that answer: one that fell off the bus does not.
    pub(super) fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let count = self.nvml.device_count().unwrap_or(0).min(DEVICES_MAX);
        (0..count).filter_map(|index| self.nvml.device_by_index(index).ok())
    }

    /// Every device with its processes.
    pub(super) fn sample(&mut self) -> Vec<GpuSample> {
        let mut looks = std::mem::take(&mut self.looks);
        let mut samples = Vec::new();
        for device in self.devices() {
            let Ok(id) = device.uuid() else { continue };
            let look = looks.entry(id.clone());
            let look = look.or_insert_with(|| Look::first(&device));
            let (busy, processes) = look.again(&device);
            let recent = || Some(share(device.utilization_rates().ok()?.gpu));
            let memory = device.memory_info().ok();
            samples.push(GpuSample {
                id,
                name: device.name().ok(),
                busy: busy.or_else(recent),
                memory_used: memory.as_ref().map(|memory| Bytes(memory.used)),
                memory_total: memory.as_ref().map(|memory| Bytes(memory.total)),
                accounting: device.is_accounting_enabled().ok(),
                processes,
            });
        }
        self.looks = looks;
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

impl Look {
    /// The beginning: what was done before is nobody's.
    pub(super) fn first(device: &Device<'_>) -> Self {
        let (_, until) = busy_since(device, 0).unwrap_or_default();
        Self {
            until,
            on_it: BTreeMap::new(),
        }
    }

    /// The share of the time since the last look in which the device was busy, if it tells; compute
    /// and graphics processes, each once, with its part of that. Those that were there at the last
    /// look and ended come with the part that is left, and without memory.
    pub(super) fn again(&mut self, device: &Device<'_>) -> (Option<f64>, Vec<GpuProcess>) {
        let mut processes = running(device);
        let since = self.until;
        // The driver lists who worked since; where it lists nobody, nobody who lives did.
        let told = match device.process_utilization_stats(since) {
            Err(NvmlError::NotFound) => Some(Vec::new()),
            told => told.ok(),
        };
        let sampled = busy_since(device, since);
        let busy = sampled.and_then(|(busy, _)| busy);
        let newest = told.iter().flatten().map(|sample| sample.timestamp).max();
        let until = sampled.map(|(_, until)| until).or(newest);
        self.until = until.unwrap_or_default().max(since);
        let Some(told) = told else {
            return (busy, processes.into_values().collect());
        };
        let told = told.iter().map(|one| (one.pid, share(one.sm_util)));
        let shares = divide(
            busy,
            told,
            &processes.keys().copied().collect(),
            &self.on_it,
        );
        self.on_it = shares.clone();
        self.on_it.retain(|pid, _| processes.contains_key(pid));
        for (pid, share) in shares {
            let process = processes.entry(pid).or_default();
            (process.pid, process.busy) = (pid, Some(share));
        }
        (busy, processes.into_values().collect())
    }
}

/// Compute and graphics processes of a device, each once.
fn running(device: &Device<'_>) -> BTreeMap<u32, GpuProcess> {
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
    processes
}

/// The share of the time after `since` in which the device was busy, and when that time ends; a
/// share of no time is not told. Nothing where the device has no such samples.
fn busy_since(device: &Device<'_>, since: u64) -> Option<(Option<f64>, u64)> {
    let samples = match device.samples(Sampling::GpuUtilization, since) {
        Err(NvmlError::NotFound) => Vec::new(),
        samples => samples.ok()?,
    };
    let samples = samples.iter().map(|sample| Sampled {
        at: sample.timestamp,
        share: match sample.value {
            SampleValue::U32(percent) => share(percent),
            SampleValue::U64(percent) => share(percent.min(100) as u32),
            SampleValue::I64(percent) => percent.clamp(0, 100) as f64 / 100.0,
            SampleValue::F64(percent) => (percent / 100.0).clamp(0.0, 1.0),
        },
    });
    Some(mean(samples, since))
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
