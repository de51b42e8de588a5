//! Probe of whoever can tell of graphics processors.

use super::{Outcome, Probe};
use record::value::Absent;
use source::query::gpu::GpuReader;
use source::root::Root;
use std::path::Path;

pub(super) const PROBES: &[Probe] = &[Probe {
    name: "GPU library",
    gives: "GPU time and memory of the task's processes",
    allow: "read and write access to /dev/nvidiactl",
    needs: "a device with its driver; for NVIDIA libnvidia-ml.so.1 too",
    attempt: |_| library(),
}];

fn library() -> Outcome {
    // The program nvidia-smi is not asked here: it may take a second to answer.
    match GpuReader::open(Root::default(), None) {
        Ok(mut reader) => match reader.sample().len() {
            0 => Outcome::not(
                Absent::NoDevice,
                format!("{} sees no device", reader.source()),
            ),
            count => Outcome::with(format!("{} sees {count}", reader.source())),
        },
        Err(_) if Path::new("/dev/nvidiactl").exists() => Outcome::not(
            Absent::NoKernelSupport,
            "there is a driver, but its library cannot be loaded",
        )
        .remedied_by("libnvidia-ml.so.1, or nvidia-smi, which run asks instead"),
        Err(reason) => Outcome::not(reason, "no /dev/nvidiactl, no AMD device in /sys/class/drm"),
    }
}
