//! Every metric of a task, declared once: the report, `METRICS.md` and the help follow this
//! table.

use record::metric::{Kind, Metric, Scope};
use record::unit::Unit::{self, Bytes, Cores, Count, Nanoseconds, Ratio};

const CHAIN: &str = "getrusage(RUSAGE_CHILDREN) of the launcher; sched_process_exit; /proc/PID";
const IO: &str = "/proc/self/io of the launcher; task->ioac at sched_process_exit; /proc/PID/io";
const RSS: &str = "mm->rss_stat and hiwater_rss; ru_maxrss; /proc/PID/status VmRSS, VmHWM";
const TREE: &str = "task_newtask and sched_process_exit; proc connector; /proc";
const WALK: &str = "statx of every file under the measured directories";
const OPENS: &str = "open, openat, openat2, creat as they return (level io)";
const SOCKETS: &str =
    "read, write, send, recv and sendfile families on sockets as they return (level io)";
const NVML: &str = "NVML samples and accounts; nvidia-smi";
const TOTAL: &str = "exact, lower_bound";
const PEAK: &str = "exact, lower_bound with upper, sampled";

/// The metrics of a task, in the order of the report.
pub const METRICS: &[Metric] = &[
    counter(
        "wall_time",
        Nanoseconds,
        "CLOCK_BOOTTIME",
        "exact",
        "Elapsed time from the start of the command.",
    ),
    counter(
        "cpu_time",
        Nanoseconds,
        CHAIN,
        TOTAL,
        "CPU time of all processes, by the scheduler's clock.",
    ),
    counter(
        "cpu_user",
        Nanoseconds,
        CHAIN,
        TOTAL,
        "The part of the CPU time in user mode.",
    ),
    counter(
        "cpu_system",
        Nanoseconds,
        CHAIN,
        TOTAL,
        "The part of the CPU time in the kernel.",
    ),
    gauge(
        "cores_mean",
        Cores,
        "cpu_time / wall_time",
        TOTAL,
        "Cores kept busy, mean of the time that the task and its descendants took.",
    ),
    gauge(
        "cores_peak",
        Cores,
        "CPU time of a second",
        "sampled, lower_bound",
        "Cores kept busy in the best second; the mean if the task was shorter.",
    ),
    counter(
        "cpu_wait",
        Nanoseconds,
        "sched_info.run_delay; /proc/PID/schedstat",
        TOTAL,
        "Time ready to run but waiting for a CPU.",
    ),
    counter(
        "io_wait",
        Nanoseconds,
        "delay accounting; /proc/PID/stat field 42",
        TOTAL,
        "Time waiting for block I/O.",
    ),
    gauge(
        "rss_peak",
        Bytes,
        RSS,
        PEAK,
        "Highest sum of resident sets at one instant; shared pages count in each process.",
    ),
    gauge(
        "rss_peak_anon",
        Bytes,
        RSS,
        "sampled",
        "Anonymous part of the highest sampled sum of resident sets.",
    ),
    gauge(
        "rss_peak_file",
        Bytes,
        RSS,
        "sampled",
        "File part of the highest sampled sum of resident sets.",
    ),
    gauge(
        "rss_peak_shmem",
        Bytes,
        RSS,
        "sampled",
        "Shared memory part of the highest sampled sum of resident sets.",
    ),
    gauge(
        "rss_peak_process",
        Bytes,
        RSS,
        TOTAL,
        "Largest resident set of any one process (maxrss of GNU time).",
    ),
    gauge(
        "memory_peak",
        Bytes,
        "cgroup anon + shmem; smaps_rollup Pss; rss of each process; page faults; hiwater_rss",
        "exact, lower_bound with upper, sampled, upper_bound",
        "Memory that must be provided: each page once, reclaimable page cache and the pool of huge \
         pages (hugetlbfs) left out.",
    ),
    gauge(
        "cgroup_peak",
        Bytes,
        "memory.peak; memory.max_usage_in_bytes",
        "exact",
        "Highest charge of the task's own control group, page cache included.",
    ),
    gauge(
        "virtual_peak",
        Bytes,
        "mm->hiwater_vm; /proc/PID/status VmSize, VmPeak",
        PEAK,
        "Highest sum of address spaces at one instant.",
    ),
    gauge(
        "swap_peak",
        Bytes,
        "memory.swap.peak; memory.swap.current; /proc/PID/status VmSwap",
        "exact with a control group of v2 from Linux 6.5, else sampled",
        "Most swap in use: of the control group, else the sum of each process's.",
    ),
    counter(
        "processes_total",
        Count,
        TREE,
        TOTAL,
        "Every process that ever was, the first included; threads and execs add none.",
    ),
    gauge(
        "processes_peak",
        Count,
        TREE,
        "exact, sampled, lower_bound",
        "Processes alive at one instant, zombies out.",
    ),
    gauge(
        "threads_peak",
        Count,
        TREE,
        "exact, upper_bound, sampled",
        "Threads alive at one instant, main threads counted.",
    ),
    counter(
        "bytes_read",
        Bytes,
        IO,
        TOTAL,
        "Bytes through read-like calls (rchar); io_uring and mmap pass it by.",
    ),
    counter(
        "bytes_written",
        Bytes,
        IO,
        TOTAL,
        "Bytes through write-like calls (wchar); io_uring and mmap pass it by.",
    ),
    counter(
        "reads",
        Count,
        IO,
        TOTAL,
        "Read-like calls (syscr), those at end of file and failed ones included.",
    ),
    counter(
        "writes",
        Count,
        IO,
        TOTAL,
        "Write-like calls (syscw), failed ones included.",
    ),
    counter(
        "disk_read",
        Bytes,
        IO,
        TOTAL,
        "Bytes fetched from storage (read_bytes).",
    ),
    counter(
        "disk_written",
        Bytes,
        IO,
        TOTAL,
        "Bytes sent, or bound to be sent, to storage (write_bytes).",
    ),
    counter(
        "faults_minor",
        Count,
        CHAIN,
        TOTAL,
        "Page faults without disk I/O.",
    ),
    counter(
        "faults_major",
        Count,
        CHAIN,
        TOTAL,
        "Page faults with disk I/O.",
    ),
    counter(
        "switches_voluntary",
        Count,
        CHAIN,
        TOTAL,
        "Context switches by waiting.",
    ),
    counter(
        "switches_involuntary",
        Count,
        CHAIN,
        TOTAL,
        "Context switches by preemption.",
    ),
    gauge(
        "footprint_peak",
        Bytes,
        WALK,
        "sampled, lower_bound",
        "Highest disk space of the measured directories, hard links once.",
    ),
    gauge(
        "files_peak",
        Count,
        WALK,
        "sampled, lower_bound",
        "Most files in the measured directories.",
    ),
    counter(
        "files_opened",
        Count,
        OPENS,
        "exact, lower_bound with upper",
        "Regular files that were opened, each path once.",
    ),
    counter(
        "opens",
        Count,
        OPENS,
        "exact, lower_bound",
        "Successful calls that opened a file of any kind.",
    ),
    counter(
        "network_sent",
        Bytes,
        SOCKETS,
        "exact, lower_bound",
        "Payload that was sent through IPv4 and IPv6 sockets, within the machine too.",
    ),
    counter(
        "network_received",
        Bytes,
        SOCKETS,
        "exact, lower_bound",
        "Payload that was received through IPv4 and IPv6 sockets, within the machine too.",
    ),
    counter(
        "network_loopback_sent",
        Bytes,
        SOCKETS,
        "exact, lower_bound with upper",
        "Of `network_sent` what stayed on the machine.",
    ),
    counter(
        "network_loopback_received",
        Bytes,
        SOCKETS,
        "exact, lower_bound with upper",
        "Of `network_received` what stayed on the machine.",
    ),
    counter(
        "gpu_time",
        Nanoseconds,
        NVML,
        "exact, sampled",
        "Time that kernels of the task ran on GPUs.",
    ),
    gauge(
        "gpu_memory_peak",
        Bytes,
        NVML,
        "exact, sampled",
        "Highest GPU memory of the task.",
    ),
    gauge(
        "gpu_utilisation",
        Ratio,
        NVML,
        "sampled",
        "Share of the time that a kernel of the task ran on a GPU.",
    ),
];

/// The metric called `name`.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

const fn counter(
    name: &'static str,
    unit: Unit,
    origin: &'static str,
    method: &'static str,
    doc: &'static str,
) -> Metric {
    declare(name, Kind::Counter, unit, origin, method, doc)
}

const fn gauge(
    name: &'static str,
    unit: Unit,
    origin: &'static str,
    method: &'static str,
    doc: &'static str,
) -> Metric {
    declare(name, Kind::Gauge, unit, origin, method, doc)
}

const fn declare(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    origin: &'static str,
    method: &'static str,
    doc: &'static str,
) -> Metric {
    Metric {
        name,
        kind,
        unit,
        scope: Scope::Task,
        origin,
        since: "any",
        method,
        doc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_own_name_and_every_counter_a_metric() {
        let mut names: Vec<_> = METRICS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), 41);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 41);
        for field in &crate::counters::FIELDS {
            assert_eq!(metric(field.metric).map(|m| m.unit), Some(field.unit));
        }
    }
}
