//! How a task is brought to its end: which signal the tree gets, and when. Pure: time is told.

use record::unit::Nanos;

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
pub(super) const SIGTERM: i32 = 15;
pub(super) const SIGCONT: i32 = 18;
/// Signals that end a program by default.
pub(super) const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Why the tree is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A limit was broken.
    Limit,
    /// A signal that a process sent us was passed on.
    Signal(i32),
    /// Processes outlived the command, and the user wants them ended.
    Descendants,
    /// The front was killed.
    FrontDied,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// SIGTERM to every process of the tree.
    Terminate,
    /// SIGKILL to every process of the tree; again at each tick until none is left.
    Kill,
}

/// How a signal came to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Came {
    /// Its number.
    pub(crate) signal: i32,
    /// The kernel sent it, not a process.
    pub(crate) from_kernel: bool,
    /// A process of the task sent it.
    pub(crate) from_task: bool,
    /// It came to the whole process group of the front.
    pub(crate) to_group: bool,
    /// The main process is in that group.
    pub(crate) main_in_group: bool,
    /// The main process ignores it, as `nohup` makes it do.
    pub(crate) main_ignores: bool,
    /// The task is stopped.
    pub(crate) stopped: bool,
}

/// What follows from a signal that came to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Passing {
    /// The main process gets it too.
    pub(crate) forward: bool,
    /// The tree shall end with the main process, or after the grace.
    pub(crate) ends: bool,
}

impl Came {
    /// What is done with it.
    ///
    /// What the terminal's keys send is for its foreground group: the task has it, or would not
    /// have it bare either. What is sent when the terminal hangs up is for the leader of its
    /// session alone, which the front may be in the task's place: it is passed on, unless it came
    /// to the whole group, as when the leader is another that died. What a process sends to the
    /// whole group has reached the task too; what the task sends to its own group, and so to the
    /// front, is its own affair.
    pub(crate) fn passing(self) -> Passing {
        let hang_up = self.signal == SIGHUP || self.signal == SIGCONT;
        if self.from_kernel && !hang_up || self.from_task && self.to_group {
            return Passing::default();
        }
        let reached = self.to_group && (self.main_in_group || !self.from_kernel);
        let moot = self.signal == SIGCONT && !self.stopped;
        // One whose terminal went away, and who was told not to mind.
        let unmoved =
            self.signal == SIGHUP && (self.from_kernel || self.to_group) && self.main_ignores;
        Passing {
            forward: !reached && !moot,
            ends: ENDING.contains(&self.signal) && !unmoved,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The main process was signalled; the tree follows when it ends, or at this instant.
    Passed(Nanos),
    /// The tree got SIGTERM; SIGKILL follows at this instant.
    Terminating(Nanos),
    Killing,
}

/// Time between two rounds of SIGKILL.
const KILL_ROUND: Nanos = Nanos::from_millis(5);

/// The same where the kernel refused every one: they may become ours again.
const KILL_ROUND_HINDERED: Nanos = Nanos::from_millis(200);

/// The state of an ending.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    phase: Phase,
    reason: Option<Reason>,
    grace: Nanos,
    kill_round: Nanos,
    asked: bool,
}

impl Ending {
    /// A task that runs.
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::Running,
            reason: None,
            grace: Nanos(0),
            kill_round: KILL_ROUND,
            asked: false,
        }
    }

    /// Whether all that is left may not be killed by us.
    pub(crate) fn hindered(&mut self, hindered: bool) {
        self.kill_round = if hindered {
            KILL_ROUND_HINDERED
        } else {
            KILL_ROUND
        };
    }

    /// Why the tree is being ended, if it is.
    pub(crate) const fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// Whether anything is under way.
    pub(crate) fn under_way(&self) -> bool {
        self.phase != Phase::Running
    }

    /// This signal came to the front, whatever is done with it.
    pub(crate) fn heard(&mut self, signal: i32) {
        self.asked |= ENDING.contains(&signal);
    }

    /// Whether nothing may follow this attempt: it ends for another reason than a limit, or
    /// somebody asked for an end, be it while a limit was ending it.
    pub(crate) fn is_final(&self) -> bool {
        self.asked || self.reason.is_some_and(|reason| reason != Reason::Limit)
    }

    /// A signal was passed to the main process at `now`.
    pub(crate) fn signal_passed(&mut self, signal: i32, now: Nanos, grace: Nanos) {
        if self.phase == Phase::Running {
            self.phase = Phase::Passed(now.plus(grace));
            self.reason = Some(Reason::Signal(signal));
            self.grace = grace;
        }
    }

    /// The tree shall end for `reason`: what to do at once. A running ending only gets faster.
    pub(crate) fn end(&mut self, reason: Reason, now: Nanos, grace: Nanos) -> Option<Action> {
        if matches!(self.phase, Phase::Terminating(_) | Phase::Killing) {
            return None;
        }
        self.reason = Some(reason);
        self.grace = grace;
        Some(self.terminate(now))
    }

    /// The main process ended at `now`: what to do at once.
    pub(crate) fn main_ended(&mut self, now: Nanos) -> Option<Action> {
        matches!(self.phase, Phase::Passed(_)).then(|| self.terminate(now))
    }

    /// Time passed: what to do now.
    pub(crate) fn tick(&mut self, now: Nanos) -> Option<Action> {
        match self.phase {
            Phase::Passed(until) if now >= until => Some(self.terminate(now)),
            Phase::Terminating(until) if now >= until => {
                self.phase = Phase::Killing;
                Some(Action::Kill)
            }
            Phase::Killing => Some(Action::Kill),
            _ => None,
        }
    }

    /// When the next tick matters.
    pub(crate) fn next(&self, now: Nanos) -> Option<Nanos> {
        match self.phase {
            Phase::Running => None,
            Phase::Passed(until) | Phase::Terminating(until) => Some(until),
            Phase::Killing => Some(now.plus(self.kill_round)),
        }
    }

    fn terminate(&mut self, now: Nanos) -> Action {
        if self.grace.0 == 0 {
            self.phase = Phase::Killing;
            return Action::Kill;
        }
        self.phase = Phase::Terminating(now.plus(self.grace));
        Action::Terminate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: fn(u64) -> Nanos = Nanos::from_secs;

    #[test]
    fn a_passed_signal_reaches_the_tree_when_the_main_process_ends() {
        let mut ending = Ending::new();
        assert_eq!(ending.main_ended(T(1)), None);
        ending.signal_passed(15, T(1), T(5));
        assert_eq!(ending.tick(T(3)), None);
        assert_eq!(ending.main_ended(T(4)), Some(Action::Terminate));
        assert_eq!(ending.next(T(4)), Some(T(9)));
        assert_eq!(ending.tick(T(9)), Some(Action::Kill));
        assert_eq!(ending.tick(T(9)), Some(Action::Kill));
    }

    #[test]
    fn a_main_process_that_ignores_the_signal_is_ended_after_the_grace() {
        let mut ending = Ending::new();
        ending.signal_passed(2, T(1), T(5));
        assert_eq!(ending.tick(T(6)), Some(Action::Terminate));
        assert_eq!(ending.tick(T(11)), Some(Action::Kill));
        assert_eq!(ending.reason(), Some(Reason::Signal(2)));
    }

    const PASSED_ON: Passing = Passing {
        forward: true,
        ends: true,
    };
    const NOT_FORWARDED: Passing = Passing {
        forward: false,
        ends: true,
    };

    /// From a process to the front alone.
    fn sent(signal: i32) -> Came {
        Came {
            signal,
            from_kernel: false,
            from_task: false,
            to_group: false,
            main_in_group: true,
            main_ignores: false,
            stopped: false,
        }
    }

    /// From the kernel to the group of the front and the task.
    fn of_group(signal: i32) -> Came {
        Came {
            from_kernel: true,
            to_group: true,
            ..sent(signal)
        }
    }

    #[test]
    fn what_keys_send_is_the_tasks_already() {
        for signal in [SIGINT, SIGQUIT, 20, 28] {
            assert_eq!(of_group(signal).passing(), Passing::default());
        }
    }

    #[test]
    fn what_processes_send_is_passed_on_once() {
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
            assert_eq!(sent(signal).passing(), PASSED_ON);
            let to_group = Came {
                to_group: true,
                ..sent(signal)
            };
            assert_eq!(to_group.passing(), NOT_FORWARDED);
        }
        let usr1 = Passing {
            forward: true,
            ends: false,
        };
        assert_eq!(sent(10).passing(), usr1);
    }

    #[test]
    fn what_the_task_sends_to_its_own_group_is_no_request() {
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, 10] {
            let to_group = Came {
                from_task: true,
                to_group: true,
                ..sent(signal)
            };
            assert_eq!(to_group.passing(), Passing::default());
            let to_us = Came {
                to_group: false,
                ..to_group
            };
            assert_eq!(to_us.passing(), sent(signal).passing());
        }
    }

    /// The kernel tells the leader of a session alone, the group only when the leader is gone.
    #[test]
    fn a_hang_up_reaches_the_task_once() {
        let of_leader = Came {
            to_group: false,
            ..of_group(SIGHUP)
        };
        assert_eq!(of_leader.passing(), PASSED_ON);
        assert_eq!(of_group(SIGHUP).passing(), NOT_FORWARDED);
        let elsewhere = Came {
            main_in_group: false,
            ..of_group(SIGHUP)
        };
        assert_eq!(elsewhere.passing(), PASSED_ON);
    }

    /// The kernel sends SIGCONT with it, so that a stopped task can end.
    #[test]
    fn a_stopped_task_is_continued_when_its_terminal_hangs_up() {
        let of_leader = Came {
            to_group: false,
            ..of_group(SIGCONT)
        };
        assert_eq!(of_leader.passing(), Passing::default());
        let stopped = Came {
            stopped: true,
            ..of_leader
        };
        let continued = Passing {
            forward: true,
            ends: false,
        };
        assert_eq!(stopped.passing(), continued);
    }

    #[test]
    fn who_ignores_hang_ups_outlives_his_terminal_but_not_a_signal_to_us() {
        for came in [of_group(SIGHUP), sent(SIGHUP)] {
            let deaf = Came {
                main_ignores: true,
                ..came
            };
            assert_eq!(deaf.passing().ends, !came.from_kernel);
        }
        let by_shell = Came {
            main_ignores: true,
            to_group: true,
            ..sent(SIGHUP)
        };
        assert_eq!(by_shell.passing(), Passing::default());
    }

    #[test]
    fn who_may_not_be_killed_is_tried_less_often() {
        let mut ending = Ending::new();
        ending.end(Reason::Limit, T(2), T(0));
        assert_eq!(ending.next(T(2)), Some(T(2).plus(Nanos::from_millis(5))));
        ending.hindered(true);
        assert_eq!(ending.next(T(2)), Some(T(2).plus(Nanos::from_millis(200))));
        ending.hindered(false);
        assert_eq!(ending.next(T(2)), Some(T(2).plus(Nanos::from_millis(5))));
    }

    #[test]
    fn what_asks_for_an_end_is_remembered_when_a_limit_ends() {
        let mut ending = Ending::new();
        ending.heard(10);
        ending.end(Reason::Limit, T(2), T(0));
        assert!(!ending.is_final());
        ending.heard(SIGINT);
        assert!(ending.is_final());
        assert_eq!(ending.reason(), Some(Reason::Limit));
        let mut ending = Ending::new();
        ending.end(Reason::FrontDied, T(2), T(0));
        assert!(ending.is_final());
    }

    #[test]
    fn a_limit_without_grace_kills_at_once_and_overrides_a_passed_signal() {
        let mut ending = Ending::new();
        ending.signal_passed(15, T(1), T(5));
        assert_eq!(ending.end(Reason::Limit, T(2), T(0)), Some(Action::Kill));
        assert_eq!(ending.end(Reason::Limit, T(2), T(5)), None);
        assert_eq!(ending.reason(), Some(Reason::Limit));
    }
}
