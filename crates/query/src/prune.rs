//! Which files a question needs, told by the folders they lie in.

use crate::schema::{self, DATE, HOUR};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Int64Array, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DataFusionError, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use record::table::{TIME, Table};
use record::unit::Nanos;
use std::collections::HashSet;
use std::sync::Arc;
use store::compact::PartFile;

const HOUR_MICROS: u64 = 3_600_000_000;
const DAY_HOURS: u64 = 24;

/// The files that may have rows which fulfil the condition.
pub(crate) fn needed<'a>(
    table: &Table,
    parts: &'a [PartFile],
    condition: Option<&Arc<dyn PhysicalExpr>>,
) -> Result<Vec<&'a PartFile>, DataFusionError> {
    let Some(condition) = condition else {
        return Ok(parts.iter().collect());
    };
    let folders = Folders {
        hours: parts.iter().map(|part| hours(part.begin)).collect(),
        // What happens once lies where it happened, and is told at another time.
        tells_time: table.once.is_none(),
    };
    let predicate = PruningPredicateBuilder::new()
        .with_file_schema(schema::of_table(table))
        .try_build(Arc::clone(condition))?;
    let kept = predicate.prune(&folders)?;
    let needed = parts.iter().zip(kept).filter(|(_, keep)| *keep);
    Ok(needed.map(|(part, _)| part).collect())
}

/// The values of a file's folders, in the order of [`schema::of_folders`].
pub(crate) fn values(part: &PartFile) -> Vec<ScalarValue> {
    let hours = hours(part.begin);
    vec![
        ScalarValue::Date32(Some(days(hours))),
        ScalarValue::Int64(Some((hours % DAY_HOURS) as i64)),
    ]
}

fn hours(begin: Nanos) -> u64 {
    begin.0 / (1000 * HOUR_MICROS)
}

fn days(hours: u64) -> i32 {
    i32::try_from(hours / DAY_HOURS).unwrap_or(i32::MAX)
}

/// The hours of the files, since 1970.
struct Folders {
    hours: Vec<u64>,
    tells_time: bool,
}

impl Folders {
    /// The first (0) or the last (1) instant of each.
    fn bound(&self, column: &Column, end: u64) -> Option<ArrayRef> {
        let hours = self.hours.iter().copied();
        Some(match column.name() {
            DATE => Arc::new(Date32Array::from_iter_values(hours.map(days))),
            HOUR => Arc::new(Int64Array::from_iter_values(
                hours.map(|hour| (hour % DAY_HOURS) as i64),
            )),
            TIME if self.tells_time => {
                let times = hours.map(|hour| ((hour + end) * HOUR_MICROS - end) as i64);
                let times = TimestampMicrosecondArray::from_iter_values(times);
                Arc::new(times.with_timezone(schema::ZONE))
            }
            _ => return None,
        })
    }
}

impl PruningStatistics for Folders {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, 0)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, 1)
    }

    fn num_containers(&self) -> usize {
        self.hours.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let is_told = self.bound(column, 0).is_some();
        is_told.then(|| Arc::new(UInt64Array::from(vec![0; self.hours.len()])) as ArrayRef)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
