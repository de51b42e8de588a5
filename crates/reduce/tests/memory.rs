//! Peaks of memory against tasks whose truth is known by construction.

mod scene;

use record::report::Usage;
use record::sample::{GroupSample, Memory, PageSizes};
use record::unit::{Bytes, Nanos};
use record::value::{Absent, Method};
use reduce::settings::Mechanism::{Bpf, Connector, Procfs, Ptrace};
use reduce::tree::Tree;
use scene::*;

/// The shell, asleep: 1.8 MiB, of which 1.5 are file pages.
fn shell() -> Used {
    memory(1_800_000, 300_000)
}

fn group(unreclaimable: u64, peak: u64) -> GroupSample {
    GroupSample {
        unreclaimable: Some(Bytes(unreclaimable)),
        peak: Some(Bytes(peak)),
        current: Some(Bytes(peak)),
        ..GroupSample::default()
    }
}

#[test]
fn fill_and_exit_at_once_is_known_by_final_values() {
    let mut task = tree(Bpf);
    let truth = 256 * MIB;
    exit(&mut task, 80, 1, memory(truth + MIB, truth));
    let usage = task
        .finish(&end(80, Some(chain(memory(truth + MIB, 0)))))
        .usage;
    assert!(near(whole(&usage, "rss_peak"), truth));
    assert_eq!(method(&usage, "rss_peak"), Method::Exact);
    // It may have had more of its own before it had all of its file pages.
    assert_eq!(whole(&usage, "memory_peak"), truth);
    let upper = Some(truth + MIB);
    assert_eq!(method(&usage, "memory_peak"), Method::LowerBound { upper });
    assert_eq!(method(&usage, "rss_peak_process"), Method::Exact);
    assert_eq!(method(&usage, "virtual_peak"), Method::Exact);
}

#[test]
fn a_grandchild_of_a_shell_that_nobody_sampled_is_known_by_its_end() {
    let mut task = tree(Bpf);
    let truth = 256 * MIB;
    spawn(&mut task, 5, 1, 2, "fill");
    exit(&mut task, 80, 2, memory(truth + MIB, truth));
    exit(&mut task, 81, 1, shell());
    let usage = task
        .finish(&end(81, Some(chain(memory(truth + MIB, 0)))))
        .usage;
    assert_eq!(method(&usage, "rss_peak"), Method::Exact);
    assert!(near(whole(&usage, "rss_peak"), truth + MIB + 1_800_000));
    match method(&usage, "memory_peak") {
        Method::Exact => assert!(near(whole(&usage, "memory_peak"), truth)),
        Method::LowerBound { upper: Some(upper) } => {
            let low = whole(&usage, "memory_peak");
            assert!(low <= truth + 300_000 && upper >= truth && upper * 4 <= low * 5);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_final_values_the_chain_and_a_later_sample_of_the_shell_prove_it() {
    let mut task = tree(Connector);
    let truth = 256 * MIB;
    spawn(&mut task, 5, 1, 2, "fill");
    let seen = memory(40 * MIB, 39 * MIB);
    let both = [sample(1, 0, shell(), shell()), sample(2, 5, seen, seen)];
    task.sample(ms(20), &both);
    gone(&mut task, 80, 2);
    task.sample(ms(81), &[sample(1, 0, shell(), shell())]);
    gone(&mut task, 82, 1);
    let usage = task
        .finish(&end(82, Some(chain(memory(truth + MIB, 0)))))
        .usage;
    assert_eq!(method(&usage, "rss_peak_process"), Method::Exact);
    // The shell may have grown in its last millisecond, but not beyond the largest process, and
    // then alone.
    assert_eq!(method(&usage, "rss_peak"), Method::Exact);
    assert!(near(whole(&usage, "rss_peak"), truth + MIB + 1_800_000));
    assert!(near(whole(&usage, "memory_peak"), truth));
    match method(&usage, "memory_peak") {
        Method::Exact | Method::LowerBound { upper: Some(_) } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_nobody_saw_is_not_claimed() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "fill");
    gone(&mut task, 80, 2);
    gone(&mut task, 81, 1);
    let usage = task
        .finish(&end(81, Some(chain(memory(100 * MIB, 0)))))
        .usage;
    // Two processes, each of at most 100 MiB: the sum lies between.
    assert_eq!(whole(&usage, "rss_peak"), 100 * MIB);
    assert_eq!(
        method(&usage, "rss_peak"),
        Method::LowerBound {
            upper: Some(200 * MIB)
        }
    );
    // All of it may be file pages.
    assert_eq!(method(&usage, "memory_peak"), Method::UpperBound);
    assert_eq!(absent(&usage, "rss_peak_anon"), Some(Absent::Gone));
    assert_eq!(absent(&usage, "cgroup_peak"), Some(Absent::NotApplicable));
}

#[test]
fn a_large_process_that_was_seen_small_is_not_reported_small() {
    for mechanism in [Connector, Procfs] {
        let mut task = tree(mechanism);
        let seen = memory(8 * MIB, 4 * MIB);
        task.sample(ms(10), &[sample(1, 0, seen, seen)]);
        gone(&mut task, 30, 1);
        let waited = Some(chain(memory(43 * MIB, 0)));
        let usage = task.finish(&end(30, waited)).usage;
        assert_eq!(whole(&usage, "memory_peak"), 39 * MIB);
        let upper = (mechanism == Connector).then_some(43 * MIB);
        assert_eq!(method(&usage, "memory_peak"), Method::LowerBound { upper });
    }
}

/// A program that slept, seen small with most of it file pages, then filled `filled` bytes at
/// `faults` page faults, `stored` of them to or from storage, and ended before anybody looked.
fn unseen_filler(filled: u64, faults: u64, huge: u64, stored: u64) -> Usage {
    let mut task = tree(Procfs);
    let sizes = PageSizes {
        page: Bytes(4096),
        huge: Some(Bytes(2 * MIB)),
    };
    task.paging(sizes, 0);
    let asleep = Used {
        faults: Some(100),
        ..memory(1_300_000, 100_000)
    };
    task.sample(ms(10), &[sample(1, 0, asleep, asleep)]);
    task.huge_pages(huge);
    let all = Used {
        faults: Some(100 + faults),
        ..memory(1_300_000 + filled, 0)
    };
    let mut waited = chain(all);
    waited.counters.disk_read = Some(Bytes(0));
    waited.counters.disk_written = Some(Bytes(stored));
    task.finish(&end(1400, Some(waited))).usage
}

#[test]
fn what_page_faults_brought_unseen_is_memory_of_its_own() {
    let filled = 96 * MIB;
    // A page a fault, the same while others get huge pages, and a huge page a fault.
    for (faults, huge) in [(filled / 4096, 0), (filled / 4096, 500), (48, 48)] {
        let usage = unseen_filler(filled, faults, huge, 0);
        let told = whole(&usage, "memory_peak");
        assert!(near(told, filled), "{told}");
        assert_eq!(method(&usage, "memory_peak"), LOWER);
    }
    // A file that is in memory comes many pages a fault, one that is not from storage.
    for (faults, stored) in [(filled / 65536, 0), (filled / 4096, filled)] {
        let usage = unseen_filler(filled, faults, 0, stored);
        let told = whole(&usage, "memory_peak");
        assert!(told < MIB, "{told}");
    }
}

/// Of a small program what maps files is a large part of its faults: what is left is less.
#[test]
fn what_page_faults_brought_to_the_only_small_program_is_most_of_its_memory() {
    let filled = 4 * MIB;
    let told = |faults, stored| whole(&unseen_filler(filled, faults, 0, stored), "memory_peak");
    let own = told(filled / 4096, 0);
    assert!((filled - filled / 8..=filled).contains(&own), "{own}");
    for file in [told(filled / 65536, 0), told(filled / 4096, filled)] {
        assert!(file < MIB, "{file}");
    }
}

/// Where nothing tells what a large process had, the little that was seen is not what is known.
#[test]
fn a_large_process_that_may_be_all_files_leaves_a_wide_bound() {
    let mut task = tree(Connector);
    spawn(&mut task, 1, 1, 2, "fill");
    let asleep = memory(1_300_000, 100_000);
    task.sample(
        ms(10),
        &[sample(1, 0, asleep, asleep), sample(2, 1, asleep, asleep)],
    );
    gone(&mut task, 1300, 2);
    gone(&mut task, 1301, 1);
    let waited = Some(chain(memory(97 * MIB, 0)));
    let usage = task.finish(&end(1302, waited)).usage;
    let Method::LowerBound { upper: Some(upper) } = method(&usage, "memory_peak") else {
        panic!("{:?}", usage.get("memory_peak"));
    };
    assert!(upper >= 97 * MIB, "{upper}");
}

/// It was about to end, and had given its memory back: the kernel would have told.
#[test]
fn a_sample_without_memory_came_too_late_for_it() {
    let mut task = tree(Procfs);
    let mut late = sample(1, 0, memory(0, 0), memory(0, 0));
    late.memory = record::sample::Memory {
        rss: Some(Bytes(0)),
        virtual_size: Some(Bytes(0)),
        ..record::sample::Memory::default()
    };
    task.sample(ms(1), &[late]);
    let usage = task.finish(&end(2, Some(chain(memory(MIB, 0))))).usage;
    for part in [
        "rss_peak_anon",
        "rss_peak_file",
        "rss_peak_shmem",
        "swap_peak",
    ] {
        assert_eq!(absent(&usage, part), Some(Absent::Gone), "{part}");
    }
}

#[test]
fn of_a_process_that_nobody_saw_no_memory_is_claimed() {
    // All that the chain tells of may be pages of files, which can be had again.
    let mut task = tree(Procfs);
    task.sample(ms(1), &[]);
    let usage = task.finish(&end(2, Some(chain(memory(MIB, 0))))).usage;
    assert_eq!(absent(&usage, "memory_peak"), Some(Absent::Gone));
    assert_eq!(whole(&usage, "rss_peak"), MIB);
    assert_eq!(method(&usage, "rss_peak"), LOWER);
}

#[test]
fn a_group_caps_what_a_process_seen_small_can_have_needed() {
    let mut task = tree(Connector);
    let seen = memory(2 * MIB, MIB);
    task.sample(ms(1), &[sample(1, 0, seen, seen)]);
    task.group(ms(30), &group(MIB, MIB));
    gone(&mut task, 30, 1);
    let usage = task.finish(&end(30, Some(chain(memory(8 * MIB, 0))))).usage;
    assert_eq!(whole(&usage, "memory_peak"), MIB);
}

#[test]
fn a_child_before_its_exec_borrows_the_pages_of_its_parent() {
    let parent = memory(200 * MIB, 199 * MIB);
    let pair = |at: u64| [sample(1, 0, parent, parent), sample(2, at, parent, parent)];
    let mut task = tree(Connector);
    task.sample(ms(10), &[sample(1, 0, parent, parent)]);
    fork(&mut task, 20, 1, 2);
    task.sample(ms(21), &pair(20));
    exec(&mut task, 22, 2, "nothing");
    gone(&mut task, 23, 2);
    task.sample(ms(24), &[sample(1, 0, parent, parent)]);
    gone(&mut task, 30, 1);
    let usage = task.finish(&end(30, Some(chain(parent)))).usage;
    assert_eq!(whole(&usage, "rss_peak"), 200 * MIB);

    // The same by samples alone: until the exec it has its parent's name.
    let mut task = tree(Procfs);
    task.sample(ms(10), &[sample(1, 0, parent, parent)]);
    task.sample(ms(21), &pair(20));
    let usage = task.usage(&end(30, None));
    assert_eq!(whole(&usage, "rss_peak"), 200 * MIB);

    // One that stays without an exec has pages of its own.
    let mut task = tree(Connector);
    fork(&mut task, 20, 1, 2);
    task.sample(ms(21), &pair(20));
    task.sample(ms(26), &pair(20));
    gone(&mut task, 28, 2);
    gone(&mut task, 30, 1);
    let usage = task.finish(&end(30, Some(chain(parent)))).usage;
    assert_eq!(whole(&usage, "rss_peak"), 400 * MIB);
    let at = usage.get("rss_peak").unwrap().value().unwrap().at_ns;
    assert_eq!(at, Some(Nanos::from_millis(26)));
}

#[test]
fn one_process_that_nobody_sampled_is_exact_by_the_chain() {
    let mut task = tree(Connector);
    gone(&mut task, 80, 1);
    let usage = task
        .finish(&end(80, Some(chain(memory(100 * MIB, 0)))))
        .usage;
    assert_eq!(whole(&usage, "rss_peak"), 100 * MIB);
    assert_eq!(method(&usage, "rss_peak"), Method::Exact);
}

/// Eight processes over one mapping of 512 MiB: one has made it and forked the others.
fn eight(task: &mut reduce::tree::Tree, pss: Option<u64>) {
    fork(task, 5, 1, 2);
    for pid in 3..10 {
        fork(task, 5, 2, pid);
    }
    let one = Used {
        pss,
        ..memory(512 * MIB, 512 * MIB)
    };
    let mut pass: Vec<_> = (2..10).map(|pid| sample(pid, 5, one, one)).collect();
    let shell = Used {
        pss: pss.map(|_| 100_000),
        ..shell()
    };
    pass.push(sample(1, 0, shell, shell));
    task.sample(ms(500), &pass);
}

#[test]
fn shared_memory_counts_once_with_a_group() {
    let mut task = tree(Bpf);
    eight(&mut task, None);
    task.group(ms(500), &group(512 * MIB, 514 * MIB));
    for pid in 2..10 {
        exit(&mut task, 900, pid, memory(512 * MIB, 512 * MIB));
    }
    exit(&mut task, 901, 1, shell());
    let usage = task.finish(&end(901, None)).usage;
    assert_eq!(whole(&usage, "memory_peak"), 512 * MIB);
    let upper = Some(514 * MIB);
    assert_eq!(method(&usage, "memory_peak"), Method::LowerBound { upper });
    assert!(near(whole(&usage, "rss_peak"), 8 * 512 * MIB));
    assert_eq!(method(&usage, "cgroup_peak"), Method::Exact);
}

#[test]
fn a_group_that_processes_left_bounds_nothing_from_above() {
    let mut task = tree(Bpf);
    task.group(ms(400), &group(5 * MIB, 9 * MIB));
    task.group_left();
    fork(&mut task, 5, 1, 2);
    let one = Used {
        pss: Some(60 * MIB),
        ..memory(64 * MIB, 60 * MIB)
    };
    let pass = [sample(1, 0, one, one), sample(2, 5, one, one)];
    task.sample(ms(500), &pass);
    let live = task.live(ms(500)).memory.unwrap();
    assert_eq!(
        (live.basis, live.low),
        (reduce::live::Basis::Pss, 120 * MIB)
    );
    for pid in [2, 1] {
        exit(&mut task, 900, pid, memory(64 * MIB, 60 * MIB));
    }
    let usage = task.finish(&end(900, None)).usage;
    assert!(whole(&usage, "memory_peak") >= 120 * MIB);
    assert_eq!(whole(&usage, "cgroup_peak"), 9 * MIB);
    assert_eq!(method(&usage, "cgroup_peak"), LOWER);
}

#[test]
fn workers_that_a_small_process_forked_have_what_they_have_by_themselves() {
    let mut task = tree(Connector);
    let workers = 2..6;
    for pid in workers.clone() {
        fork(&mut task, 5, 1, pid);
    }
    let (small, large) = (memory(9 * MIB, 5 * MIB), memory(49 * MIB, 45 * MIB));
    let mut pass: Vec<_> = workers.map(|pid| sample(pid, 5, large, large)).collect();
    pass.push(sample(1, 0, small, small));
    task.sample(ms(100), &pass);
    let usage = task.finish(&end(200, None)).usage;
    // Each may have inherited all that was ever resident of the parent.
    assert_eq!(whole(&usage, "memory_peak"), (5 + 4 * 36) * MIB);
    assert_eq!(method(&usage, "memory_peak"), SAMPLED);
}

/// A bound eight times the value would say nothing.
#[test]
fn what_samples_saw_of_several_processes_is_said_to_be_sampled_where_bounds_are_wide() {
    let mut task = tree(Bpf);
    eight(&mut task, None);
    for pid in 2..10 {
        exit(&mut task, 900, pid, memory(512 * MIB, 512 * MIB));
    }
    exit(&mut task, 901, 1, shell());
    let usage = task.finish(&end(901, None)).usage;
    assert!(near(whole(&usage, "memory_peak"), 512 * MIB));
    assert_eq!(method(&usage, "memory_peak"), SAMPLED);
}

#[test]
fn shared_memory_counts_once_by_shares_and_is_said_to_be_sampled() {
    let mut task = tree(Bpf);
    eight(&mut task, Some(64 * MIB));
    for pid in 2..10 {
        exit(&mut task, 900, pid, memory(512 * MIB, 512 * MIB));
    }
    exit(&mut task, 901, 1, shell());
    let usage = task.finish(&end(901, None)).usage;
    assert!(near(whole(&usage, "memory_peak"), 512 * MIB));
    assert_eq!(method(&usage, "memory_peak"), SAMPLED);
}

#[test]
fn page_cache_is_not_memory_that_must_be_provided() {
    let mut task = tree(Bpf);
    task.group(ms(400), &group(5 * MIB, 263 * MIB));
    exit(&mut task, 800, 1, memory(6 * MIB, 4 * MIB));
    let usage = task.finish(&end(800, None)).usage;
    assert!(whole(&usage, "memory_peak") < 30 * MIB);
    assert_eq!(whole(&usage, "cgroup_peak"), 263 * MIB);
}

#[test]
fn file_pages_of_one_process_are_left_out_of_its_memory() {
    let mut task = tree(Connector);
    let mapped = memory(300 * MIB, 2 * MIB);
    task.sample(ms(100), &[sample(1, 0, mapped, mapped)]);
    gone(&mut task, 200, 1);
    let usage = task.finish(&end(200, Some(chain(mapped)))).usage;
    assert_eq!(whole(&usage, "memory_peak"), 2 * MIB);
    assert_eq!(
        method(&usage, "memory_peak"),
        Method::LowerBound {
            upper: Some(300 * MIB)
        }
    );
    assert_eq!(whole(&usage, "rss_peak_file"), 298 * MIB);
    assert_eq!(whole(&usage, "rss_peak"), 300 * MIB);
}

#[test]
fn memory_of_processes_one_after_another_does_not_add_up() {
    let mut task = tree(Bpf);
    for i in 0..200 {
        let pid = 10 + i as u32;
        spawn(&mut task, i * 25, 1, pid, "fill");
        exit(&mut task, i * 25 + 20, pid, memory(100 * MIB, 99 * MIB));
    }
    exit(&mut task, 5001, 1, shell());
    let usage = task.finish(&end(5001, None)).usage;
    assert_eq!(method(&usage, "rss_peak"), Method::Exact);
    assert!(near(whole(&usage, "rss_peak"), 100 * MIB + 1_800_000));
}

#[test]
fn samples_alone_say_so() {
    let mut task = tree(Procfs);
    let seen = memory(50 * MIB, 40 * MIB);
    task.sample(ms(100), &[sample(1, 0, seen, seen)]);
    task.sample(ms(200), &[]);
    let usage = task.finish(&end(200, None)).usage;
    assert_eq!(method(&usage, "rss_peak"), SAMPLED);
    let at = usage.get("rss_peak").unwrap().value().unwrap().at_ns;
    assert_eq!(at, Some(Nanos::from_millis(100)));
    assert_eq!(method(&usage, "rss_peak_process"), LOWER);
    assert_eq!(whole(&usage, "swap_peak"), 0);
    assert_eq!(method(&usage, "swap_peak"), SAMPLED);
}

#[test]
fn a_lost_event_takes_the_upper_bound_away() {
    let mut task = tree(Bpf);
    task.event(record::event::Event::Lost {
        at: ms(10),
        count: 3,
    });
    exit(&mut task, 80, 1, memory(100 * MIB, 99 * MIB));
    let summary = task.finish(&end(80, None));
    assert_eq!(method(&summary.usage, "rss_peak"), LOWER);
    assert_eq!(method(&summary.usage, "processes_total"), LOWER);
    assert!(
        summary
            .notes
            .iter()
            .any(|note| note.starts_with("3 events"))
    );
}

#[test]
fn shared_memory_that_nobody_maps_is_charged_though_not_resident() {
    let mut task = tree(Bpf);
    // 200 MiB written to a file in /dev/shm by a small program.
    task.group(ms(400), &group(203 * MIB, 260 * MIB));
    exit(&mut task, 800, 1, memory(4 * MIB, 3 * MIB));
    let usage = task.finish(&end(800, None)).usage;
    assert_eq!(whole(&usage, "memory_peak"), 203 * MIB);
    assert_eq!(method(&usage, "memory_peak"), SAMPLED);
}

#[test]
fn file_pages_known_from_a_sample_are_left_out_of_a_later_peak() {
    let mut task = tree(Bpf);
    let seen = memory(60 * MIB, 40 * MIB);
    task.sample(ms(100), &[sample(1, 0, seen, seen)]);
    exit(&mut task, 800, 1, memory(150 * MIB, 20 * MIB));
    let usage = task.finish(&end(800, None)).usage;
    assert_eq!(whole(&usage, "memory_peak"), 130 * MIB);
}

#[test]
fn growth_of_one_that_mapped_files_is_not_said_to_be_its_own() {
    let mut task = tree(Bpf);
    let seen = memory(60 * MIB, 10 * MIB);
    task.sample(ms(100), &[sample(1, 0, seen, seen)]);
    exit(&mut task, 800, 1, memory(150 * MIB, 20 * MIB));
    let usage = task.finish(&end(800, None)).usage;
    assert_eq!(whole(&usage, "memory_peak"), 20 * MIB);
    let upper = Some(150 * MIB);
    assert_eq!(method(&usage, "memory_peak"), Method::LowerBound { upper });
}

#[test]
fn the_libraries_of_a_program_that_was_seen_at_its_start_are_not_its_own() {
    let mut task = tree(Bpf);
    let seen = memory(200 << 10, 100 << 10);
    task.sample(ms(1), &[sample(1, 0, seen, seen)]);
    task.group(ms(2), &group(0, 256 << 10));
    exit(&mut task, 3, 1, memory(1200 << 10, 100 << 10));
    let usage = task.finish(&end(3, None)).usage;
    // No more than was charged, whatever the resident set.
    assert!(whole(&usage, "memory_peak") <= 256 << 10);
}

#[test]
fn a_group_read_before_anything_was_charged_proves_nothing() {
    let mut task = tree(Connector);
    task.group(ms(2), &group(0, 3 * MIB));
    gone(&mut task, 4, 1);
    let usage = task.finish(&end(4, Some(chain(memory(5 * MIB, 0))))).usage;
    assert_eq!(whole(&usage, "memory_peak"), 3 * MIB);
    assert_eq!(method(&usage, "memory_peak"), Method::UpperBound);
}

#[test]
fn no_lower_bound_is_above_what_was_charged() {
    let mut task = tree(Connector);
    let seen = memory(20 * MIB, 15 * MIB);
    task.sample(ms(100), &[sample(1, 0, seen, seen)]);
    task.group(ms(200), &group(15 * MIB, 40 * MIB));
    gone(&mut task, 800, 1);
    let waited = Some(chain(memory(150 * MIB, 0)));
    let usage = task.finish(&end(800, waited)).usage;
    assert_eq!(whole(&usage, "memory_peak"), 15 * MIB);
    let upper = Some(40 * MIB);
    let told = method(&usage, "memory_peak");
    assert!(
        told == Method::LowerBound { upper } || told == SAMPLED,
        "{told:?}"
    );
}

#[test]
fn programs_share_nothing_and_children_may_share_all() {
    let at_least = |executes: bool, mechanism| {
        let mut task = tree(mechanism);
        fork(&mut task, 5, 1, 2);
        if executes {
            exec(&mut task, 6, 2, "other");
        }
        let one = memory(60 * MIB, 50 * MIB);
        task.sample(ms(50), &[sample(1, 0, one, one), sample(2, 5, one, one)]);
        let usage = task.finish(&end(60, Some(chain(one)))).usage;
        whole(&usage, "memory_peak")
    };
    assert_eq!(at_least(true, Connector), 100 * MIB);
    assert_eq!(at_least(false, Connector), 50 * MIB);
    // What looks like an exec may be the first sight of a child.
    assert_eq!(at_least(true, Procfs), 50 * MIB);
}

/// A shell whose child was the task: what it was after its last reading is known by its faults.
#[test]
fn a_shell_that_ended_unread_is_no_second_giant() {
    let bound = |faults| {
        let mut task = tree(Connector);
        let sizes = PageSizes {
            page: Bytes(4096),
            huge: None,
        };
        task.paging(sizes, 0);
        exec(&mut task, 1, 1, "sh");
        fork(&mut task, 3, 1, 2);
        exec(&mut task, 4, 2, "fill");
        let shell = Used {
            faults: Some(60),
            ..memory(2 * MIB, MIB / 4)
        };
        let child = Used {
            faults: Some(20_000),
            ..memory(81 * MIB, 80 * MIB)
        };
        let pass = [sample(1, 0, shell, shell), sample(2, 3, child, child)];
        task.sample(ms(20), &pass);
        gone(&mut task, 90, 2);
        gone(&mut task, 91, 1);
        let all = Used {
            faults: Some(75_000),
            ..memory(300 * MIB, 0)
        };
        let mut end = end(91, Some(chain(all)));
        end.main.as_mut().unwrap().faults = faults;
        let usage = task.finish(&end).usage;
        (method(&usage, "rss_peak"), whole(&usage, "rss_peak"))
    };
    let (told, value) = bound(Some(68));
    assert_eq!(told, Method::Exact);
    // 8 faults more, of at most 16 pages each.
    assert_eq!(value, 302 * MIB + 8 * 16 * 4096);
    let upper = Some(600 * MIB);
    assert_eq!(bound(None).0, Method::LowerBound { upper });
}

/// Each of three processes tells the same pages in swap.
fn in_swap(task: &mut Tree, at: u64, in_use: u64, most: Option<u64>) {
    let mut one = sample(1, 0, shell(), shell());
    one.memory.swap = Some(Bytes(in_use));
    let pass = [1, 2, 3].map(|pid| {
        let mut other = one.clone();
        other.id.pid = pid;
        other
    });
    let group = GroupSample {
        swap: Some(Bytes(in_use)),
        swap_peak: most.map(Bytes),
        ..group(MIB, 2 * MIB)
    };
    task.group(ms(at), &group);
    task.sample(ms(at), &pass);
}

#[test]
fn a_group_has_pages_in_swap_once() {
    let at = |usage: &Usage| usage.get("swap_peak").unwrap().value().unwrap().at_ns;
    for (most, left, swap, how, when) in [
        (None, false, 9, SAMPLED, Some(100)),
        (Some(9), false, 9, Method::Exact, Some(100)),
        (Some(12), false, 12, Method::Exact, None),
        // Who left may have more in swap than the group.
        (Some(9), true, 27, SAMPLED, Some(100)),
    ] {
        let mut task = tree(Procfs);
        in_swap(&mut task, 100, 9, most);
        in_swap(&mut task, 200, 4, most);
        if left {
            task.group_left();
        }
        let usage = task.finish(&end(200, None)).usage;
        assert_eq!(whole(&usage, "swap_peak"), swap);
        assert_eq!(method(&usage, "swap_peak"), how);
        assert_eq!(at(&usage), when.map(Nanos::from_millis));
    }
}

/// Its memory is given back before its end is told: what was read of it before is not its peak.
#[test]
fn the_last_mark_of_one_that_is_ending_is_an_old_one() {
    let mut task = tree(Ptrace);
    for pid in [2, 3] {
        spawn(&mut task, 5, 1, pid, "fill");
    }
    let (small, large) = (memory(10 * MIB, 9 * MIB), memory(50 * MIB, 49 * MIB));
    let other = sample(2, 5, large, large);
    let read = sample(3, 5, small, small);
    task.sample(ms(100), &[other, read.clone()]);
    let mut ending = read;
    let (rss_peak, virtual_peak) = (ending.memory.rss_peak, ending.memory.virtual_peak);
    ending.memory = Memory {
        rss_peak,
        virtual_peak,
        ..Memory::default()
    };
    // It had 50 MiB until 190.
    exit(&mut task, 150, 2, large);
    task.sample(ms(200), &[ending]);
    exit(&mut task, 210, 3, large);
    exit(&mut task, 230, 1, memory(0, 0));
    let usage = task.finish(&end(230, Some(chain(large)))).usage;
    for (name, truth) in [("rss_peak", 100 * MIB), ("virtual_peak", 200 * MIB)] {
        let most = match method(&usage, name) {
            Method::LowerBound { upper } => upper.unwrap_or(u64::MAX),
            Method::Exact => whole(&usage, name),
            _ => u64::MAX,
        };
        assert!(most >= truth, "{name}: {most}");
    }
}

/// Three children that held 20 MiB each for a moment that nobody saw, and what was read and
/// written meanwhile.
fn charged(written: u64) -> (u64, Method) {
    let mut task = tree(Bpf);
    let held = memory(21 * MIB, 20 * MIB);
    let mut seen = group(20 * MIB, 61 * MIB);
    seen.current = Some(Bytes(20 * MIB + MIB / 2));
    for pid in [2, 3, 4] {
        spawn(&mut task, 5, 1, pid, "hold");
    }
    task.group(ms(10), &seen);
    for pid in [2, 3, 4] {
        exit(&mut task, 20, pid, held);
    }
    exit(&mut task, 30, 1, memory(MIB, MIB / 4));
    let mut waited = chain(held);
    waited.counters.bytes_written = Some(Bytes(written));
    waited.counters.disk_read = Some(Bytes(0));
    waited.counters.disk_written = Some(Bytes(0));
    let usage = task.finish(&end(40, Some(waited))).usage;
    (whole(&usage, "memory_peak"), method(&usage, "memory_peak"))
}

#[test]
fn what_a_group_was_charged_is_memory_where_little_else_can_be() {
    let (least, method) = charged(MIB);
    let upper = Some(61 * MIB);
    assert_eq!(method, Method::LowerBound { upper });
    assert!((57 * MIB..60 * MIB).contains(&least), "{least}");
    // Page cache of 30 MiB would be charged as well.
    let (least, _) = charged(30 * MIB);
    assert!(least <= 21 * MIB, "{least}");
}

/// What pipes hold is charged as well, and nobody saw it: page faults brought no such memory.
#[test]
fn what_a_group_was_charged_is_no_memory_where_no_fault_brought_it() {
    let mut task = tree(Bpf);
    let sizes = PageSizes {
        page: Bytes(4096),
        huge: None,
    };
    task.paging(sizes, 0);
    let mut seen = group(MIB, 61 * MIB);
    seen.current = Some(Bytes(MIB + MIB / 2));
    task.group(ms(10), &seen);
    let held = Used {
        faults: Some(512),
        ..memory(3 * MIB, 2 * MIB)
    };
    exit(&mut task, 30, 1, held);
    let mut waited = chain(held);
    waited.counters.bytes_written = Some(Bytes(0));
    waited.counters.disk_read = Some(Bytes(0));
    waited.counters.disk_written = Some(Bytes(0));
    let usage = task.finish(&end(40, Some(waited))).usage;
    assert!(whole(&usage, "memory_peak") <= 3 * MIB);
}
