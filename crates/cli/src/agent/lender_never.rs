//! Nothing is lent: this build has no in-kernel programs.

use anyhow::{Result, bail};
use std::path::Path;

/// None.
#[derive(Debug, Default)]
pub(super) struct Lender;

impl Lender {
    /// None, unless one was asked for.
    ///
    /// # Errors
    /// One was asked for.
    pub(super) fn start(socket: Option<&Path>) -> Result<Self> {
        match socket {
            None => Ok(Self),
            Some(_) => bail!("--socket: this plimsoll was built without in-kernel programs"),
        }
    }

    /// Nothing has ended.
    pub(super) fn look(&mut self) {}
}
