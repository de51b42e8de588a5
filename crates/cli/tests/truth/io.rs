//! Bytes and calls, against `/proc/self/io` as the workload itself saw it at its end.

use crate::harness::expect::{MIB, Rigour, Truth, field, holds, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::value::{Field, Method};
use std::fs::File;
use std::io::Write;
use std::path::Path;

each_mechanism!(
    cached_reads,
    two_readers_below_a_shell,
    writes,
    direct_reads,
    cold_mapped_reads,
    io_uring_is_said_to_be_unseen,
);

/// The exec itself reads the first bytes of a program, and starting it may cost a call or two.
const SLACK_BYTES: u64 = 2048;
const SLACK_CALLS: u64 = 4;

fn make_file(path: &Path, mib: u64) {
    let block = vec![b'p'; MIB as usize];
    let mut file = File::create(path).unwrap();
    for _ in 0..mib {
        file.write_all(&block).unwrap();
    }
    file.sync_all().unwrap();
}

fn calls(done: &Done, name: &str, truth: u64) {
    holds(
        done,
        name,
        Truth::near(truth, 0.0, SLACK_CALLS),
        Rigour::Near,
    );
}

fn bytes(done: &Done, name: &str, truth: u64) {
    holds(
        done,
        name,
        Truth::near(truth, 0.0, SLACK_BYTES),
        Rigour::Near,
    );
}

fn cached_reads(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("data");
    make_file(&file, 256);
    let done = run
        .command(words![program("reader.static"), file, "4096"])
        .finish();
    done.expect_status(0);
    bytes(&done, "bytes_read", 256 * MIB + 512);
    calls(&done, "reads", 256 * 256 + 1 + 2);
    bytes(&done, "bytes_read", done.printed("rchar"));
    calls(&done, "reads", done.printed("syscr"));
}

/// A shell's `/proc/PID/io` takes in its waited-for children: summed over a tree they count twice.
fn two_readers_below_a_shell(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("data");
    make_file(&file, 64);
    let reader = format!(
        "{} {} 4096",
        program("reader.static").display(),
        file.display()
    );
    let script = format!("{reader}; {reader}; exit 0");
    let done = run.command(words!["/bin/sh", "-c", script]).finish();
    done.expect_status(0);
    let readers = 2 * 64 * MIB;
    holds(
        &done,
        "bytes_read",
        Truth::near(readers, 0.001, 64 << 10),
        Rigour::Near,
    );
    holds(
        &done,
        "reads",
        Truth::near(2 * (64 * 256 + 4), 0.0, 32),
        Rigour::Near,
    );
    holds(
        &done,
        "processes_total",
        Truth::exactly(3),
        mechanism.counts(),
    );
}

fn writes(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("data");
    let done = run
        .command(words![program("writer.static"), file, "64"])
        .finish();
    done.expect_status(0);
    bytes(&done, "bytes_written", 64 * MIB);
    calls(&done, "writes", 64 * 16 + 1);
    bytes(&done, "bytes_written", done.printed("wchar"));
    holds(
        &done,
        "disk_written",
        Truth::near(done.printed("write_bytes"), 0.0, 8192),
        Rigour::Near,
    );
}

/// To end a program that has printed what it read, pages of its own are read that the kernel took.
const TO_END: u64 = 512 << 10;

fn direct_reads(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("data");
    make_file(&file, 64);
    let done = run.command(words![program("direct.static"), file]).finish();
    if let Some(reason) = done.skipped() {
        skip!("{reason}");
    }
    done.expect_status(0);
    bytes(&done, "bytes_read", done.printed("rchar"));
    let truth = done.printed("read_bytes").max(64 * MIB);
    holds(
        &done,
        "disk_read",
        Truth::near(truth, 0.0, TO_END),
        Rigour::Near,
    );
}

fn cold_mapped_reads(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("data");
    make_file(&file, 64);
    let done = run
        .command(words![program("mmapread.static"), file])
        .finish();
    if let Some(reason) = done.skipped() {
        skip!("{reason}");
    }
    done.expect_status(0);
    if done.printed("read_bytes") == 0 {
        skip!("the file system of the temporary folder has no storage behind it");
    }
    let truth = done.printed("read_bytes");
    holds(
        &done,
        "disk_read",
        Truth::near(truth, 0.0, TO_END),
        Rigour::Near,
    );
    bytes(&done, "bytes_read", done.printed("rchar"));
}

/// What `/proc/PID/io` cannot see must not be reported as nothing.
fn io_uring_is_said_to_be_unseen(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("data");
    make_file(&file, 16);
    // Only what tells of an exit sees the ring of a process that is gone before the first look.
    let told = mechanism.is_in_kernel() || mechanism == Mechanism::Ptrace;
    let hold_ms = if told { 0 } else { 700 * slowness() };
    let done = run
        .command(words![program("uring.static"), file, hold_ms.to_string()])
        .finish();
    if let Some(reason) = done.skipped() {
        skip!("{reason}");
    }
    done.expect_status(0);
    assert_eq!(done.printed("uring_bytes"), 16 * MIB);
    let Field::Present(value) = field(&done, "bytes_read") else {
        panic!("{:?}\n{}", field(&done, "bytes_read"), done.context());
    };
    if value.value.as_f64() >= (16 * MIB) as f64 {
        return;
    }
    let notes = done.report().monitor.notes.join("\n");
    assert!(
        matches!(value.method, Method::LowerBound { .. }) && notes.contains("io_uring"),
        "16 MiB read by io_uring are missing without a word: {value:?}\n{}",
        done.context()
    );
}
