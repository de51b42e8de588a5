//! Who was there before everyone was followed.

use super::*;
use std::time::Duration;

/// What each spin takes.
const BUSY: Duration = Duration::from_millis(40);

/// Spins in its first thread, before that in one that ends if it is to, and after a line in another
/// one; ends with status 5.
const PROGRAM: &str = r"
import sys, threading, time
def spin():
    end = time.thread_time() + 0.04
    while time.thread_time() < end: pass
def thread():
    one = threading.Thread(target=spin); one.start(); one.join()
if sys.argv[1] == 'twice': thread()
spin(); print('ready', flush=True); sys.stdin.readline()
thread(); sys.exit(5)
";

/// The interpreter itself: what stands for it on the path may start others first.
fn python() -> String {
    let code = "import sys; print(sys.executable, end='')";
    let told = Command::new("python3").args(["-c", code]).output().unwrap();
    String::from_utf8(told.stdout).unwrap()
}

/// One that waits for a line.
fn begun(word: &str) -> Child {
    let mut command = Command::new(python());
    let command = command.args(["-c", PROGRAM, word]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 6];
    let out = child.stdout.as_mut().unwrap();
    std::io::Read::read_exact(out, &mut line).unwrap();
    assert_eq!(&line, b"ready\n");
    child
}

#[test]
fn bpf_root_who_was_there_before_tells_its_whole_life() {
    let children = [(begun("once"), 2u32), (begun("twice"), 3)];
    let run = TaskPrograms::follow_everyone([None; 2]);
    let mut children = children;
    for (child, _) in children.iter_mut().filter(|_| run.is_err()) {
        child.kill().unwrap();
    }
    let mut run = match run {
        Ok(run) => run,
        Err(error) => return println!("skipped: {error}"),
    };
    for (mut child, times) in children {
        drop(child.stdin.take());
        let waited = crate::process::wait_end(child.id(), true).unwrap().unwrap();
        let (mut exit, mut cpu) = (None, None);
        for _ in 0..5000 {
            run.drain(&mut |event| match event {
                RawEvent::Exit {
                    pid,
                    own,
                    wait_status,
                    ..
                } if pid == child.id() => exit = Some((own, wait_status)),
                RawEvent::Final { pid, cpu_ns, .. } if pid == child.id() => cpu = Some(cpu_ns),
                _ => {}
            });
            if cpu.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let (own, status) = exit.unwrap();
        assert_eq!((status, waited.status), (5 << 8, 5 << 8));
        let (cpu, usage) = (cpu.unwrap(), waited.usage);
        let told = usage.user_ns + usage.system_ns;
        assert!(Duration::from_nanos(cpu) >= BUSY * times, "{cpu}");
        assert!(cpu.abs_diff(told) < 1_000_000, "{cpu} {told}");
        assert_eq!(own.minflt, usage.faults_minor_total);
        // What a thread had read that had ended before is gone with it.
        assert_eq!(own.io.is_some(), times == 2, "{own:?}");
    }
}
