//! A reduction as a part of a plan: each part of the rows by a thread, then all of them together.

use super::{Fold, Reduction};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::JoinSet;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Reduces the rows of its child.
#[derive(Debug)]
pub(super) struct FoldExec<R> {
    rows: Arc<dyn ExecutionPlan>,
    reduction: R,
    properties: Arc<PlanProperties>,
}

impl<R: Reduction> FoldExec<R> {
    pub(super) fn new(rows: Arc<dyn ExecutionPlan>, reduction: R) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(reduction.columns()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            rows,
            reduction,
            properties: Arc::new(properties),
        }
    }
}

impl<R> DisplayAs for FoldExec<R> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FoldExec")
    }
}

impl<R: Reduction> ExecutionPlan for FoldExec<R> {
    fn name(&self) -> &'static str {
        "FoldExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // They are read in parts where that is of use; rows are not handed about.
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.rows]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([rows]) => Ok(Arc::new(Self::new(rows, self.reduction.clone()))),
            Err(children) => internal_err!("a reduction of {} plans", children.len()),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        use datafusion::physical_plan::ChildrenPropertiesMode::Recompute;
        self.replace_children(children, ReplaceChildrenOptions::new(Recompute))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let columns = self.schema();
        let given = Arc::clone(&columns);
        let held = held(
            Arc::clone(&self.rows),
            self.reduction.clone(),
            Arc::clone(&context),
        );
        let rows_max = context.session_config().batch_size();
        let batches = stream::once(held).map_ok(move |held| batches(held, given.clone(), rows_max));
        let batches = batches.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(columns, batches)))
    }
}

/// What a reduction holds, and the memory that is taken for it.
struct Held<F> {
    fold: F,
    taken: MemoryReservation,
}

/// Reads all parts at once.
async fn held<R: Reduction>(
    rows: Arc<dyn ExecutionPlan>,
    reduction: R,
    context: Arc<TaskContext>,
) -> Result<Held<R::Fold>> {
    let begin = || Held {
        fold: reduction.begin(),
        taken: MemoryConsumer::new("FoldExec").register(context.memory_pool()),
    };
    let mut parts = JoinSet::new();
    for part in 0..rows.output_partitioning().partition_count() {
        parts.spawn(read(rows.execute(part, Arc::clone(&context))?, begin()));
    }
    let mut all: Option<Held<R::Fold>> = None;
    while let Some(part) = parts.join_next().await {
        let part = part.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??;
        all = Some(match all {
            None => part,
            Some(mut all) => {
                all.fold.absorb(part.fold);
                all.taken.try_resize(all.fold.bytes())?;
                all
            }
        });
    }
    Ok(all.unwrap_or_else(begin))
}

async fn read<F: Fold>(mut rows: SendableRecordBatchStream, mut held: Held<F>) -> Result<Held<F>> {
    while let Some(batch) = rows.next().await {
        held.fold.rows(&batch?)?;
        held.taken.try_resize(held.fold.bytes())?;
    }
    Ok(held)
}

fn batches<F: Fold>(
    held: Held<F>,
    columns: SchemaRef,
    rows_max: usize,
) -> impl futures::Stream<Item = Result<RecordBatch>> {
    let starts = (0..held.fold.len()).step_by(rows_max.max(1));
    stream::iter(starts.map(move |start| {
        let end = held.fold.len().min(start.saturating_add(rows_max));
        held.fold.batch(&columns, start..end)
    }))
}
