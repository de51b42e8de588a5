//! Memory: fill and be gone, share, cache, a launcher that is larger than its task.

use crate::harness::expect::{MIB, Rigour, Truth, field, holds, memory, number, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Run, is_memory};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::value::Method;
use std::ffi::OsString;
use std::fs;

each_mechanism!(
    fill_and_exit,
    fill_and_exit_static,
    fill_as_grandchild_of_sh,
    fill_late_and_exit,
    fill_late_as_grandchild_of_sh,
    fill_and_die_of_sigkill,
    fill_and_become_another_program,
    fill_in_a_child_that_becomes_another_program,
    shared_mapping_of_eight,
    copy_on_write_of_eight,
    large_parent_inside,
    large_launcher_outside,
    page_cache_of_a_small_program,
    many_small_beside_each_other,
);

fn fills(mechanism: Mechanism, command: Vec<OsString>, status: i32, mib: u64) {
    let done = Run::watched(mechanism, command).finish();
    done.expect_status(status);
    for name in ["rss_peak", "memory_peak", "rss_peak_process"] {
        holds(&done, name, memory(mib), mechanism.peaks());
    }
}

fn fill_and_exit(mechanism: Mechanism) {
    fills(mechanism, words![program("fill"), "300", "exit"], 0, 300);
}

fn fill_and_exit_static(mechanism: Mechanism) {
    fills(
        mechanism,
        words![program("fill.static"), "300", "exit"],
        0,
        300,
    );
}

fn fill_as_grandchild_of_sh(mechanism: Mechanism) {
    let script = format!("{} 300 exit; exit 3", program("fill.static").display());
    fills(mechanism, words!["/bin/sh", "-c", script], 3, 300);
}

/// It was seen small for long, most of it file pages, and nobody looks often any more.
fn fill_late_and_exit(mechanism: Mechanism) {
    fills(
        mechanism,
        words![program("fill"), "60", "exit", "900"],
        0,
        60,
    );
}

fn fill_late_as_grandchild_of_sh(mechanism: Mechanism) {
    let script = format!("{} 60 exit 900; exit 3", program("fill.static").display());
    fills(mechanism, words!["/bin/sh", "-c", script], 3, 60);
}

fn fill_and_die_of_sigkill(mechanism: Mechanism) {
    fills(
        mechanism,
        words![program("fill"), "300", "kill"],
        128 + 9,
        300,
    );
}

/// The memory of a program is gone when it executes another one: what is read then is small.
fn becomes_another(mechanism: Mechanism, end: &str) {
    if slowness() > 1 {
        skip!("nobody may have looked before the exec on a slow machine");
    }
    fills(
        mechanism,
        words![program("fill.static"), "300", end],
        0,
        300,
    );
}

fn fill_and_become_another_program(mechanism: Mechanism) {
    becomes_another(mechanism, "exec");
}

fn fill_in_a_child_that_becomes_another_program(mechanism: Mechanism) {
    becomes_another(mechanism, "child");
}

/// With a control group the kernel charges each page once; without one there are only samples.
fn eight(mechanism: Mechanism, how: &str) {
    // Long enough for a pass while all of them are there.
    let hold = (2000 * slowness().min(5)).to_string();
    let command = words![program("share.static"), "512", "8", how, hold];
    let often: &[&str] = match slowness() {
        1 => &[],
        _ => &["--interval", "100ms"],
    };
    let done = Run::watched(mechanism, command).options(often).finish();
    done.expect_status(0);
    let group = field(&done, "cgroup_peak").value().is_some();
    let once = if group { Rigour::Near } else { Rigour::Sampled };
    holds(
        &done,
        "memory_peak",
        Truth::near(512 * MIB, 0.03, 2 * MIB),
        once,
    );
    holds(
        &done,
        "rss_peak",
        Truth::near(8 * 512 * MIB, 0.03, 16 * MIB),
        mechanism.peaks(),
    );
    holds(&done, "rss_peak_process", memory(512), mechanism.peaks());
    holds(
        &done,
        "processes_total",
        Truth::exactly(8),
        mechanism.counts(),
    );
}

fn shared_mapping_of_eight(mechanism: Mechanism) {
    eight(mechanism, "shared");
}

fn copy_on_write_of_eight(mechanism: Mechanism) {
    eight(mechanism, "cow");
}

/// The child of a large parent is small after its exec, and shares everything before it: the pages
/// are there once, but for a moment they stand in two resident sets.
fn large_parent_inside(mechanism: Mechanism) {
    let command = words![program("fat.static"), "200", program("nothing.static")];
    let done = Run::watched(mechanism, command).finish();
    done.expect_status(0);
    holds(&done, "rss_peak_process", memory(200), mechanism.peaks());
    holds(&done, "memory_peak", memory(200), mechanism.peaks());
    let once_or_twice = Truth::between(196 * MIB, 406 * MIB);
    holds(&done, "rss_peak", once_or_twice, mechanism.peaks());
}

/// `ru_maxrss` takes over the image from before the exec; the report must not.
fn large_launcher_outside(mechanism: Mechanism) {
    let done = Run::watched(mechanism, words![program("nothing.static")])
        .wrapped(words![program("fat.static"), "200"])
        .finish();
    done.expect_status(0);
    let small = Truth::between(1, 4 * MIB);
    holds(&done, "rss_peak_process", small, Rigour::Near);
    for name in ["rss_peak", "memory_peak"] {
        // Level query may come too late to see a millisecond, and then says that it was gone.
        let gone = field(&done, name).value().is_none() && mechanism == Mechanism::Procfs;
        if !gone {
            holds(&done, name, small, mechanism.peaks());
        }
    }
}

/// 256 MiB go through the page cache of a program that needs one: reclaimable, so not memory.
fn page_cache_of_a_small_program(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let file = run.path("written");
    if is_memory(run.folder()) {
        skip!("files here are memory (tmpfs)");
    }
    let done = run
        .command(words![program("writer.static"), file, "256"])
        .finish();
    done.expect_status(0);
    assert!(
        number(&done, "memory_peak") < 30.0 * MIB as f64,
        "{}",
        done.context()
    );
    if let Some(value) = field(&done, "memory_peak").value()
        && let Method::LowerBound { upper: Some(upper) } = value.method
    {
        assert!(upper < 30 * MIB, "{value:?}\n{}", done.context());
    }
    let written = done.printed("wchar");
    holds(
        &done,
        "bytes_written",
        Truth::near(written, 0.0, 1024),
        Rigour::Near,
    );
}

/// 300 tasks' worth of nothing: small processes stay small however many there are.
fn many_small_beside_each_other(mechanism: Mechanism) {
    let command = words![program("many.static"), "50", "300"];
    let done = Run::watched(mechanism, command)
        .options(["--interval", "50ms"])
        .finish();
    done.expect_status(0);
    assert!(
        number(&done, "memory_peak") < 60.0 * MIB as f64,
        "{}",
        done.context()
    );
    holds(
        &done,
        "processes_peak",
        Truth::exactly(50),
        mechanism.counts(),
    );
    holds(
        &done,
        "processes_total",
        Truth::exactly(50),
        mechanism.counts(),
    );
}

/// A wrapper that executes the next program is small, and known to be, beside a large process.
#[test]
fn bpf_root_programs_before_the_last_one_are_known() {
    if !process::is_root() || Mechanism::Bpf.missing().is_some() {
        skip!("what a process was is told by BPF alone, to root");
    }
    let fill = program("fill.static");
    let script = format!("env env {} 100 exit | env env cat; exit 3", fill.display());
    let done = Run::watched(Mechanism::Bpf, words!["/bin/sh", "-c", script]).finish();
    done.expect_status(3);
    let all = Truth::between(100 * MIB, 110 * MIB);
    holds(&done, "rss_peak", all, Rigour::Near);
    holds(&done, "rss_peak_process", memory(100), Rigour::Near);
    holds(&done, "memory_peak", memory(100), Rigour::Near);
}

/// Many processes are read by a walk in the kernel once that is cheaper than `/proc`, and what it
/// tells is the same.
#[test]
fn bpf_root_many_processes_are_walked_at_level_query() {
    if !process::is_root() || Mechanism::Bpf.missing().is_some() {
        skip!("the walk in the kernel needs root, and BPF");
    }
    if slowness() > 1 {
        skip!("passes are too far apart on a slow machine");
    }
    // Long enough, and often enough looked at, to be past the point where the walk pays.
    let command = words![program("many"), "400", "5000", "1"];
    let run = Run::watched(Mechanism::Default, command);
    let done = run
        .options(["--level", "query", "--interval", "200ms"])
        .finish();
    done.expect_status(0);
    let notes = &done.report().monitor.notes;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("a walk in the kernel")),
        "{notes:?}"
    );
    let each = 400 * 160 * 1024;
    let anonymous = Truth::between(399 * MIB, 399 * MIB + each);
    holds(&done, "rss_peak_anon", anonymous, Rigour::Sampled);
    let peak = Truth::exactly(400);
    holds(&done, "processes_peak", peak, Rigour::Sampled);
    let largest = Truth::near(2 * MIB, 0.0, MIB);
    holds(&done, "rss_peak_process", largest, Rigour::Near);
}

const POOL: &str = "/proc/sys/vm/nr_hugepages";

/// The machine's pool of huge pages with some more in it.
struct Pool {
    before: u64,
}

impl Pool {
    /// `None` where it does not become larger.
    fn with(more: u64) -> Option<Self> {
        let pages = || fs::read_to_string(POOL).ok()?.trim().parse().ok();
        let before: u64 = pages()?;
        fs::write(POOL, (before + more).to_string()).ok()?;
        let pool = Self { before };
        (pages() >= Some(before + more)).then_some(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        fs::write(POOL, self.before.to_string()).unwrap();
    }
}

/// It was set aside beforehand: in no number, but in a note.
#[test]
fn root_pages_of_the_pool_are_told_and_in_no_number_of_memory() {
    // Of 2 MiB each, where they have the usual size.
    let Some(_pool) = Pool::with(32) else {
        skip!("no pool of huge pages that can be made larger here");
    };
    let hold = (600 * slowness()).to_string();
    for mechanism in [Mechanism::Default, Mechanism::Connector, Mechanism::Procfs] {
        if mechanism.missing().is_some() {
            continue;
        }
        let command = words![program("hugetlb.static"), "64", hold];
        let done = Run::watched(mechanism, command)
            .options(["--interval", "100ms"])
            .finish();
        if let Some(why) = done.skipped() {
            skip!("{why}");
        }
        done.expect_status(0);
        let notes = &done.report().monitor.notes;
        let told = |note: &String| note.starts_with("64 MiB of the machine's pool");
        assert!(notes.iter().any(told), "{notes:?}");
        assert!(number(&done, "rss_peak") < 8.0 * MIB as f64);
        assert!(number(&done, "virtual_peak") >= 64.0 * MIB as f64);
    }
}
