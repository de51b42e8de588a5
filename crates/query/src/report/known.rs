//! What is found out before a report. Of one job, so that it reads few samples: which pids may be
//! of the job, since when each host was watched, and what the job's processes used. And what rows
//! of samples come to by process and by reading, which is cheaper without SQL (`crate::fold`).
//!
//! The text for other engines, and the one that `--print-sql` shows, is one question and knows
//! nothing of the kind; its rows are the same.

use super::{Dialect, Params, fill, life};
use crate::error::Error;
use crate::fold::{Extremes, Latest, Members, Peaks, What};
use crate::session::Session;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;

/// More pids are told by ranges alone.
const PIDS_MAX: usize = 1000;

/// A condition on pids has so many ranges: parts of files that are in none are not read.
const RANGES_MAX: usize = 32;

/// What the words of a template may build upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The condition on the pids.
    pids: Option<String>,
    /// [`BEGINNINGS`] is there.
    has_beginnings: bool,
    /// [`PROCESSES`] is there as well.
    has_processes: bool,
    /// [`SEEN`] and [`TOLD`] are there.
    has_seen: bool,
    /// [`PEAKS`] is there.
    has_peaks: bool,
}

/// When each host was read first and last, a table that is kept: `begun` of `life.sql`, and how
/// far its clock is from the time since boot.
const BEGINNINGS: &str = "known_beginnings";

/// The rows of `chosen` of `life.sql`, a table that is kept.
const PROCESSES: &str = "known_processes";

/// The rows of `seen` of `life.sql`, a reduction.
const SEEN: &str = "known_seen";

/// The rows of `told` of `who.sql`, a reduction.
const TOLD: &str = "known_told";

/// The rows of `peaks.sql`, a reduction.
const PEAKS: &str = "known_peaks";

/// What [`BEGINNINGS`] is had of, a reduction.
const HOSTS: &str = "known_hosts";

/// The samples that are meant.
const SAMPLES: &str = "SELECT * FROM sample WHERE {{hosts}} AND {{window}} AND {{pids}}";

impl Known {
    /// Finds out what can be known before a template is asked: of all jobs that is little.
    pub(crate) fn of(
        session: &mut Session<'_>,
        params: &Params,
        template: &str,
    ) -> Result<Self, Error> {
        let mut known = Self::default();
        if params.job.is_some() {
            let pids = session.rows(&known.text(params, include_str!("pids.sql")))?;
            known.pids = Some(condition(&numbers(&pids)));
        }
        if params.job.is_some() || template.contains(" begun ") {
            known.beginnings(session, params)?;
            known.has_beginnings = true;
        }
        if session.may_fold() {
            session.fold(SEEN, &known.text(params, SAMPLES), |_| life::seen())?;
            session.fold(TOLD, &known.text(params, "{{tellings}}"), Latest::of)?;
            known.has_seen = true;
            if template.contains("{{peaks}}") {
                let members = session.rows(&known.text(params, include_str!("members.sql")))?;
                let members =
                    Members::of(&members).map_err(|e| Error::Failed(e.strip_backtrace()))?;
                session.take(members.bytes())?;
                let peaks = Peaks::new(members, "rss");
                session.fold(PEAKS, &known.text(params, SAMPLES), |_| peaks)?;
                known.has_peaks = true;
            }
        }
        if params.job.is_some() {
            let chosen = known.text(params, "WITH {{life}} SELECT * FROM chosen");
            session.keep(PROCESSES, &chosen)?;
            known.has_processes = true;
        }
        Ok(known)
    }

    fn beginnings(&self, session: &mut Session<'_>, params: &Params) -> Result<(), Error> {
        if !session.may_fold() {
            let question = self.text(params, include_str!("beginnings.sql"));
            return session.keep(BEGINNINGS, &question);
        }
        let rows = "SELECT host, boot_id, at_ns, {{micros time}} * 1000 - at_ns AS offset_ns \
             FROM sample WHERE {{hosts}} AND {{window}}";
        let values = [
            ("begin_ns", What::Least("at_ns")),
            ("over_ns", What::Most("at_ns")),
            ("offset_ns", What::Most("offset_ns")),
        ];
        let values = values.map(|(name, what)| (name.to_owned(), what));
        let rows = self.text(params, rows);
        session.fold(HOSTS, &rows, |_| Extremes::of_hosts(values))?;
        session.keep(BEGINNINGS, &format!("SELECT * FROM {HOSTS}"))
    }

    fn text(&self, params: &Params, template: &str) -> String {
        Dialect::DataFusion.spell(&fill(template, params, self))
    }

    /// What a word of the templates stands for.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        Some(match name {
            "pids" => self.pids.clone().unwrap_or_else(|| "1 = 1".to_owned()),
            "begun" if self.has_beginnings => format!("SELECT * FROM {BEGINNINGS}"),
            "begun" => "SELECT host, boot_id, min(first_ns) AS begin_ns, \
                 max(last_ns) AS over_ns\n  FROM seen GROUP BY host, boot_id"
                .to_owned(),
            "dated" if self.has_beginnings => "SELECT m.*, b.begin_ns FROM met AS m LEFT JOIN \
                 begun AS b ON b.host = m.host AND b.boot_id = m.boot_id"
                .to_owned(),
            // The least of a host's first readings, without another look at the samples.
            "dated" => "SELECT m.*, min(m.first_ns) OVER (PARTITION BY m.host, \
                 m.boot_id) AS begin_ns\n  FROM met AS m"
                .to_owned(),
            // Who they are is told with them, and takes a while to plan.
            "life" if self.has_processes && self.has_seen => "{{processes}}".to_owned(),
            "processes" if self.has_processes => {
                format!("begun AS ({{{{begun}}}}), chosen AS (SELECT * FROM {PROCESSES})")
            }
            "processes" => include_str!("life.sql").trim_end().to_owned(),
            "seen" if self.has_seen => format!("SELECT * FROM {SEEN}"),
            "seen" => include_str!("seen.sql").trim_end().to_owned(),
            "tellings" => include_str!("tellings.sql").trim_end().to_owned(),
            "told" if self.has_seen => format!("  SELECT * FROM {TOLD}"),
            "told" => include_str!("told.sql").trim_end().to_owned(),
            "peaks" if self.has_peaks => format!("peaks AS (SELECT * FROM {PEAKS})"),
            "peaks" => include_str!("peaks.sql").trim_end().to_owned(),
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
