//! Kernel state to records.

pub mod footprint;
pub mod group;
