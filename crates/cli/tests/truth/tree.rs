//! Which processes are the task: daemons, storms, clones, exec chains, execs from threads.

use crate::harness::cpu::told;
use crate::harness::expect::{Rigour, Truth, holds, number, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Cleanup};
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, executable, words};
use record::report::{ExitType, Fate};
use std::fs;

each_mechanism!(
    a_lingering_daemon_is_counted,
    a_daemon_that_outlives_is_left_and_told,
    a_daemon_that_outlives_is_ended_when_asked,
    whoever_a_limit_ended_after_the_command_is_told,
    a_daemon_is_waited_for_when_asked,
    six_thousand_short_processes,
    clone_parent,
    an_exec_chain_is_one_process,
    an_exec_from_a_thread_is_one_process,
    sleep_zero_and_true_are_complete,
);

fn a_lingering_daemon_is_counted(mechanism: Mechanism) {
    let command = words![program("daemon"), "linger", "200", "50", "/dev/null"];
    let done = Run::watched(mechanism, command).finish();
    done.expect_status(4);
    let least = done.printed("daemon_cpu_us") * 1000;
    // Above it three starts and ends, dearer where a hypervisor's stolen time is billed as used.
    let truth = Truth::cpu(least, 150_000_000);
    holds(&done, "cpu_time", truth, Rigour::Near);
    holds(
        &done,
        "processes_total",
        Truth::exactly(3),
        mechanism.counts(),
    );
    holds(
        &done,
        "rss_peak_process",
        crate::harness::expect::memory(50),
        mechanism.peaks(),
    );
}

/// Ends with a daemon behind it whose pid is in a file.
fn outlived(mechanism: Mechanism, options: &[&str]) -> (Done, u32, Cleanup) {
    let run = Run::watched(mechanism, Vec::new()).options(options);
    let file = run.path("pid");
    let command = words![program("daemon"), "gone", "100", "20", file];
    let mut running = run.command(command).start();
    let mut pid = None;
    process::wait_until("the daemon wrote its pid", || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        pid = text.strip_suffix('\n').and_then(|text| text.parse().ok());
        pid.is_some()
    });
    let pid: u32 = pid.unwrap();
    let cleanup = Cleanup(vec![pid]);
    if options.contains(&"--wait-descendants") {
        running.wait_for("daemon_cpu_us");
        process::send(pid, process::Signal::TERM);
    }
    (running.finish(), pid, cleanup)
}

fn outlived_is_true(done: &Done, mechanism: Mechanism, upto: u64) {
    done.expect_status(4);
    let least = done.printed("daemon_cpu_us") * 1000;
    let low = if mechanism.peaks() == Rigour::Near {
        least - least / 50
    } else {
        0
    };
    let truth = Truth::cpu(low, least - low + upto);
    holds(done, "cpu_time", truth, Rigour::Sampled);
    holds(
        done,
        "processes_total",
        Truth::exactly(3),
        mechanism.counts(),
    );
    assert_eq!(
        done.report().exit.kind,
        ExitType::Normal,
        "{}",
        done.context()
    );
}

fn a_daemon_that_outlives_is_left_and_told(mechanism: Mechanism) {
    let (done, pid, _cleanup) = outlived(mechanism, &["--format", "text"]);
    outlived_is_true(&done, mechanism, 60_000_000);
    assert!(
        process::is_alive(pid),
        "the daemon was ended unasked\n{}",
        done.context()
    );
    assert!(
        done.stderr.contains(&pid.to_string()),
        "its fate is not told\n{}",
        done.context()
    );
    let told = &done.report().survivors;
    let told: Vec<_> = told.iter().map(|it| (it.pid, it.fate)).collect();
    assert_eq!(told, [(pid, Fate::LeftRunning)], "{}", done.context());
}

/// A helper that ends when it sees its parent gone is no survivor, and what it used is counted.
#[test]
fn a_helper_that_ends_with_the_command_is_no_survivor() {
    let script = "me=$$; (while kill -0 $me 2>/dev/null; do :; done) & exit 0";
    let quick = |_: &u32| {
        let command = words!["/bin/sh", "-c", script];
        let done = Run::plain(&["--format", "text"], command).finish();
        done.expect_status(0);
        !done.stderr.contains("left running")
    };
    let quick = (0..9).filter(quick).count();
    assert!(quick >= 5, "a survivor in {} of 9 runs", 9 - quick);
}

fn a_daemon_that_outlives_is_ended_when_asked(mechanism: Mechanism) {
    let (done, pid, _cleanup) = outlived(mechanism, &["--kill-descendants", "--grace", "1s"]);
    outlived_is_true(&done, mechanism, 60_000_000);
    process::wait_until_dead(&[pid]);
    let told = &done.report().survivors;
    let told: Vec<_> = told.iter().map(|it| (it.pid, it.fate)).collect();
    assert_eq!(told, [(pid, Fate::Ended)], "{}", done.context());
}

/// One that does not heed SIGTERM takes the grace, and the report says so; who ends with the
/// command outlived nobody.
fn whoever_a_limit_ended_after_the_command_is_told(mechanism: Mechanism) {
    let script = "(trap '' TERM; sleep 90; sleep 90) & sleep 90";
    let command = words!["/bin/sh", "-c", script];
    // Both ignore the signal by then, on a slow machine too.
    let wall = format!("wall={}ms", 500 * slowness().min(10));
    let options = ["--limit", &wall, "--grace", "500ms"];
    let run = Run::watched(mechanism, command).options(options);
    let done = run.options(["--format", "text"]).finish();
    done.expect_status(124);
    let told = &done.report().survivors;
    // The subshell and its `sleep`, which inherited what is ignored.
    assert_eq!(told.len(), 2, "{}", done.context());
    for one in told {
        assert_eq!(one.fate, Fate::Ended);
        let gone_by = one.gone_by_ns.unwrap().0;
        assert!(gone_by >= 1_000_000_000, "{}", done.context());
    }
    let row = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(row.contains(": ended by Plimsoll, within "), "{row}");
}

fn a_daemon_is_waited_for_when_asked(mechanism: Mechanism) {
    let (done, pid, _cleanup) = outlived(mechanism, &["--wait-descendants"]);
    outlived_is_true(&done, mechanism, 60_000_000);
    assert!(!process::is_alive(pid));
    let least = done.printed("daemon_cpu_us") as f64 * 1000.0;
    assert!(
        number(&done, "cpu_time") >= least * 0.98,
        "{}",
        done.context()
    );
}

fn six_thousand_short_processes(mechanism: Mechanism) {
    let command = words![
        program("storm"),
        "6000",
        "4",
        "vfork",
        program("nothing.static")
    ];
    let done = told(mechanism, &command, 0.03);
    let lost = done.report().monitor.events_lost;
    if lost > 0 {
        println!("{lost} events lost, and told");
        holds(
            &done,
            "processes_total",
            Truth::exactly(6001),
            Rigour::Sampled,
        );
    } else {
        holds(
            &done,
            "processes_total",
            Truth::exactly(6001),
            mechanism.counts(),
        );
    }
}

fn clone_parent(mechanism: Mechanism) {
    let done = Run::watched(mechanism, words![program("cloneparent"), "5", "30"]).finish();
    done.expect_status(0);
    holds(
        &done,
        "processes_total",
        Truth::exactly(6),
        mechanism.counts(),
    );
    holds(
        &done,
        "cpu_time",
        Truth::cpu(150_000_000, 50_000_000),
        Rigour::Near,
    );
}

fn an_exec_chain_is_one_process(mechanism: Mechanism) {
    let command = words![program("execchain"), "20", "100"];
    let done = told(mechanism, &command, 0.02);
    holds(
        &done,
        "processes_total",
        Truth::exactly(1),
        mechanism.counts(),
    );
    holds(
        &done,
        "processes_peak",
        Truth::exactly(1),
        mechanism.counts(),
    );
}

fn an_exec_from_a_thread_is_one_process(mechanism: Mechanism) {
    let command = words![program("threadexec"), program("burn"), "100"];
    let done = told(mechanism, &command, 0.02);
    holds(
        &done,
        "processes_total",
        Truth::exactly(1),
        mechanism.counts(),
    );
    holds(&done, "threads_peak", Truth::exactly(3), mechanism.counts());
}

/// The fields that every report of a task that ran must have a number for.
const ALWAYS: &[&str] = &[
    "wall_time",
    "cpu_time",
    "cpu_user",
    "cpu_system",
    "cores_mean",
    "rss_peak_process",
    "processes_total",
    "bytes_read",
    "bytes_written",
    "reads",
    "writes",
    "disk_read",
    "disk_written",
    "faults_minor",
    "faults_major",
    "switches_voluntary",
    "switches_involuntary",
];

fn sleep_zero_and_true_are_complete(mechanism: Mechanism) {
    for command in [
        words!["sleep", "0"],
        words!["true"],
        words![program("nothing.static")],
        words![program("burn"), "1"],
    ] {
        let done = Run::watched(mechanism, command).finish();
        done.expect_status(0);
        for name in ALWAYS {
            number(&done, name);
        }
        holds(
            &done,
            "processes_total",
            Truth::exactly(1),
            mechanism.counts(),
        );
        let report = done.report();
        assert_eq!(report.schema, "plimsoll.task/1");
        assert_eq!((report.exit.code, report.exit.status), (Some(0), Some(0)));
        assert!(
            report.end >= report.start,
            "{} {}",
            report.start,
            report.end
        );
    }
}

/// Without uid 0 two capabilities are enough for programs in the kernel.
#[test]
fn bpf_root_capabilities_without_root_suffice() {
    if !process::is_root() || Mechanism::Bpf.missing().is_some() {
        return println!("skipped: giving capabilities away needs root, and BPF");
    }
    let folder = std::env::temp_dir().join(format!("plimsoll-capable-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("plimsoll");
    executable::copy(plimsoll(), &copy, "755");
    let user = words![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all,+bpf,+perfmon",
        "--ambient-caps=-all,+bpf,+perfmon",
        copy,
        "run",
        "--format",
        "json",
        "--",
        "/bin/sh",
        "-c",
        "/bin/true; /bin/true; exit 5",
    ];
    let done = Run::bare(user).finish();
    fs::remove_dir_all(&folder).unwrap();
    done.expect_status(5);
    let text = &done.stderr;
    let report: record::report::Report = serde_json::from_str(&text[text.find('{').unwrap()..])
        .unwrap_or_else(|error| panic!("{error}: {}", done.context()));
    assert_eq!(report.monitor.mechanism, "bpf");
    let total = report
        .usage
        .get("processes_total")
        .and_then(|field| field.value());
    assert_eq!(
        total.map(|value| &value.value),
        Some(&record::value::Number::Whole(3))
    );
}
