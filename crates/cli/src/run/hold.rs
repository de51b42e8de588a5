//! What the task is held with: its own control group, its limits, and the folders whose footprint
//! is measured.

use super::containers::ContainerWatch;
use super::eyes::Eyes;
use super::facts::Facts;
use super::footprint::Folders;
use super::pace;
use super::person;
use super::stray::StrayWatch;
use super::task::Task;
use crate::cmd::run::RunOptions;
use anyhow::{Result, bail};
use record::identity::Ending;
use record::limit::{Limit, Resource};
use record::sample::GroupSample;
use record::unit::{Bytes, Nanos};
use reduce::limit::{Certainty, Limits, Verdict};
use reduce::live::Basis;
use reduce::tree::Tree;
use source::group::GroupReader;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::cgroup::{Group, OomCounts, OomWatch, Places};
use sys::descriptor::Waiting;

/// How long a round of kills waits for the group to become empty.
const KILL_WITHIN: Duration = Duration::from_millis(100);

/// How long systemd may take to make a scope; the command waits for it.
const SCOPE_WITHIN: Duration = Duration::from_millis(300);

/// After an alarm memory is weighed; the next weighing comes no sooner than after this many times
/// its cost.
const WEIGHING_SHARE: u64 = 10;

/// A limit that was broken, and what was done.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    /// What the limits say.
    pub(crate) verdict: Verdict,
    /// Whether the task is ended for it.
    pub(crate) enforced: bool,
    /// How it was noticed.
    pub(crate) source: &'static str,
}

/// The means to hold a task.
pub(crate) struct Hold {
    group: Option<Group>,
    reader: Option<GroupReader>,
    oom: Option<OomWatch>,
    /// The kernel itself keeps the memory limit.
    kernel_memory: Option<u64>,
    strays: StrayWatch,
    pub(crate) containers: ContainerWatch,
    pub(crate) limits: Limits,
    cpus: u64,
    next_look: Nanos,
    next_weighing: Nanos,
    pub(crate) broken: Vec<Broken>,
    pub(crate) folders: Folders,
    /// What the group said last.
    pub(crate) last_group: Option<GroupSample>,
    /// Processes of the group that the kernel ended for want of memory by no limit of ours.
    killed: Option<u64>,
    /// There may have been more, in groups below that are gone: then whether events told that
    /// SIGKILL ended a process.
    lacking: Option<bool>,
    /// Events told that SIGKILL ended a process.
    has_killed: bool,
}

/// Whether somebody can see that a limit is broken, while it is.
fn can_be_kept(limits: &[Limit]) -> Result<()> {
    use Resource::{Cores, Cpu, Memory, Read, Rss, Swap, Virtual, Written};
    let seen = [Cpu, Cores, Memory, Rss, Virtual, Swap, Read, Written];
    let of_proc = limits.iter().find(|limit| seen.contains(&limit.resource));
    match of_proc {
        Some(limit) if std::fs::metadata("/proc/self/stat").is_err() => bail!(
            "limit {}: cannot be kept: /proc cannot be read here; mount it (mount -t proc proc \
             /proc), or ask with --measure-only what is over it at the end",
            limit.resource.name()
        ),
        _ => Ok(()),
    }
}

impl Hold {
    /// Makes the group, if it may be made, and arms the limits. Nothing of the task runs yet;
    /// the command's process waits.
    pub(crate) fn prepare(options: &RunOptions, facts: &mut Facts, task: &Task) -> Result<Self> {
        let asked: Vec<Limit> = options.limits.iter().map(|asked| asked.limit).collect();
        if !options.measure_only {
            can_be_kept(&asked)?;
        }
        let mut hold = Self {
            group: None,
            reader: None,
            oom: None,
            kernel_memory: None,
            strays: StrayWatch::default(),
            containers: ContainerWatch::default(),
            limits: Limits::new(asked),
            cpus: facts.report.host.cpus,
            next_look: Nanos(0),
            next_weighing: Nanos(0),
            broken: Vec::new(),
            folders: Folders::choose(options, facts)?,
            last_group: None,
            killed: None,
            lacking: None,
            has_killed: false,
        };
        if options.cgroup {
            hold.make_group(options, facts, task);
        }
        Ok(hold)
    }

    /// Makes the group below ours, else in a scope of systemd's, with the memory limit on it.
    fn make_group(&mut self, options: &RunOptions, facts: &mut Facts, task: &Task) {
        let group = match own_group(task) {
            Ok(group) if group.memory_refusal().is_none() => Some(group),
            refused => self.group_elsewhere(refused, facts, task),
        };
        let Some(group) = group else { return };
        if group.memory_refusal().is_none()
            && let Some(limit) = self.limits.get(Resource::Memory)
            && !options.measure_only
        {
            let swap = self.limits.get(Resource::Swap);
            match group.set_memory_limit(limit.value, swap.map_or(0, |swap| swap.value)) {
                Ok(()) => self.kernel_memory = Some(limit.value),
                Err(error) => facts.note(format!(
                    "the kernel does not keep the memory limit: {error}"
                )),
            }
        }
        // Without a watch the OOM count is read at each look.
        self.oom = group.oom_watch().ok();
        self.reader = Some(GroupReader::of(&group));
        self.group = Some(group);
    }

    /// Below our own group there is none with memory: one in a scope, else what could be had.
    fn group_elsewhere(
        &self,
        refused: Result<Group, sys::cgroup::Error>,
        facts: &mut Facts,
        task: &Task,
    ) -> Option<Group> {
        if facts.may_have_a_scope()
            && let Ok(group) = group_in_scope(task, person::lingers(&facts.report.task.user))
        {
            let path = group.parts().first().map(|part| part.dir.path().display());
            facts.note(format!(
                "the task runs in a scope that systemd made beside the group of this login: {}",
                path.map_or_else(String::new, |path| path.to_string())
            ));
            return Some(group);
        }
        let (group, error) = match refused {
            Ok(group) => (Some(group), None),
            Err(error) => (None, Some(error)),
        };
        let refusal = group.as_ref().and_then(Group::memory_refusal);
        let error = error.as_ref().or(refusal)?;
        facts.no_group(error);
        // A group without memory is rare, and a limit that only samples hold is to be known.
        if group.is_some() || self.limits.get(Resource::Memory).is_some() {
            facts.note(format!(
                "no memory in a control group of our own, so processes are weighed: {error}"
            ));
        }
        group
    }

    /// Takes the command's process, which waits for its exec, into the group.
    pub(crate) fn take(&mut self, pid: u32) -> Result<()> {
        let Some(group) = &self.group else {
            return Ok(());
        };
        if let Err(error) = group.add(pid) {
            self.release();
            return Err(error.into());
        }
        Ok(())
    }

    /// Whether all memory of the task is charged to a group of our own.
    pub(crate) fn has_memory(&self) -> bool {
        let charged = |group: &Group| group.memory_refusal().is_none();
        !self.strays.found() && self.group.as_ref().is_some_and(charged)
    }

    /// Looks whether all of `pids`, the living processes of the task, are still in the group: who
    /// is not is neither charged to it nor held by its limit.
    pub(crate) fn muster(
        &mut self,
        (now, may_differ): (Nanos, bool),
        pids: &[u32],
        tree: &mut Tree,
        facts: &mut Facts,
    ) {
        let Some(group) = &self.group else { return };
        let Some(place) = self.strays.look((now, may_differ), group, pids) else {
            return;
        };
        tree.group_left();
        facts.note(format!(
            "processes moved to another control group ({place}): memory is weighed by process"
        ));
    }

    /// Reads the group and the folders into the reducer.
    pub(crate) fn sample(&mut self, now: Nanos, tree: &mut Tree) {
        if let Some(reader) = &mut self.reader {
            let sample = reader.read();
            tree.group(now, &sample);
            self.last_group = Some(sample);
        }
        self.folders.sample(now, tree);
    }

    /// Reads the memory of the group alone into the reducer, and says it.
    pub(crate) fn glance(&mut self, now: Nanos, tree: &mut Tree) -> Option<Bytes> {
        let memory = self.reader.as_mut()?.read_memory();
        tree.group_memory(now, &memory);
        memory.unreclaimable
    }

    /// The memory of the group as of the last pass.
    pub(crate) fn memory(&self) -> Option<Bytes> {
        self.last_group.as_ref()?.unreclaimable
    }

    /// What the group said last holds now too; the folders may have changed.
    pub(crate) fn repeat(&mut self, now: Nanos, tree: &mut Tree) {
        if let Some(sample) = &self.last_group {
            tree.group(now, sample);
        }
        self.folders.sample(now, tree);
    }

    /// The processes in the group.
    pub(crate) fn pids(&self) -> Vec<u32> {
        // A group that cannot be read is made up for by the other lists.
        self.group
            .as_ref()
            .and_then(|group| group.pids().ok())
            .unwrap_or_default()
    }

    /// When a limit wants a look.
    pub(crate) fn next(&self, _now: Nanos) -> Option<Nanos> {
        (!self.polled().is_empty()).then_some(self.next_look)
    }

    /// What to wait on: the kernel's word that the memory limit broke.
    pub(crate) fn waiting(&self) -> Vec<Waiting<'_>> {
        let watch = |watch: &OomWatch| watch.interest() != sys::descriptor::READABLE;
        let waiting = self.oom.iter();
        waiting
            .map(|oom| Waiting {
                fd: Some(oom.as_fd()),
                exceptional: watch(oom),
            })
            .collect()
    }

    /// Looks at the limits if it is time; returns the grace if the task is to be ended.
    pub(crate) fn check(
        &mut self,
        now: Nanos,
        eyes: &mut Eyes,
        task: &mut Task,
        facts: &mut Facts,
        options: &RunOptions,
    ) -> Option<Nanos> {
        if let Some(grace) = self.check_oom(now, eyes, facts, options) {
            return Some(grace);
        }
        if self.polled().is_empty() || now < self.next_look {
            return None;
        }
        eyes.pass(now, task, self, facts);
        let mut live = eyes.tree.live(now);
        let mut verdicts = self.limits.check(&live);
        let alarm = |verdict: &Verdict| verdict.certainty == Certainty::Alarm;
        if verdicts.iter().any(alarm) && now >= self.next_weighing {
            let cost = eyes.weigh_memory(now, task, self, facts);
            live = eyes.tree.live(now);
            verdicts = self.limits.check(&live);
            self.next_weighing = now.plus(Nanos(cost.0.saturating_mul(WEIGHING_SHARE)));
        }
        // The kernel counts before its events are taken, which tell who made so many.
        let counted = |verdict: &Verdict| verdict.limit.resource == Resource::Processes;
        if verdicts.iter().any(counted) {
            eyes.listen(facts);
            live = eyes.tree.live(now);
            verdicts = self.limits.check(&live);
        }
        verdicts.retain(|verdict| !alarm(verdict));
        self.next_look = pace::next_look(&self.polled(), &live, self.cpus, options.interval);
        self.note_broken(verdicts, options)
    }

    /// Notes what is broken for the first time; returns the grace if the task is to be ended for
    /// it.
    fn note_broken(&mut self, verdicts: Vec<Verdict>, options: &RunOptions) -> Option<Nanos> {
        let mut grace = None;
        for verdict in verdicts {
            let known = |known: &Broken| known.verdict.limit == verdict.limit;
            if self.broken.iter().any(known) {
                continue;
            }
            let enforced = !options.measure_only;
            let resource = verdict.limit.resource;
            let source = seen_by(resource);
            self.broken.push(Broken {
                verdict,
                enforced,
                source,
            });
            if enforced {
                grace = grace.or(Some(options.grace(Some(resource))));
            }
        }
        grace
    }

    /// The kernel ended a process of the group because the limit could not be kept.
    fn check_oom(
        &mut self,
        now: Nanos,
        eyes: &mut Eyes,
        facts: &mut Facts,
        options: &RunOptions,
    ) -> Option<Nanos> {
        let limit = self.kernel_memory?;
        let counts = self.oom_counts()?;
        let known = |broken: &Broken| broken.verdict.limit.resource == Resource::Memory;
        // Without an event of its own it was the limit of a group above or below, or the machine.
        if counts.kills == 0 || counts.events == 0 || self.broken.iter().any(known) {
            return None;
        }
        let peak = self
            .reader
            .as_mut()
            .and_then(|reader| reader.read().peak)
            .unwrap_or(Bytes(limit));
        let largest = eyes.starved(now, facts);
        let limit = Limit {
            resource: Resource::Memory,
            value: limit,
        };
        let verdict = Verdict {
            limit,
            value: peak.0.max(limit.value) as f64,
            at: now,
            pid: Some(largest.pid),
            // One that is just becoming the task has no command yet.
            process: Some(largest.command).filter(|command| !command.is_empty()),
            certainty: Certainty::Broken,
            basis: Some(Basis::Group),
        };
        self.broken.push(Broken {
            verdict,
            enforced: true,
            source: "cgroup OOM event",
        });
        Some(options.grace(Some(Resource::Memory)))
    }

    /// How often the group's limit could not be kept, and how many of its processes the kernel
    /// ended for want of memory.
    fn oom_counts(&mut self) -> Option<OomCounts> {
        match &mut self.oom {
            Some(watch) => watch.read().ok(),
            None => self.group.as_ref()?.oom_counts().ok(),
        }
    }

    /// Processes of the task that the kernel ended for want of memory by no limit of ours, as of
    /// the last look; `None` where no group of our own tells.
    pub(crate) fn killed_by_others(&self) -> Option<u64> {
        self.killed
    }

    /// Whether that may lack some of a group below ours that is gone: SIGKILL ended a process, or
    /// the command says so by how it ended.
    pub(crate) fn may_lack_kills(&self, ending: Ending) -> bool {
        let told = [Ending::Signal(9), Ending::Code(128 + 9)].contains(&ending);
        self.lacking.is_some_and(|killed| killed || told)
    }

    /// Whether SIGKILL ended a process of the task, as far as ends are told.
    pub(crate) fn has_killed(&self) -> bool {
        self.has_killed
    }

    /// The limits that have to be looked at: all but the one that the kernel keeps.
    fn polled(&self) -> Vec<Limit> {
        let held = self.kernel_memory.is_some() && !self.strays.found();
        let kept = |limit: &&Limit| !held || limit.resource != Resource::Memory;
        self.limits.list().iter().filter(kept).copied().collect()
    }

    /// The command could not be ended: what was exceeded is only told.
    pub(crate) fn not_enforced(&mut self) {
        for broken in &mut self.broken {
            broken.enforced = false;
        }
    }

    /// SIGKILL to everything in the group.
    pub(crate) fn kill_group(&mut self) {
        if let Some(group) = &self.group {
            // What could not be killed is met again in the next round.
            drop(group.kill_all(KILL_WITHIN));
        }
    }

    /// The last look after the end: what the kernel counted in the meantime.
    pub(crate) fn last_look(
        &mut self,
        now: Nanos,
        eyes: &mut Eyes,
        facts: &mut Facts,
        options: &RunOptions,
    ) {
        self.sample(now, &mut eyes.tree);
        self.check_oom(now, eyes, facts, options);
        let counts = self.oom_counts();
        let ours = |counts: &OomCounts| self.kernel_memory.is_some() && counts.events > 0;
        self.killed = counts.map(|counts| if ours(&counts) { 0 } else { counts.kills });
        let may_lack = !counts.as_ref().is_some_and(ours)
            && self.group.as_ref().is_some_and(Group::oom_counts_may_lack);
        self.has_killed = eyes.tree.has_killed();
        self.lacking = may_lack.then_some(self.has_killed);
        self.folders.last_look(now, &mut eyes.tree);
    }

    /// Gives the group up; what still runs in it moves to the group that we started in.
    pub(crate) fn release(&mut self) {
        self.oom = None;
        self.reader = None;
        if let Some(mut group) = self.group.take() {
            // A later run sweeps what stays.
            drop(group.remove());
        }
    }
}

/// Removes the groups of dead monitors; what runs in them moves to their parent, free of limits.
pub(crate) fn sweep() {
    // Where there are no places there are no groups.
    if let Ok(places) = Places::find() {
        sys::cgroup::sweep(&places);
    }
}

/// A group below the one that we started in, after those of dead monitors were swept.
fn own_group(task: &Task) -> Result<Group, sys::cgroup::Error> {
    let places = Places::find()?;
    sys::cgroup::sweep(&places);
    // The command's process waits and is not the task yet.
    let (monitor, front) = (std::process::id(), sys::process::parent());
    let ours = [monitor, front, task.adopter(), task.pid()];
    Group::make(&places, "task", &ours)
}

/// A group in a scope; the launcher keeps that until the last value was read.
fn group_in_scope(task: &Task, lingers: bool) -> Result<Group, sys::cgroup::Error> {
    let places = Places::find()?;
    let (pid, keeper) = (task.pid(), task.adopter());
    Group::in_scope(&places, "task", pid, keeper, lingers, SCOPE_WITHIN)
}

fn seen_by(resource: Resource) -> &'static str {
    match resource {
        Resource::Wall => "CLOCK_BOOTTIME",
        Resource::Memory => "samples of unreclaimable memory",
        Resource::Footprint | Resource::Files => "walk of the measured folders",
        _ => "samples of the tree",
    }
}
