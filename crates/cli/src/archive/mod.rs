//! `plimsoll archive`: where it is, and what is done with all of its attempts.

#[cfg(feature = "archive")]
pub(crate) mod difference;
#[cfg(feature = "archive")]
pub(crate) mod graph;
#[cfg(feature = "archive")]
pub(crate) mod history;
#[cfg(feature = "archive")]
pub(crate) mod one;
#[cfg(feature = "archive")]
pub(crate) mod overview;
#[cfg(feature = "serve")]
pub(crate) mod page;
#[cfg(feature = "archive")]
pub(crate) mod place;
#[cfg(feature = "archive")]
pub(crate) mod private;
#[cfg(feature = "archive")]
pub(crate) mod request;
#[cfg(feature = "archive")]
pub(crate) mod rows;
#[cfg(feature = "archive")]
pub(crate) mod statistics;
pub(crate) mod usual;
#[cfg(feature = "archive")]
pub(crate) mod work;
