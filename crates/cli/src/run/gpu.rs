//! The task's use of graphics processors, sampled in a thread of its own: a driver may take its
//! time, and
//! nothing of the task may wait for it.

use record::unit::{Bytes, Nanos};
use record::value::Absent;
use reduce::settings::GpuTotals;
use source::query::gpu::{GpuReader, GpuSample};
use source::root::Root;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Where drivers show that there is a device at all; looking is free.
const DEVICES: &[&str] = &["/dev/nvidiactl", "/dev/kfd"];
/// Between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// The first sample of a task comes this soon.
const FIRST: Duration = Duration::from_millis(50);

/// What was seen so far.
#[derive(Debug)]
pub(crate) struct Gpus {
    samples: Result<Receiver<Vec<GpuSample>>, Absent>,
    source: &'static str,
    last: Option<Nanos>,
    busy_ns: f64,
    seen: bool,
    memory_peak: u64,
}

impl Gpus {
    /// Starts to sample, if there is a device.
    pub(crate) fn open() -> Self {
        let samples = if DEVICES.iter().any(|device| Path::new(device).exists()) {
            start()
        } else {
            Err(Absent::NoDevice)
        };
        let source = "samples of the driver's process list";
        Self {
            samples,
            source,
            last: None,
            busy_ns: 0.0,
            seen: false,
            memory_peak: 0,
        }
    }

    /// Takes the samples that arrived, counting the processes in `members`.
    pub(crate) fn collect(&mut self, now: Nanos, members: &[u32]) {
        let Ok(receiver) = &self.samples else { return };
        while let Ok(devices) = receiver.try_recv() {
            let ours = devices
                .iter()
                .flat_map(|device| &device.processes)
                .filter(|process| members.contains(&process.pid));
            let (mut memory, mut busy) = (0, 0.0);
            for process in ours {
                memory += process.memory.map_or(0, |bytes| bytes.0);
                busy += process.busy.unwrap_or(0.0);
                self.seen = true;
            }
            let span = self.last.map_or(0, |last| now.since(last).0);
            self.busy_ns += busy * span as f64;
            self.memory_peak = self.memory_peak.max(memory);
            self.last = Some(now);
        }
    }

    /// The totals of a task that took `wall`, or why there are none.
    pub(crate) fn totals(&self, wall: Nanos) -> Result<GpuTotals, Absent> {
        if let Err(reason) = &self.samples {
            return Err(*reason);
        }
        // A task that ended before the first sample was not seen, which is not the same as idle.
        if self.last.is_none() {
            return Err(Absent::Gone);
        }
        let share = if wall.0 > 0 {
            self.busy_ns / wall.0 as f64
        } else {
            0.0
        };
        Ok(GpuTotals {
            time: self.seen.then_some(Nanos(self.busy_ns as u64)),
            memory_peak: Some(Bytes(self.memory_peak)),
            utilisation_ratio: self.seen.then_some(share),
            exact: false,
            source: self.source.to_owned(),
        })
    }
}

fn start() -> Result<Receiver<Vec<GpuSample>>, Absent> {
    let (sender, receiver) = sync_channel(2);
    let thread = std::thread::Builder::new().name("gpu".to_owned());
    // Without another thread GPUs are not watched; the task runs all the same.
    thread
        .spawn(move || sample(&sender))
        .map_err(|_| Absent::NoPermission)?;
    Ok(receiver)
}

/// Samples until nobody listens any more.
fn sample(sender: &SyncSender<Vec<GpuSample>>) {
    // A static program cannot load the driver's library: it asks the driver's program.
    let run = |program: &str, words: &[&str]| {
        let output = std::process::Command::new(program)
            .args(words)
            .output()
            .ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let Ok(mut reader) = GpuReader::open(Root::default(), Some(Box::new(run))) else {
        return;
    };
    let mut pause = FIRST;
    loop {
        std::thread::sleep(pause);
        pause = PERIOD;
        if sender.send(reader.sample()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::query::gpu::GpuProcess;

    fn sample(pid: u32, busy: f64) -> Vec<GpuSample> {
        let process = GpuProcess {
            pid,
            memory: Some(Bytes(700)),
            busy: Some(busy),
        };
        vec![GpuSample {
            processes: vec![process],
            ..GpuSample::default()
        }]
    }

    #[test]
    fn only_the_tasks_processes_count_and_unseen_is_not_idle() {
        let (sender, receiver) = sync_channel(4);
        let mut gpus = Gpus {
            samples: Ok(receiver),
            ..Gpus::open()
        };
        assert_eq!(gpus.totals(Nanos(10)), Err(Absent::Gone));
        for (at, pid) in [(0, 7), (1, 7), (2, 8)] {
            sender.send(sample(pid, 0.5)).unwrap();
            gpus.collect(Nanos::from_secs(at), &[7]);
        }
        let totals = gpus.totals(Nanos::from_secs(2)).unwrap();
        assert_eq!(totals.time, Some(Nanos::from_millis(500)));
        assert_eq!(totals.memory_peak, Some(Bytes(700)));
        assert_eq!(totals.utilisation_ratio, Some(0.25));
    }
}
