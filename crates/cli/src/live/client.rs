//! Who reads live records from an agent: asks, and gets readings, row by row.
//!
//! It believes nothing of what comes: whatever is no reading ends it with an error.

use super::wire::{
    self, MARK_TABLE, MESSAGE_BYTES_MAX, Mark, NOT_SERVED, OTHER_VERSION, SERVED, SHOWN_TABLE,
    TOO_MANY, UNKNOWN, Wish,
};
use anyhow::{Context, Result, anyhow, bail};
use record::codec::frame::{self, Front, Header};
use rustix::net::RecvFlags;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;
use store::segment::{MAGIC, Origin, Rows, Take, Unread};
use sys::local;
use sys::process;

/// So long it may take until a request is taken.
const PATIENCE: Duration = Duration::from_secs(10);
const WORD_BYTES: usize = 8;
/// The table of the first frame.
const ORIGIN: u8 = 0;

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A reading is whole: its rows were given. The header says when it was.
    Reading(Mark, Header),
    /// Nothing more now.
    Nothing,
    /// The agent has ended, or has ended this connection.
    End,
}

/// Takes the rows of readings.
pub(crate) trait See: Take {
    /// Of the processes behind this all is told, or what everybody may know.
    fn show(&mut self, is_part: bool);
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    socket: OwnedFd,
    buffer: Vec<u8>,
    /// What of the buffer was read.
    used: usize,
    is_begun: bool,
    origin: Option<Origin>,
    rows: Rows,
}

impl Client {
    /// To the agent that listens at `path`; `is_named`: the user said so, so it may be anybody's.
    ///
    /// # Errors
    /// None listens there, or one that is neither root's nor this user's.
    pub(crate) fn connect(path: &Path, is_named: bool) -> Result<Self> {
        let at = path.display();
        let socket = local::connect(path, PATIENCE).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => anyhow!(
                "no agent answers at {at}: `plimsoll agent --socket {at}` makes one answer there"
            ),
            _ => anyhow!(error).context(format!("the agent at {at}")),
        })?;
        let agent = local::peer(socket.as_fd())?;
        if !is_named && agent.uid != 0 && agent.uid != process::effective_uid() {
            bail!(
                "who listens at {at} is neither root nor this user: --socket {at} believes it \
                 anyway"
            );
        }
        Ok(Self::of(socket))
    }

    /// Of an agent that was connected to.
    pub(crate) fn of(socket: OwnedFd) -> Self {
        Self {
            socket,
            buffer: Vec::new(),
            used: 0,
            is_begun: false,
            origin: None,
            rows: Rows::default(),
        }
    }

    /// Asks for this from now on. What comes next is a full picture of it, behind readings that
    /// were on their way.
    ///
    /// # Errors
    /// The agent has ended, or does not take it.
    pub(crate) fn ask(&self, wish: &Wish) -> Result<()> {
        let message = wish.message();
        if message.len() > wire::REQUEST_BYTES_MAX {
            bail!("too many are asked for by name");
        }
        let sent = local::send(self.socket.as_fd(), &message, None);
        sent.context("the agent has ended, or does not answer")
    }

    /// Who tells, once that is known.
    pub(crate) const fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Gives the rows of what has come, up to the end of the next reading; never waits.
    ///
    /// # Errors
    /// The agent refuses, or what it tells cannot be read.
    pub(crate) fn next(&mut self, take: &mut dyn See) -> Result<Next> {
        loop {
            if let Some((mark, header)) = self.read(take)? {
                return Ok(Next::Reading(mark, header));
            }
            self.buffer.drain(..std::mem::take(&mut self.used));
            let start = self.buffer.len();
            self.buffer.resize(start + MESSAGE_BYTES_MAX, 0);
            let place = self.buffer.get_mut(start..).unwrap_or_default();
            let got = rustix::net::recv(&self.socket, place, RecvFlags::DONTWAIT);
            let count = got.as_ref().map_or(0, |(count, _)| *count);
            self.buffer.truncate(start + count);
            match got {
                Ok((0, _)) => return Ok(Next::End),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(Next::Nothing),
                // It ended with requests of ours unread; what it sent before comes next.
                Err(rustix::io::Errno::CONNRESET) => {}
                Err(error) => return Err(error).context("the agent"),
            }
        }
    }

    /// Reads frames of the buffer up to the first mark.
    fn read(&mut self, take: &mut dyn See) -> Result<Option<(Mark, Header)>> {
        if !self.is_begun {
            if self.buffer.len() < WORD_BYTES {
                return Ok(None);
            }
            begin(&self.buffer)?;
            (self.is_begun, self.used) = (true, MAGIC.len());
        }
        loop {
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            let (header, payload, bytes) = match frame::front(rest) {
                Front::Frame {
                    header,
                    payload,
                    bytes,
                } => (header, payload, bytes),
                Front::Cut(_) => return Ok(None),
                Front::Bad(why) => return Err(why).context("what the agent tells"),
            };
            self.used += bytes;
            match header.table {
                MARK_TABLE => return Ok(Some((Mark::of_row(payload)?, header))),
                SHOWN_TABLE => take.show(payload == [1]),
                ORIGIN => self.origin = Some(known(serde_json::from_slice(payload)?)?),
                _ => {
                    match self.rows.read(&header, payload, take) {
                        // A table of a later version.
                        Ok(()) | Err(Unread::Unknown) => {}
                        Err(why) => bail!("what the agent tells cannot be read: {why:?}"),
                    }
                }
            }
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Looks at the first word: a segment begins, or a status says why not.
fn begin(bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(&MAGIC) {
        return Ok(());
    }
    let word = bytes.first_chunk().copied().map(u64::from_ne_bytes);
    Err(anyhow!(match word {
        Some(OTHER_VERSION) => "the agent is of another version of plimsoll",
        Some(TOO_MANY) => "the agent has as many readers as it takes, of all users or of this one",
        Some(UNKNOWN) =>
            "the agent does not know what is asked: it is of another version of plimsoll",
        Some(NOT_SERVED) => "the agent has nobody any more who tells live records",
        _ => "who answers there is no agent of plimsoll's",
    }))
}

/// The origin, if its tables are ours, or the older ones that ours begin with.
fn known(origin: Origin) -> Result<Origin> {
    let ours = Origin::of_writer("", "", 0, env!("CARGO_PKG_VERSION"));
    for table in SERVED {
        let of = |origin: &'_ Origin| origin.tables.iter().find(|one| one.id == table.id).cloned();
        let (Some(theirs), Some(ours)) = (of(&origin), of(&ours)) else {
            continue;
        };
        let is_known = theirs.form == ours.form
            && theirs.key_columns == ours.key_columns
            && ours.columns.starts_with(&theirs.columns);
        if !is_known {
            bail!(
                "the agent is of plimsoll {}, whose table {} this one ({}) does not know",
                origin.version,
                table.name,
                env!("CARGO_PKG_VERSION")
            );
        }
    }
    Ok(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_segment_says_why() {
        assert!(begin(&MAGIC).is_ok());
        let of = |word: u64| begin(&word.to_ne_bytes()).unwrap_err().to_string();
        assert!(of(OTHER_VERSION).contains("another version"));
        assert!(of(TOO_MANY).contains("as many readers"));
        assert!(of(77).contains("no agent"));
    }

    #[test]
    fn tables_that_begin_as_ours_are_known() {
        let of = |version| Origin::of_writer("h", "b", 1, version);
        assert!(known(of("9")).is_ok());
        let mut older = of("0");
        let sample = older.tables.iter_mut().find(|one| one.name == "sample");
        sample.unwrap().columns.pop();
        assert!(known(older).is_ok());
        let mut newer = of("9.9");
        let exit = newer.tables.iter_mut().find(|one| one.name == "exit");
        let columns = &mut exit.unwrap().columns;
        let more = columns[0].clone();
        columns.push(more);
        let why = known(newer).unwrap_err().to_string();
        assert!(why.contains("9.9") && why.contains("exit"), "{why}");
    }
}
