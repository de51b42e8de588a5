//! The sampler on real children and on recorded trees.

mod resting;

use super::*;
use std::process::{Child, Command, Stdio};

/// A child that is killed when the test ends.
struct Running(Child);

impl Running {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        Self(command.stdout(Stdio::piped()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// A `cat` that has started and waits for more to read.
    fn cat() -> Self {
        use std::io::Write;
        let mut child = Self::start("cat", &[]);
        let input = child.0.stdin.as_mut().unwrap();
        input.write_all(b"ready\n").unwrap();
        child.wait_line();
        child
    }

    /// Waits until the child has written a line.
    fn wait_line(&mut self) {
        use std::io::{BufRead, BufReader};
        let mut line = String::new();
        let output = self.0.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
    }

    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have been ended and waited for already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sampler(settings: Settings) -> Sampler {
    Sampler::new(Root::default(), settings)
}

#[test]
fn a_process_is_read_whole_and_its_end_closes_its_files() {
    let mut child = Running::cat();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    for _ in 0..2 {
        let cost = sampler.sample(&[child.pid(), u32::MAX], &mut out);
        assert_eq!((out.len(), cost.gone), (1, 1));
        let sample = out.first().unwrap();
        assert_eq!(sample.id.pid, child.pid());
        assert_eq!(sample.ppid, std::process::id());
        assert_eq!(sample.threads, Some(1));
        assert!(sample.memory.rss > Some(Bytes(0)));
        assert!(sample.memory.rss_peak >= sample.memory.rss);
        assert!(sample.own.bytes_read.is_some());
        assert!(sample.own.switches_voluntary.is_some());
        assert!(sample.own.cpu > Some(Nanos(0)));
        assert!(cost.files_kept >= 4, "{cost:?}");
    }
    child.end();
    let cost = sampler.sample(&[child.pid()], &mut out);
    assert_eq!((out.len(), cost.gone, cost.files_kept), (0, 1, 0));
}

#[test]
fn without_kept_files_the_reading_is_the_same() {
    let child = Running::cat();
    let none = Settings {
        files_kept: Some(0),
        ..Settings::default()
    };
    let (mut kept, mut opened) = (sampler(Settings::default()), sampler(none));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        kept.sample(&[child.pid()], &mut a);
        let cost = opened.sample(&[child.pid()], &mut b);
        assert_eq!(cost.files_kept, 0);
    }
    let (a, b) = (a.first().unwrap(), b.first().unwrap());
    assert_eq!((a.id, &a.comm, a.ppid), (b.id, &b.comm, b.ppid));
    assert_eq!(a.memory.virtual_size, b.memory.virtual_size);
}

#[test]
fn files_of_processes_that_left_the_list_are_closed() {
    let (a, b) = (Running::cat(), Running::cat());
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    let both = sampler.sample(&[a.pid(), b.pid()], &mut out).files_kept;
    let one = sampler.sample(&[b.pid()], &mut out).files_kept;
    assert_eq!(both, 2 * one);
    assert_eq!(sampler.sample(&[], &mut out).files_kept, 0);
}

#[test]
fn the_bound_on_kept_files_holds() {
    let (a, b) = (Running::cat(), Running::cat());
    let settings = Settings {
        files_kept: Some(3),
        ..Settings::default()
    };
    let (mut sampler, mut out) = (sampler(settings), Vec::new());
    for _ in 0..3 {
        let cost = sampler.sample(&[a.pid(), b.pid()], &mut out);
        assert_eq!(out.len(), 2);
        assert_eq!(cost.files_kept, 3);
    }
}

#[test]
fn own_io_leaves_the_children_out() {
    // The shell reads nothing itself; its child reads 1 MiB and is waited for.
    let script = "head -c 1048576 /dev/zero | cat >/dev/null; echo done; read wait";
    let mut shell = Running::start("sh", &["-c", script]);
    shell.wait_line();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    sampler.sample(&[shell.pid()], &mut out);
    let sample = out.first().unwrap();
    let own = sample.own.bytes_read.unwrap();
    let all = sample.with_children.bytes_read.unwrap();
    assert!(own < Bytes::from_mib(1), "own {own:?}");
    assert!(all >= Bytes::from_mib(2), "with children {all:?}");
    assert!(sample.with_children.faults_minor > sample.own.faults_minor);
}

#[test]
fn threads_are_summed_and_the_dead_kept() {
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    let me = std::process::id();
    let (to_thread, from_test) = std::sync::mpsc::channel::<()>();
    let (to_test, from_thread) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let sum = (0..20_000_000u64).fold(0, |a, b| std::hint::black_box(a ^ b));
        to_test.send(sum).unwrap();
        from_test.recv().unwrap_err();
    });
    from_thread.recv().unwrap();
    sampler.sample(&[me], &mut out);
    let before = out.first().unwrap().own;
    drop(to_thread);
    thread.join().unwrap();
    sampler.sample(&[me], &mut out);
    let after = out.first().unwrap().own;
    assert!(before.cpu_wait.is_some());
    assert!(after.cpu >= before.cpu, "{before:?} {after:?}");
    assert!(after.switches_voluntary >= before.switches_voluntary);
}

/// Threads of the other tests come and go meanwhile.
#[test]
fn cpu_time_of_threads_that_nobody_saw_is_told() {
    use sys::clock::{Clock, now};
    let own = std::process::id();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    for _ in 0..3 {
        let before = now(Clock::Process);
        let burn = || while now(Clock::Thread) < 20_000_000 {};
        std::thread::spawn(burn).join().unwrap();
        let ended = now(Clock::Process);
        assert!(ended - before >= 20_000_000);
        sampler.sample(&[own], &mut out);
        let told = out[0].own.cpu.unwrap().0;
        assert!(
            (ended..=now(Clock::Process)).contains(&told),
            "{told} {ended}"
        );
    }
}

#[test]
fn details_take_turns_when_there_are_many() {
    let children: Vec<Running> = (0..6).map(|_| Running::cat()).collect();
    let pids: Vec<u32> = children.iter().map(Running::pid).collect();
    let settings = Settings {
        detail_files: 4,
        ..Settings::default()
    };
    let (mut sampler, mut out) = (sampler(settings), Vec::new());
    let first = sampler.sample(&pids, &mut out);
    assert_eq!(
        first.deferred, 4,
        "two processes of two files had their turn"
    );
    for _ in 0..2 {
        sampler.sample(&pids, &mut out);
    }
    assert!(out.iter().all(|sample| sample.own.reads.is_some()));
}

#[test]
fn a_zombie_has_no_memory_but_its_peak() {
    let mut child = Running::cat();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    sampler.sample(&[child.pid()], &mut out);
    drop(child.0.stdin.take());
    // End of file on its output says that it has closed its files; then it becomes a zombie.
    child.wait_line();
    for _ in 0..1_000_000 {
        sampler.sample(&[child.pid()], &mut out);
        if out.first().unwrap().state == 'Z' {
            break;
        }
        std::thread::yield_now();
    }
    let sample = out.first().unwrap();
    assert_eq!((sample.state, sample.threads), ('Z', None));
    assert_eq!(sample.memory.rss, None);
    assert!(sample.memory.rss_peak > Some(Bytes(0)));
}

/// Runs itself again in a shell that has lowered the limit to 40 descriptors.
#[test]
fn without_descriptors_the_sampler_keeps_fewer() {
    let limit = proc_pid_limits::read(&Root::default(), None).unwrap();
    if limit.open_files == Some(40) {
        sample_with_few_descriptors();
        return;
    }
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 40; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg("query::sampler::tests::without_descriptors_the_sampler_keeps_fewer")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

fn sample_with_few_descriptors() {
    let children: Vec<Running> = (0..6).map(|_| Running::cat()).collect();
    let pids: Vec<u32> = children.iter().map(Running::pid).collect();
    let settings = Settings {
        files_kept: Some(1000),
        ..Settings::default()
    };
    let (mut sampler, mut out) = (sampler(settings), Vec::new());
    let held: Vec<_> = (0..)
        .map_while(|_| std::fs::File::open("/dev/null").ok())
        .collect();
    assert!(held.len() < 40);
    drop(held.into_iter().skip(4).collect::<Vec<_>>());
    for _ in 0..3 {
        let cost = sampler.sample(&pids, &mut out);
        assert_eq!((out.len(), cost.unreadable), (6, 0), "{cost:?}");
    }
}

#[test]
fn io_of_another_user_is_denied_and_the_rest_is_read() {
    let pid_1 = 1;
    let allowed = std::fs::read("/proc/1/io").is_ok();
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    let cost = sampler.sample(&[pid_1], &mut out);
    let Some(sample) = out.first() else {
        println!("skipped: process 1 is hidden");
        return;
    };
    assert_eq!(sample.own.bytes_read.is_some(), allowed);
    assert_eq!(cost.denied_io, u64::from(!allowed));
    let denied: &[u32] = if allowed { &[] } else { &[pid_1] };
    assert_eq!(sampler.denied_io(), denied);
    assert!(sample.own.cpu_user.is_some());
}

/// In the passes in which that is not asked for again, too.
#[test]
fn io_that_was_denied_is_said_to_be_in_each_pass() {
    let pid_1 = 1;
    let allowed = std::fs::read("/proc/1/io").is_ok();
    let settings = Settings {
        still_passes: 2,
        ..Settings::default()
    };
    let (mut sampler, mut out) = (sampler(settings), Vec::new());
    for pass in 0..40 {
        let cost = sampler.sample(&[pid_1], &mut out);
        let read = cost.repeated == 0 && !out.is_empty();
        assert_eq!(cost.denied_io, u64::from(read && !allowed), "pass {pass}");
    }
}

/// A recorded process 7 below `tree`: started at `start` ticks, with so many waited-for children's
/// faults.
fn record(tree: &std::path::Path, start: u64, child_faults: u64, rchar: u64) {
    let folder = tree.join("proc/7");
    let task = folder.join("task/7");
    std::fs::create_dir_all(&task).unwrap();
    let child_ticks = if child_faults > 0 { "5 6" } else { "0 0" };
    let stat = format!(
        "7 (a b) S 1 7 7 0 -1 0 9 {child_faults} 0 0 3 4 {child_ticks} 20 0 1 0 {start} 8192 2 {}",
        "0 ".repeat(30)
    );
    let io = |bytes: u64| format!("rchar: {bytes}\nwchar: 0\nsyscr: 1\nsyscw: 0\n");
    for (name, text) in [
        ("stat", stat.as_str()),
        ("statm", "2 2 1 0 0 0 0\n"),
        ("schedstat", "71000000 5000 9\n"),
        (
            "status",
            "VmRSS:\t 8 kB\nVmSize:\t 8 kB\nvoluntary_ctxt_switches:\t3\n",
        ),
        ("io", io(rchar).as_str()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    std::fs::write(task.join("io"), io(100)).unwrap();
}

fn opened(tree: &std::path::Path) -> Sampler {
    let settings = Settings {
        files_kept: Some(0),
        ..Settings::default()
    };
    Sampler::new(Root::at(tree), settings)
}

#[test]
fn a_pid_given_again_is_another_process() {
    let tree = tempfile::tempdir().unwrap();
    let (mut sampler, mut out) = (opened(tree.path()), Vec::new());
    record(tree.path(), 500, 0, 900);
    sampler.sample(&[7], &mut out);
    let old = out.first().unwrap().clone();
    assert_eq!(old.own.cpu, Some(Nanos(71_000_000)), "more than the ticks");
    assert_eq!(old.own.bytes_read, Some(Bytes(900)));
    assert_eq!(old.own.io_wait, None, "a zero that nobody vouches for");
    record(tree.path(), 600, 0, 20);
    let cost = sampler.sample(&[7], &mut out);
    let new = out.first().unwrap();
    assert_ne!(new.id, old.id);
    assert_eq!(new.own.bytes_read, Some(Bytes(20)), "nothing is inherited");
    assert_eq!(cost.gone, 0);
}

#[test]
fn what_waited_children_did_is_not_our_own() {
    let tree = tempfile::tempdir().unwrap();
    let (mut sampler, mut out) = (opened(tree.path()), Vec::new());
    record(tree.path(), 500, 11, 900);
    sampler.sample(&[7], &mut out);
    let sample = out.first().unwrap();
    assert_eq!(sample.own.bytes_read, Some(Bytes(100)), "task/7/io");
    assert_eq!(sample.with_children.bytes_read, Some(Bytes(900)));
    assert_eq!(sample.own.faults_minor, Some(9));
    assert_eq!(sample.with_children.faults_minor, Some(20));
    let children = Nanos(110_000_000);
    let cpu = sample.own.cpu.unwrap().plus(children);
    assert_eq!(sample.with_children.cpu, Some(cpu));
}

#[test]
fn a_ring_and_an_ignored_sigchld_are_told_and_not_forgotten() {
    let tree = tempfile::tempdir().unwrap();
    let (mut sampler, mut out) = (opened(tree.path()), Vec::new());
    record(tree.path(), 500, 0, 900);
    let folder = tree.path().join("proc/7");
    sampler.sample(&[7], &mut out);
    let plain = out.first().unwrap();
    assert!(!plain.io_uring && !plain.sigchld_ignored);
    let ring = folder.join("fd/9");
    std::fs::create_dir_all(folder.join("fd")).unwrap();
    std::os::unix::fs::symlink("anon_inode:[io_uring]", &ring).unwrap();
    let status = "VmRSS:\t 8 kB\nSigIgn:\t0000000000010000\n";
    std::fs::write(folder.join("status"), status).unwrap();
    sampler.sample(&[7], &mut out);
    std::fs::remove_file(ring).unwrap();
    sampler.sample(&[7], &mut out);
    let seen = out.first().unwrap();
    assert!(seen.io_uring && seen.sigchld_ignored);
}
