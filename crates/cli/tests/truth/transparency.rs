//! The task is started as it would be bare: descriptors, signals, ids, limits, terminal, debuggers.

use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::{SETUID_OWNER, leak, program, setuid};
use crate::harness::{each_mechanism, executable, skip, words};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;

each_mechanism!(
    a_task_sees_what_it_would_see_bare,
    nothing_is_written_into_the_working_directory,
    a_setuid_program_keeps_its_effective_user,
    debuggers_work_inside,
    leak_sanitizer_works_inside,
    a_nested_run_works,
    input_is_passed_untouched,
);

/// Ways to start a program that leave traces in it.
const STARTS: &[&[&str]] = &[
    &[],
    &["nohup"],
    &["nice", "-n", "5"],
    &["taskset", "1"],
    &["env", "-i", "ONLY=this", "PATH=/usr/bin:/bin"],
    &[
        "env",
        "--ignore-signal=PIPE,TTOU,USR1",
        "--block-signal=USR2,ALRM",
    ],
    &[
        "env",
        "--ignore-signal=CHLD",
        "--block-signal=CHLD,TERM,INT",
    ],
    &["env", "--default-signal=PIPE"],
    &[
        "sh",
        "-c",
        "umask 027; ulimit -n 300; ulimit -t 500; exec \"$@\"",
        "sh",
    ],
    &[
        "sh",
        "-c",
        "exec 7</dev/null 9>>/dev/null; exec \"$@\"",
        "sh",
    ],
    &["sh", "-c", "exec \"$@\" <&-", "sh"],
    &["sh", "-c", "exec \"$@\" 2>&-", "sh"],
    &["sh", "-c", "exec \"$@\" <&- 2>&-", "sh"],
    &["sh", "-c", "cd /; exec \"$@\"", "sh"],
    &["setsid", "--wait"],
];

/// What `facts` printed, with what must differ between two runs made the same.
fn facts(done: &Done, mechanism: Mechanism) -> Vec<String> {
    let folder = done.path("");
    let folder = folder.to_string_lossy();
    let text = done.stdout.replace(folder.trim_end_matches('/'), "FOLDER");
    let differs = match mechanism {
        Mechanism::Ptrace => "TracerPid:",
        _ => "no line of facts",
    };
    let keep = |line: &&str| !line.starts_with(differs);
    text.lines().filter(keep).map(str::to_owned).collect()
}

/// Process group and session are numbers that belong to one start when it makes new ones.
fn without_groups(lines: Vec<String>, start: &[&str]) -> Vec<String> {
    let new_session = start.first() == Some(&"setsid");
    lines
        .into_iter()
        .filter(|line| !(new_session && line.starts_with("pgrp ")))
        .collect()
}

fn a_task_sees_what_it_would_see_bare(mechanism: Mechanism) {
    let different: Vec<_> = STARTS
        .iter()
        .filter_map(|start| Some((start, differences(mechanism, start)?)))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}

/// Lines that only the bare or only the watched task printed; none where `start` is not possible.
fn differences(mechanism: Mechanism, start: &[&str]) -> Option<Vec<String>> {
    let wrapper: Vec<OsString> = start.iter().map(Into::into).collect();
    let run = |run: Run| run.wrapped(wrapper.clone()).finish();
    let bare = run(Run::bare(words![program("facts")]));
    let watched = run(Run::watched(mechanism, words![program("facts")]));
    if bare.status != 0 {
        println!("skipped: {start:?}: {}", bare.stderr);
        return None;
    }
    watched.expect_status(0);
    let expected = without_groups(facts(&bare, mechanism), start);
    let got = without_groups(facts(&watched, mechanism), start);
    let missing = expected.iter().filter(|line| !got.contains(line));
    let new = got.iter().filter(|line| !expected.contains(line));
    let missing = missing.map(|line| format!("bare: {line}"));
    Some(
        missing
            .chain(new.map(|line| format!("watched: {line}")))
            .collect(),
    )
}

fn nothing_is_written_into_the_working_directory(mechanism: Mechanism) {
    let done = Run::watched(mechanism, words![program("burn"), "50"])
        .options(["--with", "processes,series"])
        .finish();
    done.expect_status(0);
    let left = fs::read_dir(done.path("cwd")).unwrap().count();
    assert_eq!(left, 0, "files in the working directory");
    let mut names: Vec<_> = fs::read_dir(done.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    // Written whenever the level is io.
    let of_level_io = ["r.files.jsonl", "r.sockets.jsonl"];
    names.retain(|name| mechanism != Mechanism::Preload || !of_level_io.contains(&name.as_str()));
    let files = [
        "cwd",
        "r.json",
        "r.processes.jsonl",
        "r.series.csv",
        "stderr",
        "stdout",
    ];
    assert_eq!(names, files);
    assert_eq!(
        done.stderr, "",
        "stderr belongs to the task when the report goes elsewhere"
    );
}

/// Runs bare and watched; both must end and print the same.
#[track_caller]
fn same_as_bare(mechanism: Mechanism, command: Vec<OsString>) -> Done {
    let bare = Run::bare(command.clone()).finish();
    let watched = Run::watched(mechanism, command).finish();
    watched.expect_status(bare.status);
    assert_eq!(watched.stdout, bare.stdout, "{}", watched.context());
    bare
}

/// For the tests as root the task gives up root itself, so that there is a privilege to lose.
fn as_nobody(command: Vec<OsString>) -> Vec<OsString> {
    if !process::is_root() {
        return command;
    }
    let mut all = words![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups"
    ];
    all.extend(command);
    all
}

fn a_setuid_program_keeps_its_effective_user(mechanism: Mechanism) {
    if !mechanism.is_transparent() {
        skip!("ptrace without privilege takes setuid away; it says so");
    }
    let mut tried = 0;
    if let Some(copy) = setuid("facts") {
        let bare = same_as_bare(mechanism, as_nobody(words![copy, "ids"]));
        tried += usize::from(
            bare.stdout
                .contains(&format!(" {SETUID_OWNER} {SETUID_OWNER} gid")),
        );
    }
    if !process::is_root() && Path::new("/usr/bin/passwd").exists() {
        let bare = same_as_bare(mechanism, words!["/usr/bin/passwd", "-S"]);
        tried += usize::from(bare.status == 0);
    }
    if tried == 0 {
        skip!("no setuid program works here");
    }
}

fn debuggers_work_inside(mechanism: Mechanism) {
    if !mechanism.is_transparent() {
        skip!("a process has one tracer; ptrace says so");
    }
    if Path::new("/usr/bin/strace").exists() {
        let script = "exit 7";
        let command = words!["strace", "-f", "-o", "/dev/null", "/bin/sh", "-c", script];
        let bare = same_as_bare(mechanism, command);
        println!("strace: bare status {}", bare.status);
    }
    if Path::new("/usr/bin/gdb").exists() {
        let batch = ["-q", "-nx", "-batch", "-ex", "run", "-ex", "print 40+2"];
        let mut command = words!["gdb"];
        command.extend(batch.iter().map(OsString::from));
        command.extend(words!["--args", "/bin/sh", "-c", "exit 7"]);
        let watched = Run::watched(mechanism, command.clone()).finish();
        let bare = Run::bare(command).finish();
        watched.expect_status(bare.status);
        let ended = |done: &Done| done.stdout.contains("exited with code 07");
        assert_eq!(ended(&watched), ended(&bare), "{}", watched.context());
    }
}

fn leak_sanitizer_works_inside(mechanism: Mechanism) {
    if !mechanism.is_transparent() {
        skip!("LeakSanitizer does not work under ptrace");
    }
    let Some(program) = leak() else {
        skip!("gcc has no AddressSanitizer here");
    };
    for (word, status) in [("clean", 0), ("leak", 23)] {
        let bare = same_as_bare(mechanism, words![program, word]);
        if bare.status != status {
            println!(
                "skipped: bare status {} where {status} was meant",
                bare.status
            );
        }
    }
}

fn a_nested_run_works(mechanism: Mechanism) {
    if mechanism == Mechanism::Ptrace {
        skip!("a process has one tracer; the inner run does without");
    }
    let run = Run::watched(mechanism, Vec::new());
    let inner = run.path("inner");
    let command = words![
        plimsoll(),
        "run",
        "--output",
        inner,
        "--",
        "/bin/sh",
        "-c",
        "/bin/true; exit 7",
    ];
    let done = run.command(command).finish();
    done.expect_status(7);
    let text = fs::read_to_string(done.path("inner.json")).unwrap();
    let report: record::report::Report = serde_json::from_str(&text).unwrap();
    assert_eq!(report.exit.code, Some(7), "{text}");
}

fn input_is_passed_untouched(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let data = run.path("data");
    let text = "line of input\n".repeat(20_000);
    fs::write(&data, &text).unwrap();
    let done = run
        .command(words!["cat"])
        .input(File::open(&data).unwrap())
        .finish();
    done.expect_status(0);
    assert_eq!(done.stdout.len(), text.len());
    assert_eq!(done.stdout, text);
}

/// Nobody but the task reads its input: what it leaves is there for the next.
#[test]
fn what_the_task_does_not_read_is_left() {
    let run = Run::bare(Vec::new());
    let data = run.path("data");
    fs::write(&data, "ab\ncd\n").unwrap();
    let script = "\"$0\" run -q -- dd bs=3 count=1 status=none; echo; cat";
    let done = run
        .command(words!["/bin/sh", "-c", script, plimsoll()])
        .input(File::open(&data).unwrap())
        .finish();
    assert_eq!(done.stdout, "ab\n\ncd\n", "{}", done.context());
}

/// A reader downstream sees the end of the pipe when the task ends, not when someone forgets it.
#[test]
fn a_pipe_ends_with_the_task() {
    let script = "\"$0\" run -q -- /bin/echo x | { cat; echo end; }";
    let done = Run::bare(words!["/bin/sh", "-c", script, plimsoll()]).finish();
    assert_eq!(done.stdout, "x\nend\n", "{}", done.context());
}

/// Descriptors 3 and up are the task's; a process of ours that kept one would hold a pipe open.
#[test]
fn no_process_of_ours_keeps_an_inherited_pipe_open() {
    let script = "exec 3>&1; { \"$0\" run -q -- /bin/sh -c 'exec 3>&- >&- ; exec sleep 1' | \
                  { cat; echo end; } ; } 3>&-; echo status $?";
    let done = Run::bare(words!["/bin/sh", "-c", script, plimsoll()]).finish();
    assert_eq!(done.stdout, "end\nstatus 0\n", "{}", done.context());
}

/// Programs of every kind, with a library in them that counts their calls.
const PROGRAMS: &[&[&str]] = &[
    &[
        "bash",
        "-c",
        "seq 20000 | sort -rn | uniq | awk '{s += $1} END {print s}'; for i in 1 2 3; do echo $i \
         > f$i; done; cat f* | md5sum; exec 5<>f1; read -u 5 x; echo $x; echo y >&5; exec 5>&-; \
         wc -c f1; coproc cat; echo q >&${COPROC[1]}; read -u ${COPROC[0]} z; echo $z; (exit 3)",
    ],
    &[
        "python3",
        "-c",
        "import os, subprocess, tempfile, threading\n\
         print(subprocess.run('ls / | wc -l', shell=True, capture_output=True).stdout)\n\
         sums = []\n\
         def work(i):\n\
         \x20   for _ in range(20):\n\
         \x20       with tempfile.TemporaryFile() as f:\n\
         \x20           f.write(b'x' * 1000 * i); f.seek(0); sums.append(len(f.read()))\n\
         \x20   subprocess.check_output(['true'])\n\
         all = [threading.Thread(target=work, args=(i,)) for i in range(8)]\n\
         [it.start() for it in all]; [it.join() for it in all]\n\
         print(sum(sums))\n\
         if os.fork() == 0: os.write(1, b'child\\n'); os._exit(5)\n\
         print(os.wait()[1])",
    ],
    &[
        "perl",
        "-e",
        "open F, '>a'; print F \"x\\n\" x 10; close F; open F, '<a'; @l = <F>; print scalar @l; \
         print `cat a | wc -l`; system('exit 7'); print $? >> 8, \"\\n\"; \
         exec 'sh', '-c', 'exit 4'",
    ],
    &[
        "sh",
        "-c",
        "printf 'all: a b\\n%%.o: %%.c\\n\\tgcc -c -o $@ $<\\n' > m; \
         printf '#include <stdio.h>\\nint main(void) { puts(\"hi\"); return 3; }\\n' > a.c; \
         cp a.c b.c; make -s -j2 -f m; ./a; echo $?; ./b",
    ],
    &[
        "sh",
        "-c",
        "mkdir d; for i in 1 2 3 4; do echo $i > d/$i; done; tar cf d.tar d; rm -r d; \
         tar xf d.tar; cat d/*; gzip d.tar; zcat d.tar.gz | tar t",
    ],
    &[
        "sh",
        "-c",
        "git init -q r; cd r; echo 1 > f; git add f; git -c user.email=a@b -c user.name=n \
         commit -qm m; git show --format=%s; git gc -q; git fsck; git status --short",
    ],
    &[
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "sh",
        "-c",
        "echo traced; exit 9",
    ],
    &["mount", "-V"],
    &["fakeroot", "sh", "-c", "touch a; chown 5:5 a; stat -c %u a"],
    &["find", "/usr/include/linux", "-name", "s*.h"],
    &[
        "sh",
        "-c",
        "timeout 0.1 sleep 5; echo $?; ls | xargs -P4 echo; kill -TERM $$",
    ],
    &[
        "sh",
        "-c",
        "for j in /usr/lib/*/libjemalloc.so.2; do LD_PRELOAD=$j sh -c 'ls /; echo a > b; cat b'; \
         done; LD_PRELOAD=\"$LD_PRELOAD ${j%\\*}\" ls / 2>&1",
    ],
];

#[test]
fn preload_leaves_programs_as_they_are() {
    for words in PROGRAMS {
        let command: Vec<OsString> = words.iter().map(Into::into).collect();
        if !has_program(words[0]) {
            println!("skipped: no {}", words[0]);
            continue;
        }
        let bare = Run::bare(command.clone()).finish();
        let watched = Run::watched(Mechanism::Preload, command).finish();
        watched.expect_status(bare.status);
        assert_eq!(watched.stdout, bare.stdout, "{}", watched.context());
        assert_eq!(watched.stderr, bare.stderr, "{}", watched.context());
    }
}

/// A process has one tracer, and what asks for new privileges does without them.
#[test]
fn ptrace_stops_leave_programs_as_they_are() {
    if let Some(reason) = Mechanism::Ptrace.missing() {
        return println!("skipped: {reason}");
    }
    for words in PROGRAMS.iter().filter(|words| words[0] != "strace") {
        let command: Vec<OsString> = words.iter().map(Into::into).collect();
        if !has_program(words[0]) {
            println!("skipped: no {}", words[0]);
            continue;
        }
        let bare = Run::bare(command.clone()).finish();
        let run = Run::watched(Mechanism::Ptrace, command).options(["--level", "io"]);
        let watched = run.finish();
        watched.expect_status(bare.status);
        assert_eq!(watched.stdout, bare.stdout, "{}", watched.context());
        assert_eq!(watched.stderr, bare.stderr, "{}", watched.context());
    }
}

fn has_program(name: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&search).any(|folder| folder.join(name).is_file())
}

/// A process that can no longer reach the library starts programs as if there had never been one.
#[test]
fn preload_is_gone_where_it_is_out_of_reach() {
    if !process::is_root() {
        skip!("another root, or another user, needs root");
    }
    let run = Run::watched(Mechanism::Preload, Vec::new());
    let root = run.path("root");
    // A root of its own: the two programs, and what they load by the same paths.
    let listed = std::process::Command::new("ldd")
        .args(["/bin/sh", "/bin/echo"])
        .output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let libraries = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    let libraries = libraries.map(|word| word.trim_end_matches(':'));
    for file in libraries.chain(["/bin/sh", "/bin/echo"]) {
        let copy = root.join(file.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        executable::copy(file, copy, "755");
    }
    let done = run.command(words![program("drop"), "root", root]).finish();
    let user = Run::watched(Mechanism::Preload, words![program("drop"), "user"]).finish();
    for done in [done, user] {
        done.expect_status(0);
        assert_eq!(
            done.stdout,
            "a\nb\nc\nd\ne\nf 1 2 3 4 5 6\n",
            "{}",
            done.context()
        );
        assert_eq!(done.stderr, "", "{}", done.context());
    }
}

/// What a static program executes, or one that makes the call by itself, nobody has looked at: the
/// library is not named to it.
#[test]
fn preload_is_not_handed_on_unseen() {
    let run = |kind: &str, command: &str, mechanism: Option<Mechanism>| {
        let script = format!("\"$0{kind}\" {command}");
        let words = words!["/bin/sh", "-c", script, program("handed")];
        match mechanism {
            Some(mechanism) => Run::watched(mechanism, words).finish(),
            None => Run::bare(words).finish(),
        }
    };
    let leak = leak().map(|leak| format!("{} clean", leak.display()));
    for command in ["/usr/bin/env".to_owned()].into_iter().chain(leak) {
        for kind in ["", ".static"] {
            let bare = run(kind, &command, None);
            let watched = run(kind, &command, Some(Mechanism::Preload));
            watched.expect_status(bare.status);
            let own = |line: &&str| !["PWD=", "_="].iter().any(|it| line.contains(it));
            let lines = |text: &str| {
                text.lines()
                    .filter(own)
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                lines(&watched.stdout),
                lines(&bare.stdout),
                "{kind} {command}"
            );
            assert!(!watched.stderr.contains("ld.so"), "{}", watched.context());
        }
    }
}

/// Where the library cannot be loaded it is not named, so that the dynamic linker has nothing to
/// complain of: to a program in another root, of another user, of another kind.
#[test]
fn preload_is_not_named_where_it_cannot_be_loaded() {
    let run = Run::watched(Mechanism::Preload, Vec::new());
    let mut script = "env -u x env | grep -c LD_PRELOAD; ".to_owned();
    let musl = run.path("musl");
    if has_program("musl-gcc") {
        let source = program("nothing").with_extension("c");
        let made = std::process::Command::new("musl-gcc")
            .args(["-w", "-o"])
            .args([&musl, &source])
            .status();
        assert!(made.unwrap().success());
        script.push_str(&format!("{}; echo musl $?; ", musl.display()));
    } else {
        println!("skipped: no musl-gcc");
    }
    if let Some(leak) = leak() {
        script.push_str(&format!("{} clean; echo $?; ", leak.display()));
    }
    if process::is_root() {
        script.push_str(
            "setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'ls / > /dev/null; \
             env | grep -c LD_PRELOAD'; chroot / sh -c 'echo same root'; ",
        );
    }
    let done = run.command(words!["sh", "-c", script]).finish();
    assert!(!done.stderr.contains("ld.so"), "{}", done.context());
    assert!(
        !done.stdout.contains("AddressSanitizer"),
        "{}",
        done.context()
    );
    assert!(done.stdout.starts_with("0\n"), "{}", done.context());
    if process::is_root() {
        assert!(
            done.stdout.ends_with("0\nsame root\n"),
            "{}",
            done.context()
        );
    }
}

/// The runtime of a sanitizer must come first: the library gives way to it, and says so.
#[test]
fn preload_gives_way_to_a_sanitizer_in_ld_preload() {
    let found = std::process::Command::new("gcc")
        .arg("-print-file-name=libasan.so")
        .output();
    let path = found.map(|it| String::from_utf8(it.stdout).unwrap());
    let Some(path) = path.ok().filter(|path| path.starts_with('/')) else {
        skip!("gcc has no AddressSanitizer here");
    };
    let wrapper = words![
        "env",
        "ASAN_OPTIONS=detect_leaks=0",
        format!("LD_PRELOAD={}", path.trim())
    ];
    let command = words!["cat", "/proc/sys/kernel/ostype"];
    let run = Run::watched(Mechanism::Preload, command).wrapped(wrapper);
    let done = run.finish();
    done.expect_status(0);
    assert_eq!(done.stdout, "Linux\n", "{}", done.context());
    assert_eq!(done.stderr, "", "{}", done.context());
    let notes = done.report().monitor.notes.join("\n");
    assert!(notes.contains("LD_PRELOAD names the runtime"), "{notes}");
}
