//! Records to files: the formats of a report and how its files are written, the dataset of an
//! agent, and attempts of tasks from other tools' files.
//!
//! Nothing here reads the kernel's monitoring files or a clock; when to write is the caller's
//! business.

pub mod archive;
pub mod attempt;
mod beside;
pub mod category;
#[cfg(feature = "dataset")]
pub mod compact;
pub mod disk;
mod error;
pub mod export;
pub mod file;
pub mod identity;
#[cfg(feature = "import")]
pub mod import;
pub mod openmetrics;
pub mod place;
pub mod segment;
pub mod target;
pub mod text;
pub mod whole_file;

pub use error::{Error, Left};
