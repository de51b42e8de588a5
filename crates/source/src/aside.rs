//! Readings that may never return, by a thread of its own.
//!
//! What a process has in its own memory (its arguments, its environment, what its pages weigh) is
//! read under the lock of that memory, and through its page faults: while another thread of the
//! process holds the lock before a dead server, or the page itself lies there, the reader waits
//! with it. So somebody else waits. A reading that takes too long is left behind with its thread,
//! and another thread goes on; after a few such ones nothing more is asked until one comes back.
//!
//! What is not urgent is done at leisure: only while nothing else is to be done, and within a share
//! of one CPU.

mod allowance;

use crate::error::Error;
use allowance::Allowance;
use record::unit::Nanos;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use sys::burst;
use sys::clock::{self, Clock};
use sys::wake::Wake;

/// Answers that are not taken yet, at most; nothing is read meanwhile.
const ANSWERS_MAX: usize = 32;
/// The asker is woken for so many at once, or for those that there are before a pause.
const ANSWERS_BATCH: usize = 16;
/// Of each of the threads: the deepest path of calls takes a tenth.
const STACK_BYTES: usize = 256 << 10;

/// How it works.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// A reading that takes longer is left behind.
    pub patience: Nanos,
    /// Threads that may be left behind at once.
    pub stuck_max: usize,
    /// Questions of each kind that wait, at most.
    pub queue_max: usize,
    /// What may be spent at leisure, millionths of one CPU.
    pub leisure_share: u64,
}

/// When a question is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// As soon as can be.
    Now,
    /// When there is time.
    Leisure,
}

/// What was done of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<A> {
    /// All of it.
    Answer(A),
    /// A piece: it comes again before the others of its haste, as soon as they may.
    More,
}

/// What became of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum Told<J, A> {
    /// It was answered, perhaps long after it was told to be silent.
    Answer(A),
    /// The answer does not come in time: it may come later, or never.
    Silent(J),
    /// It was not asked: too many others are silent.
    Unasked(J),
}

/// Questions `J` and their answers `A`. Dropped, it waits for nobody.
pub struct Aside<J, A>(Arc<Shared<J, A>>);

/// Answers one question; it says to the turn whose memory it reads.
type Work<J, A> = dyn Fn(&J, &Turn<'_>) -> Step<A> + Send + Sync;

struct Shared<J, A> {
    settings: Settings,
    work: Box<Work<J, A>>,
    state: Mutex<State<J, A>>,
    changed: Condvar,
    answered: Wake,
}

struct State<J, A> {
    now: VecDeque<J>,
    leisure: VecDeque<J>,
    told: Vec<Told<J, A>>,
    workers: Vec<Worker<J>>,
    allowance: Allowance,
    threads: u64,
    silent: u64,
    is_over: bool,
}

/// One of the threads.
struct Worker<J> {
    number: u64,
    at: Option<At<J>>,
    is_stuck: bool,
}

/// What it reads, since when.
struct At<J> {
    job: J,
    pid: Option<u32>,
    since: Nanos,
}

/// What a thread is at.
pub struct Turn<'a>(&'a dyn Places);

/// Where the threads are.
trait Places {
    fn go(&self, pid: u32) -> bool;
}

struct Place<'a, J, A>(&'a Shared<J, A>, u64);

impl Turn<'_> {
    /// From now on the memory of `pid` is read; whether that is any use: `false` if somebody waits
    /// for it already.
    pub fn may_read(&self, pid: u32) -> bool {
        self.0.go(pid)
    }
}

impl<J, A> Places for Place<'_, J, A> {
    fn go(&self, pid: u32) -> bool {
        let mut state = self.0.lock();
        let waits = |worker: &Worker<J>| {
            let at = worker.at.as_ref().and_then(|at| at.pid);
            worker.is_stuck && worker.number != self.1 && at == Some(pid)
        };
        if state.workers.iter().any(waits) {
            return false;
        }
        let own = state.workers.iter_mut().find(|one| one.number == self.1);
        if let Some(at) = own.and_then(|worker| worker.at.as_mut()) {
            (at.pid, at.since) = (Some(pid), Nanos(clock::boot()));
        }
        true
    }
}

impl<J, A> Aside<J, A>
where
    J: Clone + Send + 'static,
    A: Send + 'static,
{
    /// Who answers by `work`; the first thread comes with the first question.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn new(
        settings: Settings,
        work: impl Fn(&J, &Turn<'_>) -> Step<A> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let answered = Wake::new().map_err(|source| Error::Kernel {
            mechanism: "a thread that reads",
            source,
        })?;
        Ok(Self(Arc::new(Shared {
            settings,
            work: Box::new(work),
            state: Mutex::new(State {
                now: VecDeque::new(),
                leisure: VecDeque::new(),
                told: Vec::new(),
                workers: Vec::new(),
                allowance: Allowance::new(settings.leisure_share, Nanos(clock::boot())),
                threads: 0,
                silent: 0,
                is_over: false,
            }),
            changed: Condvar::new(),
            answered,
        })))
    }

    /// Asks.
    ///
    /// # Errors
    /// The question, if too many wait, or nobody is there who could answer.
    pub fn ask(&self, job: J, haste: Haste) -> Result<(), J> {
        let mut state = self.0.lock();
        if !self.has_worker(&mut state) {
            return Err(job);
        }
        let queue = match haste {
            Haste::Now => &mut state.now,
            Haste::Leisure => &mut state.leisure,
        };
        if queue.len() >= self.0.settings.queue_max {
            return Err(job);
        }
        // Whoever waits while questions are there waits for something else.
        let wakes = queue.is_empty();
        queue.push_back(job);
        drop(state);
        if wakes {
            self.0.changed.notify_all();
        }
        Ok(())
    }

    /// What became of the questions since the last time. Threads that do not come back are
    /// replaced.
    pub fn take(&self) -> Vec<Told<J, A>> {
        self.0.answered.clear();
        let mut state = self.0.lock();
        let late = Nanos(clock::boot().saturating_sub(self.0.settings.patience.0));
        let State { workers, told, .. } = &mut *state;
        let mut silent = 0;
        for worker in workers.iter_mut().filter(|worker| !worker.is_stuck) {
            if let Some(at) = worker.at.as_ref().filter(|at| at.since < late) {
                worker.is_stuck = true;
                told.push(Told::Silent(at.job.clone()));
                silent += 1;
            }
        }
        state.silent += silent;
        if !state.is_idle() && !self.has_worker(&mut state) {
            let State {
                now, leisure, told, ..
            } = &mut *state;
            let unasked = now.drain(..).chain(leisure.drain(..));
            told.extend(unasked.map(Told::Unasked));
        }
        let told = std::mem::take(&mut state.told);
        drop(state);
        // Nobody waits for anything else that this has changed.
        if told.len() >= ANSWERS_MAX {
            self.0.changed.notify_all();
        }
        told
    }

    /// When to look again for readings that have taken too long.
    pub fn due(&self) -> Option<Nanos> {
        let state = self.0.lock();
        let at_work = state.workers.iter().filter(|worker| !worker.is_stuck);
        let since = at_work.filter_map(|worker| Some(worker.at.as_ref()?.since));
        // What nobody has begun yet begins now, or later.
        let next = (!state.now.is_empty()).then(|| Nanos(clock::boot()));
        let since = since.min().or(next)?;
        // A moment later, so that it has.
        Some(since.plus(self.0.settings.patience).plus(Nanos(1)))
    }

    /// Threads that wait for what does not answer, and readings that ever were told to be silent.
    pub fn silent(&self) -> (u64, u64) {
        let state = self.0.lock();
        let stuck = state.workers.iter().filter(|worker| worker.is_stuck);
        (stuck.count() as u64, state.silent)
    }

    /// Whether somebody is there who is not stuck; makes one if there may be another.
    fn has_worker(&self, state: &mut State<J, A>) -> bool {
        if state.workers.iter().any(|worker| !worker.is_stuck) {
            return true;
        }
        if state.workers.len() >= self.0.settings.stuck_max {
            return false;
        }
        state.threads += 1;
        let (shared, number) = (Arc::clone(&self.0), state.threads);
        let made = thread::Builder::new()
            .name("aside".into())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(&shared, number));
        // Without a thread: the questions are told to be unasked.
        if made.is_ok() {
            state.workers.push(Worker {
                number,
                at: None,
                is_stuck: false,
            });
        }
        made.is_ok()
    }
}

impl<J, A> AsFd for Aside<J, A> {
    /// Readable when there are answers.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.answered.as_fd()
    }
}

impl<J, A> Drop for Aside<J, A> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl<J, A> Shared<J, A> {
    fn lock(&self) -> MutexGuard<'_, State<J, A>> {
        // Nobody stops halfway while holding it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<J, A>>,
        pause: Option<Nanos>,
    ) -> MutexGuard<'a, State<J, A>> {
        match pause {
            None => {
                let woken = self.changed.wait(state);
                woken.unwrap_or_else(PoisonError::into_inner)
            }
            Some(pause) => {
                let pause = Duration::from_nanos(pause.0);
                let woken = self.changed.wait_timeout(state, pause);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

impl<J: Clone, A> State<J, A> {
    fn is_idle(&self) -> bool {
        self.now.is_empty() && self.leisure.is_empty()
    }

    /// The next question with its haste, or how long to pause: until something changes if that is
    /// not said.
    fn next(&mut self) -> Result<(J, Haste), Option<Nanos>> {
        if self.told.len() >= ANSWERS_MAX {
            return Err(None);
        }
        if let Some(job) = self.now.pop_front() {
            return Ok((job, Haste::Now));
        }
        if self.leisure.is_empty() {
            return Err(None);
        }
        match self.allowance.pause(Nanos(clock::boot())) {
            Some(pause) => Err(Some(pause)),
            None => self
                .leisure
                .pop_front()
                .map(|job| (job, Haste::Leisure))
                .ok_or(None),
        }
    }

    fn worker(&mut self, number: u64) -> Option<&mut Worker<J>> {
        self.workers.iter_mut().find(|one| one.number == number)
    }

    /// A thread came back; whether it goes on, as nobody has taken its place.
    fn stays(&mut self, number: u64) -> bool {
        let is_replaced = |one: &Worker<J>| one.number != number && !one.is_stuck;
        let stays = !self.workers.iter().any(is_replaced);
        if let Some(worker) = self.worker(number) {
            (worker.at, worker.is_stuck) = (None, false);
        }
        if !stays {
            self.workers.retain(|one| one.number != number);
        }
        stays
    }
}

/// Answers until nobody asks any more, or another does it.
fn serve<J: Clone, A>(shared: &Shared<J, A>, number: u64) {
    burst::hold(burst::USUAL_NS);
    loop {
        burst::rest();
        let mut state = shared.lock();
        let (job, haste) = loop {
            if state.is_over {
                return;
            }
            match state.next() {
                Ok(next) => break next,
                Err(pause) => {
                    if !state.told.is_empty() {
                        shared.answered.raise();
                    }
                    state = shared.wait(state, pause);
                }
            }
        };
        if let Some(worker) = state.worker(number) {
            worker.at = Some(At {
                job: job.clone(),
                pid: None,
                since: Nanos(clock::boot()),
            });
        }
        drop(state);
        let before = clock::now(Clock::Thread);
        let step = (shared.work)(&job, &Turn(&Place(shared, number)));
        let spent = clock::now(Clock::Thread).saturating_sub(before);
        let mut state = shared.lock();
        match (step, haste) {
            (Step::Answer(answer), _) => state.told.push(Told::Answer(answer)),
            (Step::More, Haste::Now) => state.now.push_front(job),
            (Step::More, Haste::Leisure) => state.leisure.push_front(job),
        }
        if haste == Haste::Leisure {
            state.allowance.spend(Nanos(spent));
        }
        let stays = state.stays(number);
        if state.told.len() >= ANSWERS_BATCH || !stays {
            shared.answered.raise();
        }
        if !stays {
            // What it was not done with is for the other.
            shared.changed.notify_all();
            return;
        }
    }
}

#[cfg(test)]
mod tests;
