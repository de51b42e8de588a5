//! Limits: what is broken, what only looks so, what is found too late.

mod scene;

use record::event::Event;
use record::identity::Ending;
use record::limit::{Limit, Resource};
use record::sample::GroupSample;
use record::unit::{Bytes, Nanos};
use reduce::limit::{Certainty, Limits};
use reduce::live::Basis;
use reduce::settings::Mechanism::{Bpf, Connector, Procfs};
use scene::*;

fn limits(resource: Resource, value: u64) -> Limits {
    Limits::new(vec![Limit { resource, value }])
}

#[test]
fn without_a_group_resident_sets_are_only_an_alarm_until_shares_are_read() {
    let limits = limits(Resource::Memory, 300 * MIB);
    let mut task = tree(Connector);
    for pid in 2..8 {
        fork(&mut task, 5, 1, pid);
    }
    let mut one = memory(200 * MIB, 200 * MIB);
    let pass = |one: Used| -> Vec<_> { (1..8).map(|pid| sample(pid, 5, one, one)).collect() };
    task.sample(ms(100), &pass(one));
    let verdicts = limits.check(&task.live(ms(100)));
    assert_eq!(verdicts[0].certainty, Certainty::Alarm);
    assert_eq!(verdicts[0].basis, Some(Basis::RssSum));
    // They share: nothing is broken.
    one.pss = Some(30 * MIB);
    task.sample(ms(200), &pass(one));
    assert!(limits.check(&task.live(ms(200))).is_empty());
    // They do not: it is.
    one.pss = Some(60 * MIB);
    task.sample(ms(300), &pass(one));
    let verdicts = limits.check(&task.live(ms(300)));
    assert_eq!(verdicts[0].certainty, Certainty::Broken);
    assert_eq!(verdicts[0].value, 420.0 * MIB as f64);
    assert!(verdicts[0].pid.is_some() && verdicts[0].process.is_some());
}

#[test]
fn a_share_that_could_not_be_read_keeps_the_alarm() {
    let limits = limits(Resource::Memory, 300 * MIB);
    let mut task = tree(Connector);
    let known = Used {
        pss: Some(100 * MIB),
        ..memory(200 * MIB, 200 * MIB)
    };
    let hidden = memory(250 * MIB, 250 * MIB);
    let pass = [sample(1, 0, known, known), sample(2, 0, hidden, hidden)];
    task.sample(ms(100), &pass);
    let verdicts = limits.check(&task.live(ms(100)));
    assert_eq!(verdicts[0].certainty, Certainty::Alarm);
}

#[test]
fn with_a_group_page_cache_breaks_nothing() {
    let limits = limits(Resource::Memory, 64 * MIB);
    let mut task = tree(Bpf);
    let mapped = memory(500 * MIB, 2 * MIB);
    task.sample(ms(100), &[sample(1, 0, mapped, mapped)]);
    let mut group = GroupSample {
        unreclaimable: Some(Bytes(3 * MIB)),
        current: Some(Bytes(64 * MIB)),
        peak: Some(Bytes(64 * MIB)),
        ..GroupSample::default()
    };
    task.group(ms(100), &group);
    assert!(limits.check(&task.live(ms(100))).is_empty());
    group.unreclaimable = Some(Bytes(65 * MIB));
    task.group(ms(110), &group);
    assert_eq!(
        limits.check(&task.live(ms(110)))[0].certainty,
        Certainty::Broken
    );
}

#[test]
fn cores_are_a_mean_of_a_second() {
    let limits = limits(Resource::Cores, 1500);
    let mut task = tree(Bpf);
    let mut check = |at: u64, used: u64| {
        task.sample(ms(at), &[sample(1, 0, cpu(used), cpu(used))]);
        limits.check(&task.live(ms(at))).len()
    };
    // Two cores from the start: not said before a second has passed.
    assert_eq!(check(100, 200), 0);
    assert_eq!(check(1000, 2000), 1);
    // A burst of a tenth inside an idle second is none.
    assert_eq!(check(2000, 2000), 0);
    assert_eq!(check(2100, 2400), 0);
}

#[test]
fn wall_has_a_deadline_and_is_reached_not_passed() {
    let limits = limits(Resource::Wall, 5_000_000_000);
    assert_eq!(limits.next_wall_deadline(ZERO), Some(ms(5000)));
    let task = tree(Bpf);
    assert!(limits.check(&task.live(ms(4999))).is_empty());
    assert_eq!(limits.check(&task.live(ms(5000))).len(), 1);
    assert_eq!(Limits::default().next_wall_deadline(ZERO), None);
}

#[test]
fn counts_and_bytes_are_held_to_their_limits_with_the_largest_named() {
    let mut task = tree(Bpf);
    spawn(&mut task, 5, 1, 2, "greedy --all");
    let pass = [
        sample(1, 0, reading(1), reading(1)),
        sample(2, 5, reading(MIB), reading(MIB)),
    ];
    task.sample(ms(10), &pass);
    task.footprint(ms(10), Bytes(99), 12, true);
    let live = task.live(ms(10));
    for (resource, value, broken) in [
        (Resource::Read, MIB, 1),
        (Resource::Read, MIB + 1, 0),
        (Resource::Processes, 1, 1),
        (Resource::Processes, 2, 0),
        (Resource::Threads, 1, 1),
        (Resource::Files, 11, 1),
        (Resource::Footprint, 99, 0),
        (Resource::Swap, 1, 0),
        (Resource::Written, 1, 0),
        (Resource::Cpu, 1, 0),
    ] {
        let verdicts = limits(resource, value).check(&live);
        assert_eq!(verdicts.len(), broken, "{resource:?} {value}");
    }
    let read = &limits(Resource::Read, 1).check(&live)[0];
    assert_eq!(
        (read.pid, read.process.as_deref()),
        (Some(2), Some("greedy --all"))
    );
}

#[test]
fn a_peak_found_at_the_end_is_reported_and_a_mere_upper_bound_is_not() {
    let mut task = tree(Bpf);
    exit(&mut task, 80, 1, memory(100 * MIB, 99 * MIB));
    let usage = task.finish(&end(80, None)).usage;
    let late = limits(Resource::Memory, 64 * MIB).check_final(&usage);
    assert_eq!(late.len(), 1);
    assert_eq!(late[0].at_ns, Some(Nanos::from_millis(80)));
    assert!(
        limits(Resource::Memory, 101 * MIB)
            .check_final(&usage)
            .is_empty()
    );
    let mut task = tree(Connector);
    gone(&mut task, 80, 1);
    let usage = task
        .finish(&end(80, Some(chain(memory(100 * MIB, 0)))))
        .usage;
    assert!(
        limits(Resource::Memory, 64 * MIB)
            .check_final(&usage)
            .is_empty()
    );
    assert_eq!(limits(Resource::Rss, 64 * MIB).check_final(&usage).len(), 1);
}

/// Cores are limited over a second.
#[test]
fn no_cores_are_too_many_in_less_than_a_second() {
    for (wall, found) in [(50, 0), (1500, 1)] {
        let mut task = tree(Bpf);
        exit(&mut task, wall, 1, cpu(wall));
        let usage = task.finish(&end(wall, Some(chain(cpu(wall))))).usage;
        let late = limits(Resource::Cores, 500).check_final(&usage);
        assert_eq!(late.len(), found, "{wall} ms");
    }
}

#[test]
fn who_forked_is_known_in_the_pass_that_first_sees_the_children() {
    let limits = limits(Resource::Processes, 5);
    let mut task = tree(Procfs);
    let one = memory(MIB, MIB);
    let mut pass = vec![sample(1, 0, one, one)];
    pass.extend((2..10).map(|pid| sample(pid, 5, one, one)));
    task.sample(ms(100), &pass);
    let verdicts = limits.check(&task.live(ms(100)));
    assert_eq!(verdicts[0].pid, Some(1));
}

#[test]
fn who_was_killed_is_named_by_its_last_program_and_who_lives_is_not() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "setsid fill");
    let held = [
        sample(1, 0, memory(9 * MIB, 0), memory(9 * MIB, 0)),
        sample(2, 5, memory(MIB, 0), memory(MIB, 0)),
    ];
    task.sample(ms(10), &held);
    assert_eq!(task.largest_but(&[1]).unwrap().pid, 2);
    assert_eq!(task.largest_but(&[1, 2]), None);
    exec(&mut task, 20, 2, "fill");
    assert_eq!((task.killed(ms(30)), task.has_killed()), (None, false));
    task.event(Event::Exit {
        at: ms(30),
        pid: 2,
        ending: Some(Ending::Signal(9)),
        own: None,
        peaks: None,
    });
    let killed = task.killed(ms(31)).unwrap();
    assert_eq!((killed.pid, killed.command.as_str()), (2, "fill"));
    assert_eq!(task.killed(ms(2000)), None, "long ago");
    assert!(task.has_killed());
}

#[test]
fn a_holder_is_named_by_what_it_runs_now() {
    let mut task = tree(Connector);
    task.sample(
        ms(10),
        &[sample(1, 0, memory(9 * MIB, 0), memory(9 * MIB, 0))],
    );
    exec(&mut task, 20, 1, "fill");
    assert_eq!(task.live(ms(30)).largest.unwrap().command, "fill");
}
