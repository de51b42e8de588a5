//! What the task is seen with: events, samples, the control group, the wait chain; all of it goes
//! to the reducer.

use super::facts::Facts;
use super::files::Files;
use super::glance::Glance;
use super::gpu::Gpus;
use super::hold::Hold;
use super::introductions::{self, Introductions};
use super::notifier::{Notifier, Opening};
use super::pages::Pages;
use super::reader::{Reader, below};
use super::reaped::{self, Reaped};
use super::rhythm::Rhythm;
use super::task::Task;
use super::unended::is_stranger;
use super::untraced::Untraced;
use crate::cmd::run::{Level, Mechanism, RunOptions, Series};
use anyhow::Result;
use record::event::Event;
use record::sample::{MainEnd, ProcessSample};
use record::unit::Nanos;
use record::value::Absent;
use reduce::files::FileSummary;
use reduce::live::Holder;
use reduce::settings::{SeriesKind, Settings};
use reduce::tree::Tree;
use source::follow::procfs;
use source::query::pss::Scales;
use source::root::Root;
use std::os::fd::BorrowedFd;
use std::path::Path;
use sys::clock::{self, Clock};
use sys::descriptor::{self, Waiting};

/// A task that rests is read whole this often all the same: the kernel may take pages away.
const REPEATED_MAX: Nanos = Nanos::from_secs(10);

/// Everything that looks at the task.
pub(crate) struct Eyes {
    notifier: Notifier,
    /// What was seen so far.
    pub(crate) tree: Tree,
    settings: Settings,
    reader: Reader,
    samples: Vec<ProcessSample>,
    events: Vec<Event>,
    scales: Scales,
    gpus: Gpus,
    /// What sees files.
    pub(crate) files: Files,
    reaped: Reaped,
    glance: Glance,
    glanced: Vec<ProcessSample>,
    pages: Pages,
    /// The command as it was asked for: its process's first command line.
    command: Vec<u8>,
    root: u32,
    /// How the command's process ended, as events told it.
    root_end: Option<MainEnd>,
    introductions: Introductions,
    untraced: Untraced,
    adopter: u32,
    start: Nanos,
    rhythm: Rhythm,
    /// When all was read last, and whether anything happened since.
    read_at: Nanos,
    stirred: bool,
    /// The last reading of events, and whether it found any.
    listened: Nanos,
    batching: bool,
    broken: bool,
}

impl Eyes {
    /// Chooses the mechanism and follows the command's process, which waits; an error is what was
    /// asked for by name and cannot be had.
    pub(crate) fn choose(
        options: &RunOptions,
        facts: &mut Facts,
        task: &Task,
        opening: Opening,
        mut files: Files,
    ) -> Result<Self> {
        let notifier = Notifier::choose(options, facts, task, opening, &files)?;
        let settings = Settings {
            interval: options.interval,
            max_processes: usize::try_from(options.processes_max).unwrap_or(usize::MAX),
            mechanism: notifier.kind(),
            keep_processes: options.keeps_processes(),
            keep_series: match options.kept_series() {
                None => SeriesKind::Off,
                Some(Series::Task) => SeriesKind::Task,
                Some(Series::Process) => SeriesKind::Process,
            },
            own_shared: files.begin(options, &notifier, facts)?,
            cpus: facts.report.host.cpus,
        };
        let level = if files.is_on() {
            Level::Io
        } else if notifier.kind().tells_tree() {
            Level::Events
        } else {
            Level::Query
        };
        facts.watched_by(files.mechanism(&notifier), level, options.level);
        // What was asked for by name is used and nothing else.
        let may_walk = matches!(
            options.mechanism,
            None | Some(Mechanism::Bpf | Mechanism::Preload)
        );
        Ok(Self {
            notifier,
            tree: Tree::new(facts.start, 0, settings),
            settings,
            reader: Reader::new(may_walk, &options.limits),
            samples: Vec::new(),
            events: Vec::new(),
            scales: Scales::new(Root::default()),
            gpus: Gpus::open(),
            files,
            reaped: Reaped::default(),
            glance: Glance::default(),
            glanced: Vec::new(),
            pages: Pages::default(),
            command: introductions::command_line(&options.command),
            root: task.pid(),
            root_end: None,
            introductions: Introductions::default(),
            untraced: Untraced::default(),
            adopter: task.adopter(),
            start: facts.start,
            rhythm: Rhythm::of(options, settings.mechanism, facts.start),
            read_at: Nanos(0),
            stirred: true,
            listened: Nanos(0),
            batching: false,
            broken: false,
        })
    }

    /// The command is about to execute: measuring begins.
    pub(crate) fn started(&mut self, facts: &mut Facts, task: &Task) {
        self.start = facts.start;
        self.tree = Tree::new(facts.start, task.pid(), self.settings);
        self.gpus.collect(&mut self.tree);
        self.pages.begin(&mut self.tree);
        if super::surroundings::delay_accounting_is_off() {
            self.tree.reason("io_wait", Absent::Off);
        }
        self.rhythm.restart(facts.start);
        if self.notifier.kind() == reduce::settings::Mechanism::Procfs {
            let command = self.command.clone();
            let event = Event::Exec {
                at: facts.start,
                pid: task.pid(),
                command,
                truncated: false,
                path: None,
                former: None,
            };
            self.take(event, facts);
        }
    }

    /// Tells what those that ended by `from` had, if it is time to.
    fn count_the_dead(&mut self, from: Nanos) {
        let caught_up = !self.broken && self.notifier.caught_up();
        if caught_up && self.reaped.is_due(from, self.adopter, &self.tree) {
            let pages = &mut self.pages;
            self.reaped
                .look(from, self.adopter, &mut self.tree, |tree| {
                    pages.count(tree);
                });
        }
    }

    /// The launcher is gone: the monitor is the one that adopts.
    pub(crate) fn adopted(&mut self) {
        self.adopter = std::process::id();
        self.reader.adopted();
    }

    /// Takes what happened, and samples if a pass is due.
    pub(crate) fn look(&mut self, now: Nanos, task: &mut Task, hold: &mut Hold, facts: &mut Facts) {
        self.listen(facts);
        self.files.read(facts);
        self.count_the_dead(now);
        if now < self.rhythm.next() {
            self.glance(now, hold);
            return;
        }
        let old = now.since(self.read_at) >= REPEATED_MAX;
        if old || self.stirred || !self.reader.is_still() {
            self.pass(now, task, hold, facts);
        } else {
            self.repeat(now, hold);
        }
    }

    /// Looks at the largest processes alone, or at the group's memory, if that is due.
    fn glance(&mut self, now: Nanos, hold: &mut Hold) {
        let Some(whom) = self.glance.due(now) else {
            return;
        };
        let begun = clock::now(Clock::Thread);
        let bytes = if hold.has_memory() {
            hold.glance(now, &mut self.tree).map_or(0, |bytes| bytes.0)
        } else {
            // As before a pass: what came by huge pages until now counts until this reading.
            self.pages.count(&mut self.tree);
            self.reader.glance(whom, &mut self.glanced);
            self.tree.glance(now, &self.glanced);
            self.glanced.iter().map(resident).sum()
        };
        let cost = clock::now(Clock::Thread).saturating_sub(begun);
        self.glance.glanced(now, cost, bytes);
    }

    /// A pass over a task that has not run since the last one: the same values hold now.
    fn repeat(&mut self, now: Nanos, hold: &mut Hold) {
        hold.repeat(now, &mut self.tree);
        if !hold.has_memory() {
            // Pages are told apart best while nobody moves.
            self.scales.weigh(&mut self.samples, now.since(self.start));
        }
        self.tree.sample(now, &self.samples);
        self.gpus.collect(&mut self.tree);
        self.rhythm.repeated(now);
    }

    pub(super) fn listen(&mut self, facts: &mut Facts) {
        if self.broken {
            return;
        }
        if let Err(error) = self.notifier.read(&mut self.events) {
            facts.note(format!("process events stopped: {}", super::chain(&error)));
            self.broken = true;
        }
        self.batching = !self.events.is_empty();
        self.stirred |= self.batching;
        self.listened = Nanos(clock::boot());
        let mut events = std::mem::take(&mut self.events);
        events.drain(..).for_each(|event| self.take(event, facts));
        self.events = events;
        if let Some(counts) = self.notifier.counts() {
            self.tree.counts(&counts);
        }
    }

    fn take(&mut self, mut event: Event, facts: &mut Facts) {
        match &mut event {
            // The process ended before its command line could be read; of the first one we know it.
            Event::Exec { pid, command, .. } if *pid == self.root && command.is_empty() => {
                command.clone_from(&self.command);
            }
            Event::Exit {
                pid,
                at,
                ending: Some(ending),
                ..
            } if *pid == self.root => {
                self.root_end = Some(MainEnd {
                    at: *at,
                    ending: *ending,
                    faults: None,
                });
            }
            _ => {}
        }
        // Where exits carry no values.
        let without_values = self.notifier.kind() == reduce::settings::Mechanism::Connector;
        if without_values && matches!(event, Event::Exec { .. } | Event::Exit { .. }) {
            self.rhythm.hurry();
        }
        facts.event(&event, &mut self.tree);
        self.tree.event(event);
    }

    /// The process that holds most memory, as far as seen: the command's own before anything else
    /// was.
    pub(super) fn largest(&self, now: Nanos) -> Holder {
        let named = |one: &Holder| !one.command.is_empty();
        self.tree
            .live(now)
            .largest
            .filter(named)
            .unwrap_or_else(|| Holder {
                pid: self.root,
                command: String::from_utf8_lossy(&self.command)
                    .replace('\0', " ")
                    .trim_end()
                    .to_owned(),
            })
    }

    /// Whether the process that had the id `pid` a moment ago is of the task.
    pub(crate) fn knows(&mut self, pid: u32, facts: &mut Facts) -> bool {
        self.listen(facts);
        match procfs::read_process(Path::new("/proc"), pid) {
            Some(found) if self.tree.knows(pid, Some(found.start)) => true,
            Some(_) => below(self.adopter).any(|one| one.pid == pid),
            None => self.tree.knows(pid, None),
        }
    }

    /// How the command's process ended, if events told it.
    pub(crate) const fn root_end(&self) -> Option<MainEnd> {
        self.root_end
    }

    /// Reads the command lines of processes that are new or renamed, where no event tells them.
    fn introduce(&mut self, at: Nanos, facts: &mut Facts) {
        let some = self.notifier.kind().tells_tree();
        let some = some.then(|| self.untraced.of(&self.samples));
        let samples = some.as_ref().unwrap_or(&self.samples);
        for event in self.introductions.read(at, samples) {
            self.take(event, facts);
        }
    }

    /// One pass over all living processes and the group.
    pub(crate) fn pass(&mut self, now: Nanos, task: &mut Task, hold: &mut Hold, facts: &mut Facts) {
        self.read_at = now;
        let stirred = std::mem::take(&mut self.stirred);
        self.rhythm.stirred(stirred);
        let may_differ = stirred || !self.told() || self.rhythm.is_limited();
        self.reader.prepare(self.adopter, facts);
        // A pass that waits for a CPU costs nobody anything: on a busy machine it must not be taken
        // for a dear one, after which nobody looks for a long time.
        let (begun, weighed) = (clock::now(Clock::Thread), self.scales.spent());
        // Before the processes: what they get from now on belongs to the next pass. Not where a
        // group is charged for it and each process tells at its end what it had.
        if !(hold.has_memory() && self.notifier.kind().tells_finals()) {
            self.pages.count(&mut self.tree);
        }
        reaped::look_at_missed(now, &mut self.tree);
        let (told, tree) = (self.told(), &mut self.tree);
        let members = told.then(|| self.untraced.members(self.adopter, tree));
        let (reader, samples) = (&mut self.reader, &mut self.samples);
        let pids = reader.read(self.adopter, members, samples, facts);
        hold.muster((now, may_differ), &pids, &mut self.tree, facts);
        if !hold.has_memory() {
            self.scales.weigh(&mut self.samples, now.since(self.start));
        }
        // Before the processes, so that they share a row of the series.
        hold.sample(now, &mut self.tree);
        if let Some(waited) = task.waited() {
            self.tree.waited(&waited);
        }
        self.tree.sample(now, &self.samples);
        self.introduce(now, facts);
        self.gpus.collect(&mut self.tree);
        task.refresh_totals(now, may_differ);
        // Weighing has a budget of its own.
        let weighing = self.scales.spent().since(weighed).0;
        let cost = clock::now(Clock::Thread)
            .saturating_sub(begun)
            .saturating_sub(weighing);
        let rss = self.samples.iter().map(resident).sum();
        self.rhythm.passed(now, cost, rss);
        if hold.has_memory() {
            let age = now.since(self.start);
            self.glance.passed_group(now, age, hold.memory());
        } else if !self.notifier.kind().tells_finals() {
            // Elsewhere the last word of each process tells what it had.
            let found = self.samples.iter().map(|one| (one.id.pid, resident(one)));
            self.glance.passed(now, found);
        }
    }

    /// A limit on memory may be broken: a pass, now, that tells shared pages apart; what it cost.
    pub(crate) fn weigh_memory(
        &mut self,
        now: Nanos,
        task: &mut Task,
        hold: &mut Hold,
        facts: &mut Facts,
    ) -> Nanos {
        let before = self.scales.spent();
        self.scales.force();
        self.pass(now, task, hold, facts);
        self.scales.spent().since(before)
    }

    /// Whether events tell who the task's processes are.
    pub(super) fn told(&self) -> bool {
        self.notifier.kind().tells_tree() && !self.broken
    }

    /// Whether a process of the task is on its way out: events may have told its end, but nobody
    /// could wait for it yet, so what it used is nowhere.
    pub(crate) fn anyone_dying(&self) -> bool {
        below(self.adopter).any(|process| process.exiting && process.live_threads() == 1)
    }

    /// When something is due.
    pub(crate) fn next(&self, now: Nanos) -> Option<Nanos> {
        let batch = self.batching.then(|| self.rhythm.next_batch(self.listened));
        let drain = self
            .notifier
            .period()
            .map(|period| now.plus(self.rhythm.patience(period)))
            .or(batch);
        let looks = [Some(self.rhythm.next()), self.glance.next()];
        drain.into_iter().chain(looks.into_iter().flatten()).min()
    }

    /// The descriptor to wait on for events. While they come thick they are taken in batches, not
    /// one by one.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        if self.broken || self.batching {
            None
        } else {
            self.notifier.fd()
        }
    }

    /// The descriptor to wait on for files, if they are counted.
    pub(crate) fn files_fd(&self) -> Option<BorrowedFd<'_>> {
        self.files.fd()
    }

    /// Every process that a signal to the tree is for.
    pub(crate) fn everyone(&self, hold: &Hold) -> Vec<u32> {
        let mut pids = self.survivors();
        if self.told() {
            let alive = self.tree.alive().into_iter();
            pids.extend(alive.filter(|pid| !is_stranger(*pid, &self.tree)));
        }
        pids.extend(hold.pids());
        pids.sort_unstable();
        pids.dedup();
        pids.retain(|pid| *pid > 1 && *pid != std::process::id() && *pid != self.adopter);
        pids
    }

    /// The living processes of the task that `/proc` shows below the one that adopts.
    pub(crate) fn survivors(&self) -> Vec<u32> {
        below(self.adopter).map(|process| process.pid).collect()
    }

    /// What was seen, and what told it, to be let go of; `alive`: processes live on.
    pub(crate) fn part(
        mut self,
        alive: bool,
        facts: &mut Facts,
    ) -> (Tree, Option<FileSummary>, (Files, Notifier)) {
        self.pages.count(&mut self.tree);
        self.gpus.finish(&mut self.tree);
        let files = self.files.finish(alive, self.start, facts);
        if let Some(files) = &files {
            self.tree.files(files.totals(self.files.source()));
            if files.libaio {
                self.tree.unseen_io("libaio");
            }
            if files.io_uring {
                self.tree.unseen_io("io_uring");
            }
        }
        (self.tree, files, (self.files, self.notifier))
    }

    /// Takes the events of the end: the kernel tells some of them a moment after the wait was over.
    /// At most for `patience`, and only until nobody but `survivors` is thought alive.
    pub(crate) fn settle(&mut self, patience: Nanos, survivors: usize, facts: &mut Facts) {
        let deadline = clock::boot().saturating_add(patience.0);
        loop {
            self.listen(facts);
            let now = clock::boot();
            if !self.settings.mechanism.tells_tree()
                || self.broken
                || self.tree.alive().len() <= survivors && !self.tree.lacks_finals()
                || now >= deadline
            {
                break;
            }
            let waiting = [Waiting {
                fd: self.notifier.fd(),
                exceptional: false,
            }];
            let step = self.notifier.period().map_or(deadline - now, |_| 1_000_000);
            if descriptor::poll(&waiting, Some(step.min(deadline - now))).is_err() {
                break;
            }
        }
        if let Some(counts) = self.notifier.last_counts(facts) {
            self.tree.counts(&counts);
        }
    }
}

fn resident(sample: &ProcessSample) -> u64 {
    sample.memory.rss.map_or(0, |rss| rss.0)
}
