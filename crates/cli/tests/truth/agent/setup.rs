//! How processes are set up: terminal, scheduling, limits, CPUs and signals.

use super::{quick, texts};
use crate::harness::dataset::{Row, compact, read_once, rows_of};
use crate::harness::expect::MIB;
use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use std::ffi::OsString;

each_reader!(
    how_a_process_is_set_up,
    a_process_of_real_time,
    a_process_without_a_terminal,
);

/// One that is set up, with its terminal, its CPU and the bytes of its code; why there is none.
fn set_up(command: Vec<OsString>) -> Result<(Running, [i64; 3]), String> {
    let running = Run::bare(command).start();
    process::wait_until("it says how it is set up", || {
        running.stdout().ends_with('\n')
    });
    let told = running.stdout();
    if let Some(reason) = told.strip_prefix("skip ") {
        return Err(reason.trim().to_owned());
    }
    let numbers: Vec<_> = told
        .split_whitespace()
        .filter_map(|it| it.parse().ok())
        .collect();
    Ok((running, numbers.try_into().unwrap()))
}

/// The one row of `process` and the last one of `sample`.
fn read(mechanism: Mechanism, running: &Running) -> (Row, Row) {
    let options = quick(mechanism, &[&format!("pid:{}", running.pid())]);
    let done = read_once(&texts(&options));
    compact(&done.path("d"));
    let mut told = rows_of(&done.path("d"), "process", running.pid());
    assert_eq!(told.len(), 1, "{told:#?}");
    let mut samples = rows_of(&done.path("d"), "sample", running.pid());
    (told.remove(0), samples.pop().unwrap())
}

fn how_a_process_is_set_up(mechanism: Mechanism) {
    const NICE: i64 = 17;
    for name in ["setup", "setup.static"] {
        let (running, [tty, cpu, code]) = match set_up(words![program(name), NICE.to_string()]) {
            Ok(known) => known,
            Err(reason) => skip!("{reason}"),
        };
        let (told, sample) = read(mechanism, &running);
        let number = |column: &str| told.number(column);
        assert_eq!(number("tty"), tty);
        assert_eq!(number("tpgid"), i64::from(running.pid()));
        assert_eq!((number("nice"), number("priority")), (NICE, 20 + NICE));
        assert_eq!(told.text("policy").as_deref(), Some("batch"));
        assert_eq!(number("rt_priority"), 0);
        assert_eq!(number("rss_limit"), 64 * MIB as i64);
        assert_eq!(number("signals_pending"), 1 << 11 | 1 << 13);
        assert_eq!(number("signals_blocked"), 1 << 11 | 1 << 13);
        assert_eq!(number("signals_ignored"), i64::MIN | 1 << 9);
        assert_eq!(number("signals_caught"), 1);
        assert_eq!(told.text("cpus_allowed"), Some(cpu.to_string()));
        assert_eq!(number("text_size"), code);
        assert_eq!(sample.number("cpu_guest"), 0);
        let data = sample.number("data_size") as u64;
        assert!((24 * MIB..32 * MIB).contains(&data), "{data}");
    }
}

fn a_process_of_real_time(mechanism: Mechanism) {
    let (running, _) = match set_up(words![program("setup.static"), "0", "rr"]) {
        Ok(known) => known,
        Err(reason) => skip!("{reason}"),
    };
    let (told, _) = read(mechanism, &running);
    assert_eq!(told.text("policy").as_deref(), Some("rr"));
    let priorities = ["rt_priority", "priority"].map(|column| told.number(column));
    assert_eq!(priorities, [3, -4]);
}

/// There is no 0 and no -1 in the place of one.
fn a_process_without_a_terminal(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let command = words!["/usr/bin/setsid", program("hold.static"), file];
    let mut running = run.command(command).start();
    running.wait_for_pids(&file);
    let (told, _) = read(mechanism, &running);
    assert_eq!((told.get("tty"), told.get("tpgid")), (None, None));
}
