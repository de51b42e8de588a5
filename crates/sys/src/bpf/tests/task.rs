//! What one run sees of its task.

use super::*;
use crate::descriptor::{Waiting, poll};
use crate::edge::Edge;
use std::os::fd::AsFd;

#[test]
fn bpf_root_no_child_of_a_fork_storm_is_missed() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let script = format!("exec {} fork 2000", load.display());
    let (pid, seen, totals, _) = watch(&programs, &script);
    assert_eq!(totals.processes_total, 2001);
    assert_eq!(totals.processes_peak, 2);
    assert_eq!(totals.events_lost, 0);
    assert_eq!(seen.forks.len(), 2000);
    assert!(seen.forks.iter().all(|(_, parent)| *parent == pid));
    assert_eq!(seen.exits.len(), 2001);
    let of_children = seen.exits.iter().filter(|exit| exit.0 != pid);
    assert!(of_children.clone().all(|exit| exit.1 == 7 << 8));
    assert_eq!(seen.finals.len(), 2001);
}

#[test]
fn bpf_root_who_watches_is_woken_when_half_of_the_ring_is_full() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let mut run = programs.start_run().unwrap();
    let half = run.ring_bytes() / 2;
    // None tells less than its fork and its end, of some hundred bytes.
    let mut shell = Gated::new(&format!("exec {} fork {}", load.display(), half / 100));
    run.add(shell.pid()).unwrap();
    let edge = Edge::of(run.fd()).unwrap();
    run.watch();
    shell.open();
    let waiting = [Waiting {
        fd: Some(edge.as_fd()),
        exceptional: false,
    }];
    let patience = 60_000_000_000 * slowness();
    let mut seen = Seen::default();
    // The shell may have told of itself before anybody waited, which counts.
    let events = (0..2).map(|_| {
        assert!(poll(&waiting, Some(patience)).unwrap()[0] && edge.take());
        seen.drain(&mut run);
        run.watch();
        seen.forks.len() + seen.exits.len() + seen.finals.len()
    });
    // The largest event of a process that executes nothing is its end.
    let events: Vec<_> = events.collect();
    assert!(events[1] >= half / 600, "{events:?} of {half} bytes");
    shell.finish(&mut [(&mut run, &mut seen)]);
}

#[test]
fn bpf_root_who_watches_for_kills_is_woken_by_one() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let patience = 60_000_000_000 * slowness();
    for is_for_kills in [true, false] {
        let mut run = programs.start_run().unwrap();
        let mut shell = Gated::new("/bin/true; /bin/true; kill -9 $$");
        run.add(shell.pid()).unwrap();
        let edge = Edge::of(run.fd()).unwrap();
        // The shell may have told of itself.
        edge.take();
        match is_for_kills {
            true => run.watch_kills(),
            false => run.watch(),
        }
        shell.open();
        let waiting = [Waiting {
            fd: Some(edge.as_fd()),
            exceptional: false,
        }];
        let mut seen = Seen::default();
        if is_for_kills {
            assert!(poll(&waiting, Some(patience)).unwrap()[0] && edge.take());
            seen.drain(&mut run);
            // Not by what ended before.
            let killed = (shell.pid(), 9);
            let mut ends = seen.exits.iter().map(|exit| (exit.0, exit.1));
            assert!(ends.any(|end| end == killed));
            assert_eq!(seen.exits.len(), 3);
        }
        shell.finish(&mut [(&mut run, &mut seen)]);
        if !is_for_kills {
            assert!(!poll(&waiting, Some(200_000_000)).unwrap()[0]);
        }
    }
}

#[test]
fn bpf_root_final_cpu_is_what_wait_says() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let script = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done";
    let (_, seen, totals, waited) = watch(&programs, script);
    assert_eq!(totals.processes_total, 101);
    let execs = seen.execs.iter().filter(|exec| exec.3 == b"/bin/true");
    assert_eq!(execs.count(), 100);
    let difference = seen.cpu_ns().abs_diff(waited);
    let at_exit: u64 = seen.exits.iter().map(|exit| exit.2.cpu_ns).sum();
    println!(
        "final {} at exit {at_exit} wait4 {waited} ns",
        seen.cpu_ns()
    );
    // wait4 may reap a child before its last switch: a few us each are in Final alone.
    assert!(seen.cpu_ns() >= at_exit);
    assert!(
        difference < 1_000_000 + waited / 100,
        "off by {difference} ns"
    );
}

#[test]
fn bpf_root_threads_are_counted_once() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let script = format!("exec {} threads 20 10", load.display());
    let (pid, seen, totals, waited) = watch(&programs, &script);
    assert_eq!(totals.threads_peak, 20);
    assert_eq!(totals.threads_alive, 0);
    assert_eq!(totals.processes_total, 1);
    assert_eq!(totals.processes_peak, 1);
    assert_eq!(seen.forks, []);
    assert_eq!((seen.exits.len(), seen.exits[0].0), (1, pid));
    let cpu = seen.cpu_ns();
    println!("20 threads: final {cpu} wait4 {waited} ns");
    assert!(cpu >= 200_000_000, "{cpu}");
    // wait4 leaves out what each thread used between its release and its last switch.
    let released = 20 * 100_000 * slowness();
    assert!(cpu + 1_000_000 >= waited, "{cpu} {waited}");
    assert!(cpu < waited + waited / 100 + released, "{cpu} {waited}");
}

#[test]
fn bpf_root_own_io_leaves_the_children_out() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let read = "dd if=/dev/zero of=/dev/null bs=64k count=1024 2>/dev/null";
    let (pid, seen, _, _) = watch(&programs, &format!("{read}; {read}; :"));
    let total: u64 = seen
        .exits
        .iter()
        .map(|exit| exit.2.io.unwrap().rchar_bytes)
        .sum();
    let of_shell = seen.exits.iter().find(|exit| exit.0 == pid).unwrap();
    let by_shell = of_shell.2.io.unwrap().rchar_bytes;
    println!("read {total}, by the shell {by_shell}");
    assert!(by_shell < 1 << 20);
    assert!((128 << 20..129 << 20).contains(&total), "{total}");
}

#[test]
fn bpf_root_an_exec_tells_its_arguments() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let long = "x".repeat(5000);
    let (pid, seen, _, _) = watch(
        &programs,
        &format!("/bin/echo a 'b c' >/dev/null; exec /bin/true {long}"),
    );
    // The gate's own exec may be the first.
    let first = seen
        .execs
        .iter()
        .find(|exec| exec.3 == b"/bin/echo")
        .unwrap();
    let last = seen.execs.last().unwrap();
    assert_eq!(first.1, b"/bin/echo\0a\0b c\0");
    assert!(!first.2);
    assert_eq!(last.0, pid);
    assert!(last.1.len() == 4096 && last.2);
    assert!(last.1.starts_with(b"/bin/true\0xxx"));
}

#[test]
fn bpf_root_a_killed_program_tells_its_peak() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let (_, seen, _, _) = watch(&programs, &format!("{} fill 64; :", load.display()));
    let killed = seen.exits.iter().find(|exit| exit.1 & 0x7f == 9).unwrap();
    let RssPeak::OfProgram(bytes) = killed.3 else {
        panic!("{:?}", killed.3);
    };
    println!("peak {bytes} bytes");
    assert!((64 << 20..67 << 20).contains(&bytes), "{bytes}");
}

/// A line of `/proc/PID/status` in bytes.
fn status_bytes(pid: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let found = status.lines().find_map(|it| it.strip_prefix(line));
    let kib = found.and_then(|rest| rest.split_whitespace().next());
    kib.map_or(0, |kib| kib.parse::<u64>().unwrap() << 10)
}

#[test]
fn bpf_root_a_peak_holds_what_every_cpu_counted() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let (mut run, mut seen) = (programs.start_run().unwrap(), Seen::default());
    let mut shell = Gated::new(&format!("exec {} hold 64", load.display()));
    run.add(shell.pid()).unwrap();
    shell.open();
    let pid = shell.pid();
    while status_bytes(pid, "VmRSS:") < 64 << 20 || status_bytes(pid, "Threads:") >> 10 > 1 {
        std::thread::yield_now();
    }
    let held = status_bytes(pid, "VmHWM:");
    shell.0.kill().unwrap();
    shell.finish(&mut [(&mut run, &mut seen)]);
    seen.settle(&mut run);
    let (RssPeak::OfProgram(bytes) | RssPeak::UpperBound(bytes)) = seen.exits[0].3;
    println!("peak {bytes} of {held} bytes");
    // Before 6.17 `status` itself may leave out the parts of the CPUs.
    assert!(
        bytes.abs_diff(held) < (2 << 20) + held / 100,
        "{bytes} {held}"
    );
}

#[test]
fn bpf_root_an_io_uring_is_noticed() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let (_, seen, totals, _) = watch(&programs, &format!("{} ring; :", load.display()));
    if seen.exits.iter().any(|exit| exit.1 == 3 << 8) {
        return println!("skipped: no io_uring here");
    }
    assert_eq!((totals.processes_total, totals.io_uring_tasks), (2, 1));
}

#[test]
fn bpf_root_children_that_nobody_waits_for_are_counted() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let load = load.display();
    for (script, vanished) in [
        (format!("exec {load} fork 3"), 0),
        (format!("exec {load} nocldwait 3"), 3),
        (format!("exec env --ignore-signal=CHLD {load} vanish 3"), 3),
    ] {
        let (_, seen, totals, _) = watch(&programs, &script);
        assert_eq!(
            (totals.processes_total, totals.auto_reaped),
            (4, vanished),
            "{script}"
        );
        assert!(
            seen.exits
                .iter()
                .all(|exit| exit.1 == 7 << 8 || exit.1 == 0)
        );
    }
}

#[test]
fn bpf_root_daemons_and_their_children_stay_members() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let (_, seen, totals, _) = watch(
        &programs,
        "(setsid /bin/sh -c '/bin/true; /bin/true' &) ; :",
    );
    assert!((4..=6).contains(&totals.processes_total), "{totals:?}");
    let execs = seen.execs.iter().filter(|exec| exec.3 == b"/bin/true");
    assert_eq!(execs.count(), 2);
}
