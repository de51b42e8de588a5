//! Records to files: the formats of a report and how its files are written.
//!
//! Nothing here reads the kernel's monitoring files or a clock; when to write is the caller's
//! business.

mod beside;
mod error;
pub mod export;
pub mod file;
pub mod place;
pub mod target;

pub use error::{Error, Left};
