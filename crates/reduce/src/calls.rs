//! The system calls of a task: sums by kind, and by process and kind.

use record::call::{CallCounts, CallLine, CallUse, ProcessCallLine};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The system calls of one task.
#[derive(Debug, Clone, Default)]
pub struct CallTable {
    rows: BTreeMap<(Option<u32>, String), CallCounts>,
}

/// All system calls of a task at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallSummary {
    /// By kind, those that took most time first.
    pub kinds: Vec<CallLine>,
    /// By process and kind, those that took most time first.
    pub processes: Vec<ProcessCallLine>,
}

impl CallTable {
    /// A process made calls.
    pub fn take(&mut self, used: CallUse) {
        let row = self.rows.entry((used.pid, used.name)).or_default();
        row.add(&used.counts);
    }

    /// The end.
    pub fn finish(self) -> CallSummary {
        let mut kinds: BTreeMap<String, CallCounts> = BTreeMap::new();
        for ((_, name), counts) in &self.rows {
            kinds.entry(name.clone()).or_default().add(counts);
        }
        let kinds = kinds.into_iter();
        let mut kinds: Vec<_> = kinds
            .map(|(name, counts)| CallLine { name, counts })
            .collect();
        kinds.sort_by_key(|line| order(&line.counts));
        let rows = self.rows.into_iter();
        let mut processes: Vec<_> = rows
            .map(|((pid, name), counts)| ProcessCallLine { pid, name, counts })
            .collect();
        processes.sort_by_key(|line| order(&line.counts));
        CallSummary { kinds, processes }
    }
}

fn order(counts: &CallCounts) -> Reverse<(u64, u64)> {
    Reverse((counts.time_ns.0, counts.calls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Nanos;

    fn used(pid: Option<u32>, name: &str, calls: u64, time_ns: u64) -> CallUse {
        CallUse {
            pid,
            name: name.to_owned(),
            counts: CallCounts {
                calls,
                errors: calls / 2,
                time_ns: Nanos(time_ns),
            },
        }
    }

    #[test]
    fn sums_are_by_kind_and_by_process_and_kind() {
        let mut table = CallTable::default();
        for one in [
            used(Some(7), "read", 10, 500),
            used(Some(8), "read", 4, 100),
            used(Some(7), "rename", 2, 9000),
            used(Some(7), "read", 1, 5),
            used(None, "read", 100, 1),
        ] {
            table.take(one);
        }
        let summary = table.finish();
        let kinds: Vec<_> = summary
            .kinds
            .iter()
            .map(|line| (line.name.as_str(), line.counts.calls, line.counts.errors))
            .collect();
        assert_eq!(kinds, [("rename", 2, 1), ("read", 115, 57)]);
        let processes: Vec<_> = summary
            .processes
            .iter()
            .map(|line| (line.pid, line.name.as_str(), line.counts.calls))
            .collect();
        let all = [
            (Some(7), "rename", 2),
            (Some(7), "read", 11),
            (Some(8), "read", 4),
            (None, "read", 100),
        ];
        assert_eq!(processes, all);
    }
}
