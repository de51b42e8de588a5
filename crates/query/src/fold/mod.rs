//! Rows reduced to few in one pass, where that is much cheaper than a GROUP BY: the samples of a
//! process lie together in a file, so that most rows belong where the one before them did.
//!
//! Such a result is a table for the questions behind it. It is computed when it is asked, of the
//! columns that are asked for, by as many threads as read. What it holds has to fit into memory;
//! where it does not, the text in SQL says the same, and the engine sorts in files.

mod exec;
mod extremes;
mod latest;
mod peaks;
mod runs;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableType, col};
use datafusion::physical_plan::ExecutionPlan;
use exec::FoldExec;
pub(crate) use extremes::{Extremes, What};
pub(crate) use latest::Latest;
pub(crate) use peaks::{Members, Peaks};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// What rows are reduced to.
pub(crate) trait Reduction: Debug + Clone + Send + Sync + 'static {
    /// What is held while rows come.
    type Fold: Fold;

    /// The columns of the result.
    fn columns(&self) -> SchemaRef;

    /// The same with only those of its columns that are at these places.
    fn project(&self, places: &[usize]) -> Self;

    /// The columns that the rows must have.
    fn needs(&self) -> Vec<&str>;

    /// Begins without a row.
    fn begin(&self) -> Self::Fold;
}

/// Rows that are being reduced.
pub(crate) trait Fold: Send + 'static {
    /// Takes some rows.
    fn rows(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Takes what another one of the same reduction holds.
    fn absorb(&mut self, other: Self);

    /// The memory that it holds, about.
    fn bytes(&self) -> usize;

    /// The rows of the result.
    fn len(&self) -> usize;

    /// Some of them.
    fn batch(&self, columns: &SchemaRef, rows: Range<usize>) -> Result<RecordBatch>;
}

/// The result of a reduction, as a table.
#[derive(Debug)]
pub(crate) struct FoldTable<R> {
    of: LogicalPlan,
    reduction: R,
}

impl<R: Reduction> FoldTable<R> {
    /// Of the rows that a question gives.
    pub(crate) fn new(of: LogicalPlan, reduction: R) -> Self {
        Self { of, reduction }
    }
}

#[async_trait]
impl<R: Reduction> TableProvider for FoldTable<R> {
    fn schema(&self) -> SchemaRef {
        self.reduction.columns()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let reduction = match projection {
            Some(places) => self.reduction.project(places),
            None => self.reduction.clone(),
        };
        let needed = reduction.needs().into_iter().map(col);
        let rows = LogicalPlanBuilder::from(self.of.clone()).project(needed)?;
        let rows = state.create_physical_plan(&rows.build()?).await?;
        Ok(Arc::new(FoldExec::new(rows, reduction)))
    }
}
