//! Whoever can tell of the machine's devices: the library, `nvidia-smi`, or /sys.

use super::{amd_sysfs, nvidia_smi};
use crate::root::Root;
use record::gpu::{GpuAccount, GpuPids, GpuReading, GpuSample};
use record::unit::Nanos;
use record::value::Absent;

/// Runs a program with arguments and returns what it printed; `None` if it is not there or failed.
/// The caller decides how, and bounds its time: this crate starts nothing.
pub type Run = dyn Fn(&str, &[&str]) -> Option<String> + Send;

/// Reads the machine's devices.
pub struct GpuReader {
    root: Root,
    way: Way,
}

enum Way {
    #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
    Library(Box<super::nvml::Library>),
    Program(Box<Run>),
    Sysfs,
}

impl GpuReader {
    /// Finds a way that works: the library, `nvidia-smi` (where `run` is given; it takes up to a
    /// second), /sys. `NoDevice` if none does.
    pub fn open(root: Root, run: Option<Box<Run>>) -> Result<Self, Absent> {
        #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
        if let Ok(library) = super::nvml::Library::load() {
            let way = Way::Library(Box::new(library));
            return Ok(Self { root, way });
        }
        if let Some(run) = run {
            let answer = run(nvidia_smi::PROGRAM, &nvidia_smi::DEVICES);
            if answer.is_some_and(|text| !nvidia_smi::parse_devices(&text).is_empty()) {
                let way = Way::Program(run);
                return Ok(Self { root, way });
            }
        }
        if amd_sysfs::read(&root).is_empty() {
            return Err(Absent::NoDevice);
        }
        let way = Way::Sysfs;
        Ok(Self { root, way })
    }

    /// What it reads from, to name as the source.
    pub fn source(&self) -> &'static str {
        match &self.way {
            #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
            Way::Library(_) => "NVML",
            Way::Program(_) => "nvidia-smi",
            Way::Sysfs => "/sys/class/drm",
        }
    }

    /// Whether an answer takes milliseconds, not up to a second.
    pub fn is_quick(&self) -> bool {
        !matches!(self.way, Way::Program(_))
    }

    /// Every device with its processes, read at `at`.
    pub fn read(&mut self, at: Nanos) -> GpuReading {
        GpuReading {
            at,
            source: self.source().to_owned(),
            foreign_pids: !sys::process::in_first_pid_namespace(),
            devices: self.sample(),
        }
    }

    /// Every device with its processes.
    pub fn sample(&mut self) -> Vec<GpuSample> {
        match &mut self.way {
            #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
            Way::Library(library) => library.sample(),
            Way::Program(run) => {
                let ask = |arguments: &[&str]| run(nvidia_smi::PROGRAM, arguments);
                let devices = ask(&nvidia_smi::DEVICES).unwrap_or_default();
                let mut devices = nvidia_smi::parse_devices(&devices);
                let processes = ask(&nvidia_smi::PROCESSES).unwrap_or_default();
                nvidia_smi::parse_processes(&processes, &mut devices);
                devices
            }
            Way::Sysfs => amd_sysfs::read(&self.root),
        }
    }

    /// The driver's accounts of processes that were seen on a device, and of others unless an
    /// account of their pid was there before we were. Empty where accounting mode is off.
    pub fn accounts(&self, pids: &GpuPids) -> Vec<GpuAccount> {
        match &self.way {
            #[cfg(all(feature = "nvml", not(target_feature = "crt-static")))]
            Way::Library(library) => library.accounts(pids),
            Way::Program(run) => {
                let answer = run(nvidia_smi::PROGRAM, &nvidia_smi::ACCOUNTS).unwrap_or_default();
                let mut accounts = nvidia_smi::parse_accounts(&answer);
                accounts.retain(|account| pids.seen.contains(&account.pid));
                accounts
            }
            Way::Sysfs => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::{Bytes, Nanos};
    use std::path::Path;

    fn recorded(_program: &str, arguments: &[&str]) -> Option<String> {
        let file = include_str!("../../../tests/fixtures/gpu/input");
        let which = match *arguments.first()? {
            query if query.starts_with("--query-gpu") => 0,
            query if query.starts_with("--query-compute-apps") => 1,
            _ => 2,
        };
        file.split("--\n").nth(which).map(str::to_owned)
    }

    #[test]
    fn without_a_device_the_reason_is_said() {
        let nowhere = || Root::at(Path::new("/nowhere"));
        if Path::new("/dev/nvidiactl").exists() {
            println!("skipped: this machine has a device");
            return;
        }
        let silent: Box<Run> = Box::new(|_, _| None);
        let opened = GpuReader::open(nowhere(), Some(silent));
        assert_eq!(opened.err(), Some(Absent::NoDevice));
        assert_eq!(
            GpuReader::open(nowhere(), None).err(),
            Some(Absent::NoDevice)
        );
    }

    #[test]
    fn the_answers_of_the_program_are_put_together() {
        let mut reader = GpuReader {
            root: Root::default(),
            way: Way::Program(Box::new(recorded)),
        };
        let devices = reader.sample();
        assert_eq!(devices.len(), 2);
        let first = devices.first().unwrap();
        assert_eq!(first.processes.len(), 2);
        assert_eq!(first.memory_used, Some(Bytes(1234 << 20)));
        let accounts = reader.accounts(&GpuPids {
            seen: vec![4711],
            others: Vec::new(),
        });
        assert_eq!(accounts.len(), 1);
        assert_eq!(accounts[0].gpu_time(), Some(Nanos::from_millis(3000)));
    }
}
