//! A dataset as it is at one instant, for several questions: all see the same files, and what one
//! is answered can be a table for those behind it.

use crate::elsewhere;
use crate::engine::{Engine, Heed};
use crate::error::{Asked, Error};
use crate::fold::{FoldTable, Reduction};
use crate::output::Writing;
use crate::progress::{Progress, Watching};
use crate::report::Dialect;
use crate::scan::DatasetTable;
use crate::worker::{Heard, Told};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::MemTable;
use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::prelude::SessionContext;
use record::table::TABLES;
use record::unit::Bytes;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use store::compact::Snapshot;

/// The caller is asked so often whether to go on.
const HEED_EVERY: Duration = Duration::from_millis(100);

/// A folder that is written to is removed in so many attempts.
const REMOVALS_MAX: u32 = 10;

/// An answer; with an error the count of the rows that were written.
pub(crate) type Answer<T> = Result<T, (Error, u64)>;

/// Whether questions may build upon reductions (`crate::fold`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Yes,
    No,
}

/// The tables of a dataset, as they are now.
pub(crate) struct Session<'a> {
    engine: &'a Engine,
    context: SessionContext,
    heed: &'a mut dyn FnMut(Progress) -> Heed,
    tables: Vec<String>,
    files: Snapshot,
    /// What kept rows take of the memory that may be used.
    taken: Arc<MemoryReservation>,
    fold: Fold,
    has_folded: bool,
}

impl<'a> Session<'a> {
    /// Looks which files there are. `heed` hears of the progress of each question.
    pub(crate) fn new(
        engine: &'a Engine,
        (threads, fold): (NonZeroUsize, Fold),
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
        let view = engine.workers().wait(context.sql(&file));
        let registered = context.register_table("file", view.map_err(failed)?.into_view());
        registered.map_err(failed)?;
        let pool = &context.runtime_env().memory_pool;
        let taken = MemoryConsumer::new("kept rows").register(pool);
        let tables = TABLES.iter().map(|table| table.name).chain(["file"]);
        Ok(Self {
            taken: Arc::new(taken),
            tables: tables.map(str::to_owned).collect(),
            files: snapshot,
            fold,
            has_folded: false,
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
        match self.answered(question, out) {
            // That a file is not there is not always told as such.
            Err((Error::Failed(_), rows)) if self.is_gone() => Err((Error::Gone, rows)),
            other => other,
        }
    }

    fn answered(&mut self, question: &str, out: &mut dyn Writing) -> Answer<u64> {
        let asked = Asked {
            question,
            tables: &self.tables,
            memory: self.engine.memory(),
        };
        let mut answering = self.engine.workers().answer(&self.context, question);
        let mut watching = None;
        let mut rows = 0;
        loop {
            let heard = answering.next(HEED_EVERY);
            let so_far = watching.as_mut().map(Watching::so_far);
            if (self.heed)(so_far.unwrap_or_default()) == Heed::Stop {
                return Err((Error::Interrupted, rows));
            }
            let written = match heard.map_err(|error| (Error::of(&error, &asked), rows))? {
                Heard::Nothing => Ok(()),
                Heard::Told(Told::Plan(plan)) => {
                    let begun = out.begin(&plan.schema());
                    watching = Some(Watching::new(plan));
                    answering.begin();
                    begun
                }
                Heard::Told(Told::Rows(batch)) => {
                    rows += batch.num_rows() as u64;
                    out.rows(&batch)
                }
                Heard::End => break,
            };
            written.map_err(|error| (error, rows))?;
        }
        out.end().map_err(|error| (error, rows))?;
        Ok(rows)
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

    /// Whether a question may build upon reductions, which have to fit into memory.
    pub(crate) fn may_fold(&self) -> bool {
        self.fold == Fold::Yes
    }

    /// Whether one does.
    pub(crate) fn has_folded(&self) -> bool {
        self.has_folded
    }

    /// Makes the reduction of the rows that a question gives a table of this name: `of` tells which
    /// one, by their columns.
    pub(crate) fn fold<R: Reduction>(
        &mut self,
        name: &str,
        question: &str,
        of: impl FnOnce(SchemaRef) -> R,
    ) -> Result<(), Error> {
        let failed = |error: DataFusionError| Error::Failed(error.strip_backtrace());
        self.has_folded = true;
        let rows = self.engine.workers().wait(self.context.sql(question));
        let rows = rows.map_err(failed)?.into_unoptimized_plan();
        let reduction = of(Arc::clone(rows.schema().inner()));
        let table = Arc::new(FoldTable::new(rows, reduction));
        let registered = self.context.register_table(name, table);
        registered.map(|_| ()).map_err(failed)
    }

    /// Memory that is needed as long as questions are asked.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Error> {
        let limit = self.engine.memory();
        let taken = self.taken.try_grow(bytes);
        taken.map_err(|_| Error::Memory { limit })
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

/// Removes what a question that was given up has left where it was made.
impl Drop for Session<'_> {
    fn drop(&mut self) {
        for folder in self.context.runtime_env().disk_manager.temp_dir_paths() {
            // Something may be made in it meanwhile.
            let mut removals = (0..REMOVALS_MAX).map(|_| std::fs::remove_dir_all(&folder));
            removals.any(|removed| !matches!(removed, Err(e) if e.kind() != ErrorKind::NotFound));
        }
    }
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
