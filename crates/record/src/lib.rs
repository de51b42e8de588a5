//! The shared vocabulary of Plimsoll: units, metrics, identities, events, samples, limits, reports.
//!
//! This crate has no I/O and no clock: every value in it was read by someone else, who says when
//! and how.

pub mod attempt;
pub mod call;
pub mod codec;
pub mod context;
pub mod endpoints;
pub mod event;
pub mod file;
pub mod gpu;
pub mod identity;
pub mod job;
pub mod limit;
pub mod metric;
pub mod name;
pub mod named;
pub mod quantity;
pub mod report;
pub mod room;
pub mod sample;
pub mod socket;
pub mod table;
pub mod timestamp;
pub mod unit;
pub mod value;
