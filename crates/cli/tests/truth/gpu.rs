//! GPUs: a stand-in for the driver's library says what it holds, the report must say the same.

use crate::harness::mechanism::Mechanism;
use crate::harness::run::Run;
use crate::harness::workload::program;
use crate::harness::{skip, words};
use record::value::Method;

/// Starts `"$@"` where a driver seems to be; exits with 99 where such a place cannot be made.
const PLACE: &str = r#"
    exec unshare ${USERNS:+-U -r} -m sh -c '
        dev=$(mktemp -d) && mount -t tmpfs none "$dev" || exit 99
        for one in null zero full random urandom tty; do
            : >"$dev/$one"; mount --bind "/dev/$one" "$dev/$one" || exit 99
        done
        : >"$dev/nvidiactl"; mount --rbind "$dev" /dev || exit 99
        exec "$@"' sh "$@""#;

fn driver() -> Vec<std::ffi::OsString> {
    let folder = program("libnvidia-ml.so.1");
    let folder = folder.parent().unwrap().to_str().unwrap();
    let user = if crate::harness::process::is_root() {
        ""
    } else {
        "1"
    };
    let script = format!("export LD_LIBRARY_PATH={folder} USERNS={user}; {PLACE}");
    words!["/bin/sh", "-c", script, "sh"]
}

#[test]
fn what_a_process_used_of_a_device_is_in_the_report() {
    let probe = Run::bare(words!["/bin/sh", "-c", "test -e /dev/nvidiactl && exit 5"]);
    let probe = probe.wrapped(driver()).finish();
    if probe.status != 5 {
        skip!(
            "no place that looks as if a driver was there: {}",
            probe.stderr.trim()
        );
    }
    let run = Run::watched(Mechanism::Default, Vec::new());
    let file = run.path("pid");
    let script = format!("echo $$ >{}; sleep 2.2", file.display());
    let name = format!("GPU_PID_FILE={}", file.display());
    let mut place = words!["/usr/bin/env", name];
    place.extend(driver());
    let done = run
        .command(words!["/bin/sh", "-c", script])
        .wrapped(place)
        .finish();
    done.expect_status(0);
    let usage = &done.report().usage;
    let whole = |name: &str| usage.get(name).and_then(|field| field.whole());
    // 25 % of 8 s, 900 MiB: the account of an ended process, not the samples.
    assert_eq!(whole("gpu_time"), Some(2_000_000_000), "{}", done.context());
    assert_eq!(whole("gpu_memory_peak"), Some(900 << 20));
    let memory = usage.get("gpu_memory_peak").and_then(|field| field.value());
    assert_eq!(memory.unwrap().method, Method::Exact);
    let provided = &done.report().allocation["gpus"];
    let provided = (provided.value.as_f64(), provided.source.as_str());
    assert_eq!(provided, (2.0, "NVML"), "{}", done.context());
    let gpus = &done.report().gpus;
    assert_eq!(gpus.len(), 1, "{gpus:?}");
    assert_eq!(gpus[0].id, "GPU-0");
    assert_eq!(gpus[0].usage.get("gpu_time"), usage.get("gpu_time"));
}
