//! `plimsoll compat TOOL`: the command lines and exit statuses of other tools.

use crate::harness::run::plimsoll;
use crate::harness::skip;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// `plimsoll compat WORDS...` in a folder of its own.
/// Folders that every user may read: of one that may not be read GNU time says so.
const PATH: &str = "/usr/bin:/bin";

fn compat(folder: &TempDir, words: &[&str]) -> Output {
    Command::new(plimsoll())
        .arg("compat")
        .args(words)
        .current_dir(folder.path())
        .env_remove("TIME")
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[track_caller]
fn expect(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The line without its numbers.
fn shape(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// `-q` hides the line of a status alone.
#[test]
fn time_says_quietly_that_a_command_cannot_be_run() {
    let folder = folder();
    let done = compat(&folder, &["time", "-q", "-f", "x", "/nonexistent/command"]);
    expect(&done, 127);
    let text = text(&done.stderr);
    assert!(text.starts_with("time: cannot run /nonexistent"), "{text}");
    assert!(
        text.ends_with("\nx\n") && !text.contains("non-zero"),
        "{text}"
    );
}

/// Every line that GNU time prints is there, in its order; the numbers alone differ.
#[test]
fn time_prints_the_lines_of_gnu_time() {
    let gnu = Path::new("/usr/bin/time");
    if !gnu.exists() {
        skip!("GNU time is not installed");
    }
    let folder = folder();
    let command = ["/bin/sh", "-c", "exit 3"];
    for options in [
        &["-v"][..],
        &["-p"],
        &[],
        &["-f", "%C|%x|%%|%X\\t%q"],
        &["-qf", "%x %W"],
    ] {
        let run = Command::new(gnu).args(options).args(command).output();
        let theirs = run.unwrap();
        let words = [&["time"][..], options, &command].concat();
        let ours = compat(&folder, &words);
        expect(&ours, theirs.status.code().unwrap());
        let shapes = |output: &Output| text(&output.stderr).lines().map(shape).collect::<Vec<_>>();
        assert_eq!(shapes(&ours), shapes(&theirs), "{options:?}");
    }
}

#[test]
fn time_writes_its_file_and_exits_as_the_command() {
    let folder = folder();
    let line = |status| format!("{status} /bin/sh -c exit {status}\n");
    for status in ["4", "5"] {
        let exit = format!("exit {status}");
        let words = ["time", "-qao", "log", "-f", "%x %C", "/bin/sh", "-c", &exit];
        let done = compat(&folder, &words);
        expect(&done, status.parse().unwrap());
        assert_eq!(text(&done.stderr), "");
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, [line("4"), line("5")].concat());
    expect(
        &compat(&folder, &["time", "/bin/sh", "-c", "kill -KILL $$"]),
        137,
    );
    expect(&compat(&folder, &["time", "/no/such/program"]), 127);
    for words in [
        &["time"][..],
        &["time", "--bogus", "x"],
        &["time", "-o", "/no/x", "true"],
    ] {
        let done = compat(&folder, words);
        expect(&done, 125);
        assert!(!done.stderr.is_empty());
    }
}

/// Why stands on stderr, what was used (nothing) in the file.
#[test]
fn time_says_of_a_command_that_cannot_be_run_what_gnu_time_says() {
    let gnu = Path::new("/usr/bin/time");
    if !gnu.exists() {
        skip!("GNU time is not installed");
    }
    // There the numbers are those of the process that tried: now and then not 0.
    let used = "%C|%e|%E|%U|%S|%M|%F|%R|%w|%c|%I|%O|%Z|%x";
    for command in ["no-such-command", "./not-executable", "/etc"] {
        let outputs = [
            &["-o", "log"][..],
            &["-qo", "log"],
            &["-v", "-o", "log"],
            &[],
        ];
        for output in outputs {
            // Without a file the numbers are on stderr too.
            let format = if output.is_empty() { "%C %x" } else { used };
            let words = [output, &["-f", format, command]].concat();
            let said = |output: Output, folder: &TempDir| {
                let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
                let lines: Vec<_> = log.lines().map(shape).collect();
                (output.status.code(), text(&output.stderr), lines)
            };
            let here = || {
                let folder = folder();
                fs::write(folder.path().join("not-executable"), "").unwrap();
                folder
            };
            let (theirs, ours) = (here(), here());
            let mut run = Command::new(gnu);
            let run = run.args(&words).current_dir(theirs.path());
            let run = run.env("PATH", PATH).output();
            let (status, stderr, log) = said(run.unwrap(), &theirs);
            let stderr = stderr.replacen("/usr/bin/time:", "time:", 1);
            let mine = said(compat(&ours, &[&["time"][..], &words].concat()), &ours);
            assert_eq!(mine, (status, stderr, log), "{words:?}");
        }
    }
}

/// Where the record cannot be written, kickstart's own stderr says so: the task's is in the record.
#[test]
fn kickstart_says_that_its_record_is_lost() {
    let script = "ls /proc/self/fd | wc -l >fds; echo err >&2; exit 3";
    let bare = folder();
    let shell = Command::new("/bin/sh")
        .args(["-c", script])
        .current_dir(bare.path())
        .stdin(Stdio::null())
        .output();
    expect(&shell.unwrap(), 3);
    let fds = |folder: &TempDir| fs::read_to_string(folder.path().join("fds")).unwrap();
    for options in [&["-l", "/dev/full"][..], &[]] {
        let folder = folder();
        let run = Command::new(plimsoll())
            .args(["compat", "kickstart"])
            .args(options)
            .args(["/bin/sh", "-c", script])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        expect(&run, 3);
        let told = text(&run.stderr);
        assert!(told.contains("cannot write to "), "{options:?}: {told}");
        assert!(!told.contains("err\n"), "{options:?}: {told}");
        assert_eq!(fds(&folder), fds(&bare), "{options:?}");
    }
}

/// A lone `%` at its end ends the line early there too.
#[test]
fn a_cut_off_format_string_prints_what_gnu_time_prints() {
    let gnu = Path::new("/usr/bin/time");
    if !gnu.exists() {
        skip!("GNU time is not installed");
    }
    let words = ["-f", "%x%", "/bin/true"];
    let theirs = Command::new(gnu).args(words).output().unwrap();
    let ours = compat(&folder(), &[&["time"][..], &words].concat());
    assert_eq!(text(&ours.stderr), text(&theirs.stderr));
    let empty = Command::new(gnu).arg("").output().unwrap();
    let status = empty.status.code().unwrap();
    expect(&compat(&folder(), &["time", ""]), status);
}

#[test]
fn resource_monitor_writes_its_files_and_has_its_statuses() {
    let folder = folder();
    let words = [
        "resource_monitor",
        "-O",
        "logs/a",
        "-i",
        "1",
        "--with-time-series",
    ];
    let limits = [
        "-L",
        "wall_time: 0.2",
        "-V",
        "task_id: 7",
        "-V",
        "category: analysis",
        "--",
        "sleep",
        "60",
    ];
    let done = compat(&folder, &[&words[..], &limits].concat());
    expect(&done, 3);
    assert_eq!(text(&done.stderr), "");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&read("logs/a.summary")).unwrap();
    assert_eq!(summary["exit_type"], "limits");
    assert_eq!(
        (&summary["task_id"], &summary["taskid"]),
        (&"7".into(), &"7".into())
    );
    assert_eq!(summary["category"], "analysis");
    assert_eq!(summary["command"], "sleep 60");
    assert!(read("logs/a.series").contains("\n#wall_clock cpu_time cores "));
    let status = |words: &[&str]| {
        let words = [&["resource_monitor", "-O", "b"][..], words].concat();
        compat(&folder, &words).status.code()
    };
    assert_eq!(status(&["true"]), Some(0));
    assert_eq!(status(&["-c", "exit 9"]), Some(1));
    assert_eq!(status(&["/no/such/program"]), Some(4));
    assert_eq!(status(&["--with-inotify", "true"]), Some(4));
    let forever = "while :; do :; done";
    assert_eq!(status(&["-L", "cpu_time: 0.1", "--sh", forever]), Some(2));
    assert_eq!(
        status(&["-L", "cpu_time: 0.01", "--measure-only", "true"]),
        Some(0)
    );
}

/// Its caller measures the folder itself: 5 files there are above no limit.
#[test]
fn resource_monitor_without_a_footprint_measures_none_and_limits_none() {
    let members = |options: &[&str]| {
        let folder = folder();
        let words = ["resource_monitor", "-O", "b", "-L", "total_files: 3"];
        let task = ["--measure-dir", ".", "--", "touch", "1", "2", "3", "4", "5"];
        let done = compat(&folder, &[&words[..], options, &task].concat());
        let text = fs::read_to_string(folder.path().join("b.summary")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        let has = |name| summary.get(name).is_some();
        (done.status.code(), has("disk"), has("total_files"))
    };
    assert_eq!(members(&[]), (Some(2), true, true));
    let without = members(&["--without-disk-footprint"]);
    assert_eq!(without, (Some(0), false, false));
}

#[test]
fn kickstart_keeps_the_output_in_the_record() {
    let folder = folder();
    let script = "echo out; echo \"- bad: 'yaml\" >&2; exit 3";
    let words = [
        "kickstart",
        "-n",
        "ns::x:1",
        "-R",
        "site",
        "/bin/sh",
        "-c",
        script,
    ];
    let done = compat(&folder, &words);
    expect(&done, 3);
    let record = text(&done.stdout);
    assert!(record.starts_with("- invocation: True\n"), "{record}");
    for line in [
        "  transformation: \"ns::x:1\"",
        "  resource: \"site\"",
        "      regular_exitcode: 3",
        "      data: \"out\\n\"",
        "      data: \"- bad: 'yaml\\n\"",
    ] {
        assert!(record.lines().any(|one| one == line), "{line}\n{record}");
    }
    assert_eq!(
        record.lines().filter(|line| line.starts_with("- ")).count(),
        1
    );
}

#[test]
fn kickstart_redirects_and_appends() {
    let folder = folder();
    fs::write(folder.path().join("in"), "hello\n").unwrap();
    for _ in 0..2 {
        let words = [
            "kickstart",
            "-l",
            "log",
            "-i",
            "in",
            "-o",
            "!out",
            "-e",
            "-",
            "-W",
            "d",
            "cat",
        ];
        fs::create_dir_all(folder.path().join("d")).unwrap();
        fs::copy(folder.path().join("in"), folder.path().join("d/in")).unwrap();
        let done = compat(&folder, &words);
        expect(&done, 0);
        assert_eq!(text(&done.stdout), "");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("d/out"), "hello\nhello\n");
    let records = read("d/log");
    let count = |start: &str| {
        records
            .lines()
            .filter(|line| line.starts_with(start))
            .count()
    };
    assert_eq!((count("- invocation: True"), count("  mainjob:")), (2, 2));
}

#[test]
fn kickstart_tells_of_files() {
    let folder = folder();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/in"), "hello").unwrap();
    fs::write(
        folder.path().join("list"),
        "f.out=out # made\nf.none=none\n",
    )
    .unwrap();
    let words = [
        "kickstart",
        "-w",
        "d",
        "-S",
        "f.in=in",
        "-s",
        "@list",
        "cp",
        "in",
        "out",
    ];
    let done = compat(&folder, &words);
    expect(&done, 0);
    let record = text(&done.stdout);
    let of = |name: &str| -> Vec<String> {
        let start = format!("    \"{name}\":");
        let behind = record.lines().skip_while(|line| *line != start).skip(1);
        let members = behind.take_while(|line| line.starts_with("      "));
        members.map(|line| line.trim().to_owned()).collect()
    };
    let has = |name: &str, member: &str| of(name).iter().any(|one| one == member);
    assert!(
        has("f.in", "size: 5") && !has("f.in", "output: True"),
        "{record}"
    );
    assert!(
        has("f.out", "size: 5") && has("f.out", "output: True"),
        "{record}"
    );
    assert!(
        has("f.none", "error: 2") && !has("f.none", "output: True"),
        "{record}"
    );
}

#[test]
fn kickstart_has_its_statuses_and_says_what_is_wrong() {
    let folder = folder();
    let status = |words: &[&str]| {
        let done = compat(&folder, &[&["kickstart"][..], words].concat());
        (done.status.code(), text(&done.stderr))
    };
    assert_eq!(status(&["-k", "1", "sleep", "60"]).0, Some(14));
    assert_eq!(status(&["/bin/sh", "-c", "exit 125"]).0, Some(125));
    assert_eq!(status(&["/bin/sh", "-c", "kill -KILL $$"]).0, Some(137));
    assert_eq!(status(&["/no/such/program"]).0, Some(127));
    let (code, why) = status(&["-l", "/no/such/folder/x", "true"]);
    assert_eq!(code, Some(127));
    assert!(why.contains("cannot write /no/such/folder/x"), "{why}");
    let (code, why) = status(&["-s", "@/no/such/list", "true"]);
    assert_eq!(code, Some(127));
    assert!(why.contains("-s @/no/such/list: "), "{why}");
}
