//! Disk space and number of files under folders, measured by a walk in a thread of its own.
//!
//! A walk never holds its caller up: one that hangs on a dead server is left behind, and its thread
//! ends with the process.

mod pace;
mod place;
mod walk;

pub use pace::Footprint;
pub use place::{Leave, leave_alone};
pub use walk::{Measured, Partial, Plan, Space, Walk, Walked};

use record::metric::{Kind, Metric, Scope};
use record::unit::Unit;

/// What a walk tells.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "footprint_peak",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        scope: Scope::Task,
        origin: "statx st_blocks under the measured folders",
        since: "any",
        method: "sampled; a walk starts 20 times as long after the last one as that took (100 \
                 times where nobody asked for it), or later",
        doc: "disk space under the measured folders: blocks, hard links once, one file system \
              unless --follow-mounts",
    },
    Metric {
        name: "files_peak",
        kind: Kind::Gauge,
        unit: Unit::Count,
        scope: Scope::Task,
        origin: "getdents under the measured folders",
        since: "any",
        method: "sampled; a walk starts 20 times as long after the last one as that took (100 \
                 times where nobody asked for it), or later",
        doc: "files under the measured folders: everything but folders, hard links once",
    },
];
