//! What is known of devices and of the processes on them, whoever tells.

use crate::query::source::Source;
use record::metric::{Kind, Metric, Scope};
use record::unit::Unit;

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

/// Its row of the table of sources: the text of `nvidia-smi`.
pub const SOURCE: Source = Source {
    name: "gpu",
    file: "nvidia-smi --query-gpu, --query-compute-apps, --query-accounted-apps",
    metrics: METRICS,
    digest: super::nvidia_smi::digest,
};
