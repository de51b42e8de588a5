//! Which job a process is: one file a scheduler, each a pure function of the environment and the
//! control groups.

pub mod chain;
pub mod container;
pub mod daemon;
pub mod gridengine;
pub mod group_path;
pub mod htcondor;
pub mod job;
pub mod job_group;
pub mod kin;
pub mod kubernetes;
pub mod login;
pub mod lsf;
pub mod pbs;
pub mod read;
pub mod remote;
pub mod sacct;
pub mod slurm;
pub mod surroundings;
pub mod systemd;
pub mod unfamiliar;

pub use surroundings::{Context, Scheduler, Surroundings, Tier, identify};

/// Every scheduler that is recognised. The first that names a job gives job and request; the later
/// ones add only what is still unknown, such as the container.
pub const SCHEDULERS: &[Scheduler] = &[
    slurm::SCHEDULER,
    pbs::SCHEDULER,
    lsf::SCHEDULER,
    htcondor::SCHEDULER,
    gridengine::SCHEDULER,
    kubernetes::SCHEDULER,
    container::SCHEDULER,
    systemd::SCHEDULER,
    login::SCHEDULER,
];
