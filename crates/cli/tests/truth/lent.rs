//! Programs in the kernel that an agent lends to users (`plimsoll agent --socket`): what the other
//! modules ask of every mechanism is asked of this one where they run as a user (`::agent`); here
//! is what belongs to lending.

use crate::harness::dataset::agent;
use crate::harness::expect::number;
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Done, Run, Running, plimsoll};
use crate::harness::{executable, skip, words};
use record::value::Method;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

const NOBODY: u32 = 65534;

/// An agent of root's with a socket, and a copy of plimsoll that everybody may run.
struct Lender {
    agent: Running,
    socket: PathBuf,
    plimsoll: PathBuf,
}

/// Nothing where this user can have none.
fn lender() -> Option<Lender> {
    if !process::is_root() || Mechanism::Bpf.missing().is_some() {
        return None;
    }
    let run = agent(&["--interval", "1h", "--socket"]);
    let socket = run.path("agent.sock");
    let mut command = words![plimsoll(), "agent", "--dataset", run.path("d")];
    command.extend(words!["--interval", "1h", "--socket", socket]);
    fs::set_permissions(run.folder(), Permissions::from_mode(0o755)).unwrap();
    let copy = run.path("plimsoll");
    executable::copy(plimsoll(), &copy, "755");
    let agent = run.command(command).start();
    process::wait_until("an agent listens", || socket.exists());
    Some(Lender {
        agent,
        socket,
        plimsoll: copy,
    })
}

/// `setpriv` to nobody.
fn as_nobody() -> Vec<OsString> {
    words![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups"
    ]
}

impl Lender {
    /// A run of nobody's that borrows, its report in the folder of the run.
    fn run(&self, options: &[&str], command: Vec<OsString>) -> Run {
        let run = Run::watched(Mechanism::Default, Vec::new());
        for folder in [run.folder().to_owned(), run.path("cwd")] {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut words = as_nobody();
        words.extend(words![self.plimsoll, "run", "--output", run.path("r")]);
        words.extend(words!["--agent-socket", self.socket]);
        words.extend(options.iter().map(OsString::from));
        words.push("--".into());
        words.extend(command);
        run.unwatched(words)
    }
}

#[test]
fn who_may_load_nothing_borrows_unasked() {
    let Some(lender) = lender() else {
        skip!("an agent that lends needs root");
    };
    let script = "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done";
    let done = lender.run(&[], words!["/bin/sh", "-c", script]).finish();
    done.expect_status(0);
    assert_eq!(done.report().monitor.mechanism, "agent");
    assert_eq!(number(&done, "processes_total"), 10.0);
    let at_io = lender.run(&["--level", "io"], words!["/bin/cat", "/etc/passwd"]);
    let at_io = at_io.finish();
    assert_eq!(at_io.report().monitor.mechanism, "agent");
    let files = fs::read_to_string(at_io.path("r.files.jsonl")).unwrap();
    assert!(files.contains("\"/etc/passwd\""), "{files}");
}

/// A user is not told by an agent what another user's privilege reads for him.
#[test]
fn files_of_setuid_programs_are_left_out() {
    let Some(lender) = lender() else {
        skip!("an agent that lends needs root");
    };
    let folder = lender.agent.folder().to_owned();
    let (cat, secret) = (folder.join("cat"), folder.join("secret"));
    executable::copy("/bin/cat", &cat, "4755");
    fs::write(&secret, "secret\n").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let script = "/bin/cat /etc/passwd >/dev/null; \"$0\" \"$1\"; /bin/cat /etc/group >/dev/null";
    let command = words!["/bin/sh", "-c", script, cat, secret];
    let done = lender.run(&["--level", "io"], command).finish();
    done.expect_status(0);
    if done.stdout != "secret\n" {
        skip!("no setuid programs here: {}", done.stderr);
    }
    let files = fs::read_to_string(done.path("r.files.jsonl")).unwrap();
    for name in ["/etc/passwd", "/etc/group"] {
        assert!(files.contains(&format!("\"{name}\"")), "{name}: {files}");
    }
    assert!(!files.contains("secret"), "{files}");
    let notes = &done.report().monitor.notes;
    let told = |note: &String| note.contains("another user's privilege");
    assert!(notes.iter().any(told), "{notes:?}");
}

/// Nor what its programs call; who has none of those is told everything.
#[test]
fn calls_of_setuid_programs_are_left_out() {
    let Some(lender) = lender() else {
        skip!("an agent that lends needs root");
    };
    let chmod = lender.agent.folder().join("chmod");
    executable::copy("/bin/chmod", &chmod, "755");
    let counted = |mode: u32| {
        fs::set_permissions(&chmod, Permissions::from_mode(mode)).unwrap();
        let script = "\"$0\" 600 own; cd .";
        let run = lender.run(&["--syscalls"], words!["/bin/sh", "-c", script, chmod]);
        fs::write(run.path("cwd/own"), "").unwrap();
        chown(run.path("cwd/own"), Some(NOBODY), Some(NOBODY)).unwrap();
        let done = run.finish();
        done.expect_status(0);
        let report = done.report();
        assert_eq!(report.monitor.mechanism, "agent");
        let calls = &report.system_calls;
        let sum = |names: &[&str]| -> u64 {
            let lines = calls
                .iter()
                .filter(|line| names.contains(&line.name.as_str()));
            lines.map(|line| line.counts.calls).sum()
        };
        let told = |note: &String| note.contains("another user's privilege");
        let is_told = report.monitor.notes.iter().any(told);
        let modes = sum(&["chmod", "fchmodat", "fchmodat2"]);
        (modes, sum(&["chdir"]), is_told)
    };
    assert_eq!(counted(0o755), (1, 1, false));
    if counted(0o4755).0 == 1 {
        skip!("no setuid programs here");
    }
    assert_eq!(counted(0o4755), (0, 1, true));
}

/// Whose agent ends, however, goes on with what he can do himself, and says so.
#[test]
fn a_run_outlives_its_agent() {
    for (signal, level) in [
        (Signal::KILL, "events"),
        (Signal::TERM, "events"),
        (Signal::KILL, "io"),
    ] {
        let Some(lender) = lender() else {
            skip!("an agent that lends needs root");
        };
        let script = "echo begun; read line; i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); \
             done; exit 7";
        let options = ["--interval", "100ms", "--level", level];
        let run = lender.run(&options, words!["/bin/sh", "-c", script]);
        let (input, mut hold) = std::io::pipe().unwrap();
        let mut run = run.input(input).start();
        run.wait_for("begun");
        lender.agent.send(signal);
        let ended = lender.agent.finish();
        assert_eq!(ended.signal.is_some(), signal == Signal::KILL);
        // Those of its processes that it left see that it is gone.
        std::thread::sleep(std::time::Duration::from_millis(600));
        std::io::Write::write_all(&mut hold, b"go\n").unwrap();
        let done = run.finish();
        done.expect_status(7);
        went_on(&done);
    }
}

fn went_on(done: &Done) {
    let report = done.report();
    assert_eq!(report.monitor.mechanism, "agent");
    let notes = report.monitor.notes.join("; ");
    assert!(
        notes.contains("process events stopped: agent"),
        "{notes}\n{}",
        done.context()
    );
    // The kernel adds up for whoever waits; of processes nobody told any more.
    let cpu = report.usage.get("cpu_time").unwrap().value().unwrap();
    assert_eq!(cpu.method, Method::Exact, "{}", done.context());
    let processes = report.usage.get("processes_total").unwrap();
    let method = processes.value().map(|value| value.method);
    assert_ne!(method, Some(Method::Exact), "{}", done.context());
}

#[test]
fn without_an_agent_it_is_said() {
    let nowhere = Path::new("/nowhere/agent.sock");
    let options = [
        "--mechanism",
        "agent",
        "--agent-socket",
        "/nowhere/agent.sock",
    ];
    let done = Run::plain(&options, words!["true"]).finish();
    assert_ne!(done.status, 0);
    let expected = format!("no agent listens at {}", nowhere.display());
    if cfg!(feature = "bpf") {
        assert!(done.stderr.contains(&expected), "{}", done.stderr);
    }
}

/// The numbers of processes that events have would be those of others there.
#[test]
fn another_pid_namespace_is_refused() {
    let Some(lender) = lender() else {
        skip!("an agent that lends needs root");
    };
    let inside = words!["unshare", "--pid", "--fork", "--mount-proc"];
    let options = ["--mechanism", "agent", "--agent-socket"];
    let run = Run::plain(&options, words!["true"]).options([&lender.socket]);
    let done = run.wrapped(inside).finish();
    assert_eq!(done.status, 125, "{}", done.context());
    let expected = "the agent is in another pid namespace";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
}

#[test]
fn who_has_nothing_to_lend_says_so() {
    if process::is_root() {
        skip!("root has programs to lend");
    }
    let run = agent(&[]);
    let socket = run.path("agent.sock");
    let mut command = words![plimsoll(), "agent", "--dataset", run.path("d")];
    command.extend(words!["--interval", "1h", "--socket", socket]);
    let lender = run.command(command).start();
    process::wait_until("an agent listens", || {
        lender.printed().contains("reading processes")
    });
    let options = ["--mechanism", "agent", "--agent-socket"];
    let mut words = words![plimsoll(), "run"];
    words.extend(options.iter().map(OsString::from));
    words.extend(words![socket, "--", "/bin/true"]);
    let done = Run::bare(words).finish();
    assert_eq!(done.status, 125, "{}", done.context());
    let expected = "the agent has no programs to lend";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    lender.send(Signal::TERM);
    lender.finish().expect_status(0);
}

#[test]
fn one_agent_listens_at_a_socket_and_only_root_lends() {
    let run = agent(&[]);
    let socket = run.path("agent.sock");
    let options = ["--interval", "1h", "--duration", "1s", "--socket"];
    let again = |run: Run| {
        let mut command = words![plimsoll(), "agent", "--dataset", run.path("d")];
        command.extend(options.iter().map(OsString::from));
        command.push(socket.clone().into());
        run.command(command).finish()
    };
    if !process::is_root() {
        // It tells live records.
        let done = again(agent(&[]));
        done.expect_status(0);
        let told = "live records alone, no programs are lent";
        assert!(done.stderr.contains(told), "{}", done.stderr);
        return;
    }
    let Some(lender) = lender() else {
        skip!("an agent that lends needs programs in the kernel");
    };
    // Where nobody listens a socket that was left behind is no hindrance.
    drop(std::os::unix::net::UnixDatagram::bind(&socket).unwrap());
    let done = again(agent(&[]));
    done.expect_status(0);
    assert!(!socket.exists());
    let taken = lender.socket.clone();
    let other = agent(&[]);
    let mut command = words![plimsoll(), "agent", "--dataset", other.path("d")];
    command.extend(words!["--duration", "1s", "--socket", taken]);
    let done = other.command(command).finish();
    assert_ne!(done.status, 0);
    assert!(done.stderr.contains("in use"), "{}", done.stderr);
}
