//! What processes have open: looked at now and then, all in turn; written where it differs from the
//! last time, and when it is open no more.
//!
//! A look costs some 200 us a process, so it is spread over most of its period. What is open in one
//! that has not run since its last look only others can change: it is looked at more seldom.

use super::Segments;
use super::cells::Cells;
use super::detail::{Asker, Job};
use super::who;
use record::identity::ProcessId;
use record::sample::ProcessSample;
use record::table::descriptor::{self, Descriptor};
use record::unit::Nanos;
use record::value::Absent;
use rustc_hash::FxHashMap;
use source::aside::Haste;
use source::query::descriptors::Listing;
use source::roll::Roll;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use store::Error;
use store::segment::Instant;

/// Descriptors that are remembered of all processes: 1 MiB of them.
const ALL_MAX: usize = 1 << 16;
/// A look is spread over so much of its period, hundredths, if that is long enough to notice.
const SPREAD: u64 = 80;
const SPREAD_FROM: Nanos = Nanos::from_secs(30);
/// Those whose turns come within so long are asked at once: who reads is woken once for all.
const TURNS_TOGETHER: Nanos = Nanos::from_secs(5);

/// So many looks pass over one that has not run. Somebody may have renamed or removed its file, or
/// written through what they share.
const PASSED_OVER_MAX: u8 = 3;

/// What was open at the last look.
pub(super) struct Descriptors {
    /// How often to look; nothing for never.
    period: Option<Nanos>,
    due: Nanos,
    /// Of this look, those whose turn comes yet.
    turns: Turns,
    /// And those that did not answer yet, with what they had run when this look began.
    asked: FxHashMap<ProcessId, Option<Nanos>>,
    known: Roll<ProcessId, Known>,
    /// Of all that are known.
    count: usize,
    /// What is told is told again: the segment is another.
    chapter: u64,
    pass: u64,
    /// How many there were.
    looks: u64,
    /// Of the look under way, and of the one before.
    left_out: [LeftOut; 2],
    cells: Cells,
}

/// Descriptors, and ends of sockets.
type LeftOut = [u64; 2];

struct Known {
    /// The numbers, in their order, with what was told of them.
    open: Vec<(u32, u64)>,
    chapter: u64,
    pass: u64,
    /// What it had run when its last look began; nothing if nobody can tell.
    ran: Option<Nanos>,
    /// By so many looks since.
    passed_over: u8,
}

impl Known {
    /// Whether a look at it would find what the last one did, as far as it goes by the process
    /// itself.
    fn rests(&mut self, sample: &ProcessSample, chapter: u64) -> bool {
        let slept = self.ran.is_some() && self.ran == ran(sample);
        let rests = slept && self.chapter == chapter && self.passed_over < PASSED_OVER_MAX;
        self.passed_over += u8::from(rests);
        rests
    }
}

/// What it has run, if that is known to the nanosecond.
fn ran(sample: &ProcessSample) -> Option<Nanos> {
    sample.own.cpu.filter(|_| sample.revision.is_some())
}

impl Descriptors {
    pub(super) fn new(period: Option<Nanos>) -> Self {
        Self {
            period,
            due: Nanos(0),
            turns: Turns::default(),
            asked: FxHashMap::default(),
            known: Roll::default(),
            count: 0,
            chapter: 0,
            pass: 0,
            looks: 0,
            left_out: [[0; 2]; 2],
            cells: Cells::new(&descriptor::TABLE),
        }
    }

    /// What is beyond the bounds, at the last look: descriptors, and ends of sockets.
    pub(super) fn left_out(&self) -> LeftOut {
        let [now, before] = self.left_out;
        if self.is_over() {
            return now;
        }
        let ([descriptors, sockets], [descriptors_before, sockets_before]) = (now, before);
        [
            descriptors.max(descriptors_before),
            sockets.max(sockets_before),
        ]
    }

    /// Whether everybody was asked, and has answered.
    pub(super) fn is_over(&self) -> bool {
        self.asked.is_empty() && self.turns.ids.is_empty()
    }

    /// A reading at `at` met these: whoever had something open and is not among them has ended.
    /// Begins to ask all of them if it is time to, and goes on with it.
    pub(super) fn met<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a ProcessSample> + Clone,
        asker: &Asker,
        (is_new, at): (bool, Nanos),
    ) {
        let Some(period) = self.period else {
            return;
        };
        self.pass += 1;
        self.chapter += u64::from(is_new);
        if !self.known.is_empty() {
            self.known.begin();
            let mut met = 0;
            for sample in samples.clone() {
                if let Some(known) = self.known.find(sample.id) {
                    known.pass = self.pass;
                    met += 1;
                }
            }
            if met < self.known.len() {
                self.close_ended();
            }
        }
        let is_due = is_new || at >= self.due;
        // One look at a time: the next one waits for whoever is slow.
        if is_due && self.is_over() {
            self.due = at.plus(period);
            self.left_out = [[0; 2], self.left_out()];
            self.looks += 1;
            let mut turns = Vec::new();
            for one in samples.filter(|one| !who::is_of_kernel(one)) {
                let known = self.known.get_mut(one.id);
                if !known.is_some_and(|known| known.rests(one, self.chapter)) {
                    turns.push((one.id, ran(one)));
                }
            }
            self.turns = Turns::new(turns.into(), at, period);
        }
        while let Some((id, ran)) = self.turns.next(at) {
            let asked = asker.ask(Job::Descriptors(id, self.looks), Haste::Leisure);
            if asked.is_ok() {
                self.asked.insert(id, ran);
            }
        }
    }

    fn close_ended(&mut self) {
        let (pass, count, cells) = (self.pass, &mut self.count, &mut self.cells);
        self.known.keep(|id, known| {
            let is_there = known.pass == pass;
            if !is_there {
                *count -= known.open.len();
                for (fd, _) in &known.open {
                    cells.push(|out| descriptor::put_closed(out, id, *fd), |_| true);
                }
            }
            is_there
        });
    }

    /// What a process has open, or why that is not known.
    pub(super) fn answered(&mut self, id: ProcessId, listing: Result<Listing, Absent>) {
        let ran = self.asked.remove(&id).flatten();
        // What this user may not see is nobody's loss, and of who has ended the next reading tells.
        let Ok(mut listing) = listing else {
            return;
        };
        let known = self.known.get_mut(id);
        let is_told = known
            .as_ref()
            .is_some_and(|one| one.chapter == self.chapter);
        // Its place stays its own: readings tell all in the order in which they were asked.
        let before = known.map_or_else(Vec::new, |known| std::mem::take(&mut known.open));
        self.count -= before.len();
        let room = ALL_MAX.saturating_sub(self.count);
        let beyond = listing.all.len().saturating_sub(room);
        listing.all.truncate(room);
        let beyond = listing.left_out + beyond as u64;
        let [[descriptors, sockets], _] = &mut self.left_out;
        *descriptors += beyond;
        *sockets += listing.sockets_left_out;
        let now: Vec<_> = listing.all.iter().map(|one| (one.fd, hash(one))).collect();
        // What lies behind the last one is not known to be closed, if more is open than is kept.
        let last = now.last().map_or(0, |(fd, _)| *fd);
        let is_known = |fd: u32| beyond == 0 || fd < last;
        for (fd, _) in before.iter().filter(|(fd, _)| is_known(*fd)) {
            if now.binary_search_by_key(fd, |(fd, _)| *fd).is_err() {
                self.cells
                    .push(|out| descriptor::put_closed(out, id, *fd), |_| true);
            }
        }
        for (one, told) in listing.all.iter().zip(&now) {
            if !is_told || before.binary_search(told).is_err() {
                self.cells
                    .push(|out| descriptor::put_open(out, id, one), |_| true);
            }
        }
        self.count += now.len();
        if now.is_empty() {
            self.known.remove(id);
            return;
        }
        let (known, _) = self.known.meet(id, || Known {
            open: Vec::new(),
            chapter: 0,
            pass: 0,
            ran: None,
            passed_over: 0,
        });
        (known.open, known.chapter, known.pass) = (now, self.chapter, self.pass);
        (known.ran, known.passed_over) = (ran, 0);
    }

    /// A process does not answer: what it had open stands.
    pub(super) fn unanswered(&mut self, id: ProcessId) {
        self.asked.remove(&id);
    }

    /// Whether there are as many rows as a frame should have.
    pub(super) fn is_full(&self) -> bool {
        self.cells.is_full()
    }

    /// Writes what was put down.
    ///
    /// # Errors
    /// It could not be written, and is counted as lost.
    pub(super) fn flush(&mut self, when: Instant, writer: &mut Segments) -> Result<(), Error> {
        let written = self.cells.flush(when, writer);
        if written.is_err() {
            // Whatever was lost is told at the next look.
            self.chapter += 1;
        }
        written
    }
}

/// Who is asked when.
#[derive(Default)]
struct Turns {
    ids: VecDeque<(ProcessId, Option<Nanos>)>,
    /// How many there were, and over how much time from when on they are spread.
    count: usize,
    begun: Nanos,
    spread: Nanos,
}

impl Turns {
    fn new(ids: VecDeque<(ProcessId, Option<Nanos>)>, begun: Nanos, period: Nanos) -> Self {
        Self {
            count: ids.len(),
            ids,
            begun,
            spread: match period < SPREAD_FROM {
                true => Nanos(0),
                false => Nanos(period.0 / 100 * SPREAD),
            },
        }
    }

    /// The next one whose turn has come.
    fn next(&mut self, now: Nanos) -> Option<(ProcessId, Option<Nanos>)> {
        let passed = now.since(self.begun).0;
        let due = match self.spread.0 {
            spread if passed < spread => {
                let until = passed - passed % TURNS_TOGETHER.0 + TURNS_TOGETHER.0;
                self.count as u128 * u128::from(until.min(spread)) / u128::from(spread)
            }
            _ => self.count as u128,
        };
        let asked = self.count - self.ids.len();
        match (asked as u128) < due {
            true => self.ids.pop_front(),
            false => None,
        }
    }
}

fn hash(one: &Descriptor) -> u64 {
    let mut hasher = DefaultHasher::new();
    one.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::codec::series::Revision;
    use record::table::descriptor::Kind;

    fn listing(fds: std::ops::Range<u32>, left_out: u64) -> Result<Listing, Absent> {
        let one = |fd| Descriptor {
            fd,
            kind: Kind::Pipe,
            path: b"pipe:[1]".to_vec(),
            mode: None,
            position: None,
            socket: None,
        };
        let all = fds.map(one).collect();
        Ok(Listing {
            all,
            left_out,
            sockets_left_out: left_out,
        })
    }

    #[test]
    fn a_look_is_spread_over_most_of_its_period() {
        let ids = |count: u32| {
            let one = |pid| (ProcessId::new(pid, Nanos(0)), None);
            (0..count).map(one).collect::<VecDeque<_>>()
        };
        let at = |seconds: u64| Nanos::from_secs(1000 + seconds);
        let mut turns = Turns::new(ids(480), at(0), Nanos::from_secs(300));
        let mut come = |seconds| {
            let all = std::iter::from_fn(|| turns.next(at(seconds)));
            all.map(|(id, _)| id.pid).collect::<Vec<_>>()
        };
        // Two a second.
        assert_eq!(come(0), (0..10).collect::<Vec<_>>());
        assert!(come(4).is_empty());
        assert_eq!(come(6), (10..20).collect::<Vec<_>>());
        assert_eq!(come(120).len(), 250 - 20);
        assert_eq!((come(240).len(), come(300).len()), (480 - 250, 0));
        // Whoever wants it often has it at once.
        let mut turns = Turns::new(ids(480), at(0), Nanos::from_secs(1));
        assert_eq!(std::iter::from_fn(|| turns.next(at(0))).count(), 480);
        assert!(Turns::default().next(at(0)).is_none());
    }

    #[test]
    fn one_that_has_not_run_is_passed_over_a_few_times() {
        let mut descriptors = Descriptors::new(Some(Nanos(1)));
        let mut sample = who::tests::sample(b"sh", 1);
        let mut look = |ns, revision| {
            (sample.own.cpu, sample.revision) = (Some(Nanos(ns)), Revision::new(revision));
            let known = descriptors.known.get_mut(sample.id);
            let passes_over = known.is_some_and(|known| known.rests(&sample, descriptors.chapter));
            if !passes_over {
                descriptors.asked.insert(sample.id, ran(&sample));
                descriptors.answered(sample.id, listing(0..3, 0));
            }
            !passes_over
        };
        let looks: Vec<_> = (0..6).map(|_| look(5, 1)).collect();
        assert_eq!(looks, [true, false, false, false, true, false]);
        assert_eq!([look(6, 2), look(6, 2)], [true, false], "it has run");
        assert_eq!([look(6, 0), look(6, 0)], [true, true], "nobody can tell");
        assert_eq!([look(6, 1), look(6, 1)], [true, false]);
        descriptors.chapter += 1;
        let known = descriptors.known.get_mut(sample.id).unwrap();
        assert!(!known.rests(&sample, 1), "another segment tells all again");
    }

    #[test]
    fn what_is_kept_has_a_bound_and_the_rest_is_counted() {
        let mut descriptors = Descriptors::new(Some(Nanos(1)));
        let id = |pid| ProcessId::new(pid, Nanos(0));
        let most = ALL_MAX as u32;
        descriptors.answered(id(1), listing(0..most - 2, 3));
        descriptors.answered(id(2), listing(0..7, 0));
        assert_eq!(descriptors.count, ALL_MAX);
        assert_eq!(descriptors.left_out(), [8, 3]);
        // Of one that has ended nothing is kept.
        descriptors.answered(id(1), listing(0..4, 0));
        assert_eq!(descriptors.count, 6);
        descriptors.answered(id(2), Err(Absent::Gone));
        assert_eq!(descriptors.count, 6);
        descriptors.pass += 1;
        descriptors.close_ended();
        assert_eq!((descriptors.count, descriptors.known.len()), (0, 0));
    }
}
