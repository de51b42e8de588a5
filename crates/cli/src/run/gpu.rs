//! The task's use of graphics processors, read in a thread of its own: a driver may take its time,
//! and nothing of the task may wait for it.

use record::gpu::{GpuAccount, GpuPids, GpuReading};
use record::unit::Nanos;
use record::value::Absent;
use reduce::tree::Tree;
use source::query::gpu::GpuReader;
use source::root::Root;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// Where drivers show that there is a device at all; looking is free.
const DEVICES: &[&str] = &["/dev/nvidiactl", "/dev/kfd"];
/// Between two readings, in the end.
const PERIOD: Duration = Duration::from_secs(1);
/// The first reading of a task comes this soon, and each pause is twice the one before: who is on a
/// device for half of a short life is seen.
const FIRST: Duration = Duration::from_millis(50);
/// The end of a run waits this long for the last reading and the driver's accounts.
const PATIENCE: Duration = Duration::from_millis(500);

/// Readings that wait for us; more, and the thread waits.
const QUEUE: usize = 256;

/// What the thread tells.
#[derive(Debug)]
enum Told {
    Reading(GpuReading),
    Accounts(Vec<GpuAccount>),
}

/// The thread that reads the devices, if there are any.
#[derive(Debug)]
pub(crate) struct Gpus {
    link: Result<Link, Absent>,
    /// Whether a driver keeps accounts of ended processes.
    accounting: bool,
}

#[derive(Debug)]
struct Link {
    told: Receiver<Told>,
    ask: Sender<GpuPids>,
}

impl Gpus {
    /// Starts to read, if there is a device.
    pub(crate) fn open() -> Self {
        let there = DEVICES.iter().any(|device| Path::new(device).exists());
        Self {
            link: if there {
                start()
            } else {
                Err(Absent::NoDevice)
            },
            accounting: false,
        }
    }

    /// Tells `tree` what arrived.
    pub(crate) fn collect(&mut self, tree: &mut Tree) {
        match &self.link {
            Err(reason) => tree.gpu_absent(*reason),
            Ok(link) => {
                while let Ok(told) = link.told.try_recv() {
                    take(told, &mut self.accounting, tree);
                }
            }
        }
    }

    /// The task is over: asks what its processes did since the last reading, and for the accounts
    /// of them, within a bounded time.
    pub(crate) fn finish(&mut self, tree: &mut Tree) {
        self.collect(tree);
        let pids = tree.gpu_pids();
        let Ok(link) = &self.link else { return };
        let wanted = self.accounting && pids != GpuPids::default();
        if pids.seen.is_empty() && !wanted {
            return;
        }
        // A thread that is gone answers nothing, which the wait below sees.
        drop(link.ask.send(pids));
        let until = Instant::now() + PATIENCE;
        while let Ok(told) = link
            .told
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            let last = matches!(told, Told::Accounts(_));
            take(told, &mut self.accounting, tree);
            if last {
                return;
            }
        }
    }
}

fn take(told: Told, accounting: &mut bool, tree: &mut Tree) {
    match told {
        Told::Reading(reading) => {
            *accounting |= keeps_accounts(&reading);
            tree.gpu_reading(&reading);
        }
        Told::Accounts(accounts) => tree.gpu_accounts(accounts),
    }
}

/// Whether a driver keeps accounts of ended processes.
fn keeps_accounts(reading: &GpuReading) -> bool {
    let mut devices = reading.devices.iter();
    devices.any(|device| device.accounting == Some(true))
}

fn start() -> Result<Link, Absent> {
    let (tell, told) = sync_channel(QUEUE);
    let (ask, asked) = channel();
    let thread = std::thread::Builder::new().name("gpu".to_owned());
    // Without another thread GPUs are not watched; the task runs all the same.
    thread
        .spawn(move || read(&tell, &asked))
        .map_err(|_| Absent::NoPermission)?;
    Ok(Link { told, ask })
}

/// Reads until nobody listens any more.
fn read(tell: &SyncSender<Told>, asked: &Receiver<GpuPids>) {
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
    let mut accounting = false;
    loop {
        let asked = match asked.recv_timeout(pause) {
            Ok(pids) => Some(pids),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        pause = (pause * 2).min(PERIOD);
        let reading =
            (asked.is_none() || reader.is_quick()).then(|| reader.read(Nanos(sys::clock::boot())));
        accounting |= reading.as_ref().is_some_and(keeps_accounts);
        let accounts = asked.map(|pids| match accounting {
            true => reader.accounts(&pids),
            false => Vec::new(),
        });
        let accounts = accounts.map(Told::Accounts);
        if reading
            .map(Told::Reading)
            .into_iter()
            .chain(accounts)
            .any(|told| tell.send(told).is_err())
        {
            return;
        }
    }
}
