//! Memory bounded by page faults, against tasks whose truth is known by construction.

mod scene;

use record::sample::{GroupSample, PageSizes};
use record::unit::Bytes;
use record::value::Method;
use reduce::era::Faults;
use reduce::settings::Mechanism::{Connector, Ptrace};
use reduce::settings::Settings;
use reduce::tree::Tree;
use scene::*;

const PAGE: u64 = 4096;
const HUGE: u64 = 2 * MIB;
/// What is added for the faults before the first program.
const SLACK: u64 = 64 * PAGE;

fn counted(huge: Option<u64>) -> Tree {
    let mut task = tree(Connector);
    let sizes = PageSizes {
        page: Bytes(PAGE),
        huge: huge.map(Bytes),
    };
    task.paging(sizes, 100);
    task
}

/// `anon` bytes of its own of `rss`, after that many faults.
fn held(rss: u64, anon: u64, faults: u64) -> Used {
    Used {
        faults: Some(faults),
        ..memory(rss, anon)
    }
}

fn upper(task: Tree, at: u64, whole_task: Used) -> Option<u64> {
    let usage = task.finish(&end(at, Some(chain(whole_task)))).usage;
    match method(&usage, "memory_peak") {
        Method::LowerBound { upper } => upper,
        Method::Exact | Method::UpperBound => Some(whole(&usage, "memory_peak")),
        _ => None,
    }
}

#[test]
fn who_was_read_last_at_its_end_gained_a_page_a_fault() {
    let mut task = counted(None);
    for (at, mib) in [(10, 10), (50, 280)] {
        let seen = held((mib + 20) * MIB, mib * MIB, mib * MIB / PAGE);
        task.sample(ms(at), &[sample(1, 0, seen, seen)]);
    }
    gone(&mut task, 55, 1);
    let all = held(310 * MIB, 0, 280 * MIB / PAGE + 1000);
    // The 20 MiB of files are no memory that must be provided.
    let bound = upper(task, 55, all).unwrap();
    assert_eq!(bound, 280 * MIB + 1000 * PAGE + SLACK);
}

/// The launcher tells what the main process had at its end: nothing is unread then, also where the
/// dead were looked at in between.
#[test]
fn the_main_process_is_known_by_its_own_faults() {
    let pages = 280 * MIB / PAGE;
    for look in [false, true] {
        let mut task = counted(None);
        let seen = held(300 * MIB, 280 * MIB, pages);
        task.sample(ms(50), &[sample(1, 0, seen, seen)]);
        gone(&mut task, 55, 1);
        if look {
            assert_eq!(task.kin().unwrap().dead.len(), 1);
            let faults = Faults {
                of_the_dead: pages + 3,
                ..Faults::default()
            };
            task.family(ms(56), ms(56), faults);
        }
        let mut end = end(57, Some(chain(held(300 * MIB, 0, pages + 3))));
        let unknown = task.at_most(&end).unwrap();
        assert!(unknown >= 280 * MIB + SLACK, "{unknown}");
        end.main.as_mut().unwrap().faults = Some(pages + 3);
        assert_eq!(task.at_most(&end), Some(280 * MIB + 3 * PAGE));
        let usage = task.finish(&end).usage;
        assert_eq!(whole(&usage, "memory_peak"), 280 * MIB);
        assert_eq!(method(&usage, "memory_peak"), Method::Exact);
    }
}

/// A child whose end is not told keeps what faults may have brought apart from the main process's.
#[test]
fn the_faults_of_the_main_process_are_nobody_elses() {
    let mut task = counted(None);
    let (shell, child) = (held(2 * MIB, MIB, 300), held(20 * MIB, 10 * MIB, 2600));
    spawn(&mut task, 5, 1, 2, "fill");
    let both = [sample(1, 0, shell, shell), sample(2, 5, child, child)];
    task.sample(ms(50), &both);
    gone(&mut task, 60, 2);
    gone(&mut task, 61, 1);
    let mut end = end(61, Some(chain(held(21 * MIB, 0, 2900 + 500))));
    end.main.as_mut().unwrap().faults = Some(300 + 400);
    // The shell had 400 of the 500 pages more, the child the others and the slack.
    let bound = task.at_most(&end).unwrap();
    assert_eq!(bound, 11 * MIB + 500 * PAGE + SLACK);
}

/// What a program maps of files at its end is in the mark of its resident set, and not its own.
#[test]
fn what_was_counted_is_told_before_what_is_about_the_same() {
    let mut task = tree(Ptrace);
    let sizes = PageSizes {
        page: Bytes(PAGE),
        huge: Some(Bytes(HUGE)),
    };
    task.paging(sizes, 0);
    let seen = held(60 * MIB, 59 * MIB, 15_200);
    task.sample(ms(50), &[sample(1, 0, seen, seen)]);
    let last = held(
        101 * MIB + (64 << 10),
        100 * MIB,
        15_200 + 41 * MIB / PAGE + 5,
    );
    exit(&mut task, 80, 1, last);
    let usage = task.finish(&end(80, Some(chain(last)))).usage;
    assert_eq!(whole(&usage, "memory_peak"), 100 * MIB);
    assert_eq!(method(&usage, "memory_peak"), Method::Exact);
}

/// A fault on shared memory may map the pages around it; a page or two that the library of level io
/// shares with the monitor are none of the task's.
#[test]
fn what_a_process_shares_with_the_monitor_says_nothing_of_the_task() {
    let bound = |own_shared| {
        let settings = Settings {
            mechanism: Connector,
            own_shared: Bytes(own_shared),
            ..Settings::default()
        };
        let mut task = Tree::new(ms(0), 1, settings);
        exec(&mut task, 0, 1, "sh");
        let sizes = PageSizes {
            page: Bytes(PAGE),
            huge: None,
        };
        task.paging(sizes, 0);
        let seen = held(30 * MIB, 10 * MIB, 2560);
        let mut read = sample(1, 0, seen, seen);
        read.memory.rss_shmem = Some(Bytes(100 << 10));
        task.sample(ms(10), &[read]);
        gone(&mut task, 20, 1);
        upper(task, 20, held(31 * MIB, 0, 2860)).unwrap()
    };
    let known = bound(200 << 10);
    assert!(
        known <= 10 * MIB + (100 << 10) + 300 * PAGE + SLACK,
        "{known}"
    );
    assert!(bound(0) > known + 300 * PAGE);
}

#[test]
fn what_all_gained_unread_is_there_once() {
    let mut task = counted(None);
    let (shell, large) = (held(2 * MIB, MIB, 300), held(200 * MIB, 199 * MIB, 51_000));
    spawn(&mut task, 5, 1, 2, "fill");
    let both = [sample(1, 0, shell, shell), sample(2, 5, large, large)];
    task.sample(ms(50), &both);
    gone(&mut task, 60, 2);
    gone(&mut task, 61, 1);
    let all = held(201 * MIB, 0, 51_300 + 500);
    // Each of the two may have grown by the 500 pages, but not both.
    let bound = upper(task, 61, all).unwrap();
    assert_eq!(bound, 200 * MIB + 500 * PAGE + SLACK);
}

#[test]
fn a_process_that_is_read_when_it_has_ended_tells_its_last_faults() {
    let mut task = counted(None);
    let seen = held(50 * MIB, 40 * MIB, 10_500);
    task.sample(ms(50), &[sample(1, 0, seen, seen)]);
    let mut dead = sample(1, 0, held(0, 0, 20_500), held(0, 0, 20_500));
    (dead.state, dead.threads) = ('Z', None);
    dead.memory = record::sample::Memory::default();
    task.sample(ms(60), &[dead]);
    gone(&mut task, 61, 1);
    let all = held(90 * MIB, 0, 20_500);
    assert!(upper(task, 61, all).unwrap() >= 40 * MIB + 10_000 * PAGE);
}

#[test]
fn huge_pages_come_many_at_one_fault() {
    let mut task = counted(Some(HUGE));
    let seen = held(12 * MIB, 10 * MIB, 2_600);
    task.huge_pages(100);
    task.sample(ms(50), &[sample(1, 0, seen, seen)]);
    gone(&mut task, 90, 1);
    task.huge_pages(150);
    let all = held(112 * MIB, 0, 2_650);
    let bound = upper(task, 90, all).unwrap();
    assert!(bound >= 110 * MIB, "{bound}");
}

#[test]
fn an_heir_without_a_program_holds_what_its_parent_gave_up() {
    let mut task = counted(None);
    let parent = |faults| held(101 * MIB, 100 * MIB, faults);
    // The last reading before the fork came while the parent still grew.
    let young = held(41 * MIB, 40 * MIB, 10_300);
    task.sample(ms(10), &[sample(1, 0, young, young)]);
    fork(&mut task, 20, 1, 2);
    // The parent writes all of it once more; the child keeps the old pages and is never read.
    let (before, after) = (parent(25_700), parent(51_300));
    task.sample(ms(25), &[sample(1, 0, before, before)]);
    task.sample(ms(40), &[sample(1, 0, after, after)]);
    gone(&mut task, 41, 2);
    gone(&mut task, 45, 1);
    let all = held(101 * MIB, 0, 51_310);
    assert!(upper(task, 45, all).is_none_or(|bound| bound >= 200 * MIB));
}

#[test]
fn an_heir_has_what_its_parent_had_when_that_ended() {
    let mut task = counted(None);
    let seen = held(101 * MIB, 10 * MIB, 3_000);
    task.sample(ms(10), &[sample(1, 0, seen, seen)]);
    fork(&mut task, 20, 1, 2);
    gone(&mut task, 21, 1);
    gone(&mut task, 30, 2);
    let all = held(101 * MIB, 0, 3_100);
    // Resident sets alone would say 101 MiB of each.
    let bound = upper(task, 30, all).unwrap();
    assert!((10 * MIB..12 * MIB).contains(&bound), "{bound}");
}

#[test]
fn shared_memory_may_have_come_by_writing() {
    let mut task = counted(None);
    let seen = held(2 * MIB, MIB, 300);
    task.sample(ms(5), &[sample(1, 0, seen, seen)]);
    gone(&mut task, 60, 1);
    // 82 MiB were resident at last: with 10 faults they were there before.
    let mut all = chain(held(82 * MIB, 0, 310));
    all.counters.bytes_written = Some(Bytes(80 * MIB));
    let usage = task.finish(&end(60, Some(all))).usage;
    let (low, method) = (whole(&usage, "memory_peak"), method(&usage, "memory_peak"));
    let Method::LowerBound { upper: Some(upper) } = method else {
        panic!("{low} {method:?}");
    };
    assert!(
        low <= 81 * MIB && (81 * MIB..83 * MIB).contains(&upper),
        "{low} {upper}"
    );
}

#[test]
fn without_the_faults_of_all_there_is_no_such_bound() {
    let mut task = counted(None);
    let seen = held(50 * MIB, 10 * MIB, 3_000);
    task.sample(ms(50), &[sample(1, 0, seen, seen)]);
    gone(&mut task, 60, 1);
    assert_eq!(upper(task, 60, memory(50 * MIB, 0)), Some(50 * MIB));
}

#[test]
fn an_heir_that_ended_before_its_parent_was_read_again_had_its_pages() {
    let mut task = counted(None);
    let young = held(11 * MIB, 10 * MIB, 2_600);
    task.sample(ms(10), &[sample(1, 0, young, young)]);
    // It grows by 40 MiB, forks, and writes all 50 once more while the child holds them.
    fork(&mut task, 20, 1, 2);
    gone(&mut task, 30, 2);
    let after = held(51 * MIB, 50 * MIB, 2_600 + 10_240 + 12_800);
    task.sample(ms(35), &[sample(1, 0, after, after)]);
    gone(&mut task, 40, 1);
    let all = held(51 * MIB, 0, 2_600 + 10_240 + 12_800 + 10);
    assert!(upper(task, 40, all).is_none_or(|bound| bound >= 100 * MIB));
}

/// The end of the child was told while a pass that had begun before it was still reading.
#[test]
fn an_heir_that_ended_within_a_pass_had_what_its_parent_replaced_since() {
    for ends_told in [false, true] {
        let mut task = tree(if ends_told { Ptrace } else { Connector });
        let sizes = PageSizes {
            page: Bytes(PAGE),
            huge: None,
        };
        task.paging(sizes, 0);
        let leave = |task: &mut Tree, at, pid, used| match ends_told {
            true => exit(task, at, pid, used),
            false => gone(task, at, pid),
        };
        // Never read before: 50 MiB, of which it has written 40 once more while the child lives.
        fork(&mut task, 30, 1, 2);
        leave(&mut task, 52, 2, held(51 * MIB, 50 * MIB, 20));
        let seen = held(51 * MIB, 50 * MIB, 12_800 + 10_240);
        task.sample(ms(50), &[sample(1, 0, seen, seen)]);
        let last = held(51 * MIB, 50 * MIB, 12_800 + 12_800);
        leave(&mut task, 60, 1, last);
        let bound = task.at_most(&end(60, Some(chain(last)))).unwrap();
        assert!(bound >= 100 * MIB, "{bound}");
    }
}

#[test]
fn a_program_that_was_replaced_unread_held_what_came_until_then() {
    let mut task = counted(None);
    let young = held(11 * MIB, 10 * MIB, 2_600);
    task.sample(ms(10), &[sample(1, 0, young, young)]);
    // It grows by 200 MiB and becomes a small program.
    exec(&mut task, 20, 1, "small");
    let after = held(2 * MIB, MIB, 2_600 + 51_200 + 300);
    task.sample(ms(35), &[sample(1, 0, after, after)]);
    gone(&mut task, 40, 1);
    let all = held(211 * MIB, 0, 2_600 + 51_200 + 310);
    assert!(upper(task, 40, all).is_none_or(|bound| bound >= 210 * MIB));
}

#[test]
fn what_grew_without_faults_of_its_own_was_a_file() {
    // Read when it had mapped no library yet, then 40 MiB of a file: 16 pages a fault.
    let mut task = tree(reduce::settings::Mechanism::Procfs);
    let sizes = PageSizes {
        page: Bytes(PAGE),
        huge: None,
    };
    task.paging(sizes, 0);
    let young = held(100 << 10, 80 << 10, 30);
    task.sample(ms(1), &[sample(1, 0, young, young)]);
    let all = chain(held(43 * MIB, 0, 760));
    let usage = task.finish(&end(60, Some(all))).usage;
    assert!(whole(&usage, "memory_peak") <= 4 * MIB);
}

/// Fills the rest unread, executes another program, and is read again.
#[test]
fn what_came_before_an_exec_was_held_though_the_program_after_it_is_small() {
    for read_after in [false, true] {
        let mut task = counted(None);
        let large = held(373 * MIB, 370 * MIB, 95_000);
        task.sample(ms(100), &[sample(1, 0, large, large)]);
        exec(&mut task, 110, 1, "true");
        if read_after {
            let small = held(MIB, MIB / 8, 102_500);
            task.sample(ms(111), &[sample(1, 0, small, small)]);
        }
        gone(&mut task, 112, 1);
        let all = held(403 * MIB, 0, 102_510);
        let bound = upper(task, 112, all).unwrap();
        assert!(bound >= 399 * MIB, "{read_after} {bound}");
    }
}

/// The first process is known before the machine's huge pages are.
#[test]
fn huge_pages_from_before_the_task_are_nobodys() {
    let mut task = counted(Some(2 * MIB));
    exec(&mut task, 1, 1, "sh");
    let small = held(3 * MIB, MIB, 400);
    task.sample(ms(20), &[sample(1, 0, small, small)]);
    gone(&mut task, 42, 1);
    let bound = upper(task, 42, held(3 * MIB, 0, 500)).unwrap();
    assert!(bound <= 3 * MIB, "{bound}");
}

/// The bound of a task without a group that wrote so much, some of it to storage, where the
/// machine's shared memory grew by so much.
fn upper_with_files(written: u64, stored: u64, grown: u64) -> Option<u64> {
    let mut task = counted(None);
    task.machine_shared(Bytes(70 * MIB));
    let seen = held(30 * MIB, 10 * MIB, 10 * MIB / PAGE);
    task.sample(ms(10), &[sample(1, 0, seen, seen)]);
    for more in [grown, 0] {
        task.machine_shared(Bytes(70 * MIB + more));
    }
    gone(&mut task, 55, 1);
    let mut waited = chain(held(30 * MIB, 0, 10 * MIB / PAGE));
    waited.counters.bytes_written = Some(Bytes(written));
    waited.counters.disk_written = Some(Bytes(stored));
    let usage = task.finish(&end(55, Some(waited))).usage;
    match method(&usage, "memory_peak") {
        Method::LowerBound { upper } => upper,
        Method::Exact => Some(whole(&usage, "memory_peak")),
        _ => None,
    }
}

#[test]
fn what_others_gave_back_may_hide_files_in_memory() {
    let upper = |looks: [u64; 3]| {
        let mut task = counted(None);
        let seen = held(30 * MIB, 10 * MIB, 10 * MIB / PAGE);
        task.sample(ms(10), &[sample(1, 0, seen, seen)]);
        for look in looks {
            task.machine_shared(Bytes(look * MIB));
        }
        gone(&mut task, 55, 1);
        let mut waited = chain(held(30 * MIB, 0, 10 * MIB / PAGE));
        waited.counters.bytes_written = Some(Bytes(100 * MIB));
        match method(&task.finish(&end(55, Some(waited))).usage, "memory_peak") {
            Method::LowerBound { upper } => upper,
            _ => None,
        }
    };
    let none = upper([100, 100, 100]).unwrap();
    assert_eq!(upper([100, 0, 100]), Some(none + 100 * MIB));
    assert_eq!(upper([100, 40, 50]), Some(none + 60 * MIB));
    assert_eq!(upper([100, 120, 0]), Some(none + 100 * MIB));
    assert_eq!(upper([100, 98, 100]), Some(none));
}

/// What a group of its own says at most of a task that wrote so much into files in memory, where
/// it was read before the end of the writing.
fn upper_of_group(seen_shared: u64, written: u64) -> Option<u64> {
    let mut task = counted(None);
    let seen = held(2 * MIB, MIB, MIB / PAGE);
    task.sample(ms(10), &[sample(1, 0, seen, seen)]);
    let group = GroupSample {
        unreclaimable: Some(Bytes(seen_shared + MIB)),
        shared: Some(Bytes(seen_shared)),
        peak: Some(Bytes(302 * MIB)),
        ..GroupSample::default()
    };
    task.group(ms(50), &group);
    gone(&mut task, 55, 1);
    let mut waited = chain(held(2 * MIB, 0, MIB / PAGE));
    waited.counters.bytes_written = Some(Bytes(written));
    waited.counters.disk_read = Some(Bytes(0));
    waited.counters.disk_written = Some(Bytes(0));
    let usage = task.finish(&end(55, Some(waited))).usage;
    match method(&usage, "memory_peak") {
        Method::LowerBound { upper } => upper,
        Method::Exact => Some(whole(&usage, "memory_peak")),
        _ => None,
    }
}

#[test]
fn what_is_written_after_a_group_was_read_is_within_the_bound() {
    let all = 301 * MIB + SLACK;
    assert_eq!(upper_of_group(280 * MIB, 300 * MIB), Some(all));
    // Seen when it was hardly there: what was charged must be something, and no bound is near.
    assert_eq!(upper_of_group(2 * MIB, 300 * MIB), None);
    // A pipe: little of the group is unexplained beside what went through.
    let piped = upper_of_group(0, 3000 * MIB);
    assert!(piped.is_some_and(|most| most < 2 * MIB), "{piped:?}");
}

#[test]
fn what_is_written_into_files_in_memory_is_within_the_bound() {
    let none = upper_with_files(0, 0, 500 * MIB).unwrap();
    assert_eq!(upper_with_files(1000 * MIB, 0, 0), Some(none));
    assert_eq!(
        upper_with_files(100 * MIB, 0, 200 * MIB),
        Some(none + 100 * MIB)
    );
    // Some of it may have come and gone between two looks.
    assert_eq!(
        upper_with_files(100 * MIB, 0, 90 * MIB),
        Some(none + 100 * MIB)
    );
    assert_eq!(
        upper_with_files(2000 * MIB, 0, 100 * MIB),
        Some(none + 100 * MIB)
    );
    // What went to storage is no memory, whoever has more of that.
    assert_eq!(
        upper_with_files(300 * MIB, 300 * MIB, 100 * MIB),
        Some(none)
    );
}
