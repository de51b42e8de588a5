//! CPU time and counts of processes and threads, against what the kernel told the workload itself.

use crate::harness::cpu::told;
use crate::harness::expect::{Truth, field, holds, number, slowness};
use crate::harness::mechanism::{Mechanism, kernel};
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, words};
use record::value::Method;
use std::ffi::OsString;

each_mechanism!(
    one_process_burns,
    children_one_after_another,
    children_two_at_a_time,
    children_static_two_at_a_time,
    threads_are_counted_once,
    threads_one_after_another,
    a_thread_that_worked_executes,
    a_thread_that_worked_executes_without_the_first,
    six_hundred_times_nothing,
);

/// The totals come from the wait chain, so they are exact for anybody with any mechanism.
fn cpu(mechanism: Mechanism, command: &[OsString], ratio: f64) -> Done {
    let done = told(mechanism, command, ratio);
    let parts = number(&done, "cpu_user") + number(&done, "cpu_system");
    let whole = number(&done, "cpu_time");
    assert!(
        (parts - whole).abs() <= whole * 0.02 + 2e6,
        "user and system {parts} are not the whole {whole}\n{}",
        done.context()
    );
    done
}

fn one_process_burns(mechanism: Mechanism) {
    let done = cpu(mechanism, &[program("burn").into(), "300".into()], 0.02);
    holds(
        &done,
        "processes_total",
        Truth::exactly(1),
        mechanism.counts(),
    );
    assert!(number(&done, "cores_mean") <= 1.05, "{}", done.context());
    assert!(number(&done, "wall_time") >= 300e6, "{}", done.context());
}

fn children(mechanism: Mechanism, name: &str, count: u64, parallel: u64) {
    let (many, once) = (count.to_string(), parallel.to_string());
    let command = words![program("storm"), many, once, "fork", program(name), "20"];
    let done = cpu(mechanism, &command, 0.02);
    holds(
        &done,
        "processes_total",
        Truth::exactly(count + 1),
        mechanism.counts(),
    );
    holds(
        &done,
        "processes_peak",
        Truth::exactly(parallel + 1),
        mechanism.counts(),
    );
}

fn children_one_after_another(mechanism: Mechanism) {
    children(mechanism, "burn", 200, 1);
}

fn children_two_at_a_time(mechanism: Mechanism) {
    children(mechanism, "burn", 100, 2);
}

fn children_static_two_at_a_time(mechanism: Mechanism) {
    children(mechanism, "burn.static", 200, 2);
}

/// Their parent tells what they used: it waits for their ends, which take CPU time too.
fn threads_are_counted_once(mechanism: Mechanism) {
    let command = words![
        program("storm"),
        "1",
        "1",
        "fork",
        program("threads"),
        "16",
        "400"
    ];
    let done = cpu(mechanism, &command, 0.02);
    for (name, count) in [
        ("threads_peak", 17),
        ("processes_total", 2),
        ("processes_peak", 2),
    ] {
        holds(&done, name, Truth::exactly(count), mechanism.counts());
    }
}

/// Whoever joins a thread goes on before the kernel tells of its end, but at the stop of a tracer
/// and since Linux 6.16 in the kernel.
fn threads_one_after_another(mechanism: Mechanism) {
    let command = words![program("joined"), "200"];
    let done = Run::watched(mechanism, command).finish();
    done.expect_status(0);
    let value = field(&done, "threads_peak").value();
    let bounded = value.is_some_and(|value| value.method == Method::UpperBound);
    let exact = match mechanism {
        Mechanism::Ptrace => true,
        Mechanism::Bpf => kernel() >= (6, 16),
        _ => false,
    };
    if bounded && !exact {
        assert!(number(&done, "threads_peak") >= 2.0, "{}", done.context());
    } else {
        // An emulated processor may be taken away from a thread for long between the two.
        let most = if exact { 2 } else { 1 + slowness() };
        let truth = Truth::between(2, most);
        holds(&done, "threads_peak", truth, mechanism.counts());
    }
}

fn executing_thread(mechanism: Mechanism, first: &str) {
    let command = words![program("threadwork"), "500", first, program("burn"), "800"];
    let done = cpu(mechanism, &command, 0.02);
    let peak = number(&done, "cores_peak");
    assert!(peak <= 1.1, "cores_peak {peak}\n{}", done.context());
    let mut notes = done.report().monitor.notes.iter();
    let bypassed = notes.any(|note| note.contains("nobody waited"));
    assert!(!bypassed, "{}", done.context());
}

fn a_thread_that_worked_executes(mechanism: Mechanism) {
    executing_thread(mechanism, "stay");
}

fn a_thread_that_worked_executes_without_the_first(mechanism: Mechanism) {
    executing_thread(mechanism, "leave");
}

fn six_hundred_times_nothing(mechanism: Mechanism) {
    let command = words![program("storm"), "600", "1", "vfork", "/bin/true"];
    let done = cpu(mechanism, &command, 0.03);
    holds(
        &done,
        "processes_total",
        Truth::exactly(601),
        mechanism.counts(),
    );
}
