//! Reads the living processes of the task: through `/proc`, or by a walk in the kernel once that
//! has become the cheaper way.

use super::facts::Facts;
use record::sample::ProcessSample;
use source::follow::procfs;
use source::query::sampler::{self, Sampler};
#[cfg(feature = "bpf")]
use source::query::walk::{Gain, Walker};
use source::root::Root;
#[cfg(feature = "bpf")]
use std::collections::HashSet;
use std::path::Path;
#[cfg(feature = "bpf")]
use sys::clock::{self, Clock};

/// How the processes are read.
pub(crate) struct Reader {
    sampler: Sampler,
    #[cfg(feature = "bpf")]
    walk: Walk,
}

#[cfg(feature = "bpf")]
enum Walk {
    /// Not wanted, or not to be had.
    Off,
    /// As soon as it pays.
    Later(Gain),
    On(Box<Walker>),
}

impl Reader {
    /// Through `/proc`, and by a walk later if it may.
    #[cfg_attr(
        not(feature = "bpf"),
        allow(unused_variables, reason = "there is no walk")
    )]
    pub(crate) fn new(may_walk: bool) -> Self {
        Self {
            sampler: Sampler::new(Root::default(), sampler::Settings::default()),
            #[cfg(feature = "bpf")]
            walk: if may_walk {
                Walk::Later(Gain::default())
            } else {
                Walk::Off
            },
        }
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
            let read = self.through_proc(adopter, members, samples);
            self.weigh(adopter, clock::now(Clock::Thread) - begun, facts);
            read
        }
        #[cfg(not(feature = "bpf"))]
        {
            let _ = facts;
            self.through_proc(adopter, members, samples)
        }
    }

    fn through_proc(
        &mut self,
        adopter: u32,
        members: Option<Vec<u32>>,
        samples: &mut Vec<ProcessSample>,
    ) -> Vec<u32> {
        let pids = members.unwrap_or_else(|| below(adopter).map(|one| one.pid).collect());
        self.sampler.sample(&pids, samples);
        pids
    }

    #[cfg(feature = "bpf")]
    fn walk(
        &mut self,
        members: Option<&[u32]>,
        samples: &mut Vec<ProcessSample>,
        facts: &mut Facts,
    ) -> Option<Vec<u32>> {
        let Walk::On(walker) = &mut self.walk else {
            return None;
        };
        if let Err(error) = walker.sample(samples) {
            facts.note(format!("processes are read through /proc again: {error}"));
            self.walk = Walk::Off;
            return None;
        }
        if let Some(members) = members {
            let members: HashSet<u32> = members.iter().copied().collect();
            samples.retain(|sample| members.contains(&sample.id.pid));
        }
        Some(samples.iter().map(|sample| sample.id.pid).collect())
    }

    /// A pass through `/proc` took `cost` nanoseconds of a CPU.
    #[cfg(feature = "bpf")]
    fn weigh(&mut self, adopter: u32, cost: u64, facts: &mut Facts) {
        let root = Root::default();
        let Walk::Later(gain) = &mut self.walk else {
            return;
        };
        if !gain.pays_after(cost, &root) {
            return;
        }
        // Who may not have it reads on through /proc, which tells the same.
        self.walk = Walker::open(&root, adopter).map_or(Walk::Off, |walker| {
            facts.note("processes were read by a walk in the kernel, here cheaper than /proc");
            Walk::On(Box::new(walker))
        });
    }
}

/// The processes below `adopter` that live.
pub(crate) fn below(adopter: u32) -> impl Iterator<Item = procfs::Found> {
    // Without a readable /proc nothing is found, and the report says what is absent.
    let found = procfs::descendants(Path::new("/proc"), &[adopter]).unwrap_or_default();
    found
        .into_iter()
        .filter(|process| process.live_threads() > 0)
}
