//! The monitor: reads, reduces, enforces, writes the report; decides the exit status.

use super::assemble::{Outcome, Seen, assemble};
use super::ending::{Action, Came, Ending, Reason, SIGCONT, SIGTERM};
use super::eyes::Eyes;
use super::facts::Facts;
use super::farewell::dismiss;
use super::hold::Hold;
use super::live::SIGWINCH;
use super::named;
use super::outlived::{LINGER, Outlived, Round};
use super::paper::Paper;
use super::ready::{self, Ready};
use super::retry;
use super::stopped;
use super::task::{Happened, Task};
use super::unended::Unended;
use super::words::{MESSAGE_BYTES, ToFront, ToMonitor};
use crate::cmd::run::{Descendants, MonitorDeath, RunOptions};
use record::identity::Ending as HowEnded;
use record::sample::{MainEnd, WaitTotals};
use record::unit::Nanos;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use sys::descriptor::{self, Received};
use sys::signal::{Arrived, Signals};

const SIGKILL: i32 = 9;

/// Signals of our own that are remembered, to tell a signal to the group from one to the front.
const OWN_SIGNALS_MAX: usize = 32;
/// How long we look for events that the kernel has not handed over yet when the task has ended.
const EVENTS_WAIT: Nanos = Nanos::from_millis(40);
/// Looks at the survivors before their changes are no longer waited out.
const LAST_LOOKS_MAX: u32 = 100;
/// A limit on everything: rounds of SIGKILL before a process that will not die is reported.
const KILL_ROUNDS_MAX: u32 = 2000;

/// The monitor of one task.
pub(crate) struct Monitor<'a> {
    options: &'a RunOptions,
    task: Task,
    eyes: Eyes,
    hold: Hold,
    ending: Ending,
    facts: Facts,
    paper: Paper,
    front: Option<OwnedFd>,
    signals: Signals,
    own_signals: VecDeque<Arrived>,
    main_end: Option<MainEnd>,
    empty: bool,
    stopped: bool,
    /// The front stopped with the command, and nobody was seen to continue it.
    front_stopped: bool,
    kill_rounds: u32,
    unended: Unended,
    outlived: Outlived,
    /// All who are left are another user's, whom we may not kill.
    beyond_us: bool,
    /// Whether the front was told last that the status line has its row.
    front_told_row: bool,
}

/// What [`Monitor::new`] needs.
pub(crate) struct Parts<'a> {
    /// What was asked.
    pub(crate) options: &'a RunOptions,
    /// The task, its command running.
    pub(crate) task: Task,
    /// What we see it with.
    pub(crate) eyes: Eyes,
    /// What we hold it with.
    pub(crate) hold: Hold,
    /// What the report says besides measurements.
    pub(crate) facts: Facts,
    /// Where the report goes.
    pub(crate) paper: Paper,
    /// The channel to the front.
    pub(crate) front: OwnedFd,
    /// The signals that reach the monitor itself.
    pub(crate) signals: Signals,
}

impl<'a> Monitor<'a> {
    /// A monitor of a task whose command just started.
    pub(crate) fn new(parts: Parts<'a>) -> Self {
        Self {
            options: parts.options,
            task: parts.task,
            eyes: parts.eyes,
            hold: parts.hold,
            ending: Ending::new(),
            facts: parts.facts,
            paper: parts.paper,
            front: Some(parts.front),
            signals: parts.signals,
            own_signals: VecDeque::new(),
            main_end: None,
            empty: false,
            stopped: false,
            front_stopped: false,
            kill_rounds: 0,
            unended: Unended::default(),
            outlived: Outlived::default(),
            beyond_us: false,
            front_told_row: false,
        }
    }

    /// Watches until the task is over; the exit status, after the report was written.
    pub(crate) fn serve(mut self) -> u8 {
        while !self.over() {
            let ready = self.wait();
            self.hear(&ready);
            let now = Nanos(sys::clock::boot());
            self.eyes
                .look(now, &mut self.task, &mut self.hold, &mut self.facts);
            self.hold.folders.look(now, &mut self.eyes.tree);
            self.hear_of_adopted();
            self.enforce(now);
            self.paper
                .running_state(now, &self.facts, &self.eyes, &self.hold);
            self.show(now);
        }
        self.finish()
    }

    /// Draws the status line.
    fn show(&mut self, now: Nanos) {
        let task = (&self.facts, &self.eyes, &self.hold);
        self.paper.live(now, self.stopped, task);
        self.tell_of_row();
    }

    /// The front gives the row of the status line back should we die.
    fn tell_of_row(&mut self) {
        let has_row = self.paper.has_row();
        if has_row != self.front_told_row {
            self.front_told_row = has_row;
            self.tell_front(ToFront::Row(has_row));
        }
    }

    fn over(&self) -> bool {
        if self.main_end.is_none() {
            return false;
        }
        if self.empty || self.beyond_us || self.kill_rounds >= KILL_ROUNDS_MAX {
            return true;
        }
        self.lingers_until()
            .is_some_and(|until| Nanos(sys::clock::boot()) >= until)
    }

    /// Processes that outlive the command are left alone, but those that are about to end (helpers
    /// that see their parent gone) have until then, so that they are not called survivors.
    fn lingers_until(&self) -> Option<Nanos> {
        let end = self.main_end?;
        let leaves = !self.ending.under_way() && self.options.descendants == Descendants::Leave;
        leaves.then(|| end.at.plus(LINGER))
    }

    /// Sleeps until something happens or something is due. Tells what may be heard of.
    fn wait(&self) -> Ready {
        let now = Nanos(sys::clock::boot());
        let due = [
            self.eyes.next(now),
            self.hold.next(now),
            self.hold.folders.next(now),
            self.hold.containers.next(&self.facts.clients),
            self.ending.next(now),
            self.paper.next(),
            self.lingers_until(),
            self.front_stopped.then(|| now.plus(stopped::LOOK_EVERY)),
        ];
        let timeout = due.into_iter().flatten().min().map(|due| due.since(now).0);
        let fds = [
            self.task.fd(),
            self.front.as_ref().map(AsFd::as_fd),
            self.eyes.fd(),
            self.eyes.files_fd(),
            Some(self.signals.as_fd()),
        ];
        let ready = ready::wait(fds, self.hold.waiting(), timeout);
        Ready {
            front: ready[1],
            signals: ready[4],
        }
    }

    fn hear(&mut self, ready: &Ready) {
        if ready.signals {
            self.hear_own();
        }
        if self.front_stopped && stopped::is_asked_to_end(sys::process::parent()) {
            self.rouse_front();
        }
        if ready.front {
            self.hear_front();
        }
        while let Some(happened) = self.task.next() {
            match happened {
                Happened::Stopped(signal) => {
                    (self.stopped, self.front_stopped) = (true, true);
                    self.paper.pause();
                    self.tell_of_row();
                    self.tell_front(ToFront::Stopped(signal));
                }
                Happened::Continued => {
                    self.stopped = false;
                    self.rouse_front();
                }
                Happened::Ended(end) => self.main_ended(end),
                Happened::Empty => {
                    self.empty = !self.task.is_adopted() || self.eyes.survivors().is_empty();
                    break;
                }
                Happened::Adopted => {
                    self.facts.launcher_ended = true;
                    self.eyes.adopted();
                    self.hear_children();
                }
            }
        }
    }

    /// From now on the ends of the task's processes are told to us, by SIGCHLD.
    fn hear_children(&mut self) {
        if !self.task.is_traced()
            && let Err(error) = self.signals.select(u64::MAX)
        {
            let why = "the ends of processes are noticed late";
            self.facts.note(format!("{why}: {error}"));
        }
    }

    /// Under ptrace the tracing thread waits for the children that a dead launcher left us: an
    /// event tells the end of the command.
    fn hear_of_adopted(&mut self) {
        if self.main_end.is_none()
            && self.task.is_adopted()
            && let Some(end) = self.eyes.root_end()
        {
            self.main_ended(end);
        }
    }

    fn main_ended(&mut self, end: MainEnd) {
        let now = Nanos(sys::clock::boot());
        self.main_end = Some(end);
        let action = self.ending.main_ended(now);
        self.act(action);
        self.end_descendants(now);
    }

    fn end_descendants(&mut self, now: Nanos) {
        if self.options.descendants == Descendants::Kill {
            let action = self
                .ending
                .end(Reason::Descendants, now, self.options.grace(None));
            self.act(action);
        }
    }

    fn tell_front(&mut self, word: ToFront) {
        if let Some(front) = &self.front
            && word.say(front).is_err()
        {
            self.front_died();
        }
    }

    /// A front that stopped with the command goes on with it, whoever continued the command.
    fn rouse_front(&self) {
        if self.front_stopped && self.front.is_some() {
            // A front that is gone by now is noticed by the end of its channel.
            drop(sys::process::kill(sys::process::parent(), SIGCONT));
        }
    }

    fn hear_front(&mut self) {
        let mut bytes = [0; MESSAGE_BYTES];
        while let Some(front) = &self.front {
            match descriptor::receive(front.as_fd(), &mut bytes, false) {
                Ok(Received::Bytes(_)) => {
                    if let Some(ToMonitor::Signal(arrived)) = ToMonitor::decode(&bytes) {
                        self.pass_on(arrived);
                    }
                }
                Ok(Received::Nothing) => break,
                Ok(Received::End) | Err(_) => self.front_died(),
            }
        }
    }

    fn front_died(&mut self) {
        self.front = None;
        self.facts
            .note("the process that the caller started was ended from outside");
        if self.options.on_monitor_death == MonitorDeath::Kill {
            let now = Nanos(sys::clock::boot());
            let action = self
                .ending
                .end(Reason::FrontDied, now, Nanos::from_millis(500));
            self.act(action);
        }
    }

    /// A signal reached the front. Whether it came to the whole process group we see because it
    /// reached us too.
    fn pass_on(&mut self, arrived: Arrived) {
        let to_group = self.reached_us(&arrived);
        self.facts.signal(&arrived);
        self.ending.heard(arrived.signal);
        if self.main_end.is_some() {
            return;
        }
        let main = self.task.pid();
        let came = Came {
            signal: arrived.signal,
            from_kernel: arrived.from_kernel(),
            from_task: to_group && self.eyes.knows(arrived.pid, &mut self.facts),
            to_group,
            main_in_group: sys::process::group(main) == sys::process::group(std::process::id()),
            main_ignores: self.task.ignores(arrived.signal),
            stopped: self.stopped || arrived.signal == SIGCONT && stopped::is_stopped(main),
        };
        let passing = came.passing();
        if passing.forward {
            self.task.signal(arrived.signal);
        }
        if passing.ends {
            let now = Nanos(sys::clock::boot());
            self.ending
                .signal_passed(arrived.signal, now, self.options.grace(None));
        }
    }

    /// Whether the same signal of the same sender reached the monitor, which is in the same group.
    fn reached_us(&mut self, arrived: &Arrived) -> bool {
        // The sender signals the members of a group one after another: we may be a moment behind.
        for _ in 0..3 {
            self.hear_own();
            let same = |own: &Arrived| own.signal == arrived.signal && own.pid == arrived.pid;
            if let Some(index) = self.own_signals.iter().position(same) {
                self.own_signals.remove(index);
                return true;
            }
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        false
    }

    /// Takes note of the signals that reached the monitor itself; none of them ends or stops it.
    fn hear_own(&mut self) {
        while let Some(arrived) = self.signals.next() {
            if arrived.signal == SIGWINCH {
                self.paper.resized();
            }
            if self.own_signals.len() >= OWN_SIGNALS_MAX {
                self.own_signals.pop_front();
            }
            self.own_signals.push_back(arrived);
        }
    }

    fn enforce(&mut self, now: Nanos) {
        self.hold.containers.look(now, &mut self.facts);
        let (eyes, task, facts) = (&mut self.eyes, &mut self.task, &mut self.facts);
        if let Some(grace) = self.hold.check(now, eyes, task, facts, self.options) {
            let action = self.ending.end(Reason::Limit, now, grace);
            self.act(action);
        }
        let action = self.ending.tick(now);
        self.act(action);
    }

    fn act(&mut self, action: Option<Action>) {
        let Some(action) = action else { return };
        let signal = if action == Action::Kill {
            SIGKILL
        } else {
            SIGTERM
        };
        self.tell_survivors();
        if action == Action::Kill {
            self.kill_rounds += 1;
            // The group may end whom a signal of ours does not.
            self.unended.forget(&self.hold.pids());
            self.hold.kill_group();
        }
        let everyone = self.eyes.everyone(&self.hold);
        let refused = self.unended.signal(&everyone, signal, &self.eyes.tree);
        self.beyond_us = refused && action == Action::Kill;
        self.ending.hindered(self.beyond_us);
    }

    /// Takes note of those that outlived the command and are about to be ended.
    fn tell_survivors(&mut self) {
        let now = Nanos(sys::clock::boot());
        let round = Round {
            reason: self.ending.reason(),
            again: self.kill_rounds > 0,
            since_end: self.main_end.map(|end| now.since(end.at)),
        };
        if round.is_for_survivors() {
            let everyone = self.eyes.everyone(&self.hold);
            self.outlived.add(&everyone, &self.eyes.tree);
        }
    }

    /// What was waited for, and who lives on with what: each process in one of the two. One that
    /// ends between the two looks could be in neither or in both, so they are repeated until nobody
    /// did.
    fn last_totals(&mut self) -> (Option<WaitTotals>, Vec<u32>) {
        for _ in 0..LAST_LOOKS_MAX {
            if self.eyes.anyone_dying() {
                std::thread::sleep(std::time::Duration::from_micros(500));
                continue;
            }
            let survivors = self.eyes.survivors();
            if !survivors.is_empty() {
                let now = Nanos(sys::clock::boot());
                self.eyes
                    .pass(now, &mut self.task, &mut self.hold, &mut self.facts);
            }
            let waited = self.task.waited_now();
            let after = self.eyes.survivors();
            if survivors.iter().all(|pid| after.contains(pid)) {
                return (waited, survivors);
            }
        }
        self.facts
            .note("processes kept ending while the last totals were taken: lower bounds");
        (self.task.waited_now(), self.eyes.survivors())
    }

    fn finish(mut self) -> u8 {
        self.paper.pause();
        self.tell_of_row();
        let now = Nanos(sys::clock::boot());
        let end = self.main_end.unwrap_or(MainEnd {
            at: now,
            ending: HowEnded::Code(125),
            faults: None,
        });
        let (waited, survivors) = self.last_totals();
        self.eyes
            .settle(EVENTS_WAIT, survivors.len(), &mut self.facts);
        self.hold.containers.look(now, &mut self.facts);
        let (eyes, facts) = (&mut self.eyes, &mut self.facts);
        self.hold.last_look(now, eyes, facts, self.options);
        named::last_look(&mut self.facts);
        self.facts.launcher = self.task.launcher_usage();
        if self.unended.has(self.task.pid()) {
            self.hold.not_enforced();
        }
        if let Some(who) = self.unended.words() {
            let why = "could not be ended, another user's process";
            self.facts.note(format!("{who}: {why}"));
        }
        self.hear_front();
        let outcome = Outcome {
            unended: self.unended,
            outlived: self.outlived,
            end,
            until: now,
            waited,
            survivors,
            reason: self.ending.reason(),
        };
        let alive = !outcome.survivors.is_empty();
        let (tree, files, tellers) = self.eyes.part(alive, &mut self.facts);
        let calls = tellers.0.calls(&mut self.facts);
        let seen = Seen { tree, files, calls };
        let assembled = assemble(self.facts, seen, &self.hold, outcome, self.options);
        let short = retry::short_of(&assembled.report, &self.ending, self.options);
        let last = match short {
            Some(place) => {
                self.paper.write_between(&assembled, self.options);
                ToFront::Short(place)
            }
            None => {
                self.paper.write(&assembled, self.options);
                ToFront::Done(assembled.status)
            }
        };
        self.task.dismiss();
        self.hold.release();
        if let Some(front) = &self.front {
            dismiss(front, self.front_stopped, last);
        }
        // Takes the kernel some ms where they are programs of ours.
        drop(tellers);
        assembled.status
    }
}
