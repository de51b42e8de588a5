//! Where an answer goes, watched: what cannot be written is told as such, whatever the library in
//! between makes of it.

use super::{Format, Look, Out, Writing};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The first error that was met.
type First = Arc<Mutex<Option<io::Error>>>;

impl Format {
    /// Begins to write an answer.
    pub fn begin(&self, out: Out, look: Look) -> Box<dyn Writing> {
        let first = First::default();
        let out = Watched {
            out,
            first: Arc::clone(&first),
        };
        Box::new(Told {
            writing: (self.open)(Box::new(out), look),
            first,
        })
    }
}

struct Watched {
    out: Out,
    first: First,
}

impl Watched {
    fn told<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let again = match error.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(error);
            again
        })
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.told(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.told(done)
    }
}

struct Told {
    writing: Box<dyn Writing>,
    first: First,
}

impl Told {
    fn or_first(&self, done: Result<(), Error>) -> Result<(), Error> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        match (done, first.take()) {
            (Err(_), Some(error)) => Err(Error::Write(error)),
            (done, _) => done,
        }
    }
}

impl Writing for Told {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        let done = self.writing.begin(columns);
        self.or_first(done)
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let done = self.writing.rows(batch);
        self.or_first(done)
    }

    fn end(&mut self) -> Result<(), Error> {
        let done = self.writing.end();
        self.or_first(done)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FORMATS;
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_one_in_each_format() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        let values = Arc::new(Int64Array::from_iter_values(0..10));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values]).unwrap();
        for format in FORMATS {
            let mut writing = format.begin(Box::new(Closed), Look::default());
            let begun = writing.begin(&schema);
            let done = begun.and_then(|()| writing.rows(&batch));
            let done = done.and_then(|()| writing.end());
            let is_closed = matches!(&done, Err(Error::Write(error))
                if error.kind() == io::ErrorKind::BrokenPipe);
            assert!(is_closed, "{}: {done:?}", format.name);
        }
    }
}
