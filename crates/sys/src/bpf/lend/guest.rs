//! The agent's side: one run, for who connected.

use super::super::programs::TaskPrograms;
use super::super::run::{Run, RunTotals};
use super::calls::GuestCalls;
use super::guest_files::GuestFiles;
use super::wire::{
    self, ADD, BEGIN, CALL_ROWS, CALLS, DONE, LAYOUT, Message, NOT_STILL, NOT_YOURS, OTHER_LAYOUT,
    OTHER_NAMESPACE, REFUSED, SLEEP, TOO_MANY, TOTALS, UNKNOWN,
};
use crate::error::Error;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Requests that are answered at a time; others come first then.
const AT_ONCE_MAX: usize = 4;

/// Who borrows.
#[derive(Debug)]
pub struct Guest {
    socket: OwnedFd,
    /// Whose processes he may have followed; 0: everybody's.
    uid: u32,
    run: Option<Run>,
    files: Option<GuestFiles>,
    calls: Option<GuestCalls>,
}

/// What is answered.
pub(super) struct Answer {
    pub(super) words: Vec<u64>,
    pub(super) file: Option<OwnedFd>,
}

/// Why not.
pub(super) struct Refusal(pub(super) u64);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::TooManyRuns => Self(TOO_MANY),
            _ => Self(REFUSED),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Self(REFUSED)
    }
}

impl Guest {
    /// Of the user `uid`, who connected.
    pub const fn new(socket: OwnedFd, uid: u32) -> Self {
        Self {
            socket,
            uid,
            run: None,
            files: None,
            calls: None,
        }
    }

    /// Who it is.
    pub const fn uid(&self) -> u32 {
        self.uid
    }

    /// Answers what was asked by now, by a run of `programs`.
    ///
    /// # Errors
    /// He is gone, or does not take his answers: drop him.
    pub fn serve(&mut self, programs: &TaskPrograms) -> io::Result<()> {
        for _ in 0..AT_ONCE_MAX {
            let message = match wire::receive(self.socket.as_fd()) {
                Ok(Some(message)) => message,
                Ok(None) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let (words, file) = match self.answer(&message, programs) {
                Ok(answer) => ([vec![DONE], answer.words].concat(), answer.file),
                Err(Refusal(status)) => (vec![status], None),
            };
            let file = file.as_ref().map(AsFd::as_fd);
            wire::send(self.socket.as_fd(), &words, file)?;
        }
        Ok(())
    }

    fn answer(&mut self, message: &Message, programs: &TaskPrograms) -> Result<Answer, Refusal> {
        let verb = message.word(0);
        if verb == BEGIN {
            return self.begin(message.word(1), programs);
        }
        let run = self.run.as_ref().ok_or(Refusal(UNKNOWN))?;
        match verb {
            ADD => {
                let pidfd = message.file.as_ref().ok_or(Refusal(UNKNOWN))?;
                let pid = u32::try_from(message.word(1)).map_err(|_| Refusal(UNKNOWN))?;
                check(pidfd.as_fd(), pid, self.uid)?;
                Ok(words(vec![run.add_by(pidfd.as_fd(), pid)?]))
            }
            TOTALS => Ok(words(run.totals().words().to_vec())),
            SLEEP => {
                run.sleep();
                Ok(words(Vec::new()))
            }
            CALLS if self.calls.is_none() => {
                self.calls = Some(GuestCalls::begin(run, self.uid)?);
                Ok(words(Vec::new()))
            }
            CALL_ROWS => self.calls.as_ref().ok_or(Refusal(UNKNOWN))?.answer(),
            _ => GuestFiles::answer(&mut self.files, run, self.uid, message),
        }
    }

    fn begin(&mut self, layout: u64, programs: &TaskPrograms) -> Result<Answer, Refusal> {
        if layout != LAYOUT {
            return Err(Refusal(OTHER_LAYOUT));
        }
        if self.run.is_some() {
            return Err(Refusal(UNKNOWN));
        }
        let run = programs.start_lent_run()?;
        let ring = run.fd().try_clone_to_owned()?;
        let words = vec![run.ring_bytes() as u64];
        self.run = Some(run);
        Ok(Answer {
            words,
            file: Some(ring),
        })
    }
}

impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

pub(super) const fn words(words: Vec<u64>) -> Answer {
    Answer { words, file: None }
}

/// Whether the process of `pidfd` has this number, is of the user `uid` and stands still with one
/// thread: what is written of a process that is in another run already must not meet what the
/// kernel writes of it.
fn check(pidfd: BorrowedFd<'_>, pid: u32, uid: u32) -> Result<(), Refusal> {
    let info = File::open(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let info = io::read_to_string(info)?;
    if number(&info, "Pid:") != Some(pid) {
        return Err(Refusal(OTHER_NAMESPACE));
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    // Where there is a second number he has processes that he numbers otherwise.
    if line(&status, "NSpid:").is_some_and(|pids| pids.split_whitespace().count() != 1) {
        return Err(Refusal(OTHER_NAMESPACE));
    }
    let users = line(&status, "Uid:").unwrap_or_default();
    let own = |user: &str| user.parse() == Ok(uid);
    if uid != 0 && !(users.split_whitespace().count() == 4 && users.split_whitespace().all(own)) {
        return Err(Refusal(NOT_YOURS));
    }
    let sleeps = line(&status, "State:").is_some_and(|state| state.trim().starts_with('S'));
    if !sleeps || number(&status, "Threads:") != Some(1) {
        return Err(Refusal(NOT_STILL));
    }
    Ok(())
}

fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

fn number(text: &str, name: &str) -> Option<u32> {
    line(text, name)?.trim().parse().ok()
}

impl RunTotals {
    /// As words, in the order of its fields.
    pub(super) const fn words(&self) -> [u64; 9] {
        [
            self.processes_total,
            self.processes_alive,
            self.processes_peak,
            self.threads_alive,
            self.threads_peak,
            self.threads_at_most as u64,
            self.events_lost,
            self.io_uring_tasks,
            self.auto_reaped,
        ]
    }

    /// From the words that [`RunTotals::words`] gave.
    pub(super) fn from_words(words: &[u64]) -> Option<Self> {
        let [
            total,
            alive,
            peak,
            threads,
            threads_peak,
            at_most,
            lost,
            rings,
            reaped,
        ] = *words.first_chunk::<9>()?;
        Some(Self {
            processes_total: total,
            processes_alive: alive,
            processes_peak: peak,
            threads_alive: threads,
            threads_peak,
            threads_at_most: at_most != 0,
            events_lost: lost,
            io_uring_tasks: rings,
            auto_reaped: reaped,
        })
    }
}
