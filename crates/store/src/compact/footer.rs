//! The footer of a file that was written earlier: of each column of each row group where it is,
//! and no more. As the Parquet library keeps footers they take some hundred bytes for each of them.

use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::SchemaDescPtr;
use std::fs::File;
use std::sync::Arc;

/// A file, and where its columns are.
pub(super) struct Footer {
    file: Arc<File>,
    schema: SchemaDescPtr,
    rows: u64,
    /// The rows of each row group.
    groups: Vec<usize>,
    /// The columns of the first group, those of the second, and so on.
    chunks: Vec<Chunk>,
}

/// A column of a row group.
struct Chunk {
    /// Where its first page begins in the file.
    begin: i64,
    /// Its bytes there.
    bytes: i64,
    /// How many values it has, those that are absent included.
    values: i64,
    compression: Compression,
}

impl Footer {
    /// Reads it from the end of the file.
    pub(super) fn read(file: File) -> Result<Self, ParquetError> {
        let nothing = ParquetStatisticsPolicy::SkipAll;
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(nothing.clone())
            .with_encoding_stats_policy(nothing.clone())
            .with_size_stats_policy(nothing);
        let read = ParquetMetaDataReader::new()
            .with_page_index_policy(PageIndexPolicy::Skip)
            .with_metadata_options(Some(options))
            .parse_and_finish(&file)?;
        let schema = read.file_metadata().schema_descr_ptr();
        let mut footer = Self {
            file: Arc::new(file),
            rows: u64::try_from(read.file_metadata().num_rows())?,
            groups: Vec::with_capacity(read.num_row_groups()),
            chunks: Vec::with_capacity(read.num_row_groups() * schema.num_columns()),
            schema,
        };
        for group in read.row_groups() {
            footer.add(group)?;
        }
        Ok(footer)
    }

    fn add(&mut self, group: &RowGroupMetaData) -> Result<(), ParquetError> {
        if group.num_columns() != self.schema.num_columns() {
            return Err(damaged("a row group of other columns"));
        }
        self.groups.push(usize::try_from(group.num_rows())?);
        for column in group.columns() {
            let data = column.data_page_offset();
            let chunk = Chunk {
                begin: column.dictionary_page_offset().unwrap_or(data),
                bytes: column.compressed_size(),
                values: column.num_values(),
                compression: column.compression(),
            };
            if chunk.begin < 0 || chunk.bytes < 0 || chunk.values < 0 {
                return Err(damaged("a column before the file"));
            }
            self.chunks.push(chunk);
        }
        Ok(())
    }

    /// The columns of the file.
    pub(super) fn schema(&self) -> &SchemaDescPtr {
        &self.schema
    }

    /// The rows of the file.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// The rows of a row group; `None` behind the last one.
    pub(super) fn rows_of(&self, group: usize) -> Option<usize> {
        self.groups.get(group).copied()
    }

    /// A reader of a column of a row group, at its first row.
    pub(super) fn column(&self, group: usize, column: usize) -> Result<ColumnReader, ParquetError> {
        let chunk = self.chunks.get(group * self.schema.num_columns() + column);
        let (Some(chunk), Some(rows)) = (chunk, self.rows_of(group)) else {
            return Err(damaged("a column that is missing"));
        };
        let described = self.schema.column(column);
        let place = ColumnChunkMetaData::builder(Arc::clone(&described))
            .set_data_page_offset(chunk.begin)
            .set_total_compressed_size(chunk.bytes)
            .set_num_values(chunk.values)
            .set_compression(chunk.compression)
            .build()?;
        let pages = Pages {
            file: Arc::clone(&self.file),
            place,
            rows,
            source: Source::Untouched,
        };
        Ok(get_column_reader(described, Box::new(pages)))
    }
}

/// The pages of a column of a row group. What unpacks them, some 80 KiB, is there from the
/// first to the last of them and no longer: mostly there is one.
struct Pages {
    file: Arc<File>,
    place: ColumnChunkMetaData,
    rows: usize,
    source: Source,
}

enum Source {
    Untouched,
    Open(Box<SerializedPageReader<File>>),
    Over,
}

impl Pages {
    fn source(&mut self) -> Result<Option<&mut SerializedPageReader<File>>, ParquetError> {
        if matches!(self.source, Source::Untouched) {
            let file = Arc::clone(&self.file);
            let source = SerializedPageReader::new(file, &self.place, self.rows, None)?;
            self.source = Source::Open(Box::new(source));
        }
        match &mut self.source {
            Source::Open(source) => Ok(Some(source)),
            Source::Untouched | Source::Over => Ok(None),
        }
    }

    /// If that was the last page. An error is told with the next one.
    fn close_behind_last(&mut self) {
        if let Source::Open(source) = &mut self.source
            && matches!(source.peek_next_page(), Ok(None))
        {
            self.source = Source::Over;
        }
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.source()?.map_or(Ok(None), PageReader::get_next_page)?;
        self.close_behind_last();
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.source()?.map_or(Ok(None), PageReader::peek_next_page)
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.source()?.map_or(Ok(()), PageReader::skip_next_page)?;
        self.close_behind_last();
        Ok(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
