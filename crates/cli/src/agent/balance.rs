//! Whether what is told of processes adds up to what the machine spent: CPU time from the first
//! reading to the last.

use record::identity::ProcessId;
use record::quantity::show_time;
use record::sample::ProcessSample;
use record::table::exit::Exit;
use record::unit::Nanos;
use rustc_hash::FxHashMap;

/// What was told up to a reading.
#[derive(Debug, Clone, Copy)]
struct Told {
    /// When the reading began.
    at: Nanos,
    /// Of those that lived, and of those that had ended before since the beginning.
    living: Nanos,
    ended: Nanos,
    /// What the machine had spent.
    machine: Nanos,
}

impl Told {
    fn sum(self) -> Nanos {
        self.living.plus(self.ended)
    }
}

/// The sums.
#[derive(Debug, Default)]
pub(super) struct Balance {
    first: Option<Told>,
    last: Option<Told>,
    ended: Nanos,
    /// Where ends are told without what was used: of whom the last reading met, and of whom it
    /// missed of those before.
    met: Option<FxHashMap<ProcessId, Nanos>>,
    missed: FxHashMap<ProcessId, Nanos>,
}

impl Balance {
    /// Ends are told with all that was used, or not of everyone.
    pub(super) fn new(tells_all: bool) -> Self {
        Self {
            met: (!tells_all).then(FxHashMap::default),
            ..Self::default()
        }
    }

    /// A process ended. One that ended before a reading is not in it, whenever its end is told.
    pub(super) fn ended(&mut self, exit: &Exit) {
        let Some(cpu) = exit.own.cpu.or(exit.cpu_least) else {
            // The next reading misses it.
            return;
        };
        if let Some(met) = &mut self.met {
            met.remove(&exit.id);
        }
        let before = self.missed.remove(&exit.id).unwrap_or_default();
        let cpu = cpu.since(before);
        self.ended = self.ended.plus(cpu);
        for told in [&mut self.first, &mut self.last].into_iter().flatten() {
            if exit.at < told.at {
                told.ended = told.ended.plus(cpu);
            }
        }
    }

    /// A reading met these, and nobody else lived; the machine had spent so much.
    pub(super) fn reading(&mut self, at: Nanos, samples: &[ProcessSample], machine: Nanos) {
        let of = |one: &ProcessSample| one.own.cpu.unwrap_or_default().0;
        if let Some(met) = &mut self.met {
            let before = std::mem::take(met);
            met.extend(samples.iter().map(|one| (one.id, Nanos(of(one)))));
            self.missed = before;
            self.missed.retain(|id, _| !met.contains_key(id));
            // They used that at least.
            let least = self.missed.values().map(|cpu| cpu.0).sum();
            self.ended = self.ended.plus(Nanos(least));
        }
        let told = Told {
            at,
            living: Nanos(samples.iter().map(of).sum()),
            ended: self.ended,
            machine,
        };
        self.first.get_or_insert(told);
        self.last = Some(told);
    }

    /// For people; nothing where that would say nothing.
    pub(super) fn line(&self) -> Option<String> {
        let (first, last) = self.first.zip(self.last)?;
        let machine = last.machine.since(first.machine);
        let told = last.sum().since(first.sum());
        let left = machine.since(told);
        let share = |part: Nanos| 100.0 * part.0 as f64 / machine.0.max(1) as f64;
        (last.at > first.at && machine.0 > 0).then(|| {
            format!(
                "from the first reading to the last the machine spent {} of CPU (/proc/stat, by \
                 ticks); told of processes {} ({:.1} %), not attributed {} ({:.1} %)",
                show_time(machine.0),
                show_time(told.0),
                share(told),
                show_time(left.0),
                share(left)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::identity::{Ending, ProcessId};
    use record::sample::{Counters, Memory, MemoryPeaks};

    const SECOND: u64 = 1_000_000_000;

    fn counters(cpu_s: u64) -> Counters {
        Counters {
            cpu: Some(Nanos(cpu_s * SECOND)),
            ..Counters::default()
        }
    }

    fn sample(cpu_s: u64) -> ProcessSample {
        ProcessSample {
            id: ProcessId::new(7, Nanos(7)),
            ppid: 1,
            pgid: 1,
            sid: 1,
            state: 'S',
            comm: [].into(),
            threads: Some(1),
            own: counters(cpu_s),
            with_children: Counters::default(),
            memory: Memory::default(),
            io_uring: false,
            sigchld_ignored: false,
            is_init: false,
            memory_of: None,
            pss_denied: false,
            revision: None,
        }
    }

    fn exit(at_s: u64, cpu_s: u64) -> Exit {
        Exit {
            id: ProcessId::new(8, Nanos(8)),
            at: Nanos(at_s * SECOND),
            parent: 1,
            uid: None,
            comm: None,
            ending: Ending::from_wait_status(0),
            own: counters(cpu_s),
            cpu_least: None,
            peaks: MemoryPeaks::default(),
        }
    }

    #[test]
    fn who_ends_without_a_word_of_what_it_used_was_what_its_last_reading_said() {
        let share_of = |is_told: Option<u64>, is_late: bool| {
            let mut balance = Balance::new(false);
            let mut stays = sample(1);
            stays.id.pid = 9;
            let end = Exit {
                id: sample(0).id,
                own: Counters {
                    cpu: is_told.map(|s| Nanos(s * SECOND)),
                    ..Counters::default()
                },
                ..exit(15, 0)
            };
            let (early, machine) = ([sample(20), stays.clone()], Nanos(0));
            balance.reading(Nanos(10 * SECOND), &early, machine);
            balance.reading(Nanos(14 * SECOND), &[sample(24), stays.clone()], machine);
            if !is_late {
                balance.ended(&end);
            }
            balance.reading(Nanos(20 * SECOND), &[stays.clone()], Nanos(10 * SECOND));
            if is_late {
                balance.ended(&end);
            }
            balance.reading(Nanos(21 * SECOND), &[stays], Nanos(10 * SECOND));
            balance.line().unwrap()
        };
        for is_late in [false, true] {
            let line = share_of(None, is_late);
            assert!(line.contains("told of processes 4.00 s (40.0 %)"), "{line}");
            let line = share_of(Some(25), is_late);
            assert!(line.contains("told of processes 5.00 s (50.0 %)"), "{line}");
        }
    }

    #[test]
    fn living_and_ended_add_up() {
        let mut balance = Balance::default();
        assert_eq!(balance.line(), None);
        // 100 s of a process that is over before the first reading, told behind it.
        balance.reading(
            Nanos(10 * SECOND),
            &[sample(20), sample(5)],
            Nanos(7 * SECOND),
        );
        assert_eq!(balance.line(), None);
        balance.ended(&exit(9, 100));
        // The second one ends with 8 s of which 3 are new; another comes and goes.
        balance.ended(&exit(12, 8));
        balance.ended(&exit(13, 2));
        balance.reading(Nanos(20 * SECOND), &[sample(24)], Nanos(27 * SECOND));
        // Before the last reading, told behind it; and one that was in it.
        balance.ended(&exit(19, 1));
        balance.ended(&exit(21, 25));
        let line = balance.line().unwrap();
        assert!(
            line.ends_with("told of processes 10.00 s (50.0 %), not attributed 10.00 s (50.0 %)"),
            "{line}"
        );
    }
}
