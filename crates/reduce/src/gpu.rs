//! What the task did on graphics processors: its part of samples of the devices, corrected by the
//! driver's accounts of its ended processes.

use crate::metric::METRICS;
use crate::pass::Peak;
use crate::tree::Tree;
use crate::usage::at_instant;
use record::gpu::{GpuAccount, GpuPids, GpuReading, GpuSample};
use record::metric::Metric;
use record::report::{Gpu, Usage};
use record::unit::Nanos;
use record::value::{Absent, Field, Method, Number, Value};
use std::collections::{BTreeMap, BTreeSet};

/// No machine has more.
const DEVICES_MAX: usize = 256;
/// Processes on one device whose accounts are taken.
const ACCOUNTS_MAX: usize = 4096;

/// All devices of the task.
#[derive(Debug, Default)]
pub(crate) struct Gpus {
    /// Why nothing is known, while there is no reading.
    absent: Option<Absent>,
    source: String,
    /// The driver's pids say nothing about whose they are: everybody's use stands for the task's.
    foreign: bool,
    readings: u64,
    /// Devices in the latest one.
    there: u64,
    first: Nanos,
    last: Nanos,
    /// Memory on all devices at one instant.
    memory: Peak,
    devices: BTreeMap<String, Device>,
}

#[derive(Debug, Default)]
struct Device {
    name: Option<String>,
    /// Processes of the task seen on it.
    seen: BTreeSet<u32>,
    busy_ns: f64,
    busy_known: bool,
    memory: Peak,
    accounts: BTreeMap<u32, GpuAccount>,
}

/// A number and how it was had.
type Known = (u64, Method);

impl Tree {
    /// Why nothing is known of GPUs.
    pub fn gpu_absent(&mut self, reason: Absent) {
        self.gpus.absent = Some(reason);
    }

    /// All devices at one instant; the task's processes on them count.
    pub fn gpu_reading(&mut self, reading: &GpuReading) {
        let ours = |pid: u32| self.living.contains_key(&pid) || self.dead.has(pid);
        self.gpus.read(reading, self.start, ours);
    }

    /// How many devices there were to use in the latest reading, and who told.
    pub fn gpu_devices(&self) -> Option<(u64, &str)> {
        let gpus = &self.gpus;
        (gpus.readings > 0).then_some((gpus.there, gpus.source.as_str()))
    }

    /// The processes whose accounts to ask for, once they ended: those seen on a device, and the
    /// other ones of the task. None if no device was ever read.
    pub fn gpu_pids(&self) -> GpuPids {
        if self.gpus.readings == 0 || self.gpus.foreign {
            return GpuPids::default();
        }
        let seen = self.gpus.devices.values().flat_map(|d| &d.seen);
        let seen: BTreeSet<u32> = seen.copied().collect();
        let known = self.living.keys().copied().chain(self.dead.pids());
        GpuPids {
            others: known.filter(|pid| !seen.contains(pid)).collect(),
            seen: seen.into_iter().collect(),
        }
    }

    /// The driver's accounts of processes of the task.
    pub fn gpu_accounts(&mut self, accounts: Vec<GpuAccount>) {
        for account in accounts {
            self.gpus.account(account);
        }
    }

    pub(crate) fn gpu_field(&self, m: &Metric, wall: Nanos) -> Field {
        let gpus = &self.gpus;
        if gpus.readings == 0 {
            return Field::absent(gpus.absent.unwrap_or(Absent::Gone));
        }
        let used: Vec<&Device> = gpus.devices.values().filter(|d| gpus.counts(d)).collect();
        let period = gpus.period(self.settings.interval);
        if m.name == "gpu_memory_peak" {
            let known = gpus.memory_of_all(&used, period);
            return at_instant(gpus.field(m, known), self.instant(gpus.memory, known));
        }
        let time = gpus.time_of_all(&used, period);
        gpus.time_field(m, time, wall, used.len())
    }

    /// What the task used of each GPU so far, in a time of `wall`; those that it did not use are
    /// left out.
    pub fn gpu_reports(&self, wall: Nanos) -> Vec<Gpu> {
        let gpus = &self.gpus;
        let period = gpus.period(self.settings.interval);
        let used = gpus.devices.iter().filter(|(_, d)| gpus.counts(d));
        used.map(|(id, device)| {
            let mut usage = Usage::default();
            for m in METRICS.iter().filter(|m| m.name.starts_with("gpu_")) {
                let field = if m.name == "gpu_memory_peak" {
                    let known = device.memory(gpus.foreign, period);
                    at_instant(gpus.field(m, known), self.instant(device.memory, known))
                } else {
                    gpus.time_field(m, device.time(gpus.foreign, period), wall, 1)
                };
                usage.set(m.name, field);
            }
            Gpu {
                id: id.clone(),
                name: device.name.clone(),
                usage,
            }
        })
        .collect()
    }
}

impl Tree {
    /// When a peak was reached, if a sample saw it.
    fn instant(&self, sampled: Peak, known: Option<Known>) -> Option<Nanos> {
        let seen = known.is_some_and(|(value, _)| sampled.value == Some(value));
        sampled.at.filter(|_| seen).map(|at| at.since(self.start))
    }
}

impl Gpus {
    fn read(&mut self, reading: &GpuReading, start: Nanos, ours: impl Fn(u32) -> bool) {
        if self.readings == 0 {
            (self.first, self.last) = (reading.at, start);
        }
        let span = reading.at.since(self.last).0 as f64;
        self.last = reading.at;
        self.readings += 1;
        self.there = reading.devices.len() as u64;
        self.source.clone_from(&reading.source);
        let seen = |device: &GpuSample| device.processes.iter().any(|process| ours(process.pid));
        self.foreign = reading.foreign_pids && !reading.devices.iter().any(seen);
        let mut together = None;
        for sample in &reading.devices {
            if self.devices.len() >= DEVICES_MAX && !self.devices.contains_key(&sample.id) {
                continue;
            }
            let device = self.devices.entry(sample.id.clone()).or_default();
            let memory = device.read(sample, self.foreign, span, &ours);
            device.memory.raise(memory, reading.at);
            together = match (together, memory) {
                (Some(sum), Some(memory)) => Some(memory.saturating_add(sum)),
                (sum, memory) => sum.or(memory),
            };
        }
        self.memory.raise(together, reading.at);
    }

    fn account(&mut self, account: GpuAccount) {
        let known = self.devices.contains_key(&account.device);
        if !known && self.devices.len() >= DEVICES_MAX {
            return;
        }
        let device = self.devices.entry(account.device.clone()).or_default();
        if device.accounts.len() < ACCOUNTS_MAX {
            device.accounts.insert(account.pid, account);
        }
    }

    /// Whether the task used the device, as far as anybody can tell.
    fn counts(&self, device: &Device) -> bool {
        self.foreign || !device.seen.is_empty() || !device.accounts.is_empty()
    }

    fn period(&self, interval: Nanos) -> Method {
        let gaps = self.readings.saturating_sub(1);
        let mean = self.last.since(self.first).0.checked_div(gaps);
        Method::Sampled {
            period_ns: mean.map_or(interval, Nanos),
        }
    }

    fn time_of_all(&self, used: &[&Device], period: Method) -> Option<Known> {
        let mut all = (0, period);
        for device in used {
            let (time, method) = device.time(self.foreign, period)?;
            all = (all.0 + time, method);
        }
        Some(all)
    }

    fn memory_of_all(&self, used: &[&Device], period: Method) -> Option<Known> {
        let known = |device: &&Device| device.memory(self.foreign, period);
        match used {
            [] => Some((0, period)),
            [one] => known(one),
            several => {
                let (mut low, mut high) = (self.memory.value, Some(0_u64));
                for device in several {
                    let (value, method) = known(device)?;
                    low = low.max(Some(value));
                    high = match (high, method) {
                        (Some(sum), Method::Exact) => Some(sum.saturating_add(value)),
                        (Some(sum), Method::LowerBound { upper: Some(upper) }) => {
                            Some(sum.saturating_add(upper))
                        }
                        _ => None,
                    };
                }
                let value = low?;
                let fallback = if self.foreign {
                    Method::UpperBound
                } else {
                    period
                };
                Some((value, high.map_or(fallback, |high| between(value, high))))
            }
        }
    }

    fn field(&self, m: &Metric, known: Option<Known>) -> Field {
        let Some((value, method)) = known else {
            return Field::absent(Absent::NoKernelSupport);
        };
        let number = Number::Whole(value);
        Field::Present(Value::new(number, m.unit, method, self.source()))
    }

    /// `gpu_time`, or the share of the time of `devices` devices.
    fn time_field(&self, m: &Metric, time: Option<Known>, wall: Nanos, devices: usize) -> Field {
        if m.name == "gpu_time" {
            return self.field(m, time);
        }
        let Some((time, method)) = time else {
            return Field::absent(Absent::NoKernelSupport);
        };
        let whole = wall.0 as f64 * devices.max(1) as f64;
        if whole <= 0.0 {
            return Field::absent(Absent::NotApplicable);
        }
        let share = Number::Real((time as f64 / whole).min(1.0));
        Field::Present(Value::new(share, m.unit, method, self.source()))
    }

    fn source(&self) -> String {
        let accounts = self.devices.values().any(|d| !d.accounts.is_empty());
        match (self.foreign, accounts) {
            (true, _) => format!(
                "{}: everybody on the visible devices; its pids are of another namespace",
                self.source
            ),
            (false, true) => format!("{}: accounts of ended processes", self.source),
            (false, false) => format!("{}: samples of the processes on a device", self.source),
        }
    }
}

impl Device {
    /// Takes a sample into account; the memory of the task at this instant.
    fn read(
        &mut self,
        sample: &GpuSample,
        foreign: bool,
        span: f64,
        ours: impl Fn(u32) -> bool,
    ) -> Option<u64> {
        if self.name.is_none() {
            self.name.clone_from(&sample.name);
        }
        if foreign {
            self.work(sample.busy, span);
            return sample.memory_used.map(|bytes| bytes.0);
        }
        let mine: Vec<_> = sample.processes.iter().filter(|p| ours(p.pid)).collect();
        self.seen.extend(mine.iter().map(|process| process.pid));
        if mine.is_empty() {
            return Some(0);
        }
        let told: Vec<f64> = mine.iter().filter_map(|process| process.busy).collect();
        let alone = mine.len() == sample.processes.len();
        // Where nobody else is on it, the work of the device is the task's.
        let busy = match told.is_empty() {
            true => sample.busy.filter(|_| alone),
            false => Some(told.iter().sum::<f64>().min(1.0)),
        };
        self.work(busy, span);
        let memory = mine.iter().filter_map(|process| process.memory);
        memory.map(|bytes| bytes.0).reduce(u64::saturating_add)
    }

    fn work(&mut self, busy: Option<f64>, span: f64) {
        if let Some(busy) = busy {
            self.busy_known = true;
            self.busy_ns += busy * span;
        }
    }

    /// Whether the accounts hold every process of the task that was seen on it.
    fn accounted(&self) -> bool {
        let ended = |pid: &u32| self.accounts.get(pid).is_some_and(|a| a.open_for.is_some());
        !self.accounts.is_empty() && self.seen.iter().chain(self.accounts.keys()).all(ended)
    }

    fn time(&self, foreign: bool, period: Method) -> Option<Known> {
        if foreign {
            return self
                .busy_known
                .then_some((self.busy_ns as u64, Method::UpperBound));
        }
        if self.accounted() {
            let times = self.accounts.values().map(GpuAccount::gpu_time);
            let sum = times.map(|time| Some(time?.0)).sum::<Option<u64>>();
            if let Some(sum) = sum {
                return Some((sum, period));
            }
        }
        self.busy_known.then_some((self.busy_ns as u64, period))
    }

    fn memory(&self, foreign: bool, period: Method) -> Option<Known> {
        if foreign {
            return self.memory.value.map(|value| (value, Method::UpperBound));
        }
        let peaks = self.accounts.values().map(|account| account.memory_peak);
        let highest = peaks.clone().flatten().max().map(|bytes| bytes.0);
        let value = self.memory.value.max(highest)?;
        let sum = peaks
            .map(|peak| peak.map(|bytes| bytes.0))
            .sum::<Option<u64>>();
        match sum.filter(|_| self.accounted()) {
            Some(high) => Some((value, between(value, high))),
            None => Some((value, period)),
        }
    }
}

/// How a number is known of which `low` is reached and `high` is not exceeded.
fn between(low: u64, high: u64) -> Method {
    if high <= low {
        Method::Exact
    } else {
        Method::LowerBound { upper: Some(high) }
    }
}
