//! The board on scripted rows, and a page of it.

use super::accounts::{Told, label};
use super::board::{Board, Sample};
use super::sums::{COUNT, CPU, ENDED, STARTED};
use record::unit::Nanos;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

fn cpu(value: i64) -> [Option<i64>; COUNT] {
    let mut values = [None; COUNT];
    values[CPU] = Some(value);
    values
}

fn sample(value: i64) -> Sample {
    Sample {
        values: cpu(value),
        threads: Some(2),
        rss: Some(100),
    }
}

/// What is in each series, by kind and name.
fn told(board: &Board, what: usize) -> BTreeMap<(String, String), u64> {
    let lines = board.accounts.lines().into_iter();
    let known = lines.filter_map(|line| {
        let name = line.name.unwrap_or("-").to_owned();
        Some(((line.kind.to_owned(), name), line.sums.get(what)?))
    });
    known.collect()
}

fn of(board: &Board, kind: &str, name: &str) -> Option<u64> {
    let all = told(board, CPU);
    all.get(&(kind.to_owned(), name.to_owned())).copied()
}

fn job(board: &mut Board, name: &str) {
    board.job(name.as_bytes(), Told::default());
}

#[test]
fn what_a_process_used_is_counted_once_its_end_included() {
    let mut board = Board::new(2, None);
    job(&mut board, "7");
    board.sample((1, 1), &sample(10));
    board.identify((1, 1), Some(b"7"));
    board.settle(Nanos(SECOND));
    assert_eq!(of(&board, "job", "7"), Some(10));
    let line = &board.accounts.lines()[1];
    let now = line.now.unwrap();
    assert_eq!(
        (now.processes, now.threads, now.rss),
        (1, Some(2), Some(100))
    );
    board.identify((1, 1), None);
    // Its end, told twice, and once more as a process that nobody has waited for.
    board.exit((1, 1), &cpu(15), Some(b"7"));
    board.exit((1, 1), &cpu(15), Some(b"7"));
    board.sample((1, 1), &sample(15));
    // Another life of the same pid, shorter than the interval.
    board.exit((1, 2), &cpu(4), Some(b"7"));
    board.settle(Nanos(2 * SECOND));
    assert_eq!(of(&board, "job", "7"), Some(19));
    let key = ("job".to_owned(), "7".to_owned());
    assert_eq!(told(&board, STARTED)[&key], 2);
    assert_eq!(told(&board, ENDED)[&key], 2);
    assert_eq!(board.accounts.jobs(), (0, 0));
}

#[test]
fn what_processes_have_of_devices_adds_up_and_is_forgotten() {
    let mut board = Board::new(2, None);
    job(&mut board, "7");
    let now = |board: &Board| board.accounts.lines()[1].now.unwrap();
    let read = |board: &mut Board, at: u64| {
        for pid in [1, 2] {
            board.sample((pid, 1), &sample(10));
            board.identify((pid, 1), Some(b"7"));
        }
        board.settle(Nanos(at * SECOND));
    };
    read(&mut board, 1);
    assert_eq!((now(&board).gpu_memory, now(&board).gpu_busy), (None, None));
    // One on two devices, of which the second does not tell how busy it is; twice the same reading.
    for at in [1, 2] {
        board.device((1, 1), Nanos(at), (Some(100), Some(500_000)));
        board.device((1, 1), Nanos(at), (Some(30), None));
        board.device((2, 1), Nanos(at), (Some(5), Some(250_000)));
        // Who is not known counts nowhere.
        board.device((9, 9), Nanos(at), (Some(1000), None));
    }
    for at in [2, 3] {
        read(&mut board, at);
        let now = now(&board);
        assert_eq!((now.gpu_memory, now.gpu_busy), (Some(135), Some(750_000)));
    }
    read(&mut board, 4);
    assert_eq!((now(&board).gpu_memory, now(&board).gpu_busy), (None, None));
}

#[test]
fn who_is_unknown_is_held_back_and_then_in_no_job() {
    let mut board = Board::new(2, Some("LOGIN"));
    board.sample((1, 1), &sample(10));
    board.sample((2, 1), &sample(20));
    board.settle(Nanos(SECOND));
    assert_eq!((of(&board, "outside", "-"), board.held_cpu()), (None, 30));
    board.meet((2, 1));
    board.identify((2, 1), Some(b"LOGIN"));
    for reading in [2, 11, 12] {
        board.sample((1, 1), &sample(10));
        board.sample((2, 1), &sample(20));
        board.settle(Nanos(reading * SECOND));
    }
    assert_eq!(of(&board, "outside", "-"), Some(10));
    assert_eq!(of(&board, "outside", "LOGIN"), Some(20));
    assert_eq!(board.held_cpu(), 0);
    // It was of a job all the time: what was told stays, and the job says so.
    job(&mut board, "7");
    board.identify((1, 1), Some(b"7"));
    board.sample((1, 1), &sample(15));
    board.settle(Nanos(13 * SECOND));
    assert_eq!(of(&board, "outside", "-"), Some(10));
    assert_eq!(of(&board, "job", "7"), Some(5));
    let lines = board.accounts.lines();
    let late = lines.iter().find(|line| line.kind == "job").unwrap();
    assert_eq!(late.before, Some(10));
}

#[test]
fn who_is_never_met_again_has_ended() {
    let mut board = Board::new(2, None);
    board.identify((1, 1), None);
    board.sample((1, 1), &sample(10));
    let key = ("outside".to_owned(), "-".to_owned());
    let mut ended = Vec::new();
    for reading in 1..30 {
        board.settle(Nanos(reading * SECOND));
        ended.push(told(&board, ENDED).get(&key).copied());
    }
    assert_eq!(ended[2], None);
    assert_eq!(ended[3], Some(1));
    assert_eq!(ended.last(), Some(&Some(1)));
}

#[test]
fn a_job_stays_shown_and_the_rest_is_what_others_spent() {
    let mut board = Board::new(1, None);
    for (pid, name) in [(1, "a"), (2, "b")] {
        job(&mut board, name);
        board.identify((pid, 1), Some(name.as_bytes()));
        board.sample((pid, 1), &sample(pid * 10));
    }
    board.settle(Nanos(SECOND));
    // The one that spent more.
    assert_eq!(of(&board, "job", "b"), Some(20));
    assert_eq!(of(&board, "rest", "-"), Some(10));
    board.sample((1, 1), &sample(1000));
    board.sample((2, 1), &sample(20));
    board.settle(Nanos(2 * SECOND));
    assert_eq!(
        (of(&board, "job", "a"), of(&board, "rest", "-")),
        (None, Some(1000))
    );
    board.exit((2, 1), &cpu(21), Some(b"b"));
    board.sample((1, 1), &sample(1001));
    board.settle(Nanos(3 * SECOND));
    // It begins with what it spends from now on, and says what it had spent before.
    assert_eq!(of(&board, "job", "a"), Some(1));
    assert_eq!(of(&board, "job", "b"), Some(21));
    let lines = board.accounts.lines();
    let a = lines.iter().find(|line| line.name == Some("a")).unwrap();
    assert_eq!(a.before, Some(1000));
    drop(lines);
    board.sample((1, 1), &sample(1001));
    board.settle(Nanos(400 * SECOND));
    assert_eq!(
        (of(&board, "job", "b"), of(&board, "ended", "-")),
        (None, Some(21))
    );
}

/// Whatever happens, no series goes back and all of them together are what was spent.
#[test]
fn no_counter_goes_back_and_nothing_is_lost() {
    let mut seed = 7u64;
    let mut next = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut board = Board::new(2, None);
    let mut alive: BTreeMap<(i64, i64), (u64, i64)> = BTreeMap::new();
    let (mut born, mut spent) = (0, 0);
    let mut before = BTreeMap::new();
    for reading in 1..2000u64 {
        for _ in 0..next(4) {
            born += 1;
            let name = next(7);
            alive.insert((next(50) as i64, born), (name, 0));
        }
        let all: Vec<_> = alive.keys().copied().collect();
        for id in all {
            let (name, used) = alive.get_mut(&id).unwrap();
            let more = next(1000) as i64;
            *used += more;
            spent += more as u64;
            let text = format!("j{name}");
            let identifier = (*name > 1).then_some(text.as_bytes());
            if *name > 2 {
                job(&mut board, &text);
            }
            let values = cpu(*used);
            if next(8) == 0 {
                board.exit(id, &values, identifier);
                alive.remove(&id);
            } else {
                board.sample(id, &sample(*used));
                if next(3) > 0 {
                    board.identify(id, identifier);
                }
            }
        }
        board.settle(Nanos(reading * 10 * SECOND));
        let now = told(&board, CPU);
        let shown = now.keys().filter(|(kind, _)| kind == "job").count();
        assert!(shown <= 4, "{now:?}");
        for (key, value) in &before {
            if let Some(later) = now.get(key) {
                assert!(later >= value, "{key:?}: {value} {later}");
            } else {
                assert!(key.0 == "job" || key.1 != "-", "{key:?} is gone");
            }
        }
        let sum: u64 = now.values().sum();
        assert_eq!(sum + board.held_cpu(), spent, "reading {reading}");
        // A job that begins anew begins with nothing.
        before = now;
    }
}

#[test]
fn too_many_identifiers_of_no_job_have_one_series() {
    let mut board = Board::new(2, None);
    for reading in 1..5 {
        for pid in 1..200 {
            board.sample((pid, 1), &sample(reading));
            let name = format!("{pid}.service");
            board.identify((pid, 1), Some(name.as_bytes()));
        }
        board.settle(Nanos(reading as u64 * 10 * SECOND));
    }
    let all = told(&board, CPU);
    assert_eq!(all.len(), 65);
    assert_eq!(all.values().sum::<u64>(), 199 * 4);
}

#[test]
fn labels_are_bounded_and_told_apart() {
    assert_eq!(label(b"a\n\"b"), "a\n\"b");
    let (one, two) = (label(b"a\xff"), label(b"a\xfe"));
    assert!(one.starts_with("a\u{fffd}~") && one != two, "{one} {two}");
    let long = "\u{e9}".repeat(1000);
    assert!(label(long.as_bytes()).len() < 300);
}
