//! Many series of rows, of which only what changed since the last row is written.
//!
//! A series is known by its key (a process, a device) and has a slot from its first row on. A row
//! that is what the one before it was takes one byte, one in which a few counters moved takes two
//! or three bytes for each. A **key frame** forgets all slots: whoever reads from there on needs
//! nothing that came before. The frames between two key frames are a chain; whoever misses a link
//! cannot read the rest of it, and can tell (`frame::Header::chain`, `link`).

use super::BadBytes;
use super::varint::{put_signed, take, take_byte, take_bytes, take_signed};
pub use encoder::{Encoder, Revision};

mod encoder;

/// Columns of a row, at most: as many bits as `Row::present` has, but for the one in a change that
/// says that a value is gone.
pub const COLUMNS_MAX: usize = 127;

/// Series that are remembered; rows of more are written whole.
pub const SLOTS_MAX: usize = 1 << 17;

/// The longest key of a series.
const KEY_BYTES_MAX: usize = 4096;

/// In the byte that names a changed column: its value is absent from now on.
const GONE: u8 = 0x80;

/// What a row is to its series; the two low bits of the number that begins it.
const SAME: u64 = 0;
const CHANGED: u64 = 1;
const NEW: u64 = 2;
const LOOSE: u64 = 3;

/// One row: a value for each column of its table, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// What its series is known by.
    pub key: &'a [u8],
    /// Bit n is set if column n has a value.
    pub present: u128,
    /// The values by column; of an absent one it means nothing.
    pub values: &'a [i64],
}

/// The last row of a series.
#[derive(Debug, Clone, Default)]
pub struct Last {
    present: u128,
    values: Vec<i64>,
}

/// Appends the columns in which a row differs from the last one, and makes it the last one.
fn put_changes(
    out: &mut Vec<u8>,
    (was_present, last): (&mut u128, &mut [i64]),
    (present, values): (u128, &[i64]),
) {
    let count_at = out.len();
    out.push(0);
    let (mut count, mut next) = (0u8, 0usize);
    for (index, (old, new)) in last.iter_mut().zip(values).enumerate() {
        let bit = 1u128 << index;
        let (was, is) = (*was_present & bit != 0, present & bit != 0);
        if is == was && (!is || old == new) {
            continue;
        }
        let gap = (index - next) as u8;
        next = index + 1;
        count += 1;
        if !is {
            out.push(gap | GONE);
            continue;
        }
        out.push(gap);
        put_signed(out, new.wrapping_sub(*old));
        *old = *new;
    }
    *was_present = present;
    // At most `COLUMNS_MAX`, so one byte it stays.
    if let Some(place) = out.get_mut(count_at) {
        *place = count;
    }
}

impl Last {
    /// Before the first row, in a table with so many columns.
    pub fn empty(columns: usize) -> Self {
        Self {
            present: 0,
            values: vec![0; columns.min(COLUMNS_MAX)],
        }
    }

    /// Bit n is set if column n has a value.
    pub const fn present(&self) -> u128 {
        self.present
    }

    /// The values by column; of an absent one it means nothing.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Appends the columns in which a row differs from the last one, and makes it the last one.
    pub fn put(&mut self, out: &mut Vec<u8>, present: u128, values: &[i64]) {
        put_changes(
            out,
            (&mut self.present, &mut self.values),
            (present, values),
        );
    }

    /// Takes the next row off the front of `from`: what [`Last::put`] wrote.
    ///
    /// # Errors
    /// It is none.
    pub fn take(&mut self, from: &mut &[u8]) -> Result<(), BadBytes> {
        let count = take_byte(from)?;
        let mut next = 0usize;
        for _ in 0..count {
            let byte = take_byte(from)?;
            let index = next + usize::from(byte & !GONE);
            next = index + 1;
            let value = self
                .values
                .get_mut(index)
                .ok_or(BadBytes("a column that the table does not have"))?;
            if byte & GONE != 0 {
                self.present &= !(1u128 << index);
            } else {
                *value = value.wrapping_add(take_signed(from)?);
                self.present |= 1u128 << index;
            }
        }
        Ok(())
    }
}

/// Reads rows of one table.
#[derive(Debug)]
pub struct Decoder {
    columns: usize,
    slots: Vec<(Box<[u8]>, Last)>,
    expected: u64,
}

impl Decoder {
    /// Of a table with so many columns, at most [`COLUMNS_MAX`].
    pub fn new(columns: usize) -> Self {
        Self {
            columns: columns.min(COLUMNS_MAX),
            slots: Vec::new(),
            expected: 0,
        }
    }

    /// Gives every row of a frame's payload to `take`, with whether it differs from the one before
    /// of its series.
    ///
    /// # Errors
    /// The bytes are no frame of this table; the rows before the fault were given. The rest of the
    /// chain cannot be read.
    pub fn frame(
        &mut self,
        is_key: bool,
        payload: &[u8],
        take: &mut dyn FnMut(Row<'_>, bool),
    ) -> Result<(), BadBytes> {
        self.expected = 0;
        if is_key {
            self.slots.clear();
        }
        let mut from = payload;
        while !from.is_empty() {
            self.row(&mut from, take)?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        from: &mut &[u8],
        sink: &mut dyn FnMut(Row<'_>, bool),
    ) -> Result<(), BadBytes> {
        let number = take(from)?;
        let op = number & 3;
        if op == LOOSE {
            let key = key_of(from)?;
            let mut last = Last::empty(self.columns);
            last.take(from)?;
            give(sink, key, &last, true);
            return Ok(());
        }
        let step = (number >> 3) as i64 ^ -((number >> 2 & 1) as i64);
        let index = self.expected.wrapping_add(step as u64);
        self.expected = index.wrapping_add(1);
        let place = usize::try_from(index).map_err(|_| BadBytes("a slot beyond all bounds"))?;
        if op == NEW {
            self.renew(place, key_of(from)?)?;
        }
        let (key, last) = self
            .slots
            .get_mut(place)
            .ok_or(BadBytes("a row of a series that nobody began"))?;
        if op != SAME {
            last.take(from)?;
        }
        give(sink, key, last, op != SAME);
        Ok(())
    }

    fn renew(&mut self, place: usize, key: &[u8]) -> Result<(), BadBytes> {
        let fresh = (Box::from(key), Last::empty(self.columns));
        if let Some(slot) = self.slots.get_mut(place) {
            *slot = fresh;
        } else if place == self.slots.len() && place < SLOTS_MAX {
            self.slots.push(fresh);
        } else {
            return Err(BadBytes("a slot beyond all bounds"));
        }
        Ok(())
    }
}

fn key_of<'a>(from: &mut &'a [u8]) -> Result<&'a [u8], BadBytes> {
    let key = take_bytes(from)?;
    if key.len() > KEY_BYTES_MAX {
        return Err(BadBytes("a key that is too long"));
    }
    Ok(key)
}

fn give(take: &mut dyn FnMut(Row<'_>, bool), key: &[u8], last: &Last, changed: bool) {
    let row = Row {
        key,
        present: last.present,
        values: &last.values,
    };
    take(row, changed);
}

#[cfg(test)]
mod tests;
