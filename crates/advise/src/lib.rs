//! History to the next request and its retry ladder, with the evidence.
//!
//! A [`Category`] learns the attempts of one kind of task, in the order in which they ended, and
//! gives [`Advice`] on memory, disk, cores and time. A [`History`] does so for one resource, fast
//! enough to be asked before and told after every task.
//!
//! Everything here is a function of its input: no clock, no file.

mod advice;
mod category;
mod history;
mod line;
mod outside;
mod past;
mod plan;
mod rule;
mod rungs;
mod settings;
mod smooth;
mod spread;
mod warning;

pub use advice::{Advice, Basis, Evidence, Question, Waste};
pub use category::{Attempt, Category, Ended, GRAIN_BYTES, Peak, Terms};
pub use history::History;
pub use line::NoLine;
pub use outside::{Among, JUDGED_MIN, among};
pub use past::{RUNS_MAX, Run};
pub use rule::{Rule, Why};
pub use settings::{Error, Price, Settings, Share};
pub use spread::Spread;
pub use warning::{Warning, amount};
