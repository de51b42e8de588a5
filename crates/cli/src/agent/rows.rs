//! Rows of `sample`: what each process has used.

use super::Segments;
use record::codec::series::Row;
use record::sample::ProcessSample;
use record::table;
use store::segment::Sheet;
use sys::burst;

/// So many are written in one piece.
const BETWEEN_RESTS: u64 = 128;

/// Writes a row of each; how many that were.
pub(super) fn write<'a>(
    sheet: &mut Sheet,
    writer: &mut Segments,
    samples: impl Iterator<Item = &'a ProcessSample>,
) -> u64 {
    let mut values = [0; table::sample::COLUMN_COUNT];
    let (mut key, mut rows) = (Vec::new(), 0);
    for sample in samples {
        if rows % BETWEEN_RESTS == 0 {
            burst::rest();
        }
        table::sample::key(sample.id, &mut key);
        rows += 1;
        if sheet.repeat(writer, sample.revision, &key) {
            continue;
        }
        let present = table::sample::values(sample, &mut values);
        let row = Row {
            key: &key,
            present,
            values: &values,
        };
        sheet.row_of(writer, sample.revision, row);
    }
    rows
}
