//! What the agent of this machine reads.

use super::{Feed, Got};
use crate::live::client::{Client, Next};
use crate::live::people::People;
use crate::live::wire::Wish;
use anyhow::Result;
use record::unit::Nanos;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// A connection to it.
pub(crate) struct AgentFeed {
    client: Client,
    socket: PathBuf,
}

impl AgentFeed {
    /// Asks the agent at `socket`; `is_named`: the user said so, so it may be anybody's.
    ///
    /// # Errors
    /// None answers there, or it refuses.
    pub(crate) fn open(socket: &Path, is_named: bool, wish: &Wish) -> Result<Self> {
        let client = Client::connect(socket, is_named)?;
        client.ask(wish)?;
        Ok(Self {
            client,
            socket: socket.to_owned(),
        })
    }
}

impl Feed for AgentFeed {
    fn host(&self) -> &str {
        self.client
            .origin()
            .map_or("", |origin| origin.host.as_str())
    }

    fn name(&self) -> String {
        "by the agent".to_owned()
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.client.as_fd())
    }

    fn due(&self) -> Option<Nanos> {
        None
    }

    fn next(&mut self, people: &mut People) -> Result<Got> {
        Ok(match self.client.next(people)? {
            Next::Nothing => Got::Nothing,
            Next::Reading(mark, header) => {
                people.end(mark, &header);
                Got::Reading(header.at_ns)
            }
            Next::End => Got::End(format!(
                "the agent at {} has ended, or has ended this connection",
                self.socket.display()
            )),
        })
    }
}
