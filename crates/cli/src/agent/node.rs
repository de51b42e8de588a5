//! What the machine as a whole did: rows of `node`, of all sources of `source::node`.

use super::Segments;
use record::codec::series::Row;
use record::table::node;
use record::unit::Nanos;
use source::node::Ambient;
use source::root::Root;
use store::Error;
use store::segment::{Instant, Sheet};

/// What the CPUs did, but for guests, which are in the first two.
const CPU: &str = "node_cpu_";
const SPENT: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];

/// The machine, on its way into the dataset.
pub(super) struct Node {
    ambient: Ambient,
    sheet: Sheet,
    key: Vec<u8>,
}

impl Node {
    pub(super) fn open(root: &Root) -> Self {
        Self {
            ambient: Ambient::open(root),
            sheet: Sheet::new(&node::TABLE),
            key: Vec::new(),
        }
    }

    /// Reads what is due at `at`.
    pub(super) fn read(&mut self, at: Nanos) {
        self.ambient.read(at);
    }

    /// The CPU time that the machine had spent by the last reading, interrupts included.
    pub(super) fn spent(&self) -> Nanos {
        let rows = self.ambient.rows().iter();
        let of_all = rows.filter(|row| row.instance.is_empty());
        let spent = of_all.filter(|row| {
            let what = row.metric.strip_prefix(CPU);
            what.is_some_and(|what| SPENT.contains(&what))
        });
        Nanos(spent.filter_map(|row| u64::try_from(row.value).ok()).sum())
    }

    /// Writes what was read last, and what the agent tells of itself; `span` is how long the whole
    /// reading took.
    ///
    /// # Errors
    /// Some of it could not be written: the next reading is tried all the same.
    pub(super) fn write(
        &mut self,
        (when, is_new): (Instant, bool),
        own: &[(&'static str, i64)],
        writer: &mut Segments,
        span: Nanos,
    ) -> Result<(), Error> {
        self.sheet.begin(when, is_new);
        let machine = self.ambient.rows();
        let machine = machine
            .iter()
            .map(|row| (row.metric, row.instance, row.value));
        let own = own
            .iter()
            .map(|(metric, value)| (*metric, &b""[..], *value));
        for (metric, instance, value) in machine.chain(own) {
            node::key(metric, instance, &mut self.key);
            let row = Row {
                key: &self.key,
                present: 1,
                values: &[value],
            };
            self.sheet.row(writer, row);
        }
        self.sheet.end(writer, span)
    }

    /// Writes what is told of the reading at `when` behind it, `span` after it began.
    ///
    /// # Errors
    /// As [`Node::write`].
    pub(super) fn write_more<'r>(
        &mut self,
        when: Instant,
        rows: impl Iterator<Item = (&'static str, &'r [u8], i64)>,
        writer: &mut Segments,
        span: Nanos,
    ) -> Result<(), Error> {
        self.sheet.begin_more(when);
        for (metric, instance, value) in rows {
            node::key(metric, instance, &mut self.key);
            let row = Row {
                key: &self.key,
                present: 1,
                values: &[value],
            };
            self.sheet.row(writer, row);
        }
        self.sheet.end_more(writer, span)
    }

    /// What this machine does not tell, with the reasons; `None` if it tells everything.
    pub(super) fn absent(&self) -> Option<String> {
        let one = |(source, absent): (&source::node::Source, record::value::Absent)| {
            format!("{} ({})", source.file, absent.words())
        };
        let all: Vec<String> = self.ambient.absent().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn what_every_machine_tells_is_there_and_declared() {
        let tables = crate::cmd::metrics::tables();
        let metrics = tables.iter().flat_map(|(_, metrics)| metrics);
        let declared: HashSet<_> = metrics.map(|metric| metric.name).collect();
        let mut node = Node::open(&Root::default());
        node.read(Nanos(1));
        let told: HashSet<_> = node.ambient.rows().iter().map(|row| row.metric).collect();
        assert!(
            told.is_subset(&declared),
            "{:?}",
            told.difference(&declared)
        );
        for metric in ["node_cpu_user", "node_forks", "node_memory", "node_load_1m"] {
            assert!(told.contains(metric), "{metric}");
        }
    }
}
