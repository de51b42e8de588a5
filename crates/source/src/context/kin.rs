//! Ancestors that were read a moment ago: on a machine where many processes begin at once, or are
//! looked at for the first time, most have the same.

use super::daemon::Daemon;
use record::unit::Nanos;
use record::value::Absent;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};
use sys::clock;

/// What is older is read again.
const AGE_MAX: Nanos = Nanos::from_millis(100);
/// Ancestors that are remembered; with one more all are forgotten.
const COUNT_MAX: usize = 1024;

/// A process with its parent.
pub(super) type Ancestor = (Daemon, Option<u32>);

/// Ancestors, for a moment.
#[derive(Debug, Default)]
pub struct Kin(Mutex<FxHashMap<u32, (Nanos, Ancestor)>>);

impl Kin {
    /// This process, as it is now or was a moment ago.
    pub(super) fn read(
        &self,
        pid: u32,
        read: impl FnOnce() -> Result<Ancestor, Absent>,
    ) -> Result<Ancestor, Absent> {
        self.read_at(pid, Nanos(clock::boot()), read)
    }

    fn read_at(
        &self,
        pid: u32,
        now: Nanos,
        read: impl FnOnce() -> Result<Ancestor, Absent>,
    ) -> Result<Ancestor, Absent> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, ancestor)) = known().get(&pid)
            && now.since(*at) <= AGE_MAX
        {
            return Ok(ancestor.clone());
        }
        // Nobody waits here while somebody waits for a process.
        let ancestor = read()?;
        let mut known = known();
        if known.len() >= COUNT_MAX {
            known.clear();
        }
        known.insert(pid, (now, ancestor.clone()));
        Ok(ancestor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ancestor_is_read_again_after_a_moment() {
        let kin = Kin::default();
        let of = |uid: u32| {
            let daemon = Daemon {
                pid: 7,
                uid: Some(uid),
                command: Vec::new(),
            };
            Ok((daemon, Some(1)))
        };
        let at = Nanos::from_millis;
        let uid = |ms, now| kin.read_at(7, at(ms), || of(now)).unwrap().0.uid;
        assert_eq!(
            (uid(0, 1), uid(100, 2), uid(101, 3)),
            (Some(1), Some(1), Some(3))
        );
        let gone = kin.read_at(8, at(0), || Err(Absent::Gone));
        assert_eq!(gone.map(drop), Err(Absent::Gone));
        assert!(kin.read_at(8, at(0), || of(1)).is_ok());
        for pid in 100..3000 {
            kin.read_at(pid, at(0), || of(1)).unwrap();
        }
        assert!(kin.0.lock().unwrap().len() <= COUNT_MAX);
    }
}
