//! `plimsoll archive`: where it is, and what is done with all of its attempts.

pub(crate) mod overview;
pub(crate) mod place;
pub(crate) mod private;
pub(crate) mod rows;
pub(crate) mod work;
