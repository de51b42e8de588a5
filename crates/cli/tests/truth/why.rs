//! `plimsoll why`, on ends that are made here: the cause, and how sure it is.

use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use crate::limits::above;
use serde_json::Value;
use std::ffi::OsString;
use std::process::{Command, Output};

each_mechanism!(
    a_limit_is_known,
    codes_of_programs_and_shells,
    what_was_not_started_is_known,
    signals_from_within,
    what_a_program_did_that_the_kernel_ends_is_told,
    who_killed_the_command_is_told,
    whoever_outlives_the_command_is_told,
);

/// What `plimsoll why` says with these words behind it.
fn ask(words: Vec<OsString>) -> Output {
    Command::new(plimsoll())
        .arg("why")
        .args(words)
        .output()
        .unwrap()
}

/// The answer for programs about the report of a run.
#[track_caller]
fn why(done: &Done) -> Value {
    let output = ask(words![done.path("r"), "--format", "json"]);
    assert!(output.status.success(), "{output:?}\n{}", done.context());
    let text = ask(words![done.path("r.json")]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flat = String::from_utf8(text.stdout).unwrap().replace('\n', " ");
    let sentence = answer["sentence"].as_str().unwrap();
    assert!(flat.starts_with(sentence), "{flat}\n{sentence}");
    assert_eq!(answer["schema"], "plimsoll.why/1");
    answer
}

#[track_caller]
fn expect(done: &Done, cause: &str, certainty: &str) -> Value {
    let answer = why(done);
    let told = (answer["cause"].as_str(), answer["certainty"].as_str());
    let wanted = (Some(cause), Some(certainty));
    assert_eq!(told, wanted, "{answer:#}\n{}", done.context());
    answer
}

fn sh(mechanism: Mechanism, script: &str) -> Done {
    Run::watched(mechanism, words!["/bin/sh", "-c", script]).finish()
}

fn beside(answer: &Value) -> Vec<&str> {
    let also = answer["also"].as_array().unwrap();
    also.iter()
        .map(|one| one["cause"].as_str().unwrap())
        .collect()
}

fn a_limit_is_known(mechanism: Mechanism) {
    let done = Run::watched(mechanism, words!["sleep", "1000"])
        .options(["--limit", "wall=300ms", "--grace", "100ms"])
        .finish();
    done.expect_status(124);
    let answer = expect(&done, "limit", "known");
    let change = &answer["requests"][0];
    assert_eq!(change["from"], 300_000_000);
    assert_eq!(change["own_limit"], true);
    assert!(change["to"].as_u64() >= Some(600_000_000), "{change}");
    let pasted = answer["paste"][0]["lines"][0].as_str().unwrap();
    assert!(pasted.starts_with("plimsoll run --limit wall="), "{pasted}");
    let output = ask(words![done.path("r"), "--for", "slurm"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n#SBATCH --time=00:0"), "{text}");
    assert!(text.contains("\nplimsoll run --limit wall="), "{text}");
}

fn codes_of_programs_and_shells(mechanism: Mechanism) {
    for (script, cause, certainty) in [
        ("exit 0", "success", "known"),
        ("exit 3", "exit_code", "known"),
        ("no-such-command-anywhere", "missing", "likely"),
        ("/etc/passwd", "missing", "likely"),
        ("sh -c 'kill -9 $$'; exit $?", "shell_signal", "likely"),
        ("sh -c 'kill -11 $$'; exit $?", "shell_signal", "likely"),
    ] {
        expect(&sh(mechanism, script), cause, certainty);
    }
    let done = sh(mechanism, "exit 137");
    let answer = expect(&done, "shell_signal", "likely");
    let sentence = answer["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("no proof of a kill for want of memory"),
        "{sentence}"
    );
}

fn what_was_not_started_is_known(mechanism: Mechanism) {
    for (word, status) in [("no-such-command-anywhere", 127), ("/etc/passwd", 126)] {
        let done = Run::watched(mechanism, words![word]).finish();
        done.expect_status(status);
        let answer = expect(&done, "not_started", "known");
        let sentence = answer["sentence"].as_str().unwrap();
        assert!(sentence.contains(word), "{sentence}");
    }
}

/// Of a signal that does not come to `plimsoll run` programs in the kernel know the sender.
fn signals_from_within(mechanism: Mechanism) {
    for script in ["kill -9 $$", "kill -15 $$"] {
        let done = sh(mechanism, script);
        expect(&done, "signal", certainty_of_senders(&done));
    }
    expect(&sh(mechanism, "kill -11 $$"), "crash", "likely");
    expect(&sh(mechanism, "kill -6 $$"), "crash", "likely");
}

/// The signal, and what the kernel says with it to programs in it.
const FAULTS: &[(&str, i32, &str, &str)] = &[
    (
        "address",
        11,
        "SEGV_MAPERR",
        "an address where it has no memory",
    ),
    ("access", 11, "SEGV_ACCERR", "not allowed there"),
    ("file", 7, "BUS_ADRERR", "beyond its end"),
    #[cfg(target_arch = "x86_64")]
    ("instruction", 4, "ILL_ILLOPN", "an instruction"),
    #[cfg(target_arch = "x86_64")]
    (
        "breakpoint",
        5,
        "SI_KERNEL",
        "a breakpoint outside a debugger",
    ),
];

fn what_a_program_did_that_the_kernel_ends_is_told(mechanism: Mechanism) {
    for (kind, signal, code, what) in FAULTS {
        let done = Run::watched(mechanism, words![program("fault"), kind]).finish();
        done.expect_status(128 + signal);
        let certainty = match certainty_of_senders(&done) {
            "known" => "known",
            _ => "likely",
        };
        let answer = expect(&done, "crash", certainty);
        if certainty == "known" {
            let sentence = answer["sentence"].as_str().unwrap();
            assert!(
                sentence.contains("the kernel sent it, for it "),
                "{sentence}"
            );
            assert!(sentence.contains(what), "{sentence}");
            let text = answer.to_string();
            assert!(
                text.contains(&format!(" from the kernel ({code})")),
                "{text}"
            );
        }
    }
}

fn certainty_of_senders(done: &Done) -> &'static str {
    // An agent lends the programs in the kernel.
    let mechanism = &done.report().monitor.mechanism;
    match mechanism.contains("bpf") || mechanism.contains("agent") {
        true => "known",
        false => "unknown",
    }
}

fn who_killed_the_command_is_told(mechanism: Mechanism) {
    let by_child = sh(mechanism, "sh -c 'kill -9 $PPID'; sleep 30");
    let certainty = certainty_of_senders(&by_child);
    let answer = expect(&by_child, "signal", certainty);
    if certainty == "known" {
        let sentence = answer["sentence"].as_str().unwrap();
        assert!(sentence.contains("it came from sh (pid "), "{sentence}");
    }
    // What Plimsoll sends itself is none of it.
    let done = Run::watched(mechanism, words!["sleep", "1000"])
        .options(["--limit", "wall=100ms", "--grace", "0"])
        .finish();
    expect(&done, "limit", "known");
    let evidence = &done.report().exit.evidence;
    assert!(
        evidence.iter().all(|one| one.kind != "killed_by"),
        "{evidence:?}"
    );
    // One that was asked for long before, and did not end it.
    let script = "trap : TERM; sh -c 'kill $PPID'; exit 3";
    let done = sh(mechanism, script);
    expect(&done, "exit_code", "known");
    let evidence = &done.report().exit.evidence;
    assert!(
        evidence.iter().all(|one| one.kind != "killed_by"),
        "{evidence:?}"
    );
}

fn whoever_outlives_the_command_is_told(mechanism: Mechanism) {
    let done = Run::watched(mechanism, words!["/bin/sh", "-c", "sleep 1000 & exit 4"])
        .options(["--kill-descendants"])
        .finish();
    done.expect_status(4);
    let answer = expect(&done, "exit_code", "known");
    if !done.report().survivors.is_empty() {
        assert!(beside(&answer).contains(&"survivors"), "{answer:#}");
    }
}

#[test]
fn who_sent_a_signal_is_named() {
    let running = Run::watched(
        Mechanism::Default,
        words!["/bin/sh", "-c", "echo ready; sleep 1000"],
    );
    let mut running = running.options(["--grace", "300ms"]).start();
    running.wait_for("ready");
    running.send(Signal::TERM);
    let done = running.finish();
    done.expect_status(143);
    let answer = expect(&done, "signal", "known");
    let sentence = answer["sentence"].as_str().unwrap();
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    let sender = format!("pid {} of uid {}", std::process::id(), process::uid());
    // The name of the process is that of its first thread.
    let first = std::fs::read_to_string(format!("/proc/{}/comm", std::process::id()));
    let name = first.unwrap_or(own);
    assert!(sentence.contains(&sender), "{sentence}");
    assert!(sentence.contains(name.trim()), "{sentence}");
    assert!(sentence.contains("the task's own user"), "{sentence}");
}

#[test]
fn the_first_process_was_killed() {
    let running = Run::watched(
        Mechanism::Default,
        words!["/bin/sh", "-c", "echo ready; sleep 1000"],
    );
    let mut running = running.start();
    running.wait_for("ready");
    let prefix = running.folder().join("r");
    let json = running.folder().join("r.json");
    running.send(Signal::KILL);
    process::wait_until("the report is written", || json.exists());
    let output = ask(words![prefix, "--format", "json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["cause"], "signal", "{answer:#}");
    let sentence = answer["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("first process of `plimsoll run` was killed"),
        "{sentence}"
    );
    drop(running.finish());
}

#[test]
fn the_time_of_a_scheduler_is_likely() {
    let slurm = [
        "SLURM_JOB_ID=7",
        "SLURM_JOB_START_TIME=1795226287",
        "SLURM_JOB_END_TIME=1795226288",
    ];
    let mut wrapper = words!["/usr/bin/env"];
    wrapper.extend(slurm.map(OsString::from));
    let script = "sleep 1; echo ready; sleep 1000";
    let run = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", script]);
    let mut running = run.options(["--grace", "300ms"]).wrapped(wrapper).start();
    running.wait_for("ready");
    running.send(Signal::TERM);
    let done = running.finish();
    let answer = expect(&done, "time_limit", "likely");
    assert_eq!(answer["paste"][0]["target"], "slurm");
    assert_eq!(answer["paste"][0]["lines"][0], "#SBATCH --time=00:00:02");
}

#[test]
fn the_kernel_ended_it_for_want_of_memory() {
    let probe = Run::bare(words!["/bin/true"]).wrapped(above()).finish();
    if probe.status != 0 {
        skip!("no group can be made here: {}", probe.stderr.trim());
    }
    let fill = words![program("fill.static"), "150", "exit"];
    let run = |task| {
        Run::watched(Mechanism::Default, task)
            .wrapped(above())
            .finish()
    };
    let done = run(fill);
    done.expect_status(137);
    let answer = why(&done);
    assert_eq!(answer["cause"], "memory_kill", "{answer:#}");
    let evidence = answer["evidence"].as_array().unwrap();
    assert!(
        evidence.iter().any(|one| one["what"] == "oom kill"),
        "{answer:#}"
    );
    // From the group that allows 60 MiB.
    let change = &answer["requests"][0];
    assert_eq!(change["from"], 60 << 20, "{answer:#}");
    assert_eq!(change["to"], 120 << 20, "{answer:#}");
    let script = "\"$0\" 150 exit; exit 0";
    let done = run(words!["/bin/sh", "-c", script, program("fill.static")]);
    let answer = expect(&done, "success", "known");
    assert_eq!(
        beside(&answer).contains(&"memory_kill"),
        !done.report().exit.evidence.is_empty(),
        "{answer:#}"
    );
}

/// A quota of a group above is counted there, and not in ours below it.
#[test]
fn a_quota_on_cpu_time_is_told() {
    const QUOTA: &str = "\
        d=$(sed -n 's|^[0-9]*:cpu:|/sys/fs/cgroup/cpu|p;s|^[0-9]*:cpu,cpuacct:|\
            /sys/fs/cgroup/cpu,cpuacct|p' /proc/self/cgroup); \
        if [ -n \"$d\" ]; then g=$d/plimsoll-test-$$; mkdir $g && \
            echo 20000 > $g/cpu.cfs_quota_us || exit 99; \
        else d=/sys/fs/cgroup; g=$d/plimsoll-test-$$; echo +cpu > $d/cgroup.subtree_control; \
            mkdir $g && echo 20000 100000 > $g/cpu.max || exit 99; fi; \
        echo $$ > $g/cgroup.procs || exit 99; \
        \"$@\"; s=$?; echo $$ > $d/cgroup.procs; rmdir $g; exit $s";
    let above = || words!["/bin/sh", "-c", QUOTA, "sh"];
    let probe = Run::bare(words!["/bin/true"]).wrapped(above()).finish();
    if probe.status != 0 {
        skip!("no group can be made here: {}", probe.stderr.trim());
    }
    let task = words![
        "/bin/sh",
        "-c",
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    ];
    let done = Run::watched(Mechanism::Default, task)
        .wrapped(above())
        .finish();
    done.expect_status(0);
    let answer = expect(&done, "success", "known");
    assert!(
        beside(&answer).contains(&"throttled"),
        "{answer:#}\n{}",
        done.context()
    );
}

#[test]
fn what_is_no_report_has_status_1_and_a_wrong_word_2() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    for (words, status, told) in [
        (words![none], 1, "no such report"),
        (words![folder.path()], 1, "is a folder"),
        (words!["/dev/null"], 1, "not a regular file"),
        (words!["-"], 1, "it is empty"),
        (words![], 2, "REPORT"),
        (words![none, "--for", "nobody"], 2, "possible values: slurm"),
    ] {
        let output = ask(words.clone());
        assert_eq!(output.status.code(), Some(status), "{words:?}");
        assert!(output.stdout.is_empty());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(told), "{words:?}: {stderr}");
    }
}
