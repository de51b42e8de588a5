//! What people see. A view computes no metric: it shows the values of a report and their shares.

#[cfg(feature = "archive")]
pub(crate) mod advise;
pub mod amount;
pub mod bottom_row;
mod calls;
mod containers;
pub mod context;
pub mod doctor;
mod files;
pub mod gpu;
pub mod headline;
#[cfg(feature = "query")]
pub(crate) mod job;
pub mod limits;
mod named;
mod network;
#[cfg(feature = "query")]
pub(crate) mod plot;
pub mod report;
pub mod rows;
#[cfg(test)]
mod sample;
mod shorten;
mod space;
pub mod status;
pub mod stderr;
pub mod stdout;
pub mod style;
#[cfg(feature = "archive")]
pub(crate) mod table;
pub(crate) mod watch;
pub mod why;
