//! Who is who where no event tells of an exec: the command lines of processes that are new or have
//! another name.

use record::event::Event;
use record::sample::ProcessSample;
use record::unit::Nanos;
use source::query::proc_pid_cmdline;
use source::root::Root;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// Processes whose introduction is remembered before the dead ones are forgotten.
const INTRODUCED_MAX: usize = 4096;
/// Passes in which a command line that reads as empty is read again: in the middle of an exec the
/// new name is there before the new words are.
const READINGS_MAX: u8 = 8;

/// A process whose command line was read, where no event tells it.
struct Introduced {
    start: Nanos,
    /// Its name then; nothing while its words are still to come.
    name: Option<Arc<[u8]>>,
    readings: u8,
}

/// The processes that were introduced.
#[derive(Default)]
pub(crate) struct Introductions {
    known: HashMap<u32, Introduced>,
}

impl Introductions {
    /// What the processes of a pass that began at `at` execute, as far as that is new.
    pub(crate) fn read(&mut self, at: Nanos, samples: &[ProcessSample]) -> Vec<Event> {
        let mut met = Vec::new();
        for sample in samples {
            let known = self.known.get(&sample.id.pid);
            let known = known.filter(|known| known.start == sample.id.start_ns);
            if known.is_none_or(|known| known.name.as_ref() != Some(&sample.comm)) {
                let readings = known.map_or(0, |known| known.readings);
                met.push((sample, readings));
            }
        }
        if self.known.len() > INTRODUCED_MAX {
            let living: HashSet<u32> = samples.iter().map(|sample| sample.id.pid).collect();
            self.known.retain(|pid, _| living.contains(pid));
        }
        let events = met.into_iter();
        events
            .filter_map(|(sample, readings)| self.meet(at, sample, readings))
            .collect()
    }

    fn meet(&mut self, at: Nanos, sample: &ProcessSample, readings: u8) -> Option<Event> {
        let pid = sample.id.pid;
        // One that ended meanwhile stays without a command line.
        let command = proc_pid_cmdline::read(&Root::default(), pid).unwrap_or_default();
        let again = command.is_empty() && readings < READINGS_MAX;
        let introduced = Introduced {
            start: sample.id.start_ns,
            name: (!again).then(|| Arc::clone(&sample.comm)),
            readings: if again { readings + 1 } else { 0 },
        };
        self.known.insert(pid, introduced);
        (!again).then_some(Event::Exec {
            at,
            pid,
            command,
            truncated: false,
            path: None,
            former: None,
        })
    }
}

/// A command as the kernel keeps it: each word ended by a NUL.
pub(crate) fn command_line(words: &[OsString]) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| [word.as_bytes(), b"\0"].concat())
        .collect()
}
