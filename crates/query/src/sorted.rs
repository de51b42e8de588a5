//! `ORDER BY ... LIMIT n` of many rows.
//!
//! The engine keeps the first n in a heap, which is fast, and ends with an error once that needs
//! more memory than is allowed. A whole sort uses files then: with a large n it takes the place.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use std::sync::Arc;

/// A heap of so many rows is small beside any memory that is worth giving.
const HEAP_ROWS_MAX: usize = 10_000;

/// The plan with a whole sort for each heap of too many rows.
pub(crate) fn within_memory(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let changed = plan.transform_up(|node| {
        let sort = node.downcast_ref::<SortExec>();
        let rows = sort.and_then(|sort| Some((sort, sort.fetch()?)));
        Ok(match rows {
            Some((sort, rows)) if rows > HEAP_ROWS_MAX => {
                let whole = Arc::new(sort.with_fetch(None));
                Transformed::yes(Arc::new(LocalLimitExec::new(whole, rows)))
            }
            _ => Transformed::no(node),
        })
    })?;
    Ok(changed.data)
}
