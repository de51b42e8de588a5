//! `--format NAME[=PATH]`: which text goes where, and what is refused before the task starts.

use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::words;
use record::report::Report;
use std::fs;

/// Every format in its file.
fn formatted(options: &[&str], command: &str) -> Done {
    Run::plain(options, words!["/bin/sh", "-c", command]).finish()
}

fn lines(text: &str, start: &str) -> usize {
    text.lines().filter(|line| line.starts_with(start)).count()
}

#[test]
fn formats_without_a_path_follow_one_another_on_stderr() {
    let done = formatted(
        &["--format", "classad", "--format", "snakemake-benchmark"],
        "echo out; echo err >&2",
    );
    done.expect_status(0);
    assert_eq!(done.stdout, "out\n");
    let texts: Vec<_> = done.stderr.lines().collect();
    assert_eq!(texts[0], "err");
    assert!(texts[1].starts_with("MemoryUsage = "), "{}", done.stderr);
    assert_eq!(lines(&done.stderr, "s\th:m:s\t"), 1);
    assert_eq!(lines(&done.stderr, "exit 0"), 0, "no text report");
    let done = formatted(&["--format", "json=-", "--format", "text"], "exit 3");
    assert!(done.stderr.starts_with("{\n"), "{}", done.stderr);
    assert_eq!(lines(&done.stderr, "exit 3 after "), 1);
}

#[test]
fn a_prefix_takes_the_formats_without_a_path() {
    let run = Run::plain(&[], words!["/bin/sh", "-c", "exit 4"]);
    let prefix = run.path("r");
    let done = run
        .options(words!["--output", prefix])
        .options(["--format", "json", "--format", "text", "--format", "time"])
        .options(["--format", "cctools-series", "--format", "kickstart"])
        .finish();
    done.expect_status(4);
    assert_eq!(lines(&done.stderr, "exit 4 after "), 1);
    assert_eq!(lines(&done.stderr, "{"), 0, "the rest went to files");
    let text = |name: &str| fs::read_to_string(done.path(name)).unwrap();
    let report: Report = serde_json::from_str(&text("r.json")).unwrap();
    assert_eq!(report.exit.code, Some(4));
    assert!(!done.path("r.txt").exists());
    assert!(text("r.time").starts_with("Command exited with non-zero status 4\n\tCommand being"));
    assert_eq!(lines(&text("r.kickstart.yml"), "    status:"), 1);
    assert!(lines(&text("r.series"), "#wall_clock cpu_time ") == 1);
    assert!(!done.path("r.series.csv").exists());
    assert!(!done.path("r.processes.jsonl").exists());
}

/// By another folder's name, or as PREFIX.json.
#[test]
fn one_file_by_two_paths_is_refused_before_the_task_starts() {
    for options in [
        ["--format=json=sub/z", "--format=text=lnk/z"],
        ["--format=json=y", "--format=text=sub/../y"],
        ["--output=sub/z", "--append=lnk/z.json"],
        ["--output=sub/z", "--format=jsonl=lnk/z.json"],
        ["--append=sub/z", "--format=text=later"],
    ] {
        let run = Run::plain(&options, words!["/bin/echo", "ran"]);
        fs::create_dir(run.path("cwd/sub")).unwrap();
        std::os::unix::fs::symlink("sub", run.path("cwd/lnk")).unwrap();
        std::os::unix::fs::symlink("lnk/z", run.path("cwd/later")).unwrap();
        let done = run.finish();
        done.expect_status(125);
        assert_eq!(done.stdout, "", "{}", done.context());
        let left = fs::read_dir(done.path("cwd/sub")).unwrap().count();
        assert_eq!(left, 0, "{options:?}");
    }
}

/// Readers see a whole report at every moment: the old one, then each as it ends.
#[test]
fn two_runs_to_one_path_at_once() {
    let options = ["-q", "--output=same", "--format=openmetrics=same.prom"];
    let run = |id: &str, command| Run::plain(&options, command).options(["--id", id]);
    let first = run("first", words!["/bin/sh", "-c", "read line"]);
    let folder = first.path("cwd");
    let id = || {
        let text = fs::read_to_string(folder.join("same.json")).unwrap();
        let prom = fs::read_to_string(folder.join("same.prom")).unwrap();
        assert!(prom.ends_with("# EOF\n"), "{prom}");
        serde_json::from_str::<Report>(&text).unwrap().task.id
    };
    let (reader, writer) = std::io::pipe().unwrap();
    let first = first.input(reader).start();
    crate::harness::process::wait_until("the first has its file", || {
        folder.join(".same.prom.running").exists()
    });
    let in_folder = words!["env", "-C", &folder];
    let second = run("second", words!["true"]).wrapped(in_folder).finish();
    assert_eq!((second.status, second.stderr.as_str()), (0, ""));
    assert_eq!(id(), "second");
    drop(writer);
    let first = first.finish();
    assert_eq!(first.stderr, "");
    assert_eq!(id(), "first");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

/// What is added to a full file is whole, or not there: what comes next stands by itself.
#[test]
fn a_line_that_has_no_room_is_taken_back() {
    const BLOCKS: usize = 64;
    for format in ["jsonl", "kickstart", "otlp-json"] {
        let option = format!("--format={format}=all");
        let run = || Run::plain(&["-q", &option], words!["/bin/sh", "-c", "exit 3"]);
        let first = run();
        let all = first.path("cwd/all");
        let before = format!("{}\n", "#".repeat(BLOCKS * 512 - 1000));
        fs::write(&all, &before).unwrap();
        let limit = format!("ulimit -f {BLOCKS}; exec \"$@\"");
        let done = first.wrapped(words!["/bin/sh", "-c", limit, "sh"]).finish();
        done.expect_status(3);
        assert!(done.stderr.contains("cut off again"), "{}", done.context());
        assert_eq!(fs::read_to_string(&all).unwrap(), before, "{format}");
    }
}

#[test]
fn what_holds_many_tasks_is_added_to_and_the_others_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for status in ["1", "2"] {
        let options = ["kickstart", "otlp-json", "jsonl", "openmetrics"]
            .map(|name| format!("{name}={}", path(name)));
        let run = Run::plain(
            &["--quiet"],
            words!["/bin/sh", "-c", format!("exit {status}")],
        );
        let done = options
            .iter()
            .fold(run, |run, format| run.options(["--format", format]))
            .finish();
        assert_eq!(done.stderr, "");
    }
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(lines(&text("kickstart"), "- invocation: True"), 2);
    assert_eq!(lines(&text("otlp-json"), "{\"resourceMetrics\":["), 2);
    assert_eq!(lines(&text("jsonl"), "{\"schema\":"), 2);
    assert_eq!(lines(&text("openmetrics"), "# EOF"), 1);
    assert!(text("openmetrics").contains("exit_status{id="));
}

#[test]
fn the_text_has_a_file_if_it_is_given_one() {
    let run = Run::plain(&[], words!["/bin/sh", "-c", "exit 4"]);
    let format = format!("text={}", run.path("t").display());
    let done = run.options(["--format", &format]).finish();
    done.expect_status(4);
    assert_eq!(done.stderr, "");
    let text = fs::read_to_string(done.path("t")).unwrap();
    assert!(text.starts_with("exit 4 after "), "{text}");
}

/// The descriptor takes the report, and the task never has it.
#[test]
fn an_open_descriptor_takes_a_format_and_the_task_does_not_have_it() {
    let run = Run::plain(
        &["--format", "json=fd:5"],
        words!["/bin/sh", "-c", "test ! -e /proc/$$/fd/5"],
    );
    let file = run.path("five");
    let wrapper = words!["/bin/sh", "-c", "exec \"$0\" \"$@\" 5>\"$FILE\""];
    let done = run
        .wrapped([words!["env", format!("FILE={}", file.display())], wrapper].concat())
        .finish();
    done.expect_status(0);
    assert_eq!(done.stderr, "");
    let report: Report = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(report.exit.code, Some(0));
}

#[test]
fn what_cannot_be_written_is_refused_before_the_task_starts() {
    for (format, part) in [
        ("json=/no/such/folder/x", "cannot write /no/such/folder/x"),
        ("json=/", "names no file"),
        ("json=/tmp", "is a directory"),
        ("json=fd:77", "descriptor 77 is not open"),
        ("json=fd:1", "is the task's"),
        ("yaml", "no format `yaml`"),
    ] {
        let done = Run::plain(&["--format", format], words!["/bin/echo", "started"]).finish();
        done.expect_status(125);
        assert_eq!(done.stdout, "", "{format}");
        assert!(done.stderr.contains(part), "{format}: {}", done.stderr);
    }
    let words = ["--output", "/tmp/x", "--format", "time=/tmp/./x.json"];
    let done = Run::plain(&words, words!["/bin/echo", "started"]).finish();
    done.expect_status(125);
    assert!(
        done.stderr.contains("which --output or --append writes"),
        "{}",
        done.stderr
    );
}

/// However its path is written, and whatever would write there.
#[test]
fn the_tasks_standard_output_is_refused() {
    for path in ["/dev/stdout", "/proc/self/fd/1", "stdout", "link"] {
        for option in ["--format=json=", "--format=jsonl=", "--append="] {
            let run = Run::plain(&[], words!["/bin/echo", "started"]);
            std::os::unix::fs::symlink("/dev/stdout", run.path("link")).unwrap();
            // The harness sends the task's output to the file `stdout`.
            let option = format!("{option}{}", run.path(path).display());
            let done = run.options([&option]).finish();
            done.expect_status(125);
            assert_eq!(done.stdout, "", "{option}");
            let told = done.stderr.contains("the task's standard output");
            assert!(told, "{option}: {}", done.stderr);
        }
    }
}

/// Nobody waits for a reader, and what nobody reads is not lost without a word.
#[test]
fn a_named_pipe_without_a_reader_is_a_warning_at_the_end() {
    for option in ["--format=runexec=", "--append="] {
        let run = Run::plain(&[], words!["/bin/sh", "-c", "echo ran; exit 6"]);
        let pipe = run.path("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let option = format!("{option}{}", pipe.display());
        let done = run.options([&option]).finish();
        done.expect_status(6);
        assert_eq!(done.stdout, "ran\n", "{option}");
        let told = done.stderr.contains("cannot write to");
        assert!(told, "{option}: {}", done.stderr);
        assert_eq!(lines(&done.stderr, "exit 6 after "), 1, "{option}");
    }
}

/// A path that leads to stderr is stderr, where the task has written already.
#[test]
fn a_path_to_stderr_keeps_what_is_there() {
    let done = formatted(&["--format", "time=/dev/stderr"], "echo err >&2");
    done.expect_status(0);
    assert!(
        done.stderr.starts_with("err\n\tCommand being timed: "),
        "{}",
        done.stderr
    );
    assert_eq!(done.stdout, "");
}

#[test]
fn a_file_that_fails_at_the_end_leaves_the_report_on_stderr() {
    let done = formatted(&["--format", "json=/dev/full"], "exit 6");
    done.expect_status(6);
    assert!(
        done.stderr.contains("cannot write to /dev/full"),
        "{}",
        done.stderr
    );
    assert_eq!(lines(&done.stderr, "exit 6 after "), 1);
}

#[test]
fn the_format_string_of_time_is_taken() {
    let format = "%x %C\\t%M|%q";
    let done = formatted(&["--format", "time", "--time-format", format], "exit 9");
    done.expect_status(9);
    let line = done.stderr.lines().nth(1).unwrap();
    assert!(line.starts_with("9 /bin/sh -c exit 9\t"), "{line}");
    let memory = line.split(['\t', '|']).nth(1).unwrap();
    assert!(memory.parse::<u64>().unwrap() > 100, "{line}");
}

/// 0 ok, 1 the task failed, 2 a limit, 3 the time, 4 not run.
#[test]
fn compat_cctools_exits_as_resource_monitor() {
    let status = |options: &[&str], command: &[&str]| {
        let words = command.iter().map(Into::into).collect();
        let run = Run::plain(&["--quiet", "--compat", "cctools"], words);
        run.options(options).finish().status
    };
    assert_eq!(status(&[], &["true"]), 0);
    assert_eq!(status(&[], &["/bin/sh", "-c", "exit 77"]), 1);
    assert_eq!(status(&[], &["/bin/sh", "-c", "kill -KILL $$"]), 1);
    let loop_forever = ["/bin/sh", "-c", "while :; do :; done"];
    assert_eq!(status(&["--limit", "cpu=100ms"], &loop_forever), 2);
    assert_eq!(status(&["--limit", "wall=100ms"], &["sleep", "60"]), 3);
    assert_eq!(status(&[], &["/no/such/program"]), 4);
    assert_eq!(status(&["--output", "/no/such/folder/x"], &["true"]), 4);
}

#[test]
fn a_limits_file_of_cctools_is_read() {
    let run = Run::plain(&["--quiet"], words!["sleep", "60"]);
    let (limits, summary) = (run.path("limits"), run.path("s"));
    fs::write(&limits, "wall_time: 0.2\nmemory: 512\n").unwrap();
    let format = format!("cctools={}", summary.display());
    let done = run
        .options(words!["--limits", limits])
        .options(["--format", &format])
        .finish();
    done.expect_status(124);
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(summary).unwrap()).unwrap();
    assert_eq!(summary["exit_type"], "limits");
    assert_eq!(summary["exit_status"], 143);
    assert_eq!(summary["limits_exceeded"]["wall_time"][0], 0.2);
}

#[test]
fn completions_and_help_name_every_format() {
    let text = |words: &[&str]| {
        let output = std::process::Command::new(plimsoll()).args(words).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    for format in store::export::FORMATS {
        for words in [
            &["run", "--help"][..],
            &["completions", "bash"],
            &["completions", "zsh"],
            &["completions", "fish"],
            &["__man"],
        ] {
            let name = format.name;
            let escaped = name.replace('-', "\\-");
            let text = text(words);
            assert!(
                text.contains(name) || text.contains(&escaped),
                "{words:?} {name}"
            );
        }
    }
}
