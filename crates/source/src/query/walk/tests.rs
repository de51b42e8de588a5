//! The walk against the sampler of `/proc`, and its arithmetic.

use super::*;
use crate::query::sampler::{Sampler, Settings};
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
        walker.sample(&mut walked).unwrap();
        let walked = below(&walked);
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

#[test]
fn a_walk_pays_when_it_would_have_saved_what_loading_it_takes() {
    let (cost, threads) = (2_800_000, 600);
    let mut gain = Gain::default();
    let passes = (1..100).find(|_| gain.add(cost, threads));
    // 2.23 ms less a pass.
    assert_eq!(passes, Some(9));
    // A node of so many threads that the walk is no cheaper.
    assert!(!(0..100).any(|_| Gain::default().add(cost, 5000)));
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
