//! A table of the dataset for the engine: the Parquet files and the live segments, as one.

use crate::live::{LiveSegment, Wanted};
use crate::met::Counting;
use crate::{prune, schema};
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, DataFusionError, Result, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::union::UnionExec;
use record::table::{Shape, Table};
use std::path::PathBuf;
use std::sync::Arc;
use store::compact::{PartFile, Snapshot};

/// One table.
#[derive(Debug)]
pub(crate) struct DatasetTable {
    table: &'static Table,
    schema: SchemaRef,
    parts: Vec<PartFile>,
    segments: Vec<PathBuf>,
    met: Arc<Counting>,
}

impl DatasetTable {
    pub(crate) fn new(table: &'static Table, of: &Snapshot, met: &Arc<Counting>) -> Self {
        let parts = of.parts.iter().filter(|part| part.table == table.name);
        Self {
            table,
            schema: schema::of_table(table),
            parts: parts.cloned().collect(),
            segments: of.segments.clone(),
            met: Arc::clone(met),
        }
    }

    /// The Parquet files, if any of them is needed.
    fn cold(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        condition: Option<&Arc<dyn PhysicalExpr>>,
        limit: Option<usize>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let parts = prune::needed(self.table, &self.parts, condition)?;
        if parts.is_empty() {
            return Ok(None);
        }
        let files = parts.into_iter().map(file).collect::<Result<Vec<_>>>()?;
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let store = ObjectStoreUrl::local_filesystem();
        let columns = TableSchema::builder(schema::of_files(self.table))
            .with_table_partition_cols(schema::of_folders())
            .build();
        let runtime = state.runtime_env();
        let mut source = ParquetSource::new(columns)
            .with_table_parquet_options(state.table_options().parquet.clone())
            .with_parquet_file_reader_factory(Arc::new(CachedParquetFileReaderFactory::new(
                runtime.object_store(&store)?,
                runtime.cache_manager.get_file_metadata_cache(),
            )));
        if let Some(condition) = condition {
            source = source.with_predicate(Arc::clone(condition));
        }
        let config = FileScanConfigBuilder::new(store, Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(Statistics::new_unknown(&self.schema))
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(Some(DataSourceExec::from_data_source(config)))
    }

    /// The live segments, if there are any.
    fn live(
        &self,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        // Rows of a process that is not asked for are told apart before they are columns.
        let first = self.table.key.first();
        let first = first.filter(|column| column.shape == Shape::Int);
        let first = first.and_then(|column| Wanted::of(filters, column.name));
        let first = first.map(Arc::new);
        let mut streams = Vec::new();
        for path in &self.segments {
            let segment =
                LiveSegment::new(path, self.table, (projection, first.as_ref()), &self.met)?;
            streams.push(Arc::new(segment) as Arc<dyn PartitionStream>);
        }
        let Some(first) = streams.first() else {
            return Ok(None);
        };
        let schema = Arc::clone(first.schema());
        let plan = StreamingTableExec::try_new(schema, streams, None, [], false, limit)?;
        Ok(Some(Arc::new(plan)))
    }
}

fn file(part: &PartFile) -> Result<PartitionedFile> {
    let path = StorePath::from_absolute_path(&part.path)
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    let mut file = PartitionedFile::new("", part.bytes.0);
    // As it is: what is given as a text is encoded once more.
    file.object_meta.location = path;
    Ok(file.with_partition_values(prune::values(part)))
}

#[async_trait]
impl TableProvider for DatasetTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // They tell which files and parts of files are needed; rows are told apart above.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of = DFSchema::try_from(Arc::clone(&self.schema))?;
        let condition = conjunction(filters.iter().cloned());
        let condition = condition
            .map(|condition| state.create_physical_expr(condition, &of))
            .transpose()?;
        let cold = self.cold(state, projection, condition.as_ref(), limit)?;
        let live = self.live(projection, filters, limit)?;
        match (cold, live) {
            (Some(cold), Some(live)) => UnionExec::try_new(vec![cold, live]),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => {
                let schema = match projection {
                    Some(columns) => Arc::new(self.schema.project(columns)?),
                    None => Arc::clone(&self.schema),
                };
                Ok(Arc::new(EmptyExec::new(schema)))
            }
        }
    }
}
