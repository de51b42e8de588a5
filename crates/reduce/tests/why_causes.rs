//! Why tasks ended, on reports that are made for it: each cause, what goes before what, and what is
//! not claimed.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking"
)]

use record::report::serde_free::Scalar;
use record::report::{Claim, Evidence, Exceeded, ExitType, Report};
use record::unit::{Nanos, Unit};
use record::value::{Field, Method, Number, Value};
use reduce::request::{TARGETS, pastes, target, target_of};
use reduce::why::{CAUSES, Certainty, Verdict, Why, judge};

const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;

/// A task that ended well after 100 s, as it was recorded.
fn report() -> Report {
    let text = include_str!("fixtures/why/success_plain.json");
    let mut report: Report = serde_json::from_str(text).unwrap();
    metric(&mut report, "wall_time", 100 * SECOND, Unit::Nanoseconds);
    metric(&mut report, "memory_peak", GIB, Unit::Bytes);
    report
}

fn exited(code: i32, command: &[&str]) -> Report {
    let mut report = report();
    report.exit.code = Some(code);
    report.exit.status = Some(code);
    report.task.command = command.iter().map(|word| (*word).to_owned()).collect();
    report
}

fn killed(signal: i32) -> Report {
    let mut report = report();
    report.exit.kind = ExitType::Signal;
    (report.exit.code, report.exit.signal) = (None, Some(signal));
    report
}

fn metric(report: &mut Report, name: &str, value: u64, unit: Unit) {
    let value = Value::new(Number::Whole(value), unit, Method::Exact, "test");
    report.usage.set(name, Field::Present(value));
}

fn cores(report: &mut Report, name: &str, value: f64) {
    let value = Value::new(Number::Real(value), Unit::Cores, Method::Exact, "test");
    report.usage.set(name, Field::Present(value));
}

fn claim(value: u64, unit: Unit, source: &str) -> Claim {
    Claim {
        value: Number::Whole(value),
        unit,
        source: source.to_owned(),
    }
}

fn ask(report: &mut Report, name: &str, value: u64, unit: Unit, source: &str) {
    let claim = claim(value, unit, source);
    report.request.insert(name.to_owned(), claim);
}

fn evidence(report: &mut Report, kind: &str, value: &str, source: &str) {
    let value = value
        .parse()
        .map_or(Scalar::Text(value.to_owned()), Scalar::Whole);
    report.exit.evidence.push(Evidence {
        kind: kind.to_owned(),
        value,
        source: source.to_owned(),
    });
}

fn in_slurm(report: &mut Report) {
    report.task.job.scheduler = Some("slurm".to_owned());
    report.task.job.id = Some("7".to_owned());
}

#[track_caller]
fn expect(report: &Report, cause: &str, certainty: Certainty) -> Verdict {
    let main = judge(report).main;
    assert_eq!(
        (main.cause, main.certainty),
        (cause, certainty),
        "{}",
        main.sentence
    );
    main
}

fn beside<'a>(why: &'a Why, cause: &str) -> Option<&'a Verdict> {
    why.also.iter().find(|verdict| verdict.cause == cause)
}

fn lines(report: &Report, name: &str) -> Vec<String> {
    let pastes = pastes(report, &judge(report), target(name).unwrap());
    pastes.into_iter().flat_map(|paste| paste.lines).collect()
}

#[test]
fn causes_and_targets_have_names_of_their_own() {
    let mut names: Vec<_> = CAUSES.iter().map(|cause| cause.name).collect();
    names.extend(TARGETS.iter().map(|target| target.name));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(
        CAUSES
            .iter()
            .all(|cause| cause.end.is_some() || cause.beside.is_some())
    );
    assert!(CAUSES.iter().all(|cause| !cause.description.is_empty()));
}

#[test]
fn our_own_limit_goes_before_all_else() {
    let mut report = killed(9);
    report.exit.kind = ExitType::Limit;
    evidence(&mut report, "oom_kill", "1", "cgroup OOM event");
    evidence(
        &mut report,
        "signal_sender",
        "SIGTERM from pid 7 of uid 0",
        "siginfo",
    );
    report.exceeded.push(Exceeded {
        resource: "memory".to_owned(),
        limit: Number::Whole(GIB),
        value: Number::Whole(GIB),
        unit: Unit::Bytes,
        at_ns: Some(Nanos(SECOND)),
        pid: None,
        process: None,
        enforced: true,
        source: "cgroup OOM event".to_owned(),
    });
    let main = expect(&report, "limit", Certainty::Known);
    assert!(
        main.sentence.starts_with("The kernel and Plimsoll"),
        "{}",
        main.sentence
    );
    assert_eq!(main.requests[0].to, Number::Whole(2 * GIB));
    let why = judge(&report);
    assert!(beside(&why, "memory_kill").is_none());
    assert!(beside(&why, "signal").is_some());
    report.exceeded.clear();
    let main = expect(&report, "limit", Certainty::Known);
    assert!(main.sentence.contains("does not say which"));
}

#[test]
fn a_kill_for_want_of_memory_is_as_sure_as_its_source() {
    let group = "oom_kill of the task's control group";
    for (source, signal, processes, certainty) in [
        (group, 9, 1, Certainty::Known),
        (group, 9, 2, Certainty::Likely),
        (group, 11, 1, Certainty::Likely),
        ("/sys/fs/cgroup/job/memory.events", 9, 1, Certainty::Likely),
        ("/proc/vmstat oom_kill", 9, 1, Certainty::Likely),
    ] {
        let mut report = killed(signal);
        metric(&mut report, "processes_total", processes, Unit::Count);
        evidence(&mut report, "oom_kill", "1", source);
        expect(&report, "memory_kill", certainty);
    }
    // Somebody was killed somewhere, and the task ended by something else.
    let mut report = killed(11);
    evidence(&mut report, "oom_kill", "2", "/proc/vmstat oom_kill");
    expect(&report, "crash", Certainty::Likely);
    let why = judge(&report);
    let other = beside(&why, "memory_kill").unwrap();
    assert_eq!(other.certainty, Certainty::Unknown);
    assert!(other.sentence.contains("2 processes of this machine"));
}

#[test]
fn more_memory_is_asked_for_only_where_it_was_short() {
    let mut report = killed(9);
    evidence(
        &mut report,
        "oom_kill",
        "1",
        "oom_kill of the task's control group",
    );
    assert_eq!(judge(&report).main.requests, []);
    report.allocation.insert(
        "memory".to_owned(),
        claim(64 * GIB, Unit::Bytes, "/sys/fs/cgroup/job/memory.max"),
    );
    let main = judge(&report).main;
    assert_eq!(main.requests, [], "it had 1 of 64 GiB");
    assert!(main.advice[0].contains("machine"), "{:?}", main.advice);
    metric(&mut report, "cgroup_peak", 63 * GIB, Unit::Bytes);
    assert_eq!(judge(&report).main.requests[0].to, Number::Whole(128 * GIB));
    ask(
        &mut report,
        "memory",
        62 * GIB,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    let change = &judge(&report).main.requests[0];
    assert_eq!(change.from, Some(Number::Whole(62 * GIB)));
}

#[test]
fn the_time_of_a_scheduler_is_told_by_the_clock_and_the_signal() {
    let with = |signal, seconds| {
        let mut report = killed(signal);
        in_slurm(&mut report);
        ask(
            &mut report,
            "wall",
            seconds * SECOND,
            Unit::Nanoseconds,
            "SLURM_JOB_END_TIME",
        );
        report
    };
    for signal in [9, 15, 24] {
        expect(&with(signal, 102), "time_limit", Certainty::Likely);
    }
    // Slurm looks twice a minute, and waits for the task.
    expect(&with(15, 60), "time_limit", Certainty::Likely);
    expect(&with(15, 200), "signal", Certainty::Unknown);
    expect(&with(11, 100), "crash", Certainty::Likely);
    let mut ended = with(15, 100);
    ended.exit.kind = ExitType::Normal;
    (ended.exit.code, ended.exit.signal) = (Some(1), None);
    expect(&ended, "exit_code", Certainty::Known);
    assert!(beside(&judge(&ended), "time_limit").is_some());
    // It cleaned up when it was told to end.
    evidence(
        &mut ended,
        "signal_sender",
        "SIGTERM from pid 9 of uid 0 (slurmstepd)",
        "siginfo",
    );
    let main = expect(&ended, "time_limit", Certainty::Likely);
    assert!(
        main.sentence.contains("Slurm's daemon of the step"),
        "{}",
        main.sentence
    );
    assert_eq!(lines(&ended, "slurm"), ["#SBATCH --time=00:03:20"]);
    // A limit of our own is no request to the scheduler.
    let mut own = with(15, 100);
    own.limits.push(record::report::LimitSet {
        resource: "wall".to_owned(),
        limit: Number::Whole(100 * SECOND),
        unit: Unit::Nanoseconds,
    });
    expect(&own, "signal", Certainty::Unknown);
}

#[test]
fn who_sent_a_signal_is_told_as_far_as_it_can_be_believed() {
    let sent = |by: &str| {
        let mut report = killed(15);
        evidence(
            &mut report,
            "signal_sender",
            &format!("SIGTERM from {by}"),
            "siginfo",
        );
        expect(&report, "signal", Certainty::Known).sentence
    };
    let own = report().task.uid;
    assert!(sent("pid 7 of uid 0 (condor_starter)").contains("HTCondor's daemon of the job"));
    assert!(sent("pid 7 of uid 64 (condor_starter)").contains("HTCondor's daemon"));
    let disguised = sent(&format!("pid 7 of uid {own} (slurmstepd)"));
    assert!(!disguised.contains("Slurm"), "{disguised}");
    assert!(disguised.contains("the task's own user"), "{disguised}");
    assert!(sent("pid 7 of uid 0").contains("from pid 7 of uid 0, and"));
    assert!(sent("the terminal or the kernel").contains("from the terminal or the kernel,"));
    // One that asks for no end is none of its reasons.
    let mut report = killed(15);
    evidence(
        &mut report,
        "signal_sender",
        "SIGUSR1 from pid 7 of uid 0",
        "siginfo",
    );
    expect(&report, "signal", Certainty::Unknown);
}

#[test]
fn who_sent_a_signal_to_the_command_is_told_where_the_kernel_was_watched() {
    let by = |signal: i32, text: &str| {
        let mut report = killed(signal);
        evidence(&mut report, "killed_by", text, "tracepoint signal_generate");
        report
    };
    let guard = by(9, "SIGKILL from pid 7 of uid 0 (systemd-oomd)");
    let main = expect(&guard, "signal", Certainty::Known);
    assert!(
        main.sentence.contains("guard against want of memory"),
        "{}",
        main.sentence
    );
    let mut beside_another = by(9, "SIGKILL from pid 7 of uid 1 (bash)");
    evidence(
        &mut beside_another,
        "oom_kill",
        "1",
        "/proc/vmstat oom_kill",
    );
    let main = expect(&beside_another, "signal", Certainty::Known);
    assert!(main.sentence.contains("bash (pid 7"), "{}", main.sentence);
    let also = judge(&beside_another);
    let also = beside(&also, "memory_kill").unwrap();
    assert_eq!(also.certainty, Certainty::Unknown);
    let crash = by(11, "SIGSEGV from pid 7 of uid 1 (kill)");
    expect(&crash, "signal", Certainty::Known);
    expect(
        &by(9, "SIGKILL from itself (sh)"),
        "signal",
        Certainty::Known,
    );
    let abort = by(6, "SIGABRT from itself (a.out)");
    let main = expect(&abort, "crash", Certainty::Likely);
    let is_told = main
        .sentence
        .ends_with("; it sent it to itself, as abort(3) does.");
    assert!(is_told, "{}", main.sentence);
    let handled = by(11, "SIGSEGV from itself (a.out)");
    let main = expect(&handled, "crash", Certainty::Likely);
    assert!(
        main.sentence.contains("itself, as a handler"),
        "{}",
        main.sentence
    );
    let main = expect(&killed(11), "crash", Certainty::Likely);
    assert!(
        main.sentence.contains("does not say who"),
        "{}",
        main.sentence
    );
    // A scheduler's limit on time is not what somebody else did at about that time.
    for (sender, cause) in [("slurmstepd", "time_limit"), ("kill", "signal")] {
        let mut report = by(9, &format!("SIGKILL from pid 7 of uid 0 ({sender})"));
        let asked = claim(100 * SECOND, Unit::Nanoseconds, "SLURM_JOB_END_TIME");
        report.request.insert("wall".to_owned(), asked);
        assert_eq!(judge(&report).main.cause, cause, "{sender}");
    }
}

#[test]
fn an_exit_after_a_signal_is_likely_its_doing() {
    let mut report = exited(143, &["/bin/sh", "-c", "x"]);
    evidence(
        &mut report,
        "signal_sender",
        "SIGTERM from pid 7 of uid 0",
        "siginfo",
    );
    let main = expect(&report, "signal", Certainty::Likely);
    assert!(main.sentence.contains("128 + 15"), "{}", main.sentence);
    report.exit.code = Some(0);
    expect(&report, "success", Certainty::Known);
    assert!(beside(&judge(&report), "signal").is_some());
}

#[test]
fn codes_mean_what_their_program_makes_of_them() {
    let of = |code, command: &[&str]| judge(&exited(code, command)).main;
    assert_eq!(of(127, &["/bin/bash", "-c", "x"]).cause, "missing");
    assert_eq!(of(126, &["env", "x"]).cause, "missing");
    assert_eq!(of(139, &["/bin/dash", "x"]).cause, "shell_signal");
    // No shell: 137 is a number like another.
    let python = of(137, &["/usr/bin/python3", "x.py"]);
    assert_eq!(python.cause, "exit_code");
    assert!(
        python.sentence.contains("no proof of a kill"),
        "{}",
        python.sentence
    );
    assert!(python.advice[0].contains("traceback"));
    let shell = of(137, &["sh", "x"]);
    assert!(
        shell.sentence.contains("no proof of a kill"),
        "{}",
        shell.sentence
    );
    assert!(of(74, &["x"]).sentence.contains("EX_IOERR"));
    assert!(
        of(200, &["x"])
            .sentence
            .contains("the program alone defines")
    );
    assert_eq!(of(128, &["sh"]).cause, "exit_code");
    assert_eq!(
        of(255, &["sh"]).cause,
        "exit_code",
        "255 - 128 is no signal"
    );
    let crashes = [4, 5, 6, 7, 8, 11, 13, 24, 25, 31];
    assert!(
        crashes
            .iter()
            .all(|signal| judge(&killed(*signal)).main.cause == "crash")
    );
    assert_eq!(judge(&killed(10)).main.cause, "signal");
}

/// Level io tells the errors of calls that move bytes; those of others no report has.
#[test]
fn calls_that_need_room_are_told_where_their_errors_are_not() {
    let of_calls: Report =
        serde_json::from_str(include_str!("fixtures/why/disk_full_syscalls.json")).unwrap();
    let of_files: Report =
        serde_json::from_str(include_str!("fixtures/why/disk_full.json")).unwrap();
    let told = |report: &Report| {
        let mut also = judge(report).also.into_iter();
        also.any(|verdict| verdict.cause == "disk_full")
    };
    assert!(told(&of_calls));
    let mut of_both = of_calls;
    of_both.file_systems = of_files.file_systems;
    for line in &mut of_both.file_systems {
        line.counts.no_space = 0;
    }
    assert!(!told(&of_both), "there was room");
    let failed = of_both.system_calls.iter_mut();
    for line in failed.filter(|line| line.counts.errors > 0) {
        line.name = "fallocate".to_owned();
    }
    assert!(told(&of_both));
}

#[test]
fn a_full_disk_is_likely_only_where_it_was_seen() {
    let mut report = exited(1, &["tar"]);
    evidence(
        &mut report,
        "disk_full",
        "0 B of 1 GiB free",
        "statfs /scratch",
    );
    expect(&report, "disk_full", Certainty::Likely);
    report.exit.code = Some(0);
    expect(&report, "success", Certainty::Known);
}

#[test]
fn memory_near_its_limit_is_told_and_not_blamed() {
    let mut report = exited(1, &["x"]);
    ask(
        &mut report,
        "memory",
        GIB + GIB / 99,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    expect(&report, "exit_code", Certainty::Known);
    let why = judge(&report);
    let near = beside(&why, "memory_near").unwrap();
    assert!(near.sentence.contains("99 %"), "{}", near.sentence);
    assert!(near.sentence.contains("not known"), "{}", near.sentence);
    ask(
        &mut report,
        "memory",
        2 * GIB,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    assert!(beside(&judge(&report), "memory_near").is_none());
}

#[test]
fn waits_swap_and_idle_cores_are_told_in_order() {
    let mut report = exited(1, &["x"]);
    ask(&mut report, "cores", 4, Unit::Cores, "SLURM_CPUS_PER_TASK");
    cores(&mut report, "cores_peak", 1.1);
    metric(&mut report, "cpu_time", 100 * SECOND, Unit::Nanoseconds);
    metric(&mut report, "cpu_wait", 50 * SECOND, Unit::Nanoseconds);
    metric(&mut report, "swap_peak", GIB, Unit::Bytes);
    metric(&mut report, "faults_major", 12_000, Unit::Count);
    evidence(
        &mut report,
        "throttled",
        "9 times, 3.00 s",
        "cgroup cpu.stat",
    );
    let why = judge(&report);
    let found: Vec<_> = why.also.iter().map(|verdict| verdict.cause).collect();
    assert_eq!(found, ["swap", "waits", "throttled", "idle_cores"]);
    // 1.5 with the waits.
    let change = &beside(&why, "idle_cores").unwrap().requests[0];
    assert_eq!(change.to, Number::Whole(2));
    // What is provided is a claim only where it is not the whole machine.
    report.request.clear();
    assert!(beside(&judge(&report), "idle_cores").is_none());
    let provided = claim(4, Unit::Cores, "/proc/self/status Cpus_allowed_list");
    report.allocation.insert("cores".to_owned(), provided);
    report.host.cpus = 4;
    assert!(beside(&judge(&report), "idle_cores").is_none());
    report.host.cpus = 64;
    let why = judge(&report);
    assert!(
        beside(&why, "idle_cores")
            .unwrap()
            .sentence
            .contains("4 CPUs were provided")
    );
}

#[test]
fn success_asks_for_what_was_used_and_some_more() {
    let mut report = report();
    in_slurm(&mut report);
    ask(
        &mut report,
        "memory",
        16 * GIB,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    ask(
        &mut report,
        "wall",
        3600 * SECOND,
        Unit::Nanoseconds,
        "SLURM_JOB_END_TIME",
    );
    let expected = ["#SBATCH --mem=1280M", "#SBATCH --time=00:02:30"];
    assert_eq!(lines(&report, "slurm"), expected);
    assert_eq!(target_of(&report).name, "slurm");
    // What may have been more gets more headroom.
    let sampled = Method::Sampled {
        period_ns: Nanos(SECOND),
    };
    let value = Value::new(Number::Whole(GIB), Unit::Bytes, sampled, "test");
    report.usage.set("memory_peak", Field::Present(value));
    assert_eq!(lines(&report, "slurm")[0], "#SBATCH --mem=1536M");
    // What is near enough stays.
    ask(
        &mut report,
        "memory",
        GIB * 3 / 2,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    assert_eq!(lines(&report, "slurm").len(), 1);
}

#[test]
fn of_work_that_was_done_elsewhere_no_less_is_asked_for() {
    let mut report = report();
    in_slurm(&mut report);
    ask(
        &mut report,
        "memory",
        16 * GIB,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    ask(&mut report, "cores", 8, Unit::Cores, "SLURM_CPUS_PER_TASK");
    assert_eq!(lines(&report, "slurm").len(), 2);
    let note = "work left the tree through docker: what it used there is not in these numbers";
    report.monitor.notes.push(note.to_owned());
    let why = judge(&report);
    let sentence = &beside(&why, "elsewhere").unwrap().sentence;
    assert!(
        sentence.starts_with("Work was done elsewhere, through docker: "),
        "{sentence}"
    );
    assert!(lines(&report, "slurm").is_empty());
}

#[test]
fn each_target_has_its_words() {
    let mut report = killed(9);
    evidence(
        &mut report,
        "oom_kill",
        "1",
        "oom_kill of the task's control group",
    );
    ask(
        &mut report,
        "memory",
        GIB,
        Unit::Bytes,
        "job ad RequestMemory",
    );
    assert_eq!(lines(&report, "slurm"), ["#SBATCH --mem=2G"]);
    let condor = ["request_memory = 2048", "retry_request_memory = 4096"];
    assert_eq!(lines(&report, "htcondor"), condor);
    let nextflow = [
        "memory = { [2.GB, 4.GB, 8.GB][Math.min(task.attempt, 3) - 1] }",
        "errorStrategy = 'retry'",
        "maxRetries = 2",
    ];
    assert_eq!(lines(&report, "nextflow"), nextflow);
    // Of 10^6 bytes, and never less than 2 GiB.
    let snakemake = [
        "resources: mem_mb=lambda wildcards, attempt: [2148, 4295, 8590][min(attempt, 3) - 1]",
        "retries: 2",
    ];
    assert_eq!(lines(&report, "snakemake"), snakemake);
    let pod = [
        "resources:",
        "  requests:",
        "    memory: 2Gi",
        "  limits:",
        "    memory: 2Gi",
    ];
    assert_eq!(lines(&report, "kubernetes"), pod);
    let own = ["plimsoll run --limit memory=2GiB -- COMMAND"];
    assert_eq!(lines(&report, "plimsoll"), own);
    ask(
        &mut report,
        "memory",
        GIB,
        Unit::Bytes,
        "SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE",
    );
    ask(&mut report, "cores", 3, Unit::Cores, "SLURM_CPUS_PER_TASK");
    let fewer = ["#SBATCH --mem-per-cpu=2G", "#SBATCH --cpus-per-task=1"];
    assert_eq!(lines(&report, "slurm"), fewer);
    cores(&mut report, "cores_peak", 3.0);
    assert_eq!(lines(&report, "slurm"), ["#SBATCH --mem-per-cpu=683M"]);
}

#[test]
fn what_nobody_knows_is_told_so() {
    let mut report = report();
    report.exit.kind = ExitType::Unknown;
    report.exit.code = None;
    expect(&report, "unknown", Certainty::Unknown);
    report.exit.kind = ExitType::Running;
    ask(
        &mut report,
        "memory",
        GIB,
        Unit::Bytes,
        "SLURM_MEM_PER_NODE",
    );
    let why = judge(&report);
    assert_eq!((why.main.cause, why.also.len()), ("running", 0));
    report.exit.kind = ExitType::NotStarted;
    expect(&report, "not_started", Certainty::Unknown);
}

proptest::proptest! {
    /// Whatever numbers a report has, there is an answer for every target.
    #[test]
    fn every_report_has_an_answer(
        numbers in proptest::collection::vec(proptest::num::u64::ANY, 9),
        real in proptest::num::f64::ANY,
        code in proptest::option::of(-300i32..300),
        signal in proptest::option::of(-2i32..70),
        kind in 0usize..6,
        text in ".{0,40}",
    ) {
        let kinds = [
            ExitType::Normal, ExitType::Signal, ExitType::Limit,
            ExitType::NotStarted, ExitType::Running, ExitType::Unknown,
        ];
        let mut report = report();
        report.exit.kind = kinds[kind];
        (report.exit.code, report.exit.signal) = (code, signal);
        report.task.command = vec![text.clone()];
        report.exit.cause = Some(text.clone());
        let names = ["memory_peak", "wall_time", "cpu_wait", "swap_peak"];
        for (name, number) in names.iter().zip(&numbers) {
            metric(&mut report, name, *number, Unit::Bytes);
        }
        cores(&mut report, "cores_peak", real);
        for (name, number) in ["memory", "wall", "cores"].iter().zip(&numbers[4..]) {
            ask(&mut report, name, *number, Unit::Bytes, &text);
        }
        evidence(&mut report, "oom_kill", &numbers[7].to_string(), &text);
        evidence(&mut report, "signal_sender", &text, &text);
        report.exceeded.push(Exceeded {
            resource: "memory".to_owned(),
            limit: Number::Real(real),
            value: Number::Whole(numbers[8]),
            unit: Unit::Bytes,
            at_ns: None,
            pid: None,
            process: Some(text),
            enforced: numbers[8].is_multiple_of(2),
            source: String::new(),
        });
        for target in TARGETS {
            let why = judge(&report);
            proptest::prop_assert!(why.main.sentence.ends_with('.'));
            pastes(&report, &why, target);
        }
    }
}
