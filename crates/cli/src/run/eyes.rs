//! What the task is seen with: events, samples, the control group, the wait chain; all of it goes
//! to the reducer.

use super::facts::Facts;
use super::hold::Hold;
use super::notifier::Notifier;
use super::task::Task;
use crate::cmd::run::{Level, RunOptions, Series};
use anyhow::Result;
use record::event::Event;
use record::sample::ProcessSample;
use record::unit::Nanos;
use reduce::settings::{SeriesKind, Settings};
use reduce::tree::Tree;
use source::follow::procfs;
use source::query::pss::Scales;
use source::query::sampler::{self, Sampler};
use source::root::Root;
use std::os::fd::BorrowedFd;
use std::path::Path;
use sys::descriptor::{self, Waiting};

/// The shortest time between two passes: the first ones of a task.
const PASS_MIN: Nanos = Nanos::from_millis(5);
/// A pass comes after this fraction of the task's age: short tasks are seen densely, long ones at
/// the interval.
const AGE_FRACTION: u64 = 8;
/// Passes take at most one part in this of the time.
const COST_SHARE: u64 = 100;

/// Everything that looks at the task.
pub(crate) struct Eyes {
    notifier: Notifier,
    /// What was seen so far.
    pub(crate) tree: Tree,
    settings: Settings,
    sampler: Sampler,
    samples: Vec<ProcessSample>,
    events: Vec<Event>,
    scales: Scales,
    adopter: u32,
    start: Nanos,
    next_pass: Nanos,
    broken: bool,
}

impl Eyes {
    /// Chooses the mechanism; an error is what was asked for by name and cannot be had.
    pub(crate) fn choose(options: &RunOptions, facts: &mut Facts) -> Result<Self> {
        let notifier = Notifier::choose(options, facts)?;
        let settings = Settings {
            interval: options.interval,
            max_processes: usize::try_from(options.processes_max).unwrap_or(usize::MAX),
            mechanism: notifier.kind(),
            keep_processes: options.with_processes,
            keep_series: match options.with_series {
                None => SeriesKind::Off,
                Some(Series::Task) => SeriesKind::Task,
                Some(Series::Process) => SeriesKind::Process,
            },
        };
        let level = if notifier.kind().tells_tree() {
            Level::Events
        } else {
            Level::Query
        };
        facts.watched_by(notifier.name(), level);
        Ok(Self {
            notifier,
            tree: Tree::new(facts.start, 0, settings),
            settings,
            sampler: Sampler::new(Root::default(), sampler::Settings::default()),
            samples: Vec::new(),
            events: Vec::new(),
            scales: Scales::new(Root::default()),
            adopter: 0,
            start: facts.start,
            next_pass: Nanos(0),
            broken: false,
        })
    }

    /// Follows the command's process, which waits for its exec.
    pub(crate) fn follow(&mut self, task: &Task) -> Result<()> {
        self.adopter = task.adopter();
        self.notifier.follow(task)
    }

    /// The command is about to execute: measuring begins.
    pub(crate) fn started(&mut self, facts: &Facts, task: &Task) {
        self.start = facts.start;
        self.tree = Tree::new(facts.start, task.pid(), self.settings);
        self.next_pass = facts.start.plus(PASS_MIN);
    }

    /// The launcher is gone: the monitor is the one that adopts.
    pub(crate) fn adopted(&mut self) {
        self.adopter = std::process::id();
    }

    /// Takes what happened, and samples if a pass is due.
    pub(crate) fn look(&mut self, now: Nanos, task: &mut Task, hold: &mut Hold, facts: &mut Facts) {
        self.listen(facts);
        if now >= self.next_pass {
            self.pass(now, task, hold);
        }
    }

    fn listen(&mut self, facts: &mut Facts) {
        if self.broken {
            return;
        }
        if let Err(error) = self.notifier.read(&mut self.events) {
            facts.note(format!("process events stopped: {error:#}"));
            self.broken = true;
        }
        for event in self.events.drain(..) {
            facts.event(&event, &mut self.tree);
            self.tree.event(&event);
        }
        if let Some(counts) = self.notifier.counts() {
            self.tree.counts(&counts);
        }
    }

    /// One pass over all living processes and the group.
    pub(crate) fn pass(&mut self, now: Nanos, task: &mut Task, hold: &mut Hold) {
        let begun = sys::clock::boot();
        let pids = self.members();
        self.sampler.sample(&pids, &mut self.samples);
        if !hold.has_memory() {
            self.scales.weigh(&mut self.samples, now.since(self.start));
        }
        self.tree.sample(now, &self.samples);
        hold.sample(now, &mut self.tree);
        if let Some(waited) = task.waited() {
            self.tree.waited(&waited);
        }
        task.ask_totals();
        let cost = sys::clock::boot().saturating_sub(begun);
        let age = now.since(self.start).0 / AGE_FRACTION;
        let pause = age.clamp(PASS_MIN.0, self.settings.interval.0.max(PASS_MIN.0));
        self.next_pass = now.plus(Nanos(pause.max(cost.saturating_mul(COST_SHARE))));
    }

    /// A limit on memory may be broken: the next pass, now, tells shared pages apart.
    pub(crate) fn weigh_memory(&mut self, now: Nanos) {
        self.scales.force();
        self.next_pass = self.next_pass.min(now);
    }

    /// The living processes of the task, as far as known without looking anew where events tell.
    fn members(&self) -> Vec<u32> {
        if self.notifier.kind().tells_tree() && !self.broken {
            return self.tree.alive();
        }
        self.found()
    }

    /// The living processes of the task that `/proc` shows below the one that adopts.
    fn found(&self) -> Vec<u32> {
        // Without a readable /proc nothing is found, and the report says what is absent.
        let found = procfs::descendants(Path::new("/proc"), &[self.adopter]).unwrap_or_default();
        found
            .iter()
            .filter(|process| process.live_threads() > 0)
            .map(|process| process.pid)
            .collect()
    }

    /// When something is due.
    pub(crate) fn next(&self, now: Nanos) -> Option<Nanos> {
        let drain = self.notifier.period().map(|period| now.plus(period));
        drain.into_iter().chain([self.next_pass]).min()
    }

    /// The descriptor to wait on for events.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        if self.broken {
            None
        } else {
            self.notifier.fd()
        }
    }

    /// Every process that a signal to the tree is for.
    pub(crate) fn everyone(&self, hold: &Hold) -> Vec<u32> {
        let mut pids = self.found();
        pids.extend(self.members());
        pids.extend(hold.pids());
        pids.sort_unstable();
        pids.dedup();
        pids.retain(|pid| *pid > 1 && *pid != std::process::id() && *pid != self.adopter);
        pids
    }

    /// The processes of the task that live on.
    pub(crate) fn survivors(&self) -> Vec<u32> {
        self.found()
    }

    /// Takes the events of the end: the kernel tells some of them a moment after the wait was over.
    /// At most for
    /// `patience`, and only until nobody but `survivors` is thought alive.
    pub(crate) fn settle(&mut self, patience: Nanos, survivors: usize, facts: &mut Facts) {
        let deadline = sys::clock::boot().saturating_add(patience.0);
        loop {
            self.listen(facts);
            let now = sys::clock::boot();
            if !self.settings.mechanism.tells_tree()
                || self.broken
                || self.tree.alive().len() <= survivors
                || now >= deadline
            {
                return;
            }
            let waiting = [Waiting {
                fd: self.notifier.fd(),
                exceptional: false,
            }];
            let step = self.notifier.period().map_or(deadline - now, |_| 1_000_000);
            if descriptor::poll(&waiting, Some(step.min(deadline - now))).is_err() {
                return;
            }
        }
    }
}
