//! One dataset, opened for questions.

use crate::elsewhere;
use crate::error::{Asked, Error};
use crate::met::{Counting, Met};
use crate::output::Writing;
pub use crate::progress::Progress;
use crate::progress::Watching;
use crate::report::Dialect;
use crate::scan::DatasetTable;
use datafusion::common::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use record::table::TABLES;
use record::unit::Bytes;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::compact::Snapshot;
use tokio::runtime::Runtime;

/// The caller is asked so often whether to go on.
const HEED_EVERY: Duration = Duration::from_millis(100);

/// A dataset whose files went away is looked at again, so often.
const TRIES_MAX: u32 = 5;

/// Consumers of memory that are named where it does not suffice.
const CONSUMERS_NAMED: usize = 3;

/// What a question may use.
#[derive(Debug, Clone)]
pub struct Options {
    /// What sorting and grouping may take; what does not fit goes to files in `spill`.
    pub memory: Bytes,
    /// Where these files are made while they are needed.
    pub spill: PathBuf,
    /// How many CPUs.
    pub threads: NonZeroUsize,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heed {
    /// Yes.
    Go,
    /// No: the question is given up.
    Stop,
}

/// A dataset.
pub struct Engine {
    dataset: PathBuf,
    options: Options,
    runtime: Runtime,
    met: Arc<Counting>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine")
            .field("dataset", &self.dataset)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the dataset in a folder.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(dataset: &Path, options: Options) -> Result<Self, Error> {
        let folder = |source| Error::Folder {
            path: dataset.to_owned(),
            source,
        };
        // Files are named by absolute paths.
        let dataset = dataset.canonicalize().map_err(folder)?;
        let mut entries = std::fs::read_dir(&dataset).map_err(folder)?;
        let is_one = entries.any(|entry| {
            let name = entry.map(|entry| entry.file_name()).unwrap_or_default();
            let name = name.to_string_lossy();
            name == store::segment::FOLDER || name.starts_with("kind=")
        });
        if !is_one {
            return Err(Error::NoDataset { path: dataset });
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.threads.get())
            .enable_time()
            .build()
            .map_err(|error| Error::Failed(format!("no threads: {error}")))?;
        Ok(Self {
            dataset,
            options,
            runtime,
            met: Arc::default(),
        })
    }

    /// What was met beside the rows so far.
    pub fn met(&self) -> Met {
        self.met.met()
    }

    /// Answers a question in SQL: the rows go to `out`. `heed` hears of the progress several times
    /// a second. Gives the count of the rows.
    ///
    /// # Errors
    /// The question cannot be understood or answered, or the answer not be written.
    pub fn ask(
        &self,
        question: &str,
        out: &mut dyn Writing,
        heed: &mut dyn FnMut(Progress) -> Heed,
    ) -> Result<u64, Error> {
        let (mut tries, mut is_begun) = (0, false);
        loop {
            let session = self.session()?;
            let answered =
                self.runtime
                    .block_on(self.answer(&session, question, (out, &mut is_begun), heed));
            tries += 1;
            match answered {
                // Nothing was written: the files are where they are now.
                Err((Error::Gone, 0)) if tries < TRIES_MAX => {}
                Err((error, _)) => return Err(error),
                Ok(rows) => return Ok(rows),
            }
        }
    }

    fn session(&self) -> Result<SessionContext, Error> {
        let failed = |error: DataFusionError| Error::Failed(error.strip_backtrace());
        let bytes = usize::try_from(self.options.memory.0).unwrap_or(usize::MAX);
        let named = NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(NonZeroUsize::MIN);
        let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), named);
        let spill = DiskManagerMode::Directories(vec![self.options.spill.clone()]);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(pool))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
            .build_arc()
            .map_err(failed)?;
        let mut config = SessionConfig::new()
            .with_target_partitions(self.options.threads.get())
            .with_information_schema(true);
        let options = config.options_mut();
        options.sql_parser.collect_spans = true;
        options.execution.parquet.pushdown_filters = true;
        let session = SessionContext::new_with_config_rt(config, runtime);
        let snapshot = Snapshot::of(&self.dataset)?;
        for table in TABLES {
            let provider = DatasetTable::new(table, &snapshot, &self.met);
            session
                .register_table(table.name, Arc::new(provider))
                .map_err(failed)?;
        }
        let file = Dialect::DataFusion.spell(elsewhere::FILE);
        let view = self.runtime.block_on(session.sql(&file)).map_err(failed)?;
        session
            .register_table("file", view.into_view())
            .map_err(failed)?;
        Ok(session)
    }

    /// The count of rows; with an error that of the rows that were written.
    async fn answer(
        &self,
        session: &SessionContext,
        question: &str,
        (out, is_begun): (&mut dyn Writing, &mut bool),
        heed: &mut dyn FnMut(Progress) -> Heed,
    ) -> Result<u64, (Error, u64)> {
        let mut tables: Vec<_> = TABLES.iter().map(|table| table.name.to_owned()).collect();
        tables.push("file".to_owned());
        let asked = Asked {
            question,
            tables: &tables,
            memory: self.options.memory,
        };
        let wrong = |error: &DataFusionError, rows| (Error::of(error, &asked), rows);
        // The dataset is for reading, and other files are none of its business.
        let allowed = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let frame = session.sql_with_options(question, allowed).await;
        let frame = frame.map_err(|error| wrong(&error, 0))?;
        let plan = frame
            .create_physical_plan()
            .await
            .map_err(|error| wrong(&error, 0))?;
        let mut stream = execute_stream(Arc::clone(&plan), session.task_ctx())
            .map_err(|error| wrong(&error, 0))?;
        // A second try has the same columns.
        if !std::mem::replace(is_begun, true) {
            out.begin(&stream.schema()).map_err(|error| (error, 0))?;
        }
        let mut rows = 0;
        let mut watching = Watching::new(&plan);
        loop {
            let next = tokio::time::timeout(HEED_EVERY, stream.next()).await;
            if heed(watching.so_far()) == Heed::Stop {
                return Err((Error::Interrupted, rows));
            }
            match next {
                Err(_) => {}
                Ok(None) => break,
                Ok(Some(Err(error))) => return Err(wrong(&error, rows)),
                Ok(Some(Ok(batch))) => {
                    rows += batch.num_rows() as u64;
                    out.rows(&batch).map_err(|error| (error, rows))?;
                }
            }
        }
        out.end().map_err(|error| (error, rows))?;
        Ok(rows)
    }
}
