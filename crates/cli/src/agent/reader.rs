//! Reads every process of the node: by a walk in the kernel, or through `/proc`.

use super::Mechanism;
#[cfg(feature = "bpf")]
use anyhow::Context;
use anyhow::Result;
use record::sample::ProcessSample;
use source::follow::procfs;
use source::query::sampler::{Sampler, Settings};
#[cfg(feature = "bpf")]
use source::query::walk::Walker;
use source::root::Root;
use std::path::Path;

/// How the processes are read.
pub(super) struct Reader {
    way: Way,
    samples: Vec<ProcessSample>,
}

enum Way {
    #[cfg(feature = "bpf")]
    Walk(Box<Walker>),
    Proc(Box<Sampler>),
}

impl Reader {
    /// By what was asked for, else by the better of what works here.
    pub(super) fn open(root: &Root, asked: Option<Mechanism>) -> Result<Self> {
        let samples = Vec::new();
        #[cfg(feature = "bpf")]
        if asked != Some(Mechanism::Procfs) {
            match Walker::open(root, 0) {
                Ok(walker) => {
                    let way = Way::Walk(Box::new(walker));
                    return Ok(Self { way, samples });
                }
                Err(error) if asked == Some(Mechanism::Bpf) => {
                    return Err(error).context("--mechanism bpf");
                }
                // /proc tells the same.
                Err(_) => {}
            }
        }
        #[cfg(not(feature = "bpf"))]
        if asked == Some(Mechanism::Bpf) {
            anyhow::bail!("--mechanism bpf: this plimsoll was built without it");
        }
        let way = Way::Proc(Box::new(Sampler::new(root.clone(), Settings::default())));
        Ok(Self { way, samples })
    }

    /// The name of the mechanism.
    pub(super) fn name(&self) -> &'static str {
        match self.way {
            #[cfg(feature = "bpf")]
            Way::Walk(_) => "bpf",
            Way::Proc(_) => "procfs",
        }
    }

    /// Everyone who lives now.
    pub(super) fn read(&mut self) -> &[ProcessSample] {
        #[cfg(feature = "bpf")]
        if let Way::Walk(walker) = &mut self.way {
            if walker.sample(&mut self.samples).is_ok() {
                return &self.samples;
            }
            // The kernel has no memory for it now: /proc this time and from now on.
            let sampler = Sampler::new(Root::default(), Settings::default());
            self.way = Way::Proc(Box::new(sampler));
        }
        self.through_proc();
        &self.samples
    }

    fn through_proc(&mut self) {
        // The infinite loop of an irrefutable pattern is what a build without bpf has here.
        #[cfg_attr(
            not(feature = "bpf"),
            allow(irrefutable_let_patterns, reason = "one way")
        )]
        if let Way::Proc(sampler) = &mut self.way {
            let pids = procfs::all(Path::new("/proc")).unwrap_or_default();
            sampler.sample(&pids, &mut self.samples);
        }
    }
}
