//! Reads every process of the node: by a walk in the kernel, or through `/proc`.

use super::Mechanism;
#[cfg(feature = "bpf")]
use anyhow::Context;
use anyhow::Result;
use record::sample::ProcessSample;
use record::unit::Nanos;
use source::follow::procfs;
use source::query::pids::Pids;
use source::query::sampler::{Sampler, Settings};
#[cfg(feature = "bpf")]
use source::query::walk::Walker;
use source::root::Root;
use std::collections::HashSet;
use sys::rlimit;

/// Files read for details, at most, for each so much time between two readings: some 6 ms of a CPU
/// a second.
const DETAIL_FILES: u32 = 192;
const DETAIL_TIME: Nanos = Nanos::from_millis(100);

/// A process that has just begun to rest is read as a whole so often, one that has rested long and
/// stays the same at least every 80 s: its memory is that old at most.
const STILL_TIME: Nanos = Nanos::from_secs(10);

/// Files that may be open at once.
pub(super) const FILES_MAX: u64 = 65_536;

/// Of those a quarter, and no fewer than that, is left for others than the files of `/proc`.
const FILES_OTHERS: u64 = 512;

/// How the processes are read.
pub(super) struct Reader {
    root: Root,
    interval: Nanos,
    way: Way,
    samples: Vec<ProcessSample>,
    /// Processes of which nothing could be read at the last reading.
    unreadable: u64,
}

enum Way {
    #[cfg(feature = "bpf")]
    Walk(Box<Walker>),
    Proc(Box<Sampler>, Pids),
}

/// What a reading could not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hidden {
    /// Processes whose I/O may not be read.
    pub(super) io: usize,
    /// Processes of which nothing may be read.
    pub(super) all: u64,
}

impl Reader {
    /// By what was asked for, else by the better of what works here.
    pub(super) fn open(root: &Root, asked: Option<Mechanism>, interval: Nanos) -> Result<Self> {
        let way = match walk(root, asked)? {
            Some(way) => way,
            None => through_proc(root, interval),
        };
        Ok(Self {
            root: root.clone(),
            interval,
            way,
            samples: Vec::new(),
            unreadable: 0,
        })
    }

    /// Readings come so often from now on: what is read of them through `/proc` depends on it.
    pub(super) fn set_interval(&mut self, interval: Nanos) {
        if matches!(self.way, Way::Proc(..)) && self.interval != interval {
            self.way = through_proc(&self.root, interval);
        }
        self.interval = interval;
    }

    /// The name of the mechanism.
    pub(super) fn name(&self) -> &'static str {
        match self.way {
            #[cfg(feature = "bpf")]
            Way::Walk(_) => "bpf",
            Way::Proc(..) => "procfs",
        }
    }

    /// Everyone who lives now, in the order of their ids.
    ///
    /// # Errors
    /// The kernel does not tell this time; the next one may go well.
    pub(super) fn read(&mut self) -> Result<&mut [ProcessSample]> {
        match &mut self.way {
            #[cfg(feature = "bpf")]
            Way::Walk(walker) => return Ok(walker.sample()?),
            Way::Proc(sampler, pids) => {
                let cost = sampler.sample(pids.list()?, &mut self.samples);
                pids.forget(sampler.gone());
                self.unreadable = cost.unreadable;
            }
        }
        Ok(&mut self.samples)
    }

    /// Some who live now, in the order of their ids: those whose pids are wanted, or more.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub(super) fn read_some(
        &mut self,
        is_wanted: &dyn Fn(u32) -> bool,
    ) -> Result<&[ProcessSample]> {
        match &mut self.way {
            // To walk past the others costs less than to leave them out.
            #[cfg(feature = "bpf")]
            Way::Walk(walker) => return Ok(walker.sample()?),
            Way::Proc(sampler, _) => {
                let mut pids = procfs::all(&self.root.proc(""))?;
                pids.retain(|pid| is_wanted(*pid));
                sampler.glance(&pids, &mut self.samples);
            }
        }
        Ok(&self.samples)
    }

    /// What the last reading could not have of those whom `is_wanted` names in its order. Of whom
    /// nothing can be read nobody knows whether he is one of them, unless that is everyone.
    pub(super) fn hidden(&self, is_wanted: &[bool], is_everyone: bool) -> Hidden {
        let denied = match &self.way {
            #[cfg(feature = "bpf")]
            Way::Walk(_) => &[],
            Way::Proc(sampler, _) => sampler.denied_io(),
        };
        let denied: HashSet<&u32> = denied.iter().collect();
        let wanted = self.samples.iter().zip(is_wanted);
        let hidden = wanted.filter(|(one, wanted)| **wanted && denied.contains(&one.id.pid));
        Hidden {
            io: hidden.count(),
            all: if is_everyone { self.unreadable } else { 0 },
        }
    }
}

/// The walk, unless `/proc` was asked for or the walk cannot be had; an error if it was asked for.
#[cfg(feature = "bpf")]
fn walk(root: &Root, asked: Option<Mechanism>) -> Result<Option<Way>> {
    if asked == Some(Mechanism::Procfs) {
        return Ok(None);
    }
    match Walker::open(root, 0) {
        Ok(walker) => Ok(Some(Way::Walk(Box::new(walker)))),
        Err(error) if asked.is_some() => Err(error).context("--mechanism bpf"),
        // /proc tells the same.
        Err(_) => Ok(None),
    }
}

#[cfg(not(feature = "bpf"))]
fn walk(_: &Root, asked: Option<Mechanism>) -> Result<Option<Way>> {
    if asked == Some(Mechanism::Bpf) {
        anyhow::bail!("--mechanism bpf: this plimsoll was built without it");
    }
    Ok(None)
}

fn through_proc(root: &Root, interval: Nanos) -> Way {
    let open = rlimit::raise_open_files(FILES_MAX);
    let kept = open.map(|open| open.saturating_sub(FILES_OTHERS.max(open / 4)));
    let shares = u32::try_from(interval.0 / DETAIL_TIME.0).unwrap_or(u32::MAX);
    let still_passes = u32::try_from(STILL_TIME.0 / interval.0.max(1)).unwrap_or(u32::MAX);
    let settings = Settings {
        detail_files: DETAIL_FILES.saturating_mul(shares),
        tells_shared: false,
        files_kept: kept.map(|kept| u32::try_from(kept).unwrap_or(u32::MAX)),
        still_passes,
        ..Settings::default()
    };
    let pids = Pids::new(root.clone(), still_passes);
    Way::Proc(Box::new(Sampler::new(root.clone(), settings)), pids)
}
