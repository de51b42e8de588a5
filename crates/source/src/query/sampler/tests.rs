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
    let mut child = Running::start("cat", &[]);
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
    let child = Running::start("cat", &[]);
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
    let (a, b) = (Running::start("cat", &[]), Running::start("cat", &[]));
    let (mut sampler, mut out) = (sampler(Settings::default()), Vec::new());
    let both = sampler.sample(&[a.pid(), b.pid()], &mut out).files_kept;
    let one = sampler.sample(&[b.pid()], &mut out).files_kept;
    assert_eq!(both, 2 * one);
    assert_eq!(sampler.sample(&[], &mut out).files_kept, 0);
}

#[test]
fn the_bound_on_kept_files_holds() {
    let (a, b) = (Running::start("cat", &[]), Running::start("cat", &[]));
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

#[test]
fn details_take_turns_when_there_are_many() {
    let children: Vec<Running> = (0..6).map(|_| Running::start("cat", &[])).collect();
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
    let mut child = Running::start("cat", &[]);
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
