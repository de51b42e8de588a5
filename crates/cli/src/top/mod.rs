//! `plimsoll top`: jobs and processes now, or as they were, on a screen or as text.

mod batch;
mod columns;
mod details;
mod disks;
mod draw;
mod feed;
mod head;
mod jobs;
mod json;
mod keys;
mod list;
mod look;
mod place;
mod screen;
mod state;
mod terminal;

pub(crate) use batch::Format;
pub(crate) use feed::Feed;
pub(crate) use feed::agent::AgentFeed;
pub(crate) use feed::here::HereFeed;
#[cfg(feature = "query")]
pub(crate) use feed::past::{Past, PastFeed};
pub(crate) use look::Look;

use crate::cmd::Status;
use anyhow::Result;

/// What was asked for.
pub(crate) struct Options {
    /// Where the readings come from.
    pub(crate) feed: Box<dyn Feed>,
    /// Which processes, and in which order.
    pub(crate) look: Look,
    /// As text, so many readings; else on the screen.
    pub(crate) batch: Option<Batch>,
}

/// Text instead of a screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    /// Readings that are printed; until it is ended if that is not said.
    pub(crate) count: Option<u64>,
    /// Rows of a reading; all of them if that is not said.
    pub(crate) rows: Option<usize>,
    pub(crate) format: Format,
}

/// Shows readings until it is over.
///
/// # Errors
/// None can be had, or nothing be shown.
pub(crate) fn run(options: Options) -> Result<Status> {
    let Options { feed, look, batch } = options;
    match batch {
        Some(batch) => batch::run(feed, &look, batch),
        None => screen::run(feed, look),
    }
}
