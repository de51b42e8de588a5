//! A dataset as it is at one instant, for several questions: all see the same files, and what one
//! is answered can be a table for those behind it.

use crate::engine::{Engine, Heed};
use crate::error::{Asked, Error};
use crate::output::Writing;
use crate::progress::{Progress, Watching};
use crate::report::Dialect;
use crate::scan::DatasetTable;
use crate::{elsewhere, sorted};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::MemTable;
use datafusion::common::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use record::table::TABLES;
use record::unit::Bytes;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use store::compact::Snapshot;

/// The caller is asked so often whether to go on.
const HEED_EVERY: Duration = Duration::from_millis(100);

/// An answer; with an error the count of the rows that were written.
pub(crate) type Answer<T> = Result<T, (Error, u64)>;

/// The tables of a dataset, as they are now.
pub(crate) struct Session<'a> {
    engine: &'a Engine,
    context: SessionContext,
    heed: &'a mut dyn FnMut(Progress) -> Heed,
    tables: Vec<String>,
    files: Snapshot,
    /// What kept rows take of the memory that may be used.
    taken: Arc<MemoryReservation>,
}

impl<'a> Session<'a> {
    /// Looks which files there are. `heed` hears of the progress of each question.
    pub(crate) fn new(
        engine: &'a Engine,
        threads: NonZeroUsize,
        heed: &'a mut dyn FnMut(Progress) -> Heed,
    ) -> Result<Self, Error> {
        let failed = |error: DataFusionError| Error::Failed(error.strip_backtrace());
        let context = engine.context(threads).map_err(failed)?;
        let snapshot = Snapshot::of(engine.dataset())?;
        for table in TABLES {
            let provider = DatasetTable::new(table, &snapshot, engine.counting());
            let registered = context.register_table(table.name, Arc::new(provider));
            registered.map_err(failed)?;
        }
        let file = Dialect::DataFusion.spell(elsewhere::FILE);
        let view = engine.runtime().block_on(context.sql(&file));
        let registered = context.register_table("file", view.map_err(failed)?.into_view());
        registered.map_err(failed)?;
        let pool = &context.runtime_env().memory_pool;
        let taken = MemoryConsumer::new("kept rows").register(pool);
        let tables = TABLES.iter().map(|table| table.name).chain(["file"]);
        Ok(Self {
            taken: Arc::new(taken),
            tables: tables.map(str::to_owned).collect(),
            files: snapshot,
            engine,
            context,
            heed,
        })
    }

    /// Questions of ours follow, of which it is known how they are best answered.
    pub(crate) fn of_reports(&self) {
        let state = self.context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        // What the joins keep is hardly ever a small part of what was read; to find that out for
        // each row before the join is work in vain.
        options.optimizer.enable_join_dynamic_filter_pushdown = false;
        // The rows of a process lie together: the first rows have a group each where groups are
        // instants, and do not tell of those behind.
        options
            .execution
            .skip_partial_aggregation_probe_ratio_threshold = 1.1;
    }

    /// Answers a question in SQL: the rows go to `out`. Gives their count.
    pub(crate) fn answer(&mut self, question: &str, out: &mut dyn Writing) -> Answer<u64> {
        let runtime = self.engine.runtime();
        let answered = runtime.block_on(answered(self, question, out));
        match answered {
            // That a file is not there is not always told as such.
            Err((Error::Failed(_), rows)) if self.is_gone() => Err((Error::Gone, rows)),
            other => other,
        }
    }

    /// Whether a file went away.
    fn is_gone(&self) -> bool {
        let parts = self.files.parts.iter().map(|part| &part.path);
        let mut files = parts.chain(&self.files.segments);
        files.any(|path| matches!(path.try_exists(), Ok(false)))
    }

    /// The rows of an answer.
    pub(crate) fn rows(&mut self, question: &str) -> Result<Vec<RecordBatch>, Error> {
        self.kept(question).map(|kept| kept.batches)
    }

    /// Keeps an answer as a table of this name, which the next questions may ask.
    pub(crate) fn keep(&mut self, name: &str, question: &str) -> Result<(), Error> {
        let failed = |error: DataFusionError| Error::Failed(error.strip_backtrace());
        let kept = self.kept(question)?;
        let columns = kept.columns.unwrap_or_else(|| Arc::new(Schema::empty()));
        let table = MemTable::try_new(columns, vec![kept.batches]).map_err(failed)?;
        let registered = self.context.register_table(name, Arc::new(table));
        registered.map(|_| ()).map_err(failed)
    }

    fn kept(&mut self, question: &str) -> Result<Kept, Error> {
        let mut kept = Kept {
            columns: None,
            batches: Vec::new(),
            taken: Arc::clone(&self.taken),
            limit: self.engine.memory(),
        };
        self.answer(question, &mut kept)
            .map_err(|(error, _)| error)?;
        Ok(kept)
    }
}

async fn answered(session: &mut Session<'_>, question: &str, out: &mut dyn Writing) -> Answer<u64> {
    let asked = Asked {
        question,
        tables: &session.tables,
        memory: session.engine.memory(),
    };
    let wrong = |error: &DataFusionError, rows| (Error::of(error, &asked), rows);
    // The dataset is for reading, and other files are none of its business.
    let allowed = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let frame = session.context.sql_with_options(question, allowed).await;
    let frame = frame.map_err(|error| wrong(&error, 0))?;
    let plan = frame
        .create_physical_plan()
        .await
        .and_then(sorted::within_memory)
        .map_err(|error| wrong(&error, 0))?;
    let mut stream = execute_stream(Arc::clone(&plan), session.context.task_ctx())
        .map_err(|error| wrong(&error, 0))?;
    out.begin(&stream.schema()).map_err(|error| (error, 0))?;
    let mut rows = 0;
    let mut watching = Watching::new(&plan);
    loop {
        let next = tokio::time::timeout(HEED_EVERY, stream.next()).await;
        if (session.heed)(watching.so_far()) == Heed::Stop {
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

/// An answer that stays in memory.
struct Kept {
    columns: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    taken: Arc<MemoryReservation>,
    limit: Bytes,
}

impl Writing for Kept {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        self.columns = Some(Arc::clone(columns));
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let limit = self.limit;
        let grown = self.taken.try_grow(batch.get_array_memory_size());
        grown.map_err(|_| Error::Memory { limit })?;
        self.batches.push(batch.clone());
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
