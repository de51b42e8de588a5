//! What a page tells of jobs: each process's use, filed under its job once that is known.
//!
//! What a process used is the most that was told of it, so nothing is counted twice and nothing
//! goes back: a sample tells what it used so far, its `exit` row all of it. Pure: rows come in, the
//! time comes with them.

use super::accounts::{Accounts, Gauges, Told, UNKNOWN};
use super::sums::{COUNT, CPU, ENDED, STARTED, Sums};
use record::unit::Nanos;
use std::collections::HashMap;

/// Processes that are remembered, at most; those beyond are counted.
const PROCESSES_MAX: usize = 1 << 17;
/// A process that so many readings in a row have not met has ended.
const READINGS_MISSED: u64 = 3;
/// After so many it is forgotten: its `exit` row may be late.
const READINGS_KEPT: u64 = 16;

/// Who: pid and start.
pub(super) type Id = (i64, i64);

/// What is told of a process at an instant: counters by [`super::sums::COUNTED`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    pub(super) values: [Option<i64>; COUNT],
    pub(super) threads: Option<i64>,
    pub(super) rss: Option<i64>,
}

#[derive(Debug, Default)]
struct Process {
    /// The most that was told of it.
    counted: Sums,
    /// What of this waits for its job to be known.
    held: Sums,
    account: Option<u64>,
    threads: Option<i64>,
    rss: Option<i64>,
    devices: Devices,
    /// The last reading before it was met, the last one that met it, and when it was met.
    since: u64,
    seen: u64,
    met: Nanos,
    is_over: bool,
}

/// What a process had of all devices when these were read last.
#[derive(Debug, Clone, Copy, Default)]
struct Devices {
    at: Nanos,
    /// Readings that were over by then.
    readings: u64,
    memory: Option<i64>,
    busy: Option<i64>,
}

impl Process {
    /// What it has now, if the last reading met it. What a driver tells comes later than that.
    fn gauges(&self, readings: u64) -> Gauges {
        let is_told = readings < self.devices.readings + READINGS_MISSED;
        let devices = Some(self.devices).filter(|_| is_told);
        Gauges {
            threads: self.threads,
            rss: self.rss,
            gpu_memory: devices.and_then(|devices| devices.memory),
            gpu_busy: devices.and_then(|devices| devices.busy),
        }
    }
}

/// The state.
#[derive(Debug)]
pub(super) struct Board {
    processes: HashMap<Id, Process>,
    pub(super) accounts: Accounts,
    /// Readings of everyone that are over, and when the last one was.
    readings: u64,
    at: Nanos,
    /// Processes that did not fit.
    pub(super) left_out: u64,
}

impl Board {
    /// With series of their own for `shown_max` jobs; `outside`: what those in no job are filed
    /// under.
    pub(super) fn new(shown_max: usize, outside: Option<&str>) -> Self {
        Self {
            processes: HashMap::new(),
            accounts: Accounts::new(shown_max, outside),
            readings: 0,
            at: Nanos(0),
            left_out: 0,
        }
    }

    /// A reading met this process.
    pub(super) fn sample(&mut self, id: Id, sample: &Sample) {
        let readings = self.readings;
        if let Some(process) = self.met(id) {
            process.seen = readings + 1;
            (process.threads, process.rss) = (sample.threads, sample.rss);
            self.count(id, &sample.values);
        }
    }

    /// A reading of devices at `at` found this process on one, with this memory and busy so much of
    /// it, millionths.
    pub(super) fn device(&mut self, id: Id, at: Nanos, (memory, busy): (Option<i64>, Option<i64>)) {
        let readings = self.readings;
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        let devices = &mut process.devices;
        if devices.at != at {
            *devices = Devices {
                at,
                readings,
                ..Devices::default()
            };
        }
        for (sum, more) in [(&mut devices.memory, memory), (&mut devices.busy, busy)] {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
    }

    /// This process has ended, having used this; `identifier` is where it was filed.
    pub(super) fn exit(
        &mut self,
        id: Id,
        values: &[Option<i64>; COUNT],
        identifier: Option<&[u8]>,
    ) {
        let Some(process) = self.met(id) else {
            return;
        };
        let is_unknown = process.account.is_none();
        let was_over = std::mem::replace(&mut process.is_over, true);
        if is_unknown || identifier.is_some() {
            self.file(id, identifier);
        }
        self.count(id, values);
        if !was_over {
            self.spend(id, ENDED, 1);
        }
    }

    /// This process was met; who it is comes later.
    pub(super) fn meet(&mut self, id: Id) {
        self.met(id);
    }

    /// This process belongs there from now on.
    pub(super) fn identify(&mut self, id: Id, identifier: Option<&[u8]>) {
        // Who ends while he is asked may be told without: what is known of him stays.
        let is_open = self.met(id).is_some_and(|one| one.account.is_none());
        if is_open || identifier.is_some() && self.processes.contains_key(&id) {
            self.file(id, identifier);
        }
    }

    /// What is known of a job.
    pub(super) fn job(&mut self, identifier: &[u8], told: Told) {
        self.accounts.job(identifier, told);
    }

    /// A reading of everyone is over: whoever it has not met may have ended.
    pub(super) fn settle(&mut self, at: Nanos) {
        self.readings += 1;
        self.at = at;
        let readings = self.readings;
        let unknown: Vec<Id> = self
            .processes
            .iter()
            .filter(|(_, one)| one.account.is_none() && readings > one.since + 1)
            .filter(|(_, one)| at.since(one.met) >= UNKNOWN)
            .map(|(id, _)| *id)
            .collect();
        for id in unknown {
            self.file(id, None);
        }
        let lost: Vec<Id> = self
            .processes
            .iter()
            .filter(|(_, one)| !one.is_over && readings >= one.seen + READINGS_MISSED)
            .map(|(id, _)| *id)
            .collect();
        for id in lost {
            if let Some(one) = self.processes.get_mut(&id) {
                one.is_over = true;
            }
            self.spend(id, ENDED, 1);
        }
        self.processes
            .retain(|_, one| !one.is_over || readings < one.seen + READINGS_KEPT);
        self.accounts.clear_gauges();
        for one in self.processes.values() {
            if let (Some(account), true) = (one.account, one.seen == readings && !one.is_over) {
                self.accounts.gauge(account, one.gauges(readings));
            }
        }
        self.accounts.settle(at);
    }

    /// The process, which is met now if it was not before; nothing if there are too many.
    fn met(&mut self, id: Id) -> Option<&mut Process> {
        let readings = self.readings;
        if !self.processes.contains_key(&id) {
            if self.processes.len() >= PROCESSES_MAX {
                self.processes.retain(|_, one| !one.is_over);
            }
            if self.processes.len() >= PROCESSES_MAX {
                self.left_out += 1;
                return None;
            }
            let mut process = Process {
                since: readings,
                seen: readings,
                met: self.at,
                ..Process::default()
            };
            process.held.add_one(STARTED, 1);
            self.processes.insert(id, process);
        }
        self.processes.get_mut(&id)
    }

    fn count(&mut self, id: Id, values: &[Option<i64>; COUNT]) {
        for (what, value) in values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let process = self.processes.get_mut(&id);
            if let Some(more) = process.and_then(|one| one.counted.raise(what, value)) {
                self.spend(id, what, more);
            }
        }
    }

    /// Puts it where the process belongs, or holds it back until that is known.
    fn spend(&mut self, id: Id, what: usize, more: u64) {
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        match process.account {
            None => process.held.add_one(what, more),
            Some(account) => {
                let mut sums = Sums::default();
                sums.add_one(what, more);
                self.accounts.spend(account, &sums);
            }
        }
    }

    fn file(&mut self, id: Id, identifier: Option<&[u8]>) {
        let account = self.accounts.of(identifier);
        if let Some(process) = self.processes.get_mut(&id) {
            if process.account.is_some_and(|former| former != account) {
                // That is where it is.
                let elsewhere = process.counted.get(CPU).unwrap_or(0);
                self.accounts.had(account, elsewhere);
            }
            process.account = Some(account);
            let held = std::mem::take(&mut process.held);
            self.accounts.spend(account, &held);
        }
    }

    /// CPU time that waits for jobs to be known.
    pub(super) fn held_cpu(&self) -> u64 {
        let held = self.processes.values().map(|one| one.held.get(CPU));
        held.map(|cpu| cpu.unwrap_or(0)).sum::<u64>() + self.accounts.held_cpu()
    }
}
