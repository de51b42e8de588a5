//! One dataset, opened for questions.

use crate::error::Error;
use crate::met::{Counting, Met};
use crate::output::Writing;
pub use crate::progress::Progress;
use crate::report::{Params, Report};
use crate::session::{Answer, Fold, Session};
use crate::worker::Workers;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use record::unit::Bytes;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    workers: Workers,
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
        let workers = Workers::start(options.threads)
            .map_err(|error| Error::Failed(format!("no threads: {error}")))?;
        Ok(Self {
            dataset,
            options,
            workers,
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
        let mut out = Once::new(out);
        self.look(heed, &mut |session| session.answer(question, &mut out))
    }

    /// Answers a report: its rows go to `out`. `heed` and what is given are as with a question.
    ///
    /// # Errors
    /// The dataset cannot be read, or the answer not be written.
    pub fn report(
        &self,
        report: &Report,
        params: &Params,
        out: &mut dyn Writing,
        heed: &mut dyn FnMut(Progress) -> Heed,
    ) -> Result<u64, Error> {
        let mut out = Once::new(out);
        self.look(heed, &mut |session| {
            let text = report.text(params, session).map_err(|error| (error, 0))?;
            session.answer(&text, &mut out)
        })
    }

    /// Looks at the dataset, and once more if its files went away before a row was written. Where
    /// the memory was too little for reductions the engine sorts in their place; and several
    /// threads that sort keep each other from their parts of it, so that then one does it alone.
    pub(crate) fn look<T>(
        &self,
        heed: &mut dyn FnMut(Progress) -> Heed,
        ask: &mut dyn FnMut(&mut Session<'_>) -> Answer<T>,
    ) -> Result<T, Error> {
        let mut tries = 0;
        let (mut threads, mut fold) = (self.options.threads, Fold::Yes);
        loop {
            let mut session = Session::new(self, (threads, fold), heed)?;
            tries += 1;
            match ask(&mut session) {
                // Nothing was written: the files are where they are now.
                Err((Error::Gone, 0)) if tries < TRIES_MAX => {}
                Err((Error::Memory { .. }, 0)) if session.has_folded() => fold = Fold::No,
                Err((Error::Memory { .. }, 0)) if threads > NonZeroUsize::MIN => {
                    threads = NonZeroUsize::MIN;
                }
                Err((error, _)) => return Err(error),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    /// An engine without tables.
    pub(crate) fn context(&self, threads: NonZeroUsize) -> Result<SessionContext, DataFusionError> {
        let bytes = usize::try_from(self.options.memory.0).unwrap_or(usize::MAX);
        let named = NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(NonZeroUsize::MIN);
        let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), named);
        let spill = DiskManagerMode::Directories(vec![self.options.spill.clone()]);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(pool))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
            .build_arc()?;
        let mut config = SessionConfig::new()
            .with_target_partitions(threads.get())
            .with_information_schema(true);
        let options = config.options_mut();
        options.sql_parser.collect_spans = true;
        options.execution.parquet.pushdown_filters = true;
        // Rows that are handed from thread to thread go through files where memory is short, and
        // whoever reads the oldest file waits for its end though what is next may be in another:
        // with a file for each batch no file is open that nobody writes to at that moment
        // (https://github.com/apache/datafusion/issues/24883).
        options.execution.max_spill_file_size_bytes = ConfigNonZeroUsize::try_new(1)?;
        Ok(SessionContext::new_with_config_rt(config, runtime))
    }

    pub(crate) fn dataset(&self) -> &Path {
        &self.dataset
    }

    /// What a question may take.
    pub(crate) fn memory(&self) -> Bytes {
        self.options.memory
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(crate) fn counting(&self) -> &Arc<Counting> {
        &self.met
    }
}

/// An answer that is begun once, however often its question is tried.
struct Once<'a> {
    out: &'a mut dyn Writing,
    is_begun: bool,
}

impl<'a> Once<'a> {
    fn new(out: &'a mut dyn Writing) -> Self {
        Self {
            out,
            is_begun: false,
        }
    }
}

impl Writing for Once<'_> {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        // A second try has the same columns.
        match std::mem::replace(&mut self.is_begun, true) {
            true => Ok(()),
            false => self.out.begin(columns),
        }
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.out.rows(batch)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Extremes;

    fn engine(dataset: &Path) -> Engine {
        std::fs::create_dir(dataset.join("live")).unwrap();
        let options = Options {
            memory: Bytes(1 << 26),
            spill: std::env::temp_dir(),
            threads: NonZeroUsize::MIN,
        };
        Engine::open(dataset, options).unwrap()
    }

    /// With several batches in each file 8 of 38 questions short of memory never ended.
    #[test]
    fn what_threads_hand_over_has_a_file_for_each_batch() {
        let folder = tempfile::tempdir().unwrap();
        let context = engine(folder.path()).context(NonZeroUsize::MIN).unwrap();
        let bytes = context
            .copied_config()
            .options()
            .execution
            .max_spill_file_size_bytes;
        assert_eq!(bytes.get(), 1);
    }

    #[test]
    fn what_does_not_fit_into_memory_is_asked_without_reductions() {
        let folder = tempfile::tempdir().unwrap();
        let mut tries = Vec::new();
        let limit = Bytes(1 << 26);
        let given = engine(folder.path()).look(&mut |_| Heed::Go, &mut |session| {
            tries.push(session.may_fold());
            if session.may_fold() {
                let question = "SELECT host, boot_id FROM sample";
                let made = session.fold("hosts", question, |_| Extremes::of_hosts([]));
                made.map_err(|error| (error, 0))?;
                assert_eq!(session.rows("SELECT * FROM hosts").unwrap().len(), 0);
                return Err((Error::Memory { limit }, 0));
            }
            Ok(())
        });
        given.unwrap();
        assert_eq!(tries, [true, false]);
    }

    #[test]
    fn files_that_go_on_going_away_are_not_looked_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let tries = |written: u64| {
            let mut tries = 0;
            let gone: Result<(), _> = engine.look(&mut |_| Heed::Go, &mut |_| {
                tries += 1;
                Err((Error::Gone, written))
            });
            assert!(matches!(gone, Err(Error::Gone)));
            tries
        };
        assert_eq!(tries(0), TRIES_MAX);
        // What is written cannot be taken back.
        assert_eq!(tries(1), 1);
    }
}
