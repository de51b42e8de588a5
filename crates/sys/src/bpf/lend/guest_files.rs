//! The agent's side of a run's files.

use super::super::files::{FileOptions, Files, RawRow};
use super::super::run::Run;
use super::guest::{Answer, Refusal, words};
use super::wire::{
    self, FILES, KEPT, Message, PENDING, REFRESH, REST, ROWS, SOCKETS, TAKE, UNKNOWN,
};
use crate::error::Error;
use crate::memfd;
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Rows of one run in the kernel's table, at most.
const ROWS_MAX: u64 = 1 << 16;
/// Sockets of one run that are told of, at most.
const SOCKETS_MAX: usize = 1 << 16;

const S_IFMT: u32 = 0o170_000;
const S_IFSOCK: u32 = 0o140_000;

/// The files of one run, and which sockets were among them: of others it is told nothing.
#[derive(Debug)]
pub(super) struct GuestFiles {
    files: Files,
    sockets: HashSet<u64>,
}

impl GuestFiles {
    /// Answers `message`, which concerns the files of `run`; begins them if it says so, those of
    /// programs of the user `uid`.
    pub(super) fn answer(
        files: &mut Option<Self>,
        run: &Run,
        uid: u32,
        message: &Message,
    ) -> Result<Answer, Refusal> {
        let verb = message.word(0);
        if verb == FILES && files.is_none() {
            let (begun, answer) = Self::begin(run, uid, message)?;
            *files = Some(begun);
            return Ok(answer);
        }
        let own = files.as_mut().ok_or(Refusal(UNKNOWN))?;
        match verb {
            REFRESH => {
                own.files.refresh();
                Ok(words(Vec::new()))
            }
            ROWS => Ok(words(vec![own.files.rows()])),
            TAKE => own.take(message.word(1) != 0),
            PENDING => own.pending(),
            KEPT => Ok(lent(Vec::new(), &own.kept()?)?),
            SOCKETS => Ok(lent(Vec::new(), &own.known_sockets()?)?),
            REST => Ok(words(own.files.rest_words().to_vec())),
            _ => Err(Refusal(UNKNOWN)),
        }
    }

    fn begin(run: &Run, uid: u32, message: &Message) -> Result<(Self, Answer), Refusal> {
        let files = run.follow_files(FileOptions {
            rows_max: message.word(1).min(ROWS_MAX),
            times: message.word(2) != 0,
            from_exec: true,
            owner: (uid != 0).then_some(uid),
        })?;
        let ticks = files.reading().ticks;
        let ring = files.fd().try_clone_to_owned()?;
        let answer = Answer {
            words: vec![
                files.ring_bytes() as u64,
                ticks.jiffies,
                ticks.boot_ns,
                u64::from(files.tells_pages()),
            ],
            file: Some(ring),
        };
        let sockets = HashSet::new();
        Ok((Self { files, sockets }, answer))
    }

    fn take(&mut self, alive: bool) -> Result<Answer, Refusal> {
        self.files.look_at_network();
        let (mut bytes, sockets) = (Vec::new(), &mut self.sockets);
        self.files
            .take_raw(alive, &mut |row| put_row(&mut bytes, &row, sockets))?;
        Ok(lent(self.reading(), &bytes)?)
    }

    fn pending(&mut self) -> Result<Answer, Refusal> {
        let (mut bytes, sockets) = (Vec::new(), &mut self.sockets);
        self.files
            .pending_raw(&mut |row| put_row(&mut bytes, &row, sockets))?;
        Ok(lent(self.reading(), &bytes)?)
    }

    fn reading(&self) -> Vec<u64> {
        let reading = self.files.reading();
        let ticks = reading.ticks;
        vec![
            ticks.jiffies,
            ticks.boot_ns,
            u64::from(reading.knows_network),
        ]
    }

    fn kept(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.files
            .take_kept(&mut |event| wire::put(&mut bytes, event))?;
        Ok(bytes)
    }

    fn known_sockets(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.files.sockets_raw(&mut |info| {
            let inode = info.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
            if inode.is_some_and(|inode| self.sockets.contains(&inode)) {
                wire::put(&mut bytes, info);
            }
        })?;
        Ok(bytes)
    }
}

fn put_row(bytes: &mut Vec<u8>, row: &RawRow<'_>, sockets: &mut HashSet<u64>) {
    if row.mode() & S_IFMT == S_IFSOCK && sockets.len() < SOCKETS_MAX {
        sockets.insert(row.file.inode);
    }
    let mut record = Vec::new();
    row.encode(&mut record);
    wire::put(bytes, &record);
}

/// An answer with a file that holds `bytes`.
pub(super) fn lent(words: Vec<u64>, bytes: &[u8]) -> Result<Answer, Error> {
    let file = memfd::create(c"plimsoll-rows", bytes.len() as u64)?;
    file.write_all_at(bytes, 0).map_err(|source| Error::Call {
        call: "write to a file in memory",
        source,
    })?;
    Ok(Answer {
        words,
        file: Some(OwnedFd::from(file)),
    })
}
