//! Hears what happens between two readings: from programs in the kernel, else over netlink.

use super::Segments;
use super::events::Events;
use super::names::Names;
use super::{Mechanism, Options};
use record::sample::ProcessSample;
use record::unit::Nanos;
use source::everyone::Everyone;
use source::follow::select::Wanted;
use std::os::fd::BorrowedFd;
use store::Error;
use store::segment::Instant;

/// Who hears, if anybody can.
pub(super) struct Listener {
    events: Option<Events>,
}

impl Listener {
    /// Listens from now on; the words say what is not heard, and why.
    pub(super) fn open(options: &Options) -> (Self, Option<String>) {
        let (everyone, lack) = match (by_programs(options.mechanism), options.mechanism) {
            (Ok(everyone), _) => (Some(everyone), None),
            (Err(why), Some(Mechanism::Bpf)) => (None, Some(unheard(&why))),
            (Err(why), _) => match Everyone::by_netlink() {
                Ok(everyone) => (Some(everyone), None),
                Err(error) => {
                    let error = crate::run::chain(&error.into());
                    (None, Some(unheard(&format!("{why}; {error}"))))
                }
            },
        };
        let lack = lack.or_else(|| everyone.as_ref().and_then(without_values));
        let events = everyone.map(|everyone| Events::new(everyone, &options.wanted));
        (Self { events }, lack)
    }

    /// How everyone is followed, if anybody is.
    pub(super) fn everyone(&self) -> Option<&Everyone> {
        self.events.as_ref().and_then(Events::everyone)
    }

    /// Whether anything is heard.
    pub(super) fn hears(&self) -> bool {
        self.everyone().is_some()
    }

    /// When to listen at the latest, as what happened is kept for so long only.
    pub(super) fn due(&self, now: Nanos) -> Option<Nanos> {
        Some(now.plus(self.everyone()?.period()?))
    }

    /// What is readable when there is something to hear before that, if anything.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.everyone()?.fd()
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
        match &mut self.events {
            Some(events) => events.read(when, of, writer),
            None => Ok(()),
        }
    }

    /// Why nobody hears any more, once: the words.
    pub(super) fn failure(&mut self) -> Option<String> {
        let error = self.events.as_mut()?.failure()?;
        Some(unheard(&crate::run::chain(&error.into())))
    }

    /// Looks for control groups that an event named and nobody knew.
    pub(super) fn refresh(&mut self) {
        if let Some(events) = &mut self.events {
            events.refresh();
        }
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// It could not be written, and is counted as lost.
    pub(super) fn flush(&mut self, when: Instant, writer: &mut Segments) -> Result<(), Error> {
        match &mut self.events {
            Some(events) => events.flush(when, writer),
            None => Ok(()),
        }
    }

    /// From now on these are wanted.
    pub(super) fn select(&mut self, wanted: &[Wanted]) {
        if let Some(events) = &mut self.events {
            events.select(wanted);
        }
    }

    /// Who is wanted according to a reading.
    pub(super) fn want(&mut self, pids: impl Iterator<Item = u32>) {
        if let Some(events) = &mut self.events {
            events.want(pids);
        }
    }

    /// These are wanted too, beside those of the last reading.
    pub(super) fn want_too(&mut self, pids: impl Iterator<Item = u32>) {
        if let Some(events) = &mut self.events {
            events.want_too(pids);
        }
    }

    /// A reading of everyone met these, the machine had spent so much.
    pub(super) fn met(&mut self, at: Nanos, samples: &[ProcessSample], machine: Nanos) {
        if let Some(events) = &mut self.events {
            events.met(at, samples, machine);
        }
    }

    /// Whether what was told adds up to what the machine spent, for people.
    pub(super) fn balance(&self) -> Option<String> {
        self.events.as_ref()?.balance()
    }

    /// How many ends were told, and how many events were missed.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.events.as_ref().map_or((0, 0), Events::counts)
    }
}

fn by_programs(asked: Option<Mechanism>) -> Result<Everyone, String> {
    if asked == Some(Mechanism::Procfs) {
        return Err("no programs in the kernel were asked for".to_owned());
    }
    #[cfg(feature = "bpf")]
    return Everyone::by_programs().map_err(|error| crate::run::chain(&error.into()));
    #[cfg(not(feature = "bpf"))]
    Err("this plimsoll was built without bpf".to_owned())
}

fn unheard(why: &str) -> String {
    format!("processes that live shorter than the interval are not seen: {why}")
}

/// What is not heard of those who are followed.
fn without_values(everyone: &Everyone) -> Option<String> {
    let lacks = everyone.name() == source::notify::connector::MECHANISM.name;
    lacks.then(|| {
        "what processes used that live shorter than the interval is not seen, only that they were \
         there: taskstats needs CAP_NET_ADMIN"
            .to_owned()
    })
}
