//! How far a question is: rows that were read, of those that are in the files it needs.

use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::parquet::file::metadata::ParquetMetaDataReader;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who is answered sooner does not need to know.
const PATIENCE: Duration = Duration::from_secs(1);

/// Of more files the rows are not counted: that would take longer than it is worth.
const FILES_MAX: usize = 4096;

/// How far a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Rows of the dataset that were read, those that a condition left out included.
    pub rows: u64,
    /// Rows in the compacted files that are needed, once that is known; those of live segments are
    /// not counted before they are read.
    pub rows_all: Option<u64>,
}

/// A plan that is carried out.
pub(crate) struct Watching {
    plan: Arc<dyn ExecutionPlan>,
    began: Instant,
    is_counted: bool,
    rows_all: Option<u64>,
}

impl Watching {
    pub(crate) fn new(plan: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            plan,
            began: Instant::now(),
            is_counted: false,
            rows_all: None,
        }
    }

    pub(crate) fn so_far(&mut self) -> Progress {
        if !self.is_counted && self.began.elapsed() >= PATIENCE {
            self.is_counted = true;
            self.rows_all = rows_of(&self.plan);
        }
        Progress {
            rows: read(&self.plan),
            rows_all: self.rows_all,
        }
    }
}

/// What the leaves of the plan have given so far.
fn read(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let children = plan.children();
    if !children.is_empty() {
        return children.into_iter().map(read).sum();
    }
    let metrics = plan.metrics().unwrap_or_default();
    let given = metrics.output_rows().unwrap_or(0);
    let left_out = metrics.sum_by_name("pushdown_rows_pruned");
    (given + left_out.map_or(0, |count| count.as_usize())) as u64
}

/// The rows in the files that the plan needs, each as often as it is needed.
fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Option<u64> {
    let mut files = BTreeMap::new();
    files_of(plan, &mut files);
    if files.is_empty() || files.len() > FILES_MAX {
        return None;
    }
    let count = |(path, times): (String, u64)| {
        let file = File::open(Path::new("/").join(path)).ok()?;
        let known = ParquetMetaDataReader::new().parse_and_finish(&file).ok()?;
        let rows = known.file_metadata().num_rows();
        Some(u64::try_from(rows).ok()? * times)
    };
    files.into_iter().map(count).sum()
}

/// The files by name; one that is read in several parts is one.
fn files_of(plan: &Arc<dyn ExecutionPlan>, files: &mut BTreeMap<String, u64>) {
    let source = plan.downcast_ref::<DataSourceExec>();
    let config = source.and_then(|source| source.data_source().downcast_ref::<FileScanConfig>());
    if let Some(config) = config {
        let all = config.file_groups.iter().flat_map(|group| group.iter());
        let names = all.map(|file| file.object_meta.location.to_string());
        let names: std::collections::BTreeSet<_> = names.collect();
        for name in names {
            *files.entry(name).or_default() += 1;
        }
    }
    for child in plan.children() {
        files_of(child, files);
    }
}
