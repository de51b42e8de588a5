//! Graphics processors: what a driver tells of a device, of the processes on it, and in its
//! accounts of ended ones.

use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// All devices at one instant, and who told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuReading {
    /// When.
    pub at: Nanos,
    /// What was asked: `NVML`, `nvidia-smi`, a folder.
    pub source: String,
    /// Whether the driver's pids are of another namespace than ours, so that nobody can say which
    /// processes are the task's.
    pub foreign_pids: bool,
    /// The devices that we may see.
    pub devices: Vec<GpuSample>,
}

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

/// Processes of a task, as far as a driver may have accounts of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuPids {
    /// Seen on a device.
    pub seen: Vec<u32>,
    /// Not seen on one.
    pub others: Vec<u32>,
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

/// The devices of a machine at one instant, as an agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuMachine {
    /// The devices, each followed by the parts that it is divided into.
    pub devices: Vec<GpuDevice>,
    /// Devices and processes beyond what is kept.
    pub left_out: u64,
}

/// A device, or a part of one that has memory and processors of its own (MIG).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuDevice {
    /// UUID of the device; of a part that, a blank, and its own.
    pub instance: String,
    /// What it tells, in the order of whoever reads; `None` for what it does not.
    pub values: Vec<Option<u64>>,
    /// Processes on it, each once, by the driver's pids.
    pub processes: Vec<GpuUse>,
}

/// What a process has of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuUse {
    /// The driver's pid of it.
    pub pid: u32,
    /// Device memory.
    pub memory: Option<Bytes>,
    /// Part of the time since the last look in which its kernels ran, millionths.
    pub busy_millionths: Option<u64>,
}
