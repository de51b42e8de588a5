//! Control groups: the group of one task, made below the group that we started in, and taken away
//! again.
//!
//! A group gives memory with each page charged once, a hard memory limit, and a kill that no
//! descendant escapes. Membership is inherited, so one process is added before its exec and the
//! rest follows. Both kernel interfaces are served: v1 (one hierarchy a controller), v2 (one for
//! all), and machines that mix them.

mod control;
mod dbus;
mod delegate;
mod end;
mod error;
mod group;
mod limit;
mod oom;
mod owner;
mod places;
#[cfg(test)]
mod root_tests;
mod scope;
mod sweep;

pub use control::ControlDir;
pub use error::Error;
pub use group::{Group, Part};
pub use oom::{OomCounts, OomWatch};
pub use places::{Controller, Place, Places};
pub use sweep::{Swept, sweep};
