//! Reading: one file per kernel file, each with a pure parser and its table of metrics.

pub mod proc_pid_io;
pub mod proc_pid_limits;
pub mod proc_pid_schedstat;
pub mod proc_pid_smaps_rollup;
pub mod proc_pid_stat;
pub mod proc_pid_statm;
pub mod proc_pid_status;
pub mod proc_self_auxv;

pub mod sampler;
pub mod source;

mod counters;
mod field;

pub use source::Source;

/// Every kernel file that is read, in the order of METRICS.md.
pub const SOURCES: &[Source] = &[
    proc_pid_stat::SOURCE,
    proc_pid_statm::SOURCE,
    proc_pid_status::SOURCE,
    proc_pid_io::SOURCE,
    proc_pid_schedstat::SOURCE,
    proc_pid_smaps_rollup::SOURCE,
    proc_pid_limits::SOURCE,
    proc_self_auxv::SOURCE,
];
