//! `plimsoll serve`: what the archive has to do with it.

pub(crate) mod submissions;
