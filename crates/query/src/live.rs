//! The rows of one table in a live segment, as batches of columns.

mod column;
mod wanted;

use crate::met::Counting;
use crate::schema;
use column::{Builder, From, Whole};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::PartitionStream;
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key;
use record::codec::series::Row;
use record::table::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::segment::{Found, Reader, Rows, Take};
use store::text::utf8;
pub(crate) use wanted::Wanted;

/// Batches that wait for whoever takes them.
const WAITING: usize = 2;

/// A segment, of which some columns of one table are wanted.
#[derive(Debug)]
pub(crate) struct LiveSegment {
    path: PathBuf,
    table: &'static Table,
    /// The places of the columns in the table's schema.
    columns: Vec<usize>,
    schema: SchemaRef,
    /// The numbers of which the first part of the key may be; nothing for any.
    first: Option<Arc<Wanted>>,
    met: Arc<Counting>,
}

impl LiveSegment {
    /// All columns, or those at these places; of rows whose key begins with a number that may not
    /// be `first`, none is given.
    pub(crate) fn new(
        path: &Path,
        table: &'static Table,
        (columns, first): (Option<&Vec<usize>>, Option<&Arc<Wanted>>),
        met: &Arc<Counting>,
    ) -> Result<Self, DataFusionError> {
        let all = schema::of_table(table);
        let columns = match columns {
            Some(columns) => columns.clone(),
            None => (0..all.fields().len()).collect(),
        };
        Ok(Self {
            path: path.to_owned(),
            table,
            schema: Arc::new(all.project(&columns)?),
            columns,
            first: first.cloned(),
            met: Arc::clone(met),
        })
    }

    /// Gives the batches, until `give` wants no more.
    fn read(&self, rows: usize, give: &mut dyn FnMut(RecordBatch) -> bool) -> Result<(), Fault> {
        let Some(mut reader) = Reader::open(&self.path)? else {
            self.met.passed_over();
            return Ok(());
        };
        let origin = reader.origin().clone();
        let who = [&origin.host, &origin.boot_id].map(|name| utf8(name.as_bytes()).into_owned());
        let mut filling = Filling {
            segment: self,
            builders: self.builders(&who),
            rows: 0,
            rows_max: rows,
            full: Vec::new(),
            fault: None,
        };
        let mut decoder = Rows::default();
        loop {
            match reader.read_next()? {
                Found::Frame { header, payload } if header.table == self.table.id => {
                    // What cannot be read is counted by the decoder.
                    let _counted = decoder.read(&header, payload, &mut filling);
                }
                Found::Frame { .. } => {}
                Found::Bad { .. } => self.met.damaged(1),
                Found::End { .. } => break,
            }
            if let Some(fault) = filling.fault.take() {
                return Err(fault);
            }
            for batch in filling.full.drain(..) {
                if !give(batch) {
                    return Ok(());
                }
            }
        }
        let counts = decoder.counts();
        self.met.damaged(counts.bad + counts.unlinked);
        let last = filling.batch()?;
        if last.num_rows() > 0 {
            give(last);
        }
        Ok(())
    }

    fn builders(&self, who: &[String]) -> Vec<Builder> {
        let all = schema::of_table(self.table);
        let places = self.columns.iter();
        let known = places.filter_map(|place| Some((*place, all.fields().get(*place)?)));
        known
            .map(|(place, field)| {
                Builder::new(From::place(self.table, place), field.data_type(), who)
            })
            .collect()
    }
}

impl PartitionStream for LiveSegment {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = context.session_config().batch_size();
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), WAITING);
        let (out, copy) = (stream.tx(), self.copy());
        stream.spawn_blocking(move || {
            let read = copy.read(rows, &mut |batch| out.blocking_send(Ok(batch)).is_ok());
            read.map_err(DataFusionError::from)
        });
        stream.build()
    }
}

impl LiveSegment {
    fn copy(&self) -> Self {
        Self {
            path: self.path.clone(),
            table: self.table,
            columns: self.columns.clone(),
            schema: Arc::clone(&self.schema),
            first: self.first.clone(),
            met: Arc::clone(&self.met),
        }
    }
}

/// Why a segment gives no more rows.
#[derive(Debug)]
enum Fault {
    Store(store::Error),
    Engine(DataFusionError),
}

impl std::convert::From<store::Error> for Fault {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl std::convert::From<DataFusionError> for Fault {
    fn from(error: DataFusionError) -> Self {
        Self::Engine(error)
    }
}

impl std::convert::From<Fault> for DataFusionError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => DataFusionError::External(Box::new(error)),
            Fault::Engine(error) => error,
        }
    }
}

/// Rows on their way into batches.
struct Filling<'a> {
    segment: &'a LiveSegment,
    builders: Vec<Builder>,
    rows: usize,
    rows_max: usize,
    full: Vec<RecordBatch>,
    fault: Option<Fault>,
}

impl Filling<'_> {
    fn is_wanted(&self, first: Option<i64>) -> bool {
        match (&self.segment.first, first) {
            (Some(wanted), Some(first)) => wanted.has(first),
            _ => true,
        }
    }

    fn add(&mut self, row: &Whole<'_>) {
        for builder in &mut self.builders {
            builder.add(row);
        }
        self.rows += 1;
        if self.rows >= self.rows_max && self.fault.is_none() {
            match self.batch() {
                Ok(batch) => self.full.push(batch),
                Err(fault) => self.fault = Some(fault),
            }
        }
    }

    /// What is there so far; the next ones begin anew.
    fn batch(&mut self) -> Result<RecordBatch, Fault> {
        let columns = self.builders.iter_mut().map(Builder::finish);
        let columns = columns
            .collect::<Result<_, _>>()
            .map_err(DataFusionError::from)?;
        let options = datafusion::arrow::array::RecordBatchOptions::new();
        let options = options.with_row_count(Some(self.rows));
        self.rows = 0;
        let schema = Arc::clone(&self.segment.schema);
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|error| Fault::Engine(error.into()))
    }
}

impl Take for Filling<'_> {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        if self.is_wanted(key::first_int(row.key)) {
            self.add(&Whole::of_series(table, header, row));
        }
    }

    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        let first = row.iter().find(|(place, _)| *place == 0);
        let first = match first {
            Some((_, Cell::Int(first))) => Some(*first),
            _ => None,
        };
        if self.is_wanted(first) {
            self.add(&Whole::of_cells(table, header, row));
        }
    }
}
