//! The rows of one reading: metric, instance, value. Buffers are reused.

/// Rows of one source in one reading, at most; the others are counted.
pub const SOURCE_ROWS_MAX: u32 = 16_384;

/// The longest name of an instance that is kept, bytes: rows of longer ones are left out.
pub const INSTANCE_BYTES_MAX: usize = 1024;

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The metric's name, as METRICS.md has it.
    pub metric: &'static str,
    /// Which CPU, disk, interface; empty for the machine.
    pub instance: &'a [u8],
    /// In the unit of the metric.
    pub value: i64,
}

/// The rows of one reading.
#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<Kept>,
    names: Vec<u8>,
    of_source: u32,
    left_out: u64,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    metric: &'static str,
    start: u32,
    end: u32,
    value: i64,
}

impl Rows {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.names.clear();
    }

    /// The rows of another source begin.
    pub(crate) fn begin_source(&mut self) {
        (self.of_source, self.left_out) = (0, 0);
    }

    /// Rows of this source that were left out.
    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Something of this source was not looked at, because there is so much of it.
    pub(crate) fn leave_out(&mut self, count: u64) {
        self.left_out = self.left_out.saturating_add(count);
    }

    /// Appends a row. One whose value does not fit, or that is one too many, is counted instead.
    pub(crate) fn put(&mut self, metric: &'static str, instance: &[u8], value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.put_signed(metric, instance, value),
            Err(_) => self.leave_out(1),
        }
    }

    /// As [`Rows::put`], of what may be below 0.
    pub(crate) fn put_signed(&mut self, metric: &'static str, instance: &[u8], value: i64) {
        if self.of_source >= SOURCE_ROWS_MAX || instance.len() > INSTANCE_BYTES_MAX {
            return self.leave_out(1);
        }
        self.of_source += 1;
        let name = match self.rows.last() {
            // The rows of one instance mostly follow one another.
            Some(last) if self.name(*last) == instance => (last.start, last.end),
            _ => {
                let start = self.names.len() as u32;
                self.names.extend_from_slice(instance);
                (start, self.names.len() as u32)
            }
        };
        self.rows.push(Kept {
            metric,
            start: name.0,
            end: name.1,
            value,
        });
    }

    fn name(&self, row: Kept) -> &[u8] {
        let range = row.start as usize..row.end as usize;
        self.names.get(range).unwrap_or_default()
    }

    /// The rows, in the order of the sources.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|row| Row {
            metric: row.metric,
            instance: self.name(*row),
            value: row.value,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_instances_and_are_bounded() {
        let mut rows = Rows::default();
        rows.begin_source();
        rows.put("a", b"x", 1);
        rows.put("b", b"x", 2);
        rows.put_signed("a", b"", -3);
        rows.put("a", b"y", u64::MAX);
        rows.put("a", &[b'n'; INSTANCE_BYTES_MAX + 1], 1);
        let told: Vec<_> = rows
            .iter()
            .map(|r| (r.metric, r.instance, r.value))
            .collect();
        assert_eq!(told, [("a", &b"x"[..], 1), ("b", b"x", 2), ("a", b"", -3)]);
        assert_eq!(rows.left_out(), 2);
        for n in 0..2 * u64::from(SOURCE_ROWS_MAX) {
            rows.put("a", b"z", n);
        }
        assert_eq!(rows.len(), SOURCE_ROWS_MAX as usize);
        assert_eq!(rows.left_out(), 2 + u64::from(SOURCE_ROWS_MAX) + 3);
        rows.begin_source();
        rows.put("a", b"z", 1);
        assert_eq!(
            (rows.len(), rows.left_out()),
            (SOURCE_ROWS_MAX as usize + 1, 0)
        );
    }
}
