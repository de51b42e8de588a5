//! Reading: one file per kernel file, each with a pure parser and its table of metrics.

pub mod proc_cpuinfo;
pub mod proc_loadavg;
pub mod proc_meminfo;
pub mod proc_pid_cgroup;
pub mod proc_pid_cmdline;
pub mod proc_pid_environ;
pub mod proc_pid_fd;
pub mod proc_pid_fdinfo;
pub mod proc_pid_io;
pub mod proc_pid_limits;
pub mod proc_pid_loginuid;
pub mod proc_pid_mountinfo;
pub mod proc_pid_net_tcp;
pub mod proc_pid_net_udp;
pub mod proc_pid_net_unix;
pub mod proc_pid_schedstat;
pub mod proc_pid_sessionid;
pub mod proc_pid_smaps_rollup;
pub mod proc_pid_stat;
pub mod proc_pid_statm;
pub mod proc_pid_status;
pub mod proc_pressure;
pub mod proc_self_auxv;
pub mod proc_stat;
pub mod proc_vmstat;
pub mod sys_cpu;
pub mod sys_kernel;

pub mod descriptors;
pub mod gpu;
pub mod host;
pub mod paging;
pub mod pids;
pub mod pss;
pub mod sampler;
pub mod sockets;
pub mod source;
#[cfg(feature = "bpf")]
pub mod walk;

mod counters;
pub(crate) mod field;
mod main_thread;

pub use source::Source;

/// Every kernel file that is read, in the order of METRICS.md.
pub const SOURCES: &[Source] = &[
    proc_pid_stat::SOURCE,
    proc_pid_statm::SOURCE,
    proc_pid_status::SOURCE,
    proc_pid_io::SOURCE,
    proc_pid_fd::SOURCE,
    proc_pid_fdinfo::SOURCE,
    proc_pid_net_tcp::SOURCE,
    proc_pid_net_udp::SOURCE,
    proc_pid_net_unix::SOURCE,
    proc_pid_schedstat::SOURCE,
    proc_pid_smaps_rollup::SOURCE,
    proc_pid_limits::SOURCE,
    proc_self_auxv::SOURCE,
    proc_pid_cmdline::SOURCE,
    proc_pid_cgroup::SOURCE,
    proc_pid_environ::SOURCE,
    proc_pid_loginuid::SOURCE,
    proc_pid_sessionid::SOURCE,
    proc_pid_mountinfo::SOURCE,
    proc_stat::SOURCE,
    proc_meminfo::SOURCE,
    proc_loadavg::SOURCE,
    proc_vmstat::SOURCE,
    proc_pressure::SOURCE,
    proc_cpuinfo::SOURCE,
    sys_kernel::SOURCE,
    sys_cpu::SOURCE,
    gpu::device::SOURCE,
];
