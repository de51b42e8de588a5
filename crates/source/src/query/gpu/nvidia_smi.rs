//! The text of `nvidia-smi --query-...=FIELDS --format=csv,noheader,nounits`: for builds and
//! machines that cannot load the library of the driver. Memory is in MiB, shares in percent, times
//! in ms; what is not known is `[N/A]`.

use record::gpu::{GpuAccount, GpuProcess, GpuSample};
use record::unit::{Bytes, Nanos};

/// The program.
pub const PROGRAM: &str = "nvidia-smi";
/// Arguments that ask for the devices.
pub const DEVICES: [&str; 2] = [
    "--query-gpu=uuid,name,utilization.gpu,memory.used,memory.total,accounting.mode",
    "--format=csv,noheader,nounits",
];
/// Arguments that ask for the processes.
pub const PROCESSES: [&str; 2] = [
    "--query-compute-apps=gpu_uuid,pid,used_gpu_memory",
    "--format=csv,noheader,nounits",
];
/// Arguments that ask for the accounts.
pub const ACCOUNTS: [&str; 2] = [
    "--query-accounted-apps=gpu_uuid,pid,gpu_utilization,max_memory_usage,time",
    "--format=csv,noheader,nounits",
];

/// The devices, from the answer to [`DEVICES`].
pub fn parse_devices(text: &str) -> Vec<GpuSample> {
    let line = |line: &str| {
        let [id, name, busy, used, total, accounting] = columns(line)?;
        Some(GpuSample {
            id: device(id)?,
            name: known(name).map(str::to_owned),
            busy: percent(busy),
            memory_used: mib(used),
            memory_total: mib(total),
            accounting: known(accounting).map(|mode| mode == "Enabled"),
            processes: Vec::new(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// Adds the processes, from the answer to [`PROCESSES`], to their devices.
pub fn parse_processes(text: &str, devices: &mut [GpuSample]) {
    for line in text.lines() {
        let Some([id, pid, used]) = columns(line) else {
            continue;
        };
        let (Some(device), Ok(pid)) = (devices.iter_mut().find(|d| d.id == id), pid.parse()) else {
            continue;
        };
        device.processes.push(GpuProcess {
            pid,
            memory: mib(used),
            busy: None,
        });
    }
}

/// The accounts, from the answer to [`ACCOUNTS`].
pub fn parse_accounts(text: &str) -> Vec<GpuAccount> {
    let line = |line: &str| {
        let [id, pid, busy, peak, time] = columns(line)?;
        let millis = known(time).and_then(|time| time.parse().ok());
        Some(GpuAccount {
            device: device(id)?,
            pid: pid.parse().ok()?,
            memory_peak: mib(peak),
            busy: percent(busy),
            open_for: millis.filter(|ms| *ms > 0).map(Nanos::from_millis),
        })
    };
    text.lines().filter_map(line).collect()
}

/// What the parsers make of the three answers, separated by lines of `--`.
pub(crate) fn digest(recorded: &[u8]) -> String {
    let text = String::from_utf8_lossy(recorded);
    let mut answers = text.split("--\n");
    let mut devices = parse_devices(answers.next().unwrap_or_default());
    parse_processes(answers.next().unwrap_or_default(), &mut devices);
    let accounts = parse_accounts(answers.next().unwrap_or_default());
    format!("{devices:#?}\n{accounts:#?}")
}

fn columns<const N: usize>(line: &str) -> Option<[&str; N]> {
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    columns.try_into().ok()
}

fn device(id: &str) -> Option<String> {
    id.starts_with("GPU-").then(|| id.to_owned())
}

fn known(column: &str) -> Option<&str> {
    (!column.is_empty() && !column.starts_with('[') && column != "N/A").then_some(column)
}

fn percent(column: &str) -> Option<f64> {
    let percent = known(column)?.parse::<u64>().ok()?;
    (percent <= 100).then(|| percent as f64 / 100.0)
}

fn mib(column: &str) -> Option<Bytes> {
    let mib = known(column)?.parse::<u64>().ok()?;
    mib.checked_mul(1 << 20).map(Bytes)
}
