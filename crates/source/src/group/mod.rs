//! Control groups as records: what a group uses, and what the groups above us allow.

mod container;
mod content;
mod limits;
mod oom;
mod reader;
mod throttle;

pub use container::{ContainerGroup, FirstProcess, containers, words};
pub use content::METRICS;
pub use limits::{NearestLimits, nearest_limits};
pub use oom::{Killed, OomKills};
pub use reader::GroupReader;
pub use throttle::{Throttled, Throttles};

use record::value::Absent;

/// The reason for reports why a group could not be had.
pub fn absent(error: &sys::cgroup::Error) -> Absent {
    use sys::cgroup::Error;
    match error {
        Error::NoPermission { .. } => Absent::NoPermission,
        Error::Gone { .. } => Absent::Gone,
        Error::NotMounted(_) | Error::NoKernelSupport { .. } | Error::Io { .. } => {
            Absent::NoKernelSupport
        }
    }
}
