//! A run's system calls: the agent's side, and that of who borrows.

use super::super::calls::{CallRow, Calls};
use super::super::followed::FollowedCalls;
use super::super::run::Run;
use super::borrowed::Channel;
use super::borrowed_files::lent as content;
use super::guest::{Answer, Refusal};
use super::guest_files::lent;
use super::wire::{CALL_ROWS, CALLS, TOO_MANY};
use crate::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs at once whose calls are counted: every system call of the node passes the programs of each.
const AT_ONCE_MAX: usize = 4;

static AT_ONCE: AtomicUsize = AtomicUsize::new(0);

/// One of those that may be at once.
#[derive(Debug)]
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let one_more = |count| (count < AT_ONCE_MAX).then_some(count + 1);
        let taken = AT_ONCE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        taken.is_ok().then_some(Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        AT_ONCE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The calls of a guest's run.
#[derive(Debug)]
pub(super) struct GuestCalls {
    calls: Calls,
    _place: Place,
}

impl GuestCalls {
    /// Counts what `run` calls as the user `uid`; 0: as anybody.
    pub(super) fn begin(run: &Run, uid: u32) -> Result<Self, Refusal> {
        let place = Place::take().ok_or(Refusal(TOO_MANY))?;
        let calls = run.follow_calls((uid != 0).then_some(uid))?;
        Ok(Self {
            calls,
            _place: place,
        })
    }

    pub(super) fn answer(&self) -> Result<Answer, Refusal> {
        let mut bytes = Vec::new();
        let is_all = self.calls.read(&mut |row| {
            for word in encode(&row) {
                bytes.extend(word.to_ne_bytes());
            }
        })?;
        Ok(lent(vec![u64::from(is_all)], &bytes)?)
    }
}

/// The calls of a borrowed run.
#[derive(Debug)]
pub(super) struct BorrowedCalls(Channel);

impl BorrowedCalls {
    pub(super) fn begin(channel: &Channel) -> Result<Self, Error> {
        channel.demand(&[CALLS])?;
        Ok(Self(channel.clone()))
    }
}

impl FollowedCalls for BorrowedCalls {
    fn read(&self, take: &mut dyn FnMut(CallRow)) -> Result<bool, Error> {
        let answer = self.0.demand(&[CALL_ROWS])?;
        let is_all = answer.word(1) != 0;
        let bytes = content(answer)?;
        let (words, _) = bytes.as_chunks::<8>();
        let (rows, _) = words.as_chunks::<ROW_WORDS>();
        for row in rows {
            take(decode(row.map(u64::from_ne_bytes)));
        }
        Ok(is_all)
    }
}

const ROW_WORDS: usize = 6;

/// The pid + 1 (0: none), the number, whether it is by the 32-bit interface, and the counts.
fn encode(row: &CallRow) -> [u64; ROW_WORDS] {
    [
        row.pid.map_or(0, |pid| u64::from(pid) + 1),
        u64::from(row.number),
        u64::from(row.compat),
        row.calls,
        row.errors,
        row.time_ns,
    ]
}

fn decode([pid, number, compat, calls, errors, time_ns]: [u64; ROW_WORDS]) -> CallRow {
    CallRow {
        pid: pid.checked_sub(1).and_then(|pid| u32::try_from(pid).ok()),
        number: u32::try_from(number).unwrap_or(u32::MAX),
        compat: compat != 0,
        calls,
        errors,
        time_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_as_they_were_told() {
        for pid in [None, Some(0), Some(u32::MAX)] {
            let row = CallRow {
                pid,
                number: 7,
                compat: true,
                calls: 1,
                errors: 2,
                time_ns: u64::MAX,
            };
            assert_eq!(decode(encode(&row)), row);
        }
    }
}
