//! Reads the living processes of the task: through `/proc`, or by a walk in the kernel once that
//! has become the cheaper way.

use super::facts::Facts;
use crate::cmd::limits::AskedLimit;
use record::limit::Resource;
use record::sample::ProcessSample;
use source::follow::procfs;
use source::query::sampler::{self, Sampler};
#[cfg(feature = "bpf")]
use source::query::walk::{Gain, Walker};
use source::root::Root;
use std::path::Path;
#[cfg(feature = "bpf")]
use std::thread::JoinHandle;
#[cfg(feature = "bpf")]
use sys::clock::{self, Clock};

/// How the processes are read.
pub(crate) struct Reader {
    sampler: Sampler,
    /// A limit is on what is read or written.
    limits_io: bool,
    #[cfg(feature = "bpf")]
    walk: Walk,
    /// What the last pass through `/proc` took of a CPU, nanoseconds.
    #[cfg(feature = "bpf")]
    cost: u64,
}

#[cfg(feature = "bpf")]
enum Walk {
    /// Not wanted, not to be had, or given up.
    Off,
    /// As soon as it pays.
    Later(Gain),
    /// Now.
    Due,
    /// A thread of its own loads it, as that takes longer than many passes: limits are looked at
    /// meanwhile.
    Loading(JoinHandle<Option<Walker>>),
    /// With what the last pass through `/proc` had taken of a CPU, nanoseconds.
    On(Box<Walker>, u64),
}

impl Reader {
    /// Through `/proc`, and by a walk later if it may. What is read and written may be limited.
    #[cfg_attr(
        not(feature = "bpf"),
        allow(unused_variables, reason = "there is no walk")
    )]
    pub(crate) fn new(may_walk: bool, limits: &[AskedLimit]) -> Self {
        let io =
            |asked: &AskedLimit| matches!(asked.limit.resource, Resource::Read | Resource::Written);
        Self {
            sampler: Sampler::new(Root::default(), sampler::Settings::default()),
            limits_io: limits.iter().any(io),
            #[cfg(feature = "bpf")]
            walk: if may_walk {
                Walk::Later(Gain::default())
            } else {
                Walk::Off
            },
            #[cfg(feature = "bpf")]
            cost: 0,
        }
    }

    /// Begins to load the walk if that is due, and takes it once it is there. Who may not have it
    /// reads on through `/proc`, which tells the same.
    pub(crate) fn prepare(&mut self, adopter: u32, facts: &mut Facts) {
        #[cfg(feature = "bpf")]
        {
            self.walk = match std::mem::replace(&mut self.walk, Walk::Off) {
                Walk::Due => load(adopter).map_or(Walk::Off, Walk::Loading),
                Walk::Loading(thread) if thread.is_finished() => match thread.join() {
                    Ok(Some(walker)) => {
                        facts.note(
                            "processes were read by a walk in the kernel, here cheaper than /proc",
                        );
                        Walk::On(Box::new(walker), self.cost)
                    }
                    _ => Walk::Off,
                },
                other => other,
            };
        }
        #[cfg(not(feature = "bpf"))]
        let _ = (adopter, facts);
    }

    /// The process that adopts has changed: a walk knows only what is below the former one.
    pub(crate) fn adopted(&mut self) {
        #[cfg(feature = "bpf")]
        {
            self.walk = Walk::Off;
        }
    }

    /// Reads `members`, or, where no event tells who they are, everyone below `adopter`. Returns
    /// who that was.
    pub(crate) fn read(
        &mut self,
        adopter: u32,
        members: Option<Vec<u32>>,
        samples: &mut Vec<ProcessSample>,
        facts: &mut Facts,
    ) -> Vec<u32> {
        #[cfg(feature = "bpf")]
        {
            if let Some(read) = self.walk(members.as_deref(), samples, facts) {
                return read;
            }
            let begun = clock::now(Clock::Thread);
            let read = self.through_proc(adopter, members, samples, facts);
            self.cost = clock::now(Clock::Thread).saturating_sub(begun);
            if let Walk::Later(gain) = &mut self.walk
                && gain.pays_after(self.cost, &Root::default())
            {
                self.walk = Walk::Due;
            }
            read
        }
        #[cfg(not(feature = "bpf"))]
        {
            self.through_proc(adopter, members, samples, facts)
        }
    }

    /// Reads some of the processes between two passes.
    pub(crate) fn glance(&mut self, pids: &[u32], samples: &mut Vec<ProcessSample>) {
        self.sampler.glance(pids, samples);
    }

    /// Whether a pass would find what the last one found, as far as a short look tells.
    pub(crate) fn is_still(&mut self) -> bool {
        #[cfg(feature = "bpf")]
        if matches!(self.walk, Walk::Due | Walk::Loading(_) | Walk::On(..)) {
            return false;
        }
        self.sampler.is_still()
    }

    fn through_proc(
        &mut self,
        adopter: u32,
        members: Option<Vec<u32>>,
        samples: &mut Vec<ProcessSample>,
        facts: &mut Facts,
    ) -> Vec<u32> {
        let pids = members.unwrap_or_else(|| below(adopter).map(|one| one.pid).collect());
        let cost = self.sampler.sample(&pids, samples);
        if self.limits_io && cost.denied_io > 0 {
            facts.note(
                "limits on bytes read and written: those of a process whose /proc/PID/io may not \
                 be read count only once it has ended",
            );
        }
        pids
    }

    #[cfg(feature = "bpf")]
    fn walk(
        &mut self,
        members: Option<&[u32]>,
        samples: &mut Vec<ProcessSample>,
        facts: &mut Facts,
    ) -> Option<Vec<u32>> {
        let Walk::On(walker, cost) = &mut self.walk else {
            return None;
        };
        let begun = clock::now(Clock::Thread);
        match walker.sample() {
            Ok(walked) => {
                let is_member = |one: &&ProcessSample| {
                    members.is_none_or(|members| members.binary_search(&one.id.pid).is_ok())
                };
                samples.clear();
                samples.extend(walked.iter().filter(is_member).cloned());
            }
            Err(error) => {
                facts.note(format!("processes are read through /proc again: {error}"));
                self.walk = Walk::Off;
                return None;
            }
        }
        // The walk meets every thread of the node: among many strangers, or when few processes of
        // the task are left, the other way is the cheaper one again.
        if clock::now(Clock::Thread).saturating_sub(begun) > *cost {
            self.walk = Walk::Later(Gain::default());
        }
        Some(samples.iter().map(|sample| sample.id.pid).collect())
    }
}

/// Loads a walk over what is below `adopter`; `None` where there can be no further thread.
#[cfg(feature = "bpf")]
fn load(adopter: u32) -> Option<JoinHandle<Option<Walker>>> {
    std::thread::Builder::new()
        .name("walk".to_owned())
        .spawn(move || Walker::open(&Root::default(), adopter).ok())
        .ok()
}

/// The processes below `adopter` that live.
pub(crate) fn below(adopter: u32) -> impl Iterator<Item = procfs::Found> {
    // Without a readable /proc nothing is found, and the report says what is absent.
    let found = procfs::descendants(Path::new("/proc"), &[adopter]).unwrap_or_default();
    found
        .into_iter()
        .filter(|process| process.live_threads() > 0)
}
