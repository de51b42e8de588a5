//! What a task did on graphics processors, from readings and accounts.

mod scene;

use record::gpu::{GpuAccount, GpuPids, GpuProcess, GpuReading, GpuSample};
use record::report::Usage;
use record::unit::{Bytes, Nanos};
use record::value::{Absent, Field, Method};
use reduce::settings::Mechanism::Bpf;
use reduce::tree::Tree;
use scene::{MIB, absent, end, method, ms, spawn, tree, whole};

const SECOND: Method = Method::Sampled {
    period_ns: Nanos::from_secs(1),
};

fn on(pid: u32, mib: u64, busy: Option<f64>) -> GpuProcess {
    GpuProcess {
        pid,
        memory: Some(Bytes(mib * MIB)),
        busy,
    }
}

fn device(id: &str, processes: Vec<GpuProcess>) -> GpuSample {
    GpuSample {
        id: id.to_owned(),
        busy: Some(0.5),
        memory_used: Some(Bytes(900 * MIB)),
        processes,
        ..GpuSample::default()
    }
}

fn reading(at: u64, devices: Vec<GpuSample>) -> GpuReading {
    GpuReading {
        at: ms(at),
        source: "driver".to_owned(),
        foreign_pids: false,
        devices,
    }
}

fn account(device: &str, pid: u32, mib: u64, busy: f64, open_ms: u64) -> GpuAccount {
    GpuAccount {
        device: device.to_owned(),
        pid,
        memory_peak: Some(Bytes(mib * MIB)),
        busy: Some(busy),
        open_for: Some(Nanos::from_millis(open_ms)),
    }
}

/// A task of 4 s with the processes 1 and 7; 8 is somebody else's.
fn task() -> Tree {
    let mut task = tree(Bpf);
    spawn(&mut task, 10, 1, 7, "train");
    task
}

fn usage(task: &Tree) -> Usage {
    task.usage(&end(4000, None))
}

fn ratio(usage: &Usage) -> f64 {
    let value = usage.get("gpu_utilisation").and_then(Field::value);
    value.map_or(f64::NAN, |value| value.value.as_f64())
}

#[test]
fn only_the_tasks_processes_count() {
    let mut task = task();
    for at in [1000, 2000, 3000] {
        let both = vec![on(7, 100 + at / 10, Some(0.25)), on(8, 5000, Some(0.75))];
        let devices = vec![device("A", both), device("B", vec![on(8, 1, Some(1.0))])];
        task.gpu_reading(&reading(at, devices));
    }
    let usage = usage(&task);
    assert_eq!(whole(&usage, "gpu_time"), 750_000_000);
    assert_eq!(method(&usage, "gpu_time"), SECOND);
    assert_eq!(whole(&usage, "gpu_memory_peak"), 400 * MIB);
    assert_eq!(method(&usage, "gpu_memory_peak"), SECOND);
    assert!((ratio(&usage) - 0.1875).abs() < 1e-9);
    let devices = task.gpu_reports(Nanos::from_secs(4));
    assert_eq!(
        devices.len(),
        1,
        "a device that it did not use is not listed"
    );
    assert_eq!(devices[0].id, "A");
    assert_eq!(whole(&devices[0].usage, "gpu_time"), 750_000_000);
}

#[test]
fn where_processes_tell_no_work_a_device_of_its_own_does() {
    let mut task = task();
    task.gpu_reading(&reading(1000, vec![device("A", vec![on(7, 10, None)])]));
    assert_eq!(whole(&usage(&task), "gpu_time"), 500_000_000);
    let mut task = self::task();
    let shared = device("A", vec![on(7, 10, None), on(8, 10, None)]);
    task.gpu_reading(&reading(1000, vec![shared]));
    let usage = usage(&task);
    assert_eq!(absent(&usage, "gpu_time"), Some(Absent::NoKernelSupport));
    assert_eq!(whole(&usage, "gpu_memory_peak"), 10 * MIB);
}

#[test]
fn accounts_of_every_process_replace_samples() {
    let mut task = task();
    task.gpu_reading(&reading(
        1000,
        vec![device("A", vec![on(7, 10, Some(1.0))])],
    ));
    let pids = task.gpu_pids();
    assert_eq!((pids.seen, pids.others), (vec![7], vec![1]));
    task.gpu_accounts(vec![account("A", 7, 300, 0.4, 2000)]);
    let one = usage(&task);
    assert_eq!(whole(&one, "gpu_time"), 800_000_000);
    assert_eq!(whole(&one, "gpu_memory_peak"), 300 * MIB);
    assert_eq!(method(&one, "gpu_memory_peak"), Method::Exact);
    // Two processes may have held their peaks at the same time, or not.
    task.gpu_accounts(vec![account("A", 1, 200, 0.1, 1000)]);
    let two = usage(&task);
    assert_eq!(whole(&two, "gpu_time"), 900_000_000);
    let upper = Some(500 * MIB);
    assert_eq!(whole(&two, "gpu_memory_peak"), 300 * MIB);
    assert_eq!(
        method(&two, "gpu_memory_peak"),
        Method::LowerBound { upper }
    );
}

#[test]
fn an_account_of_one_of_two_processes_is_not_the_whole() {
    let mut task = task();
    let both = vec![on(1, 10, Some(0.5)), on(7, 20, Some(0.5))];
    task.gpu_reading(&reading(1000, vec![device("A", both)]));
    task.gpu_accounts(vec![account("A", 7, 300, 0.4, 2000)]);
    let usage = usage(&task);
    assert_eq!(whole(&usage, "gpu_time"), 1_000_000_000);
    assert_eq!(whole(&usage, "gpu_memory_peak"), 300 * MIB);
    assert_eq!(
        method(&usage, "gpu_memory_peak"),
        Method::Sampled {
            period_ns: Nanos::from_secs(1)
        }
    );
}

#[test]
fn an_unused_device_is_a_zero_and_no_reading_is_none() {
    let mut task = task();
    task.gpu_absent(Absent::NoDevice);
    assert_eq!(absent(&usage(&task), "gpu_time"), Some(Absent::NoDevice));
    let mut task = self::task();
    assert_eq!(absent(&usage(&task), "gpu_time"), Some(Absent::Gone));
    task.gpu_reading(&reading(
        1000,
        vec![device("A", vec![on(8, 10, Some(1.0))])],
    ));
    let idle = usage(&task);
    assert_eq!(
        (whole(&idle, "gpu_time"), whole(&idle, "gpu_memory_peak")),
        (0, 0)
    );
    assert!(matches!(method(&idle, "gpu_time"), Method::Sampled { .. }));
    assert_eq!(task.gpu_reports(Nanos::from_secs(4)), []);
}

#[test]
fn pids_of_another_namespace_make_everybodys_use_an_upper_bound() {
    let mut task = task();
    let mut foreign = reading(1000, vec![device("A", vec![on(4711, 10, Some(0.1))])]);
    foreign.foreign_pids = true;
    task.gpu_reading(&foreign);
    let usage = usage(&task);
    assert_eq!(whole(&usage, "gpu_memory_peak"), 900 * MIB);
    assert_eq!(whole(&usage, "gpu_time"), 500_000_000);
    for name in ["gpu_time", "gpu_memory_peak", "gpu_utilisation"] {
        assert_eq!(method(&usage, name), Method::UpperBound, "{name}");
    }
    assert_eq!(task.gpu_pids(), GpuPids::default());
}

#[test]
fn devices_add_up_and_share_the_time() {
    let mut task = task();
    let two = || {
        vec![
            device("A", vec![on(7, 10, Some(1.0))]),
            device("B", vec![on(7, 30, Some(0.5))]),
        ]
    };
    task.gpu_reading(&reading(2000, two()));
    task.gpu_reading(&reading(4000, two()));
    let usage = usage(&task);
    assert_eq!(whole(&usage, "gpu_time"), 6_000_000_000);
    assert_eq!(whole(&usage, "gpu_memory_peak"), 40 * MIB);
    assert!((ratio(&usage) - 0.75).abs() < 1e-9);
    task.gpu_accounts(vec![
        account("A", 7, 50, 1.0, 4000),
        account("B", 7, 30, 0.5, 4000),
    ]);
    let usage = task.usage(&end(4000, None));
    let upper = Some(80 * MIB);
    assert_eq!(whole(&usage, "gpu_memory_peak"), 50 * MIB);
    assert_eq!(
        method(&usage, "gpu_memory_peak"),
        Method::LowerBound { upper }
    );
}
