//! Processes that ended a while ago, as far as they are remembered: a late sample must not bring
//! them back.

use record::unit::Nanos;

/// Places. The kernel gives the ids one after another, so that about as many are remembered.
const PLACES: usize = 8192;

/// The ids of ended processes, each with its start. One takes the place of another whose id has the
/// same remainder: no order of their ends has to be kept beside them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buried {
    /// Empty until somebody ends. Nobody has the id 0.
    places: Vec<(u32, u64)>,
}

impl Buried {
    /// It began at `start`, and has ended.
    pub(crate) fn add(&mut self, pid: u32, start: Nanos) {
        if self.places.is_empty() {
            self.places = vec![(0, 0); PLACES];
        }
        if let Some(place) = self.places.get_mut(place_of(pid)) {
            *place = (pid, start.0);
        }
    }

    /// When it began.
    pub(crate) fn start(&self, pid: u32) -> Option<Nanos> {
        let place = self.places.get(place_of(pid))?;
        (place.0 == pid && pid != 0).then_some(Nanos(place.1))
    }

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.start(pid).is_some()
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        let pids = self.places.iter().map(|place| place.0);
        pids.filter(|pid| *pid != 0)
    }
}

fn place_of(pid: u32) -> usize {
    usize::try_from(pid).unwrap_or_default() % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let mut buried = Buried::default();
        assert!(!buried.has(0) && !buried.has(7));
        let last = 3 * PLACES as u32;
        (1..=last).for_each(|pid| buried.add(pid, Nanos(u64::from(pid))));
        assert_eq!(buried.pids().count(), PLACES);
        let first = last - PLACES as u32 + 1;
        assert!((first..=last).all(|pid| buried.start(pid) == Some(Nanos(u64::from(pid)))));
        assert!(!buried.has(first - 1) && !buried.has(0));
        buried.add(last, Nanos(5));
        assert_eq!(buried.start(last), Some(Nanos(5)));
    }
}
