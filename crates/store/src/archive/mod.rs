//! The archive: what tasks used, kept for ever in a folder that anybody may add to
//! (docs/archive.md).
//!
//! [`folder`] adds single attempts and needs nothing else. [`Archive`] asks, imports and packs: of
//! many attempts it makes Parquet files, and finds its way by a catalogue that it can make again.

#[cfg(feature = "archive")]
mod batch;
#[cfg(feature = "archive")]
mod catalogue;
#[cfg(feature = "archive")]
mod cell;
#[cfg(feature = "archive")]
mod column;
#[cfg(feature = "archive")]
mod fields;
#[cfg(feature = "archive")]
mod filter;
pub mod folder;
#[cfg(feature = "archive")]
mod intake;
#[cfg(feature = "archive")]
mod kept;
#[cfg(feature = "archive")]
mod newest;
#[cfg(feature = "archive")]
mod pack;
mod regular;
mod sets;
mod shared;
#[cfg(feature = "archive")]
mod tasks;
mod texts;
#[cfg(feature = "archive")]
mod wfformat;
#[cfg(feature = "archive")]
mod whole;
#[cfg(feature = "archive")]
mod write;

#[cfg(feature = "archive")]
pub use batch::Batch;
#[cfg(feature = "archive")]
pub use catalogue::Damaged;
#[cfg(feature = "archive")]
pub use fields::{column_names, end_word, known_word, words};
#[cfg(feature = "archive")]
pub use filter::{Condition, Filter, Relation};
#[cfg(feature = "archive")]
pub use intake::{Intake, Taken};
pub use sets::Set;
#[cfg(feature = "archive")]
pub use tasks::{TASKS_MAX, Tasks};
pub use texts::Texts;
#[cfg(feature = "archive")]
pub use wfformat::{Instance, wfformat};
#[cfg(feature = "archive")]
pub use whole::{Archive, Each, Packed, Revision};
#[cfg(feature = "archive")]
pub use write::ParquetFile;
