//! Those that rest, and when they are read again.

use super::*;

/// Passes in which a process that rests is read as a whole once, here in the last of them.
const STILL: u32 = 1000;

/// Those that rest need no file, or one each where they have no clocks.
#[test]
fn more_rest_than_there_is_room_for_all_their_files() {
    let cats: Vec<Running> = (0..6).map(|_| Running::cat()).collect();
    let pids: Vec<u32> = cats.iter().map(Running::pid).collect();
    for (has_clocks, files) in [(true, 0), (true, 2), (false, 8)] {
        let settings = Settings {
            files_kept: Some(files),
            still_passes: STILL,
            ..Settings::default()
        };
        let (mut sampler, mut out) = (sampler(settings), Vec::new());
        assert!(
            sampler.has_clocks,
            "tests read the processes of their own namespace"
        );
        sampler.has_clocks = has_clocks;
        let mut passes = 0..1000;
        assert!(passes.any(|_| sampler.sample(&pids, &mut out).repeated == 6));
    }
}

#[test]
fn who_waits_is_still_until_it_runs() {
    for has_clocks in [true, false] {
        waits_until_it_runs(has_clocks);
    }
}

fn waits_until_it_runs(has_clocks: bool) {
    use std::io::Write;
    let mut child = Running::cat();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    sampler.has_clocks = has_clocks;
    let pids = [child.pid()];
    assert!(!sampler.is_still());
    sampler.sample(&pids, &mut out);
    assert!(!sampler.is_still(), "one pass proves nothing");
    // Right after its line it may still be on its way to sleep.
    let rests = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        sampler.sample(&pids, &mut out);
        sampler.is_still()
    });
    assert!(rests && sampler.is_still());
    let input = child.0.stdin.as_mut().unwrap();
    input.write_all(b"more\n").unwrap();
    child.wait_line();
    assert!(!sampler.is_still(), "it ran");
    sampler.sample(&pids, &mut out);
    assert!(!sampler.is_still(), "the pass before differed");
}

#[test]
fn who_runs_is_never_still() {
    // It says when it has started: before, it may wait for the disk.
    let mut child = Running::start("sh", &["-c", "echo; while :; do :; done"]);
    child.wait_line();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    for _ in 0..50 {
        sampler.sample(&[child.pid()], &mut out);
        assert!(!sampler.is_still());
    }
}

#[test]
fn threads_and_a_new_process_are_looked_at_whole() {
    let (first, second) = (Running::cat(), Running::cat());
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    let rests = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        sampler.sample(&[first.pid()], &mut out);
        sampler.is_still()
    });
    assert!(rests);
    for _ in 0..2 {
        assert!(sampler.is_still());
        sampler.sample(&[first.pid(), second.pid()], &mut out);
        assert!(!sampler.is_still());
        sampler.sample(&[first.pid()], &mut out);
        assert!(!sampler.is_still(), "one has left");
        sampler.sample(&[first.pid()], &mut out);
    }
}

#[test]
fn who_rests_is_repeated_until_it_runs_or_its_turn_comes() {
    let mut child = Running::cat();
    let pid = child.pid();
    let settings = Settings {
        still_passes: STILL,
        ..Settings::default()
    };
    let (mut sampler, mut out) = (sampler(settings), Vec::new());
    let rest = |sampler: &mut Sampler, out: &mut Vec<ProcessSample>| {
        let mut passes = 0..1000;
        assert!(passes.any(|_| sampler.sample(&[pid], out).repeated == 1));
    };
    rest(&mut sampler, &mut out);
    let rested = out.clone();
    // It is repeated in all but one of so many passes: in that it is read.
    let passes = (0..STILL).map(|_| sampler.sample(&[pid], &mut out));
    let read: Vec<_> = passes.filter(|cost| cost.repeated == 0).collect();
    assert!((1..=3).contains(&read.len()), "{}", read.len());
    let of = |samples: &[ProcessSample]| samples.first().map(|one| (one.id, one.own.cpu));
    assert!(rested[0].revision.is_some());
    assert_eq!(of(&out), of(&rested));
    // It runs: it is read at once.
    let input = child.0.stdin.as_mut().unwrap();
    std::io::Write::write_all(input, b"more\n").unwrap();
    child.wait_line();
    let cost = sampler.sample(&[pid], &mut out);
    assert_eq!(cost.repeated, 0);
    assert!(out[0].own.cpu > rested[0].own.cpu, "{out:?}");
    assert_eq!(out[0].revision, None);
    // A glance reads everything.
    rest(&mut sampler, &mut out);
    sampler.glance(&[pid], &mut out);
    assert!(out[0].memory.rss_peak.is_some());
    // Its end is told, and a later process of its pid would be another.
    rest(&mut sampler, &mut out);
    child.0.kill().unwrap();
    let ended = (0..2000).find(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        sampler.sample(&[pid], &mut out);
        out.first().is_none_or(|one| one.state == 'Z')
    });
    assert!(ended.is_some(), "{out:?}");
    child.0.wait().unwrap();
    assert_eq!(sampler.sample(&[pid], &mut out).gone, 1);
}
