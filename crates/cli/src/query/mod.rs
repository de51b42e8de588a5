//! `plimsoll query`: asking, and saying how far it is.

pub(crate) mod answer;
pub(crate) mod live_job;
mod piped;
mod progress;
