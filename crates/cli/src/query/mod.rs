//! `plimsoll query`: asking, and saying how far it is.

pub(crate) mod answer;
mod live_devices;
pub(crate) mod live_job;
mod piped;
pub(crate) mod progress;
