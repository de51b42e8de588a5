//! Probe of the library for NVIDIA devices.

use super::{Outcome, Probe};
use record::value::Absent;
use std::path::Path;

pub(super) const PROBES: &[Probe] = &[Probe {
    name: "NVML",
    gives: "GPU time and memory of the task's processes",
    allow: "read and write access to /dev/nvidiactl",
    needs: "an NVIDIA device with its driver and libnvidia-ml.so.1",
    attempt: |_| nvml(),
}];

fn nvml() -> Outcome {
    if !Path::new("/dev/nvidiactl").exists() {
        return Outcome::not(Absent::NoDevice, "no /dev/nvidiactl");
    }
    let devices = nvml_wrapper::Nvml::init().and_then(|library| library.device_count());
    match devices {
        Ok(0) => Outcome::not(Absent::NoDevice, "the library sees no device"),
        Ok(count) => Outcome::with(format!("{count} devices")),
        Err(error) => Outcome::not(why_not(&error), error.to_string()),
    }
}

fn why_not(error: &nvml_wrapper::error::NvmlError) -> Absent {
    match error {
        nvml_wrapper::error::NvmlError::NoPermission => Absent::NoPermission,
        _ => Absent::NoDevice,
    }
}
