//! Questions that wait for a signal of the test are silent, the others go on.

use super::*;
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use sys::descriptor::{Waiting, poll};

/// Answers with the number of the question; those of `held` wait for a word.
struct Bench {
    aside: Aside<u32, u32>,
    release: Sender<()>,
}

impl Bench {
    fn new(held: &'static [u32], patience: Nanos, stuck_max: usize) -> Self {
        let (release, word): (_, Receiver<()>) = channel();
        let word = Mutex::new(word);
        let settings = Settings {
            patience,
            stuck_max,
            queue_max: 4,
            leisure_share: 1_000_000,
        };
        let work = move |job: &u32, turn: &Turn<'_>| {
            if !turn.may_read(*job % 10) {
                return Step::Answer(1000 + *job);
            }
            if held.contains(job) {
                // One after the other, as they come.
                let word = word.lock().unwrap();
                word.recv().unwrap();
            }
            Step::Answer(*job)
        };
        Self {
            aside: Aside::new(settings, work).unwrap(),
            release,
        }
    }

    /// What is told until so much was.
    fn told(&self, count: usize) -> Vec<Told<u32, u32>> {
        let mut told = Vec::new();
        while told.len() < count {
            let fd = Some(self.aside.as_fd());
            let exceptional = false;
            let now = clock::boot();
            let pause = self.aside.due().map(|due| due.0.saturating_sub(now));
            poll(&[Waiting { fd, exceptional }], pause).unwrap();
            told.extend(self.aside.take());
        }
        assert_eq!(told.len(), count, "{told:?}");
        told
    }
}

const EVER: Nanos = Nanos::from_secs(3600);
const SOON: Nanos = Nanos::from_millis(20);

#[test]
fn questions_are_answered_and_urgent_ones_first() {
    let bench = Bench::new(&[1], EVER, 2);
    bench.aside.ask(1, Haste::Now).unwrap();
    // The first one is taken, so that these wait together.
    while bench.is_waiting() {
        thread::yield_now();
    }
    bench.aside.ask(2, Haste::Leisure).unwrap();
    bench.aside.ask(3, Haste::Now).unwrap();
    bench.release.send(()).unwrap();
    let order = bench.told(3);
    assert_eq!(order, [1, 3, 2].map(Told::Answer));
    assert_eq!(bench.aside.silent(), (0, 0));
    assert_eq!(bench.aside.due(), None);
}

#[test]
fn a_question_in_pieces_comes_behind_urgent_ones_alone() {
    let (release, word): (_, Receiver<()>) = channel();
    let pieces = Mutex::new((word, 3));
    let settings = Settings {
        patience: EVER,
        stuck_max: 1,
        queue_max: 4,
        leisure_share: 1_000_000,
    };
    let work = move |job: &u32, _: &Turn<'_>| {
        if *job != 1 {
            return Step::Answer(*job);
        }
        let mut pieces = pieces.lock().unwrap();
        pieces.0.recv().unwrap();
        pieces.1 -= 1;
        match pieces.1 {
            0 => Step::Answer(1),
            _ => Step::More,
        }
    };
    let aside = Aside::new(settings, work).unwrap();
    let bench = Bench { aside, release };
    bench.aside.ask(1, Haste::Leisure).unwrap();
    // The first piece is begun, so that these wait together.
    while !bench.aside.0.lock().leisure.is_empty() {
        thread::yield_now();
    }
    bench.aside.ask(2, Haste::Leisure).unwrap();
    bench.aside.ask(3, Haste::Now).unwrap();
    for _ in 0..3 {
        bench.release.send(()).unwrap();
    }
    assert_eq!(bench.told(3), [3, 1, 2].map(Told::Answer));
}

#[test]
fn who_does_not_answer_holds_nobody_up() {
    let bench = Bench::new(&[1], SOON, 64);
    bench.aside.ask(1, Haste::Now).unwrap();
    let first = bench.told(1);
    assert_eq!(first, [Told::Silent(1)]);
    assert_eq!(bench.aside.silent(), (1, 1));
    // Of the same process nothing is read; of another it is.
    bench.aside.ask(11, Haste::Now).unwrap();
    bench.aside.ask(2, Haste::Now).unwrap();
    let told: HashSet<_> = answers(&bench, &[1011, 2]);
    assert_eq!(told, HashSet::from([1011, 2]));
    // It comes back, and one of the two is enough from then on.
    bench.release.send(()).unwrap();
    assert_eq!(answers(&bench, &[1]), HashSet::from([1]));
    bench.aside.ask(21, Haste::Now).unwrap();
    assert_eq!(answers(&bench, &[21]), HashSet::from([21]));
    assert_eq!(bench.aside.silent().0, 0);
}

/// Answers until all of these were told. A machine that is busy makes some of them late, too.
fn answers(bench: &Bench, wanted: &[u32]) -> HashSet<u32> {
    let mut all = HashSet::new();
    while !wanted.iter().all(|one| all.contains(one)) {
        all.extend(bench.told_some());
    }
    all
}

impl Bench {
    /// Whether a question was not taken yet.
    fn is_waiting(&self) -> bool {
        !self.aside.0.lock().now.is_empty()
    }

    fn told_some(&self) -> Vec<u32> {
        let fd = Some(self.aside.as_fd());
        poll(
            &[Waiting {
                fd,
                exceptional: false,
            }],
            Some(1_000_000),
        )
        .unwrap();
        let told = self.aside.take().into_iter();
        told.filter_map(|told| match told {
            Told::Answer(answer) => Some(answer),
            Told::Silent(_) | Told::Unasked(_) => None,
        })
        .collect()
    }
}

#[test]
fn no_more_than_a_few_are_left_behind() {
    let bench = Bench::new(&[1, 2], SOON, 2);
    bench.aside.ask(1, Haste::Now).unwrap();
    assert_eq!(bench.told(1), [Told::Silent(1)]);
    bench.aside.ask(2, Haste::Now).unwrap();
    bench.aside.ask(3, Haste::Now).unwrap();
    assert_eq!(bench.told(2), [Told::Silent(2), Told::Unasked(3)]);
    assert_eq!(bench.aside.ask(4, Haste::Leisure), Err(4));
    assert_eq!(bench.aside.silent(), (2, 2));
    bench.release.send(()).unwrap();
    assert_eq!(answers(&bench, &[1]), HashSet::from([1]));
    while bench.aside.ask(5, Haste::Now).is_err() {
        thread::yield_now();
    }
    assert!(answers(&bench, &[5]).contains(&5));
    bench.release.send(()).unwrap();
    assert!(answers(&bench, &[2]).contains(&2));
}

#[test]
fn what_does_not_fit_is_given_back() {
    let bench = Bench::new(&[0], EVER, 2);
    bench.aside.ask(0, Haste::Now).unwrap();
    while bench.is_waiting() {
        thread::yield_now();
    }
    for job in 1..=4 {
        bench.aside.ask(job, Haste::Leisure).unwrap();
    }
    assert_eq!(bench.aside.ask(5, Haste::Leisure), Err(5));
    bench.aside.ask(6, Haste::Now).unwrap();
    bench.release.send(()).unwrap();
    assert_eq!(bench.told(6), [0, 6, 1, 2, 3, 4].map(Told::Answer));
}
