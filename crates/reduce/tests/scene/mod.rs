//! A task as a test tells it: events and samples with few words, times in milliseconds.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that lacks a field must fail")]
#![allow(clippy::panic, reason = "a test that lacks a field must fail")]

use record::event::Event;
use record::identity::{Ending, ProcessId};
use record::report::Usage;
use record::sample::{Counters, MainEnd, Memory, MemoryPeaks, ProcessSample, WaitTotals};
use record::unit::{Bytes, Nanos};
use record::value::{Absent, Field, Method};
use reduce::settings::{End, Mechanism, Settings};
use reduce::tree::Tree;

/// The start of every task, on the boot clock.
pub(crate) const ZERO: Nanos = Nanos(1_000_000_000_000);

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn ms(millis: u64) -> Nanos {
    ZERO.plus(Nanos::from_millis(millis))
}

pub(crate) fn tree(mechanism: Mechanism) -> Tree {
    let settings = Settings {
        mechanism,
        keep_processes: true,
        ..Settings::default()
    };
    let mut tree = Tree::new(ZERO, 1, settings);
    exec(&mut tree, 0, 1, "sh");
    tree
}

pub(crate) fn fork(tree: &mut Tree, at: u64, parent: u32, pid: u32) {
    tree.event(Event::Fork {
        at: ms(at),
        parent: Some(parent),
        pid,
        start: None,
        memory_of: None,
    });
}

pub(crate) fn exec(tree: &mut Tree, at: u64, pid: u32, command: &str) {
    tree.event(Event::Exec {
        at: ms(at),
        pid,
        command: command.replace(' ', "\0").into_bytes(),
        truncated: false,
        path: None,
        former: None,
    });
}

pub(crate) fn spawn(tree: &mut Tree, at: u64, parent: u32, pid: u32, command: &str) {
    fork(tree, at, parent, pid);
    exec(tree, at, pid, command);
}

/// An exit of which the mechanism tells no value.
pub(crate) fn gone(tree: &mut Tree, at: u64, pid: u32) {
    tree.event(Event::Exit {
        at: ms(at),
        pid,
        ending: Some(Ending::Code(0)),
        own: None,
        peaks: None,
    });
}

/// An exit with final values: CPU in milliseconds, bytes read, peak and anonymous MiB.
pub(crate) fn exit(tree: &mut Tree, at: u64, pid: u32, used: Used) {
    tree.event(Event::Exit {
        at: ms(at),
        pid,
        ending: Some(Ending::Code(0)),
        own: Some(Box::new(used.counters())),
        peaks: Some(MemoryPeaks {
            rss: Some(Bytes(used.rss)),
            virtual_size: Some(Bytes(used.rss * 2)),
            anon_at_end: Some(Bytes(used.anon)),
        }),
    });
    tree.event(Event::Final {
        pid,
        start: None,
        cpu_ns: Nanos::from_millis(used.cpu_ms),
    });
}

/// What a process uses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) cpu_ms: u64,
    pub(crate) read: u64,
    pub(crate) rss: u64,
    pub(crate) anon: u64,
    pub(crate) pss: Option<u64>,
    pub(crate) faults: Option<u64>,
}

impl Used {
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            cpu: Some(Nanos::from_millis(self.cpu_ms)),
            bytes_read: Some(Bytes(self.read)),
            reads: Some(self.read / 4096),
            bytes_written: self.faults.map(|_| Bytes(0)),
            faults_minor: self.faults,
            faults_major: self.faults.map(|_| 0),
            ..Counters::default()
        }
    }
}

pub(crate) fn cpu(cpu_ms: u64) -> Used {
    Used {
        cpu_ms,
        ..Used::default()
    }
}

pub(crate) fn memory(rss: u64, anon: u64) -> Used {
    Used {
        rss,
        anon,
        ..Used::default()
    }
}

pub(crate) fn reading(read: u64) -> Used {
    Used {
        read,
        ..Used::default()
    }
}

/// A sample of `pid` that used `own` itself and `with` with its waited-for children.
pub(crate) fn sample(pid: u32, start: u64, own: Used, with: Used) -> ProcessSample {
    ProcessSample {
        id: ProcessId::new(pid, ms(start)),
        ppid: 1,
        pgid: 1,
        sid: 1,
        state: 'S',
        comm: (*b"comm").into(),
        threads: Some(1),
        own: own.counters(),
        with_children: with.counters(),
        memory: Memory {
            rss: Some(Bytes(own.rss)),
            rss_anon: Some(Bytes(own.anon)),
            rss_file: Some(Bytes(own.rss - own.anon)),
            rss_shmem: Some(Bytes(0)),
            pss: own.pss.map(Bytes),
            pss_unreclaimable: own.pss.map(Bytes),
            swap: Some(Bytes(0)),
            swap_pss: None,
            hugetlb: Some(Bytes(0)),
            virtual_size: Some(Bytes(own.rss * 2)),
            data: Some(Bytes(own.anon)),
            rss_peak: Some(Bytes(own.rss)),
            virtual_peak: Some(Bytes(own.rss * 2)),
        },
        io_uring: false,
        sigchld_ignored: false,
        is_init: false,
        memory_of: None,
        pss_denied: false,
        revision: None,
    }
}

/// The wait chain: CPU in milliseconds, bytes read, the largest process.
pub(crate) fn chain(used: Used) -> WaitTotals {
    WaitTotals {
        counters: used.counters(),
        rss_peak_process: Some(Bytes(used.rss)),
        reaped: 1,
    }
}

pub(crate) fn end(at: u64, waited: Option<WaitTotals>) -> End {
    End {
        at: ms(at),
        until: ms(at),
        main: Some(MainEnd {
            at: ms(at),
            ending: Ending::Code(0),
            faults: None,
        }),
        waited,
        survivors: Vec::new(),
    }
}

pub(crate) fn whole(usage: &Usage, name: &str) -> u64 {
    match usage.get(name).unwrap().whole() {
        Some(value) => value,
        None => panic!("{name} is {:?}", usage.get(name)),
    }
}

pub(crate) fn method(usage: &Usage, name: &str) -> Method {
    match usage.get(name).unwrap().value() {
        Some(value) => value.method,
        None => panic!("{name} is {:?}", usage.get(name)),
    }
}

pub(crate) fn absent(usage: &Usage, name: &str) -> Option<Absent> {
    match usage.get(name).unwrap() {
        Field::Present(_) => None,
        Field::Missing { absent } => Some(*absent),
    }
}

pub(crate) const LOWER: Method = Method::LowerBound { upper: None };

pub(crate) const SAMPLED: Method = Method::Sampled {
    period_ns: Nanos(1_000_000_000),
};

/// Whether the value is within 1 % + 2 MiB of the truth.
pub(crate) fn near(value: u64, truth: u64) -> bool {
    value.abs_diff(truth) <= truth / 100 + 2 * MIB
}
