//! What is found out before a report of one job, so that it reads few samples: which pids may be
//! of the job, since when each host was watched, and what the job's processes used.
//!
//! The text for other engines, and the one that `--print-sql` shows, is one question and knows
//! nothing of the kind; its rows are the same.

use super::{Dialect, Params, fill};
use crate::error::Error;
use crate::session::Session;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;

/// More pids are told by ranges alone.
const PIDS_MAX: usize = 1000;

/// A condition on pids has so many ranges: parts of files that are in none are not read.
const RANGES_MAX: usize = 32;

/// What the words of a template may build upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// The condition on the pids; [`BEGINNINGS`] is there.
    Pids(String),
    /// [`PROCESSES`] is there as well.
    Processes(String),
}

/// When each host was read first and last, a table that is kept: `begun` of `life.sql`, and how
/// far its clock is from the time since boot.
const BEGINNINGS: &str = "known_beginnings";

/// The rows of `chosen` of `life.sql`, a table that is kept.
const PROCESSES: &str = "known_processes";

impl Known {
    /// Finds out what can be known before what is asked of a job; of all jobs that is nothing.
    pub(crate) fn of(session: &mut Session<'_>, params: &Params) -> Result<Self, Error> {
        if params.job.is_none() {
            return Ok(Self::Nothing);
        }
        let text =
            |template, known: &Self| Dialect::DataFusion.spell(&fill(template, params, known));
        let pids = session.rows(&text(include_str!("pids.sql"), &Self::Nothing))?;
        let known = Self::Pids(condition(&numbers(&pids)));
        let beginnings = text(include_str!("beginnings.sql"), &known);
        session.keep(BEGINNINGS, &beginnings)?;
        session.keep(
            PROCESSES,
            &text("WITH {{life}} SELECT * FROM chosen", &known),
        )?;
        Ok(match known {
            Self::Pids(pids) => Self::Processes(pids),
            other => other,
        })
    }

    /// What a word of the templates stands for.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        Some(match (name, self) {
            ("pids", Self::Nothing) => "1 = 1".to_owned(),
            ("pids", Self::Pids(pids) | Self::Processes(pids)) => pids.clone(),
            ("begun", Self::Nothing) => "SELECT host, boot_id, min(first_ns) AS begin_ns, \
                 max(last_ns) AS over_ns\n  FROM seen GROUP BY host, boot_id"
                .to_owned(),
            // The least of a host's first readings, without another look at the samples.
            ("dated", Self::Nothing) => "SELECT m.*, min(m.first_ns) OVER (PARTITION BY m.host, \
                 m.boot_id) AS begin_ns\n  FROM met AS m"
                .to_owned(),
            ("dated", _) => "SELECT m.*, b.begin_ns FROM met AS m LEFT JOIN begun AS b \
                 ON b.host = m.host AND b.boot_id = m.boot_id"
                .to_owned(),
            ("begun", _) => format!("SELECT * FROM {BEGINNINGS}"),
            ("processes", Self::Processes(_)) => {
                format!("begun AS ({{{{begun}}}}), chosen AS (SELECT * FROM {PROCESSES})")
            }
            ("processes", _) => include_str!("life.sql").trim_end().to_owned(),
            _ => return None,
        })
    }
}

/// The numbers in the only column, in order.
fn numbers(batches: &[RecordBatch]) -> Vec<i64> {
    let columns = batches.iter().filter_map(|batch| batch.columns().first());
    let columns = columns.filter_map(|column| column.as_primitive_opt::<Int64Type>());
    let mut numbers: Vec<_> = columns.flat_map(|column| column.iter().flatten()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// A condition that these pids fulfil, in order; others may, where there are many.
fn condition(pids: &[i64]) -> String {
    if pids.is_empty() {
        return "1 = 0".to_owned();
    }
    let ranges = ranges(pids).into_iter();
    let ranges: Vec<_> = ranges
        .map(|(first, last)| format!("pid BETWEEN {first} AND {last}"))
        .collect();
    let ranges = format!("({})", ranges.join(" OR "));
    match pids.len() <= PIDS_MAX {
        true => {
            let pids: Vec<_> = pids.iter().map(i64::to_string).collect();
            format!("{ranges} AND pid IN ({})", pids.join(", "))
        }
        false => ranges,
    }
}

/// Ranges with all of the pids, cut where the distances are longest.
fn ranges(pids: &[i64]) -> Vec<(i64, i64)> {
    let pairs = || pids.iter().zip(pids.iter().skip(1));
    let mut gaps: Vec<_> = pairs().map(|(one, next)| (next - one, *next)).collect();
    gaps.sort_unstable_by(|one, other| other.cmp(one));
    gaps.truncate(RANGES_MAX - 1);
    let mut begins: Vec<_> = gaps.into_iter().map(|(_, next)| next).collect();
    begins.extend(pids.first());
    begins.sort_unstable();
    let ends = begins.iter().skip(1).map(|begin| {
        let behind = pids.partition_point(|pid| pid < begin);
        pids.get(behind.saturating_sub(1)).copied()
    });
    let ends = ends.chain([pids.last().copied()]);
    let ranges = begins.iter().copied().zip(ends);
    ranges
        .filter_map(|(begin, end)| Some((begin, end?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pids_are_told_each_and_many_by_ranges() {
        assert_eq!(condition(&[]), "1 = 0");
        assert_eq!(
            condition(&[7, 9]),
            "(pid BETWEEN 7 AND 7 OR pid BETWEEN 9 AND 9) AND pid IN (7, 9)"
        );
        let many: Vec<_> = (0..2000).map(|n| n * 3 + n / 1000 * 90_000).collect();
        let condition = condition(&many);
        assert!(!condition.contains("IN"), "{condition}");
        let ranges = ranges(&many);
        assert_eq!(ranges.len(), RANGES_MAX);
        let is_in = |pid: &i64| {
            ranges
                .iter()
                .any(|(begin, end)| (begin..=end).contains(&pid))
        };
        assert!(many.iter().all(is_in));
        assert!(!is_in(&50_000));
    }
}
