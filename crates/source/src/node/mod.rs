//! The machine as a whole: one file a source, each with its table of metrics; `ambient` reads all
//! of them as rows of the dataset's table `node`.

pub mod ambient;
pub mod dev_kmsg;
pub mod fields;
pub mod kept;
pub mod lustre_job_stats;
pub mod lustre_llite;
pub mod proc_diskstats;
pub mod proc_interrupts;
pub mod proc_loadavg;
pub mod proc_meminfo;
pub mod proc_net_dev;
pub mod proc_net_netstat;
pub mod proc_net_snmp;
pub mod proc_net_snmp6;
pub mod proc_net_sockstat;
pub mod proc_pressure;
pub mod proc_self_mountstats;
pub mod proc_stat;
pub mod proc_vmstat;
pub mod rows;
pub mod source;
pub mod statfs;
pub mod sys_drm;
pub mod sys_edac;
pub mod sys_hwmon;
pub mod sys_infiniband;
pub mod sys_node;
pub mod sys_powercap;
pub mod sys_thermal_throttle;

mod numbers;

pub use ambient::Ambient;
pub use rows::Rows;
pub use source::Source;

/// Everything that tells of the machine, in the order of METRICS.md.
pub const SOURCES: &[Source] = &[
    proc_stat::SOURCE,
    proc_interrupts::SOURCE,
    proc_loadavg::SOURCE,
    proc_meminfo::SOURCE,
    proc_vmstat::SOURCE,
    proc_pressure::SOURCE,
    sys_node::SOURCE,
    proc_diskstats::SOURCE,
    proc_net_dev::SOURCE,
    proc_net_snmp::SOURCE,
    proc_net_netstat::SOURCE,
    proc_net_snmp6::SOURCE,
    proc_net_sockstat::SOURCE,
    statfs::SOURCE,
    proc_self_mountstats::SOURCE,
    lustre_llite::SOURCE,
    lustre_job_stats::SOURCE,
    sys_infiniband::SOURCE,
    sys_edac::SOURCE,
    sys_thermal_throttle::SOURCE,
    sys_hwmon::SOURCE,
    sys_powercap::SOURCE,
    sys_drm::SOURCE,
    dev_kmsg::SOURCE,
];
