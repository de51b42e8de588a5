//! The walk against the sampler of `/proc`, and its arithmetic.

use super::values::{letter, memory, split};
use super::*;
use crate::query::counters::peaks_only;
use crate::query::sampler::{Sampler, Settings};
use record::unit::{Bytes, Nanos};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// A child that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// A shell that has waited for children, holds others, and waits for input.
fn shell() -> Ended {
    let script = "head -c 1M /dev/zero | tail -c 9 >/dev/null; \
                  for i in 1 2 3; do sleep 1000 & all=\"$all $!\"; done; \
                  echo ready; read line; kill $all";
    let child = Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut shell = Ended(child.unwrap());
    let mut told = String::new();
    BufReader::new(shell.0.stdout.as_mut().unwrap().by_ref())
        .read_line(&mut told)
        .unwrap();
    shell
}

/// User and system time are scaled from ticks, at slightly different instants.
fn rounded(mut sample: ProcessSample) -> ProcessSample {
    for counters in [&mut sample.own, &mut sample.with_children] {
        (counters.cpu_user, counters.cpu_system) = (None, None);
        counters.cpu = counters.cpu.map(|cpu| Nanos(cpu.0 / 1_000_000));
    }
    sample.with_children.cpu = None;
    sample.revision = None;
    sample
}

#[test]
fn bpf_root_the_walk_and_proc_make_the_same_samples() {
    let shell = shell();
    let root = Root::default();
    let mut walker = match Walker::open(&root, std::process::id()) {
        Ok(walker) => walker,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut sampler = Sampler::new(root, Settings::default());
    let (mut walked, mut sampled) = (Vec::new(), Vec::new());
    let below = |all: &[ProcessSample]| {
        let child = |sample: &&ProcessSample| [sample.id.pid, sample.ppid].contains(&shell.0.id());
        all.iter().filter(child).cloned().collect::<Vec<_>>()
    };
    // Until all of them stand still: a sample before and one after the walk are equal.
    for _ in 0..1000 {
        walked = below(walker.sample().unwrap());
        let pids: Vec<u32> = walked.iter().map(|sample| sample.id.pid).collect();
        sampler.sample(&pids, &mut sampled);
        let equal =
            |(a, b): (&ProcessSample, &ProcessSample)| rounded(a.clone()) == rounded(b.clone());
        if pids.len() == 4 && sampled.len() == 4 && walked.iter().zip(&sampled).all(equal) {
            let parent = walked.iter().find(|one| one.id.pid == shell.0.id());
            let parent = parent.unwrap();
            assert!(parent.with_children.bytes_read > parent.own.bytes_read);
            assert!(parent.with_children.bytes_read > Some(Bytes(1 << 20)));
            assert!(parent.memory.rss > Some(Bytes(0)));
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("walked {walked:#?}\nsampled {sampled:#?}");
}

/// Whether a walk pays after a pass on a node of so many threads, as `/proc/loadavg` tells.
fn pays(gain: &mut Gain, cost: u64, threads: u64) -> bool {
    let node = tempfile::tempdir().unwrap();
    std::fs::create_dir(node.path().join("proc")).unwrap();
    let line = format!("0.04 0.54 0.42 1/{threads} 4711\n");
    std::fs::write(node.path().join("proc/loadavg"), line).unwrap();
    gain.pays_after(cost, &Root::at(node.path()))
}

#[test]
fn a_walk_pays_when_it_would_have_saved_what_loading_it_takes() {
    let (cost, threads) = (2_800_000, 600);
    let mut gain = Gain::default();
    let passes = (1..100).find(|_| pays(&mut gain, cost, threads));
    // 2.23 ms less a pass.
    assert_eq!(passes, Some(9));
    // A node of so many threads that the walk is no cheaper.
    let mut gain = Gain::default();
    assert!(!(0..100).any(|_| pays(&mut gain, cost, 5000)));
}

#[test]
fn cheap_passes_add_up_and_are_not_each_followed_by_a_look_at_the_node() {
    let mut gain = Gain::default();
    let cost = SETTLE_COST / 4;
    // 0.24 ms less a pass: the 20th of those that are settled by four.
    let passes = (1..1000).find(|_| pays(&mut gain, cost, 30));
    let saved = cost - PASS_COST - 30 * THREAD_COST;
    assert_eq!(passes, Some((LOAD_COST / (4 * saved) + 1) * 4));
    // Without one, nobody is counted.
    let mut gain = Gain::default();
    let nowhere = Root::at(std::path::Path::new("/nowhere"));
    assert!(!gain.pays_after(cost, &nowhere));
    assert_eq!((gain.passes, gain.cost), (1, cost));
}

#[test]
fn a_state_has_the_letter_that_proc_shows() {
    let letters = [0, 1, 2, 4, 8, 0x40, 0x80 | 0x20, 0x10, 0x402, 0x2002].map(letter);
    assert_eq!(letters.iter().collect::<String>(), "RSDTtPZXID");
}

#[test]
fn user_and_system_time_add_up_to_the_cpu_time() {
    let split = |user, system| {
        let (user, system) = split(Nanos(10), Nanos(user), Nanos(system));
        (user.0, system.0)
    };
    assert_eq!(split(0, 0), (10, 0));
    assert_eq!(split(7, 0), (10, 0));
    assert_eq!(split(0, 7), (0, 10));
    assert_eq!(split(60, 20), (8, 2));
}

#[test]
fn of_one_that_has_ended_only_the_peaks_stay() {
    let leader = Walked {
        rss_anon_pages: 2,
        hiwater_rss_pages: 3,
        flags: Walked::MEMORY,
        ..Walked::default()
    };
    let living = memory(&leader, 4096);
    assert_eq!(living.rss, Some(Bytes(8192)));
    let ended = peaks_only(living);
    assert_eq!((ended.rss, ended.rss_peak), (None, Some(Bytes(12_288))));
}

fn one(pid: u32, cpu_ms: u64) -> Walked {
    Walked {
        pid,
        tgid: pid,
        threads: 1,
        start_ns: 1_000_000_000,
        cpu_ns: cpu_ms * 1_000_000,
        flags: Walked::MEMORY,
        mm: u64::from(pid),
        ..Walked::default()
    }
}

/// A pass that meets these, as `Walker::sample` gives them on.
fn pass(roster: &mut Roster, records: &[Walked]) -> Vec<ProcessSample> {
    let mut several: FxHashMap<u32, Process> = FxHashMap::default();
    roster.begin();
    for one in records {
        match one.threads {
            1 => roster.whole(one),
            _ => {
                let process = several.entry(one.tgid).or_default();
                process.take(one, roster.kept());
            }
        }
    }
    for (pid, process) in &several {
        roster.several(*pid, process);
    }
    roster.end().to_vec()
}

fn roster() -> Roster {
    let kept = Kept {
        io: true,
        cpu_wait: true,
        io_wait: true,
    };
    Roster::new(kept, 4096)
}

fn pids(samples: &[ProcessSample]) -> Vec<u32> {
    samples.iter().map(|sample| sample.id.pid).collect()
}

#[test]
fn who_slept_has_the_revision_that_he_had() {
    let mut roster = roster();
    let first = pass(&mut roster, &[one(5, 1), one(7, 1), one(9, 1)]);
    let second = pass(&mut roster, &[one(5, 1), one(7, 2), one(9, 1)]);
    assert_eq!((&second[0], &second[2]), (&first[0], &first[2]));
    assert_ne!(second[1].revision, first[1].revision);
    assert_eq!(second[1].own.cpu, Some(Nanos(2_000_000)));
    // What somebody wrote into it is not what is read next.
    roster.begin();
    for one in [one(5, 1), one(7, 2), one(9, 1)] {
        roster.whole(&one);
    }
    let samples = roster.end();
    (samples[0].memory.pss, samples[0].revision) = (Some(Bytes(1)), None);
    let third = pass(&mut roster, &[one(5, 1), one(7, 2), one(9, 1)]);
    assert_eq!(third[0].memory, first[0].memory);
    assert!(third[0].revision.is_some() && third[0].revision != first[0].revision);
    assert_eq!(third[2].revision, first[2].revision);
}

#[test]
fn everyone_is_in_the_order_of_their_ids_whoever_comes_and_goes() {
    let mut roster = roster();
    let of = |pids: &[u32]| pids.iter().map(|pid| one(*pid, 1)).collect::<Vec<_>>();
    for met in [
        &[5, 7, 9][..],
        &[5, 9, 11],
        &[1, 5, 6, 7, 11, 12],
        &[],
        &[2, 3],
        &[3, 4],
    ] {
        assert_eq!(pids(&pass(&mut roster, &of(met))), met);
    }
    // Another process with the pid of one that has ended has nothing of it.
    let other = Walked {
        start_ns: 2_000_000_000,
        cpu_ns: 0,
        ..one(3, 0)
    };
    let samples = pass(&mut roster, &[other, one(4, 1)]);
    assert_eq!(samples[0].own.cpu, Some(Nanos(0)));
}

#[test]
fn threads_are_one_process_wherever_they_are_met() {
    let mut roster = roster();
    let leader = Walked {
        threads: 2,
        ..one(7, 1)
    };
    // A thread whose id is lower than its process's, and a process that is alone behind both.
    let thread = Walked {
        pid: 3,
        flags: 0,
        threads: 0,
        ..one(7, 4)
    };
    let records = [one(2, 1), thread, leader, one(8, 1)];
    let first = pass(&mut roster, &records);
    assert_eq!(pids(&first), [2, 7, 8]);
    assert_eq!(first[1].own.cpu, Some(Nanos(5_000_000)));
    let second = pass(&mut roster, &records);
    assert_eq!(second, first);
    // Its thread has ended, and its time is the leader's now: it never falls.
    let alone = pass(&mut roster, &[one(2, 1), one(7, 4), one(8, 1)]);
    assert_eq!(alone[1].own.cpu, Some(Nanos(5_000_000)));
    let alone = pass(&mut roster, &[one(2, 1), one(7, 6), one(8, 1)]);
    assert_eq!(alone[1].own.cpu, Some(Nanos(6_000_000)));
}

#[test]
fn the_oldest_owns_what_several_share() {
    let mut roster = roster();
    let of = |pid: u32, start_ns: u64, mm: u64| Walked {
        start_ns,
        mm,
        ..one(pid, 1)
    };
    const S: u64 = 1_000_000_000;
    let first = pass(&mut roster, &[of(5, 3 * S, 1), of(6, S, 1), of(7, S, 2)]);
    let owners = |samples: &[ProcessSample]| {
        let owner = |sample: &ProcessSample| sample.memory_of.map(|shared| shared.pid);
        samples.iter().map(owner).collect::<Vec<_>>()
    };
    assert_eq!(owners(&first), [Some(6), None, None]);
    // That one has executed something else.
    let second = pass(&mut roster, &[of(5, 3 * S, 1), of(6, S, 3), of(7, S, 2)]);
    assert_eq!(owners(&second), [None; 3]);
    assert_ne!(second[0].revision, first[0].revision);
    assert_eq!(second[2].revision, first[2].revision);
    let busy = Walked {
        cpu_ns: 9,
        ..of(5, 3 * S, 1)
    };
    pass(&mut roster, &[of(5, 3 * S, 1), of(6, S, 1)]);
    assert_eq!(
        owners(&pass(&mut roster, &[busy, of(6, S, 1)])),
        [Some(6), None]
    );
}
