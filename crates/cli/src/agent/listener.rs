//! Hears what happens between two readings, where a program in the kernel can tell.

use super::Segments;
#[cfg(feature = "bpf")]
use super::events::Events;
use super::names::Names;
use super::{Mechanism, Options};
use record::unit::Nanos;
use source::follow::select::Wanted;
use store::Error;
use store::segment::Instant;

/// Who hears, if anybody can.
pub(super) struct Listener {
    #[cfg(feature = "bpf")]
    events: Option<Events>,
}

impl Listener {
    /// Listens from now on; the words say why not.
    pub(super) fn open(options: &Options) -> (Self, Result<(), String>) {
        if options.mechanism == Some(Mechanism::Procfs) {
            return (Self::deaf(), Err("/proc tells of no ends".to_owned()));
        }
        #[cfg(feature = "bpf")]
        return match Events::open(&options.wanted) {
            Ok(events) => {
                let events = Some(events);
                (Self { events }, Ok(()))
            }
            Err(error) => (Self::deaf(), Err(crate::run::chain(&error.into()))),
        };
        #[cfg(not(feature = "bpf"))]
        (
            Self::deaf(),
            Err("this plimsoll was built without bpf".to_owned()),
        )
    }

    fn deaf() -> Self {
        Self {
            #[cfg(feature = "bpf")]
            events: None,
        }
    }

    /// Whether anything is heard.
    pub(super) fn hears(&self) -> bool {
        #[cfg(feature = "bpf")]
        return self.events.is_some();
        #[cfg(not(feature = "bpf"))]
        false
    }

    /// When to listen at the latest, as what happened is kept for so long only.
    pub(super) fn due(&self, now: Nanos) -> Option<Nanos> {
        #[cfg(feature = "bpf")]
        if self.events.is_some() {
            return Some(now.plus(source::notify::bpf::PERIOD));
        }
        let _ = now;
        None
    }

    /// Takes what happened up to now; `of` knows who is in which job.
    ///
    /// # Errors
    /// Some of it could not be written, and is counted as lost.
    pub(super) fn read(
        &mut self,
        when: Instant,
        of: &mut Names,
        writer: &mut Segments,
    ) -> Result<(), Error> {
        #[cfg(feature = "bpf")]
        if let Some(events) = &mut self.events {
            return events.read(when, of, writer);
        }
        let _ = (when, of, writer);
        Ok(())
    }

    /// Looks for control groups that an event named and nobody knew.
    pub(super) fn refresh(&mut self) {
        #[cfg(feature = "bpf")]
        if let Some(events) = &mut self.events {
            events.refresh();
        }
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// It could not be written, and is counted as lost.
    pub(super) fn flush(&mut self, when: Instant, writer: &mut Segments) -> Result<(), Error> {
        #[cfg(feature = "bpf")]
        if let Some(events) = &mut self.events {
            return events.flush(when, writer);
        }
        let _ = (when, writer);
        Ok(())
    }

    /// From now on these are wanted.
    pub(super) fn select(&mut self, wanted: &[Wanted]) {
        #[cfg(feature = "bpf")]
        if let Some(events) = &mut self.events {
            return events.select(wanted);
        }
        let _ = wanted;
    }

    /// Who is wanted according to a reading.
    pub(super) fn want(&mut self, pids: impl Iterator<Item = u32>) {
        #[cfg(feature = "bpf")]
        if let Some(events) = &mut self.events {
            return events.want(pids);
        }
        drop(pids);
    }

    /// These are wanted too, beside those of the last reading.
    pub(super) fn want_too(&mut self, pids: impl Iterator<Item = u32>) {
        #[cfg(feature = "bpf")]
        if let Some(events) = &mut self.events {
            return events.want_too(pids);
        }
        drop(pids);
    }

    /// How many ends were told, and how many events were missed.
    pub(super) fn counts(&self) -> (u64, u64) {
        #[cfg(feature = "bpf")]
        if let Some(events) = &self.events {
            return events.counts();
        }
        (0, 0)
    }
}
