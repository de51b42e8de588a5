//! `plimsoll query`: asking, and saying how far it is.

pub(crate) mod answer;
mod progress;
