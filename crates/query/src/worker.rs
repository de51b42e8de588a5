//! A question that other threads answer: some of what they do, as a join without a condition,
//! takes minutes without a pause, and who asked is not kept by it.

use crate::sorted;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::context::SQLOptions;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, mpsc};

/// Batches that are ready before they are taken.
const READY_MAX: usize = 2;

/// Threads that answer. Nobody waits for their end: what was given up may go on until the process
/// ends.
pub(crate) struct Workers {
    handle: Handle,
    threads: Option<Runtime>,
    /// The clock of who asks; that of the threads stands still while all of them are busy.
    here: Runtime,
}

impl Workers {
    pub(crate) fn start(count: NonZeroUsize) -> io::Result<Self> {
        let threads = Builder::new_multi_thread()
            .worker_threads(count.get())
            .enable_time()
            .build()?;
        Ok(Self {
            handle: threads.handle().clone(),
            threads: Some(threads),
            here: Builder::new_current_thread().enable_time().build()?,
        })
    }

    /// Waits for what takes no time worth the word.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Has a question in SQL answered.
    pub(crate) fn answer(&self, context: &SessionContext, question: &str) -> Answering<'_> {
        let (to, told) = mpsc::channel(READY_MAX);
        let is_begun = Arc::<Notify>::default();
        let _on_the_threads = self.handle.enter();
        let answer = answer(
            context.clone(),
            question.to_owned(),
            to,
            Arc::clone(&is_begun),
        );
        Answering {
            task: Some(SpawnedTask::spawn(answer)),
            told,
            is_begun,
            here: &self.here,
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

/// What is heard of an answer.
pub(crate) enum Told {
    /// How it is had; comes first. Rows follow when they are wanted.
    Plan(Arc<dyn ExecutionPlan>),
    Rows(RecordBatch),
}

/// What was heard within some time.
pub(crate) enum Heard {
    Told(Told),
    Nothing,
    /// That was all.
    End,
}

/// An answer that is being had; it is given up when this is dropped.
pub(crate) struct Answering<'a> {
    told: mpsc::Receiver<Told>,
    is_begun: Arc<Notify>,
    task: Option<SpawnedTask<Result<(), DataFusionError>>>,
    here: &'a Runtime,
}

impl Answering<'_> {
    /// The plan is known: now rows are wanted.
    pub(crate) fn begin(&self) {
        self.is_begun.notify_one();
    }

    /// What comes next, if it comes within this time.
    pub(crate) fn next(&mut self, within: Duration) -> Result<Heard, DataFusionError> {
        let Self {
            told, task, here, ..
        } = self;
        let next = async { tokio::time::timeout(within, told.recv()).await };
        match here.block_on(next) {
            Err(_) => return Ok(Heard::Nothing),
            Ok(Some(told)) => return Ok(Heard::Told(told)),
            Ok(None) => {}
        }
        // Nothing more is sent once it is at its end.
        let Some(task) = task.take() else {
            return Ok(Heard::End);
        };
        let ended = here.block_on(task.join());
        ended.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??;
        Ok(Heard::End)
    }
}

async fn answer(
    context: SessionContext,
    question: String,
    to: mpsc::Sender<Told>,
    is_begun: Arc<Notify>,
) -> Result<(), DataFusionError> {
    // The dataset is for reading, and other files are none of its business.
    let allowed = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let frame = context.sql_with_options(&question, allowed).await?;
    let plan = sorted::within_memory(frame.create_physical_plan().await?)?;
    let told = to.send(Told::Plan(Arc::clone(&plan))).await;
    is_begun.notified().await;
    let mut stream = execute_stream(plan, context.task_ctx())?;
    let mut is_heard = told.is_ok();
    while is_heard && let Some(rows) = stream.next().await {
        is_heard = to.send(Told::Rows(rows?)).await.is_ok();
    }
    Ok(())
}
