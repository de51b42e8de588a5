//! The time series: dense at the start and around changes, bounded in length.
//!
//! A row is kept when enough time has passed or a gauge has moved by a twentieth; what is not
//! kept is folded into the row before it, of which each gauge shows its maximum. When the table
//! is full the time between two rows is doubled.

use record::unit::{Nanos, Unit};

/// Instants kept.
const INSTANTS_MAX: usize = 2000;

/// Rows kept over all instants, for a series by process.
const ROWS_MAX: usize = 20_000;

/// Processes kept at one instant, the largest.
const PROCESSES_MAX: usize = 200;

/// A row may follow another after a share of the time since the start: of so many rows at most a
/// tenth as many stand before each e-fold of it.
const START_PART: usize = 10;

/// Doublings that are tried: from a millisecond to 50 days.
const ROUNDS: usize = 32;

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name without unit.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Whether it only grows.
    pub counter: bool,
}

const fn column(name: &'static str, unit: Unit, counter: bool) -> Column {
    Column {
        name,
        unit,
        counter,
    }
}

/// The columns of a series of the task.
pub const TASK_COLUMNS: &[Column] = &[
    column("cpu", Unit::Nanoseconds, true),
    column("cores", Unit::Cores, false),
    column("rss", Unit::Bytes, false),
    column("memory", Unit::Bytes, false),
    column("virtual", Unit::Bytes, false),
    column("swap", Unit::Bytes, false),
    column("processes", Unit::Count, false),
    column("threads", Unit::Count, false),
    column("read", Unit::Bytes, true),
    column("written", Unit::Bytes, true),
    column("disk_read", Unit::Bytes, true),
    column("disk_written", Unit::Bytes, true),
    column("footprint", Unit::Bytes, false),
    column("files", Unit::Count, false),
];

/// The columns of a series by process.
pub const PROCESS_COLUMNS: &[Column] = &[
    column("cpu", Unit::Nanoseconds, true),
    column("rss", Unit::Bytes, false),
    column("virtual", Unit::Bytes, false),
    column("swap", Unit::Bytes, false),
    column("threads", Unit::Count, false),
    column("read", Unit::Bytes, true),
    column("written", Unit::Bytes, true),
];

/// One row: a process, or the whole task, at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which process; none for the task.
    pub process: Option<(u32, String)>,
    /// A value a column; none where it was not read.
    pub values: Vec<Option<f64>>,
}

/// The rows of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Instant {
    /// Since the start of the task.
    pub at: Nanos,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A time series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    columns: &'static [Column],
    instants: Vec<Instant>,
    rows: usize,
    step: Nanos,
    dropped: u64,
}

impl Series {
    /// An empty series.
    pub fn new(columns: &'static [Column]) -> Self {
        Self {
            columns,
            instants: Vec::new(),
            rows: 0,
            step: Nanos(0),
            dropped: 0,
        }
    }

    /// Its columns, after the instant and the process.
    pub fn columns(&self) -> &'static [Column] {
        self.columns
    }

    /// Whether each row is of one process.
    pub fn by_process(&self) -> bool {
        self.columns == PROCESS_COLUMNS
    }

    /// Its rows, by instant.
    pub fn instants(&self) -> &[Instant] {
        &self.instants
    }

    /// Rows of small processes that were left out, over all instants.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds the rows of an instant.
    pub fn push(&mut self, at: Nanos, mut rows: Vec<Row>) {
        if rows.len() > PROCESSES_MAX {
            let by = |row: &Row| row.values.get(1).copied().flatten().unwrap_or(0.0);
            rows.sort_by(|a, b| by(b).total_cmp(&by(a)));
            self.dropped += (rows.len() - PROCESSES_MAX) as u64;
            rows.truncate(PROCESSES_MAX);
        }
        self.rows += rows.len();
        self.instants.push(Instant { at, rows });
        if self.instants.len() > INSTANTS_MAX || self.rows > ROWS_MAX {
            // Half of the table is free then.
            self.thin(INSTANTS_MAX / 2, ROWS_MAX / 2);
        }
    }

    /// The same in at most so many instants: each gauge shows its maximum still.
    #[must_use]
    pub fn shortened(&self, instants_max: usize) -> Self {
        let mut short = self.clone();
        if short.instants.len() > instants_max {
            short.thin(instants_max, ROWS_MAX);
        }
        short
    }

    /// Doubles the time between two rows until there are no more than so many.
    fn thin(&mut self, instants_max: usize, rows_max: usize) {
        let start = Nanos(self.step.0.max(1_000_000));
        let density = (instants_max / START_PART).max(1) as u64;
        // At last also what changed goes, and the start is no denser than the rest.
        for density in [Some(density), None] {
            let mut step = start;
            for _ in 0..ROUNDS {
                self.merge(step, density);
                if self.instants.len() <= instants_max && self.rows <= rows_max {
                    if density.is_none() {
                        self.step = step;
                    }
                    return;
                }
                step = Nanos(step.0.saturating_mul(2));
            }
        }
    }

    /// One row of those that are near; with a density those that changed stay.
    fn merge(&mut self, step: Nanos, density: Option<u64>) {
        let mut kept: Vec<Instant> = Vec::with_capacity(self.instants.len() / 2 + 1);
        let columns = self.columns;
        let mut from = Nanos(0);
        for instant in std::mem::take(&mut self.instants) {
            let Some(last) = kept.last_mut() else {
                from = instant.at;
                kept.push(instant);
                continue;
            };
            let gap = density.map_or(step.0, |density| step.0.min(instant.at.0 / density));
            let near = instant.at.since(from).0 < gap;
            if near && !(density.is_some() && changed(columns, last, &instant)) {
                absorb(last, instant);
            } else {
                from = instant.at;
                kept.push(instant);
            }
        }
        self.rows = kept.iter().map(|i| i.rows.len()).sum();
        self.instants = kept;
    }
}

/// Whether a gauge moved by more than a twentieth.
fn changed(columns: &[Column], a: &Instant, b: &Instant) -> bool {
    let (Some(x), Some(y), 1, 1) = (a.rows.first(), b.rows.first(), a.rows.len(), b.rows.len())
    else {
        return false;
    };
    let gauges = columns.iter().zip(x.values.iter().zip(&y.values));
    gauges
        .filter(|(column, _)| !column.counter && column.unit != Unit::Cores)
        .any(|(_, pair)| match pair {
            (Some(x), Some(y)) => (x - y).abs() > 0.05 * x.abs().max(y.abs()),
            (x, y) => x.is_some() != y.is_some(),
        })
}

/// Takes `next` into `last`: the larger of each value, which for a counter is the later.
fn absorb(last: &mut Instant, next: Instant) {
    for row in next.rows {
        let old = last
            .rows
            .iter_mut()
            .find(|old| old.process.as_ref().map(|p| p.0) == row.process.as_ref().map(|p| p.0));
        let Some(old) = old else {
            last.rows.push(row);
            continue;
        };
        for (x, y) in old.values.iter_mut().zip(row.values) {
            *x = match (*x, y) {
                (Some(x), Some(y)) => Some(x.max(y)),
                (x, y) => x.or(y),
            };
        }
    }
    // A counter belongs to the later instant, a gauge to either.
    last.at = next.at;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rss: f64) -> Vec<Row> {
        let mut values = vec![None; TASK_COLUMNS.len()];
        values[0] = Some(rss);
        values[2] = Some(rss);
        vec![Row {
            process: None,
            values,
        }]
    }

    #[test]
    fn a_day_at_a_second_fits_keeps_its_peak_and_its_start() {
        let mut series = Series::new(TASK_COLUMNS);
        for second in 0..86_400u64 {
            let rss = if second == 50_000 { 9e9 } else { 1e9 };
            series.push(Nanos::from_secs(second), row(rss));
        }
        let instants = series.instants();
        assert!(instants.len() <= INSTANTS_MAX && instants.len() > 500);
        let peak = instants
            .iter()
            .find(|i| i.rows[0].values[2] == Some(9e9))
            .unwrap();
        assert!(peak.at.since(Nanos::from_secs(50_000)) < Nanos::from_secs(600));
        assert!(
            instants[20].at < Nanos::from_secs(60),
            "{:?}",
            instants[20].at
        );
        assert!(instants.windows(2).all(|w| w[0].at < w[1].at));
    }

    #[test]
    fn a_short_one_keeps_every_peak() {
        let mut series = Series::new(TASK_COLUMNS);
        for second in 0..1500u64 {
            let rss = if second == 700 { 9e9 } else { 1e9 };
            series.push(Nanos::from_secs(second), row(rss));
        }
        let short = series.shortened(100);
        let instants = short.instants();
        assert!((20..=100).contains(&instants.len()), "{}", instants.len());
        let most = |series: &Series| {
            let rss = series.instants().iter().filter_map(|i| i.rows[0].values[2]);
            rss.fold(0.0, f64::max)
        };
        assert_eq!(most(&short), most(&series));
        assert_eq!(instants.last().unwrap().at, Nanos::from_secs(1499));
        assert_eq!(series.shortened(5000), series);
    }

    #[test]
    fn two_months_do_not_become_one_row() {
        let mut series = Series::new(TASK_COLUMNS);
        let seconds = (0..2000u64).chain((2000..5_000_000).step_by(500));
        for second in seconds {
            series.push(Nanos::from_secs(second), row(1e9));
        }
        let instants = series.instants();
        assert!(
            (300..=INSTANTS_MAX).contains(&instants.len()),
            "{}",
            instants.len()
        );
    }

    #[test]
    fn a_restless_task_is_bounded_too() {
        let mut series = Series::new(TASK_COLUMNS);
        for i in 0..50_000u64 {
            series.push(
                Nanos(i * 1_000_000),
                row(if i % 2 == 0 { 1e9 } else { 2e9 }),
            );
        }
        let count = series.instants().len();
        assert!((500..=INSTANTS_MAX).contains(&count), "{count}");
        let short = series.shortened(120).instants().len();
        assert!((40..=120).contains(&short), "{short}");
    }

    #[test]
    fn many_processes_are_bounded_and_the_loss_is_counted() {
        let mut series = Series::new(PROCESS_COLUMNS);
        for i in 0..500u64 {
            let rows = (0..300u32).map(|pid| Row {
                process: Some((pid, "p".into())),
                values: vec![
                    Some(1.0),
                    Some(f64::from(pid)),
                    None,
                    None,
                    None,
                    None,
                    None,
                ],
            });
            series.push(Nanos::from_millis(i), rows.collect());
        }
        assert!(series.rows <= ROWS_MAX);
        assert_eq!(series.dropped(), 500 * 100);
        assert_eq!(
            series.instants()[0].rows[0].process.as_ref().unwrap().0,
            299
        );
    }
}
