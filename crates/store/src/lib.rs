//! Records to files: the formats of a report and how its files are written, and the dataset of an
//! agent.
//!
//! Nothing here reads the kernel's monitoring files or a clock; when to write is the caller's
//! business.

pub mod archive;
mod beside;
#[cfg(feature = "dataset")]
pub mod compact;
pub mod disk;
mod error;
pub mod export;
pub mod file;
pub mod openmetrics;
pub mod place;
pub mod segment;
pub mod target;
pub mod text;

pub use error::{Error, Left};
