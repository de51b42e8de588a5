//! Records to totals, peaks, bounds and verdicts.
//!
//! Everything here is a function of its input: no clock, no file, no socket, no environment. Time
//! arrives in the records. [`tree::Tree`] takes the events and samples of one task and says what
//! it used and how that is known; [`limit::Limits`] says which limits a state of it breaks.

mod at_path;
mod buried;
pub mod calls;
mod ceiling;
mod counters;
mod course;
mod cut;
pub mod era;
mod file_row;
pub mod files;
pub mod fold;
mod former;
mod gpu;
pub mod graph;
mod growth;
mod heir;
mod held;
mod image;
mod life;
pub mod limit;
pub mod live;
mod machine_shared;
pub mod metric;
pub mod moved;
mod moves;
mod names;
mod pages;
mod pass;
mod peak;
pub mod redact;
pub mod request;
mod resident;
pub mod series;
pub mod settings;
mod sharer;
pub mod sockets;
pub mod space;
mod span;
mod spent;
pub mod statistics;
pub mod summary;
mod told;
pub mod top;
mod total;
pub mod tree;
mod unwaited;
mod usage;
pub mod why;
mod window;

pub use metric::METRICS;
