//! What is known of a device and of the processes on it, whoever tells.

use crate::query::source::Source;
use record::metric::{Kind, Metric, Scope};
use record::unit::{Bytes, Nanos, Unit};

/// What the readers of this folder yield.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "gpu_memory",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        scope: Scope::Process,
        origin: "nvmlDeviceGetComputeRunningProcesses, nvidia-smi used_gpu_memory",
        since: "any",
        method: "sampled",
        doc: "device memory of the process",
    },
    Metric {
        name: "gpu_memory_peak",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        scope: Scope::Process,
        origin: "nvmlDeviceGetAccountingStats maxMemoryUsage",
        since: "any",
        method: "exact, where accounting mode is on",
        doc: "highest device memory of the process",
    },
    Metric {
        name: "gpu_time",
        kind: Kind::Counter,
        unit: Unit::Nanoseconds,
        scope: Scope::Process,
        origin: "nvmlDeviceGetAccountingStats time x gpuUtilization",
        since: "any",
        method: "exact to a percent of its life, where accounting mode is on",
        doc: "time in which a kernel of the process ran on the device",
    },
];

/// One device at one instant; `None` for what it does not tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuSample {
    /// Identity of the device: its UUID, or its PCI address.
    pub id: String,
    /// Its name, for people.
    pub name: Option<String>,
    /// Share of recent time (a driver's choice, up to a second) in which it was busy, 1.0 = all of
    /// it.
    pub busy: Option<f64>,
    /// Memory in use by everybody.
    pub memory_used: Option<Bytes>,
    /// Memory that it has.
    pub memory_total: Option<Bytes>,
    /// Whether the driver keeps accounts of ended processes.
    pub accounting: Option<bool>,
    /// Processes on it that we may see, by the driver's pid (of the root namespace).
    pub processes: Vec<GpuProcess>,
}

/// One process on a device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GpuProcess {
    /// Process id.
    pub pid: u32,
    /// Device memory.
    pub memory: Option<Bytes>,
    /// Share of recent time in which its kernels ran.
    pub busy: Option<f64>,
}

/// What the driver's accounts say of one process on one device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuAccount {
    /// The device.
    pub device: String,
    /// Process id.
    pub pid: u32,
    /// Highest device memory.
    pub memory_peak: Option<Bytes>,
    /// Share of its life in which a kernel of it ran.
    pub busy: Option<f64>,
    /// How long it had the device open; absent while it runs.
    pub open_for: Option<Nanos>,
}

impl GpuAccount {
    /// Time in which a kernel of it ran, to a percent of its life.
    pub fn gpu_time(&self) -> Option<Nanos> {
        let nanos = self.open_for?.0 as f64 * self.busy?;
        Some(Nanos(nanos as u64))
    }
}

/// Its row of the table of sources: the text of `nvidia-smi`.
pub const SOURCE: Source = Source {
    name: "gpu",
    file: "nvidia-smi --query-gpu, --query-compute-apps, --query-accounted-apps",
    metrics: METRICS,
    digest: super::nvidia_smi::digest,
};
