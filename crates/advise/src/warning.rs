//! What should be known of a history before advice by it is believed.

use crate::history::{History, RECENT};
use crate::past::{Past, Run};
use crate::settings::Share;
use crate::spread::Spread;
use record::limit::Resource;
use record::quantity::show;
use record::unit::{Bytes, Unit};
use record::value::Method;

/// Advice by fewer runs is a guess.
const FEW: usize = 10;

/// So far from chance, in standard deviations, the last runs are others than those before.
const DRIFT: f64 = 4.0;

/// Medians of which the larger is less than this times the other are the same.
const DRIFT_MIN: f64 = 1.1;

/// Fewest runs that two peaks are looked for in.
const PEAKED: f64 = 20.0;

/// A doubt about advice. Amounts are in the unit of the resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Warning {
    /// Fewer than ten runs.
    Few {
        /// So many.
        runs: u64,
    },
    /// The last runs need more or less than those before.
    Drift {
        /// The median of those before.
        before: u64,
        /// The median of the last 50.
        last: u64,
    },
    /// Runs are of two sorts.
    TwoPeaks {
        /// The median of those that need less.
        low: u64,
        /// The median of the others.
        high: u64,
        /// How many those are.
        share: Share,
    },
    /// Peaks were read now and then: what lay between two readings was not seen.
    Sampled {
        /// Of so many runs.
        runs: u64,
    },
    /// Values are lower bounds of what was needed.
    LowerBound {
        /// Of so many runs.
        runs: u64,
    },
    /// Values have page cache in them that the kernel would have given back.
    Cache {
        /// Of so many runs.
        runs: u64,
    },
    /// Limits ended attempts that needed as much as the largest that finished, or more.
    Killed {
        /// So many attempts.
        attempts: u64,
        /// The largest of these limits.
        limit: u64,
    },
    /// Runs needed more than may be asked for.
    Capped {
        /// The most that may be asked for.
        cap: u64,
        /// The most that was needed.
        max: u64,
    },
    /// The input is larger than any seen.
    Beyond {
        /// The largest input seen.
        input: Bytes,
    },
    /// No run was on such a host: those of others are taken.
    OtherHosts,
}

/// What there is to say of advice by a history, for a task with this input.
pub(crate) fn of(history: &History, input: Option<Bytes>) -> Vec<Warning> {
    let past = &history.past;
    let largest = past.runs.iter().filter_map(|run| run.input).max();
    let beyond = largest
        .filter(|largest| input.is_some_and(|input| input > *largest))
        .map(|input| Warning::Beyond { input });
    let mut warnings = of_runs(past);
    warnings.extend(drift(past));
    warnings.extend(two_peaks(&history.spread));
    warnings.extend(beyond);
    warnings
}

/// What there is to say of the runs, one by one.
pub(crate) fn of_runs(past: &Past) -> Vec<Warning> {
    let runs = &past.runs;
    let count = |which: fn(&Run) -> bool| runs.iter().filter(|run| which(run)).count() as u64;
    let sampled = count(|run| matches!(run.method, Some(Method::Sampled { .. })));
    let lower = count(|run| matches!(run.method, Some(Method::LowerBound { upper: None })));
    let cache = count(|run| run.cache);
    let max = past.max().unwrap_or_default();
    let cap = past.settings.cap().filter(|cap| *cap < max);
    let above = past.killed.iter().filter(|limit| **limit >= max);
    let killed = above.clone().count() as u64;
    let limit = above.max().copied().unwrap_or_default();
    let few = runs.len() as u64;
    [
        (runs.len() < FEW).then_some(Warning::Few { runs: few }),
        (sampled > 0).then_some(Warning::Sampled { runs: sampled }),
        (lower > 0).then_some(Warning::LowerBound { runs: lower }),
        (cache > 0).then_some(Warning::Cache { runs: cache }),
        (killed > 0).then_some(Warning::Killed {
            attempts: killed,
            limit,
        }),
        cap.map(|cap| Warning::Capped { cap, max }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The last runs against those before, by ranks (Mann and Whitney 1947).
fn drift(past: &Past) -> Option<Warning> {
    let values: Vec<u64> = past.runs.iter().map(|run| run.value).collect();
    let (before, last) = values.split_at_checked(values.len().checked_sub(RECENT)?)?;
    if before.len() < RECENT {
        return None;
    }
    let (mut before, mut last) = (before.to_vec(), last.to_vec());
    before.sort_unstable();
    last.sort_unstable();
    let (m, n) = (before.len() as f64, last.len() as f64);
    let larger: f64 = last.iter().map(|value| rank(&before, *value)).sum();
    let chance = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let middle = |sorted: &[u64]| sorted.get(sorted.len() / 2).copied();
    let (before, last) = (middle(&before)?, middle(&last)?);
    let (low, high) = (before.min(last) as f64, before.max(last) as f64);
    let apart = (larger - m * n / 2.0).abs() > DRIFT * chance && high > DRIFT_MIN * low;
    apart.then_some(Warning::Drift { before, last })
}

/// How many of `sorted` are below `value`, equal ones by half.
fn rank(sorted: &[u64], value: u64) -> f64 {
    let below = sorted.partition_point(|it| *it < value);
    let most = sorted.partition_point(|it| *it <= value);
    f64::midpoint(below as f64, most as f64)
}

/// Whether logarithms of values are of two sorts: the best cut in two leaves a tenth on each side,
/// half as much again apart, and next to none in the middle between their means.
fn two_peaks(spread: &Spread) -> Option<Warning> {
    let all = spread.count();
    if all < PEAKED {
        return None;
    }
    let sum: f64 = spread
        .counted()
        .map(|(value, count)| count * value.ln())
        .sum();
    let (mut best, mut count, mut below) = ((0.0, 0.0, 0.0, 0.0), 0.0, 0.0);
    for (value, more) in spread.counted() {
        count += more;
        below += more * value.ln();
        let (low, high) = (below / count, (sum - below) / (all - count));
        let between = count * (all - count) * (high - low).powi(2);
        if count < all && between > best.0 {
            best = (between, count, low, high);
        }
    }
    let (_, count, low, high) = best;
    let third = (high - low) / 3.0;
    let (from, to) = ((low + third).exp(), (high - third).exp());
    let middle = spread.at_most(to).0 - spread.at_most(from).0;
    let tenth = 0.1 * all;
    let apart = third * 3.0 > 1.5_f64.ln() && middle < 0.05 * all;
    if !apart || count < tenth || all - count < tenth {
        return None;
    }
    let median = |rank: f64| {
        let value = spread.quantile(Share::of(rank, all));
        value.map(|value| value.round() as u64)
    };
    Some(Warning::TwoPeaks {
        low: median(count / 2.0)?,
        high: median(count + (all - count) / 2.0)?,
        share: Share::of(all - count, all),
    })
}

/// An amount of a resource for people; cores are in thousandths.
pub fn amount(value: u64, resource: Resource) -> String {
    let unit = resource.kind().map_or(Unit::Count, |kind| kind.unit);
    match unit {
        Unit::Cores => show(value as f64 / 1000.0, unit),
        _ => show(value as f64, unit),
    }
}

impl Warning {
    /// The doubt in words, of advice on `resource`.
    pub fn words(&self, resource: Resource) -> String {
        let say = |value: u64| amount(value, resource);
        match *self {
            Warning::Few { runs: 1 } => "only 1 run: a guess".to_owned(),
            Warning::Few { runs } => format!("only {runs} runs: a guess"),
            Warning::Drift { before, last } => format!(
                "the last {RECENT} runs are others than those before: median {} after {}",
                say(last),
                say(before)
            ),
            Warning::TwoPeaks { low, high, share } => format!(
                "runs are of two sorts, around {} and (in {:.0} %) around {}: split them by \
                 input or host",
                say(low),
                100.0 * share.ratio(),
                say(high)
            ),
            Warning::Sampled { runs } => {
                format!("peaks of {runs} runs were sampled: short ones may be missing")
            }
            Warning::LowerBound { runs } => {
                format!("of {runs} runs only a lower bound is known")
            }
            Warning::Cache { runs } => {
                format!("the values of {runs} runs have page cache in them: they may need less")
            }
            Warning::Killed { attempts, limit } => format!(
                "{attempts} attempts were ended by a limit no other came to, up to {}",
                say(limit)
            ),
            Warning::Capped { cap, max } => format!(
                "runs needed up to {}, but no more than {} may be asked for",
                say(max),
                say(cap)
            ),
            Warning::Beyond { input } => format!(
                "the input is larger than any of the attempts that are remembered ({}), and beyond \
                 twice that nothing more is asked for",
                amount(input.0, Resource::Memory)
            ),
            Warning::OtherHosts => {
                "no run was on such a host, and times differ between hosts".to_owned()
            }
        }
    }
}
