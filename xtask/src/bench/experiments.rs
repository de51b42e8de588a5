//! The four published experiments on resource monitors for high throughput computing (Juve and
//! others, "Practical Resource Monitoring for Robust High Throughput Computing", 2015): what they
//! run and which quantities have a known truth.

use anyhow::{Context, Result};
use clap::Args;
use std::collections::BTreeMap;
use std::path::Path;

/// The ways of `ways.rs` that are columns of the tables.
pub(super) const COLUMNS: &[&str] = &[
    "query-procfs",
    "events-bpf",
    "events-connector",
    "events-ptrace",
    "io-bpf",
    "io-preload",
    "io-ptrace",
    "time -v",
    "resource_monitor",
    "pegasus-kickstart",
    "pegasus-kickstart -t",
    "pegasus-kickstart -z",
    "pegasus-kickstart -Z",
];

/// What the paper's tables say. Their figures could not be had: the column says so.
pub(super) const PAPER: &str = "not known";

/// The file that is written and read.
pub(super) const DATA: &str = "experiment.data";

/// Where the program leaves the truth.
pub(super) const TRUTH: &str = "experiment.truth";

/// The file of which the size of the buffers is varied.
const BUFFERS_MIB: u64 = 1000;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How far the experiments go here.
#[derive(Debug, Args)]
pub(super) struct Bounds {
    /// Most rounds of arithmetic; the paper's go to 1000000000
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    max_rounds: u64,
    /// Most memory, GiB; the paper's go to 16
    #[arg(long, value_name = "GIB", default_value_t = 4)]
    max_memory: u64,
    /// Largest file that is written and read past the page cache (O_DIRECT), MiB; the paper's go
    /// to 10000
    #[arg(long, value_name = "MIB", default_value_t = 10)]
    max_direct: u64,
    /// Largest file that is written and read through the page cache, MiB
    #[arg(long, value_name = "MIB", default_value_t = 1000)]
    max_cached: u64,
    /// Only this experiment (repeatable): cpu, memory, files, buffers, cached-files,
    /// cached-buffers
    #[arg(long, value_name = "EXPERIMENT")]
    only: Vec<String>,
}

impl Bounds {
    fn wants(&self, experiment: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == experiment)
    }
}

/// Something that a program uses and a monitor tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quantity {
    /// User and system time, ns.
    CpuTime,
    /// Memory, each page once, files' pages left out, bytes.
    Memory,
    /// The largest resident set of one process, bytes.
    Resident,
    /// Bytes that system calls read.
    BytesRead,
    /// Bytes that system calls wrote.
    BytesWritten,
    /// Bytes read from the file of the experiment.
    FileRead,
    /// Bytes written to it.
    FileWritten,
}

impl Quantity {
    /// The name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::CpuTime => "CPU time",
            Quantity::Memory => "memory",
            Quantity::Resident => "resident set",
            Quantity::BytesRead => "bytes read",
            Quantity::BytesWritten => "bytes written",
            Quantity::FileRead => "read from the file",
            Quantity::FileWritten => "written to the file",
        }
    }
}

/// One row of an experiment: a program that is run with words of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// The experiment, as for `--only`.
    pub(super) experiment: &'static str,
    /// Its size in words.
    pub(super) size: String,
    /// The words behind TRUTH.
    pub(super) words: Vec<String>,
    /// What is known of it, a row of the table each.
    pub(super) groups: &'static [Group],
}

impl Case {
    /// Everything that is known of it.
    pub(super) fn quantities(&self) -> impl Iterator<Item = Quantity> {
        self.groups
            .iter()
            .flat_map(|group| group.quantities.iter().copied())
    }

    /// Whether the sizes of its experiment differ in nothing but how much is moved.
    pub(super) fn merges(&self) -> bool {
        self.words.iter().any(|word| word == "io")
    }
}

/// Quantities that stand in one row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The name in tables.
    pub(super) name: &'static str,
    /// In one unit.
    pub(super) quantities: &'static [Quantity],
}

const CPU: &[Group] = &[Group {
    name: "CPU time",
    quantities: &[Quantity::CpuTime],
}];

const MEMORY: &[Group] = &[
    Group {
        name: "memory, each page once",
        quantities: &[Quantity::Memory],
    },
    Group {
        name: "resident set",
        quantities: &[Quantity::Resident],
    },
];

const IO: &[Group] = &[
    Group {
        name: "bytes read, written",
        quantities: &[Quantity::BytesRead, Quantity::BytesWritten],
    },
    Group {
        name: "the same of the file",
        quantities: &[Quantity::FileRead, Quantity::FileWritten],
    },
];

/// The cases within the bounds, and what of the paper's is beyond them.
pub(super) fn cases(bounds: &Bounds) -> (Vec<Case>, Vec<String>) {
    let (mut cases, mut cut) = (Vec::new(), Vec::new());
    for (case, within) in whole(bounds) {
        if !bounds.wants(case.experiment) {
            continue;
        }
        if within {
            cases.push(case);
        } else {
            cut.push(format!("{} of {}", case.experiment, case.size));
        }
    }
    for (buffers, most) in [
        ("buffers", bounds.max_direct),
        ("cached-buffers", bounds.max_cached),
    ] {
        if most < BUFFERS_MIB && bounds.wants(buffers) {
            cut.push(format!("{buffers}: {most} MiB instead of {BUFFERS_MIB}"));
        }
    }
    (cases, cut)
}

/// Every case, and whether it is within the bounds.
fn whole(bounds: &Bounds) -> Vec<(Case, bool)> {
    let mut all = Vec::new();
    for power in 6..=9 {
        let rounds = 10u64.pow(power);
        all.push((cpu(power, rounds), rounds <= bounds.max_rounds));
    }
    for gib in [1, 2, 4, 8, 16] {
        all.push((memory(gib), gib <= bounds.max_memory));
    }
    for (how, files, buffers, most) in [
        ("direct", "files", "buffers", bounds.max_direct),
        (
            "cached",
            "cached-files",
            "cached-buffers",
            bounds.max_cached,
        ),
    ] {
        for mib in [1, 10, 100, 1000, 10_000] {
            all.push((io(files, format!("{mib} MiB"), mib, 4, how), mib <= most));
        }
        let mib = most.min(BUFFERS_MIB);
        for kib in [4, 8, 16, 32] {
            all.push((io(buffers, format!("{kib} KiB"), mib, kib, how), mib > 0));
        }
    }
    all
}

fn cpu(power: u32, rounds: u64) -> Case {
    Case {
        experiment: "cpu",
        size: format!("10^{power} rounds"),
        words: vec!["cpu".to_owned(), rounds.to_string()],
        groups: CPU,
    }
}

fn memory(gib: u64) -> Case {
    Case {
        experiment: "memory",
        size: format!("{gib} GiB"),
        words: vec!["memory".to_owned(), (gib * GIB).to_string()],
        groups: MEMORY,
    }
}

fn io(experiment: &'static str, size: String, mib: u64, kib: u64, how: &str) -> Case {
    let words = [
        "io".to_owned(),
        DATA.to_owned(),
        (mib * MIB).to_string(),
        (kib * 1024).to_string(),
        how.to_owned(),
    ];
    Case {
        experiment,
        size,
        words: words.to_vec(),
        groups: IO,
    }
}

/// What a run really used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Truth(BTreeMap<String, u64>);

impl Truth {
    /// Reads what the program left in `folder`.
    ///
    /// # Errors
    /// When it left nothing.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(TRUTH);
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    fn parse(text: &str) -> Result<Self> {
        let text = text.trim_end_matches('\0');
        let pair = |line: &str| {
            let (name, number) = line.split_once(' ')?;
            Some((name.to_owned(), number.parse().ok()?))
        };
        let pairs: Option<BTreeMap<_, _>> = text.lines().map(pair).collect();
        let pairs = pairs.filter(|pairs| !pairs.is_empty());
        Ok(Self(pairs.with_context(|| format!("no truth: {text}"))?))
    }

    /// The truth of a quantity. `charged` is what the control group of the run was charged.
    pub(super) fn of(&self, quantity: Quantity, charged: Option<u64>) -> Option<u64> {
        let get = |name: &str| self.0.get(name).copied();
        match quantity {
            Quantity::CpuTime => match (charged, get("before_ns")) {
                (Some(charged), Some(before)) => Some(charged.wrapping_add(before)),
                _ => get("self_ns"),
            },
            Quantity::Memory => get("memory_bytes"),
            Quantity::Resident => get("resident_bytes"),
            Quantity::BytesRead => get("read_bytes"),
            Quantity::BytesWritten => get("written_bytes"),
            Quantity::FileRead | Quantity::FileWritten => get("file_bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(only: &[&str]) -> Bounds {
        Bounds {
            max_rounds: 10_000_000,
            max_memory: 2,
            max_direct: 10,
            max_cached: 1000,
            only: only.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_beyond_the_bounds_is_said() {
        let (all, cut) = cases(&bounds(&["cpu", "memory", "buffers"]));
        let sizes: Vec<_> = all.iter().map(|case| case.size.as_str()).collect();
        assert_eq!(sizes[..4], ["10^6 rounds", "10^7 rounds", "1 GiB", "2 GiB"]);
        assert_eq!(sizes[4], "4 KiB");
        assert_eq!(all.len(), 8);
        assert_eq!(cut[0], "cpu of 10^8 rounds");
        assert_eq!(cut.last().unwrap(), "buffers: 10 MiB instead of 1000");
        assert_eq!(cut.len(), 6);
    }

    #[test]
    fn a_file_is_whole_buffers() {
        for case in cases(&bounds(&[])).0 {
            if let [_, _, bytes, buffer, _] = case.words.as_slice() {
                let (bytes, buffer): (u64, u64) = (bytes.parse().unwrap(), buffer.parse().unwrap());
                assert_eq!(bytes % buffer, 0, "{case:?}");
            }
        }
    }

    #[test]
    fn the_truth_is_what_the_group_was_charged_and_what_was_before() {
        let truth = Truth::parse("before_ns 1000\nself_ns 5000\n\0\0").unwrap();
        assert_eq!(truth.of(Quantity::CpuTime, Some(4500)), Some(5500));
        assert_eq!(truth.of(Quantity::CpuTime, None), Some(5000));
        assert_eq!(truth.of(Quantity::Memory, None), None);
        assert!(Truth::parse("\0\0\0").is_err());
        assert!(Truth::parse("self_ns soon\n").is_err());
    }
}
