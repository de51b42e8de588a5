//! Rows that are written whole: a number, a text or a list of texts for each column that has one.

use super::BadBytes;
use super::varint::{put, put_bytes, put_signed, take, take_byte, take_bytes, take_signed};

/// Columns of a row, at most.
pub const COLUMNS_MAX: usize = 256;

const INT: u8 = 0;
const TEXT: u8 = 1;
const LIST: u8 = 2;

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cell<'a> {
    /// A whole number.
    Int(i64),
    /// A text; what the kernel gives as a name is bytes, of any kind.
    Text(&'a [u8]),
    /// Several.
    List(Vec<&'a [u8]>),
}

/// Appends a row: columns and their values; those without one are left out.
pub fn put_row<'a>(out: &mut Vec<u8>, cells: impl Iterator<Item = (u8, Cell<'a>)>) {
    let count_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let mut count = 0u16;
    for (column, cell) in cells.take(COLUMNS_MAX) {
        count += 1;
        out.push(column);
        match cell {
            Cell::Int(value) => {
                out.push(INT);
                put_signed(out, value);
            }
            Cell::Text(text) => {
                out.push(TEXT);
                put_bytes(out, text);
            }
            Cell::List(items) => {
                out.push(LIST);
                put(out, items.len() as u64);
                for item in items {
                    put_bytes(out, item);
                }
            }
        }
    }
    if let Some(place) = out.get_mut(count_at..count_at + 2) {
        place.copy_from_slice(&count.to_le_bytes());
    }
}

/// Takes a row off the front of `from`.
///
/// # Errors
/// It is none.
pub fn take_row<'a>(from: &mut &'a [u8]) -> Result<Vec<(u8, Cell<'a>)>, BadBytes> {
    let count = u16::from_le_bytes([take_byte(from)?, take_byte(from)?]);
    if usize::from(count) > COLUMNS_MAX {
        return Err(BadBytes("a row of too many columns"));
    }
    let mut cells = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let column = take_byte(from)?;
        let cell = match take_byte(from)? {
            INT => Cell::Int(take_signed(from)?),
            TEXT => Cell::Text(take_bytes(from)?),
            LIST => {
                let items = take(from)?;
                // Each takes a byte at least: a count beyond that is a lie, found below.
                let mut list = Vec::new();
                for _ in 0..items {
                    list.push(take_bytes(from)?);
                }
                Cell::List(list)
            }
            _ => return Err(BadBytes("a cell of no known type")),
        };
        cells.push((column, cell));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_come_back_one_after_another() {
        let rows = [
            vec![
                (0, Cell::Int(-7)),
                (3, Cell::Text(b"a b) S 1\xff")),
                (255, Cell::List(vec![b"", b"x", b"\n"])),
            ],
            vec![],
            vec![(1, Cell::Int(i64::MIN))],
        ];
        let mut out = Vec::new();
        for row in &rows {
            put_row(&mut out, row.iter().cloned());
        }
        let mut from = &out[..];
        for row in &rows {
            assert_eq!(take_row(&mut from).as_ref(), Ok(row));
        }
        assert!(from.is_empty());
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_survived(bytes: Vec<u8>) {
            let mut from = &bytes[..];
            while !from.is_empty() && take_row(&mut from).is_ok() {}
        }
    }
}
