//! Processes that are there to be read.

use super::place::Place;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Processes of one parent; they end when it is dropped.
#[derive(Debug)]
pub(super) struct Crowd {
    parent: Child,
    count: u64,
    busy_percent: u64,
}

impl Crowd {
    /// Starts `count` processes, of which so many work a little twice a second.
    ///
    /// # Errors
    /// When there cannot be so many.
    pub(super) fn start(place: &Place, count: u64, busy_percent: u64) -> Result<Self> {
        let every = 100u64.checked_div(busy_percent).unwrap_or(0);
        let mut parent = Command::new(place.file("crowd"))
            .args([count.to_string(), every.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("crowd")?;
        let output = parent.stdout.take().context("a pipe")?;
        let crowd = Self {
            parent,
            count,
            busy_percent,
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        anyhow::ensure!(line == "ready\n", "there cannot be {count} processes here");
        Ok(crowd)
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// How many of a hundred work.
    pub(super) fn busy_percent(&self) -> u64 {
        self.busy_percent
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // It may have ended by itself: there is nobody to tell.
        let _ = self.parent.kill();
        let _ = self.parent.wait();
    }
}
