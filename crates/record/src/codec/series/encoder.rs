//! The writing end of a table of series.
//!
//! Nearly every row comes where it came in the pass before, and most are what they were then: the
//! series behind the last one is tried before any key is hashed, the last rows of all series lie
//! side by side, and a row that its source knows to be the same is not even looked at.

use super::{CHANGED, COLUMNS_MAX, KEY_BYTES_MAX, LOOSE, NEW, Row, SAME, SLOTS_MAX, put_changes};
use crate::codec::varint::{put, put_bytes};
use crate::room;
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;

/// What a row was made of, by its source: two rows of a series made of the same are the same.
pub type Revision = NonZeroU64;

/// No slot.
const NOWHERE: usize = usize::MAX;

/// Writes rows of one table.
#[derive(Debug)]
pub struct Encoder {
    columns: usize,
    slots: Vec<Slot>,
    /// The last values of all series, by slot.
    values: Vec<i64>,
    /// Slots by their keys.
    places: HashTable<usize>,
    hasher: RandomState,
    free: Vec<usize>,
    pass: u64,
    expected: u64,
    /// The slot of the row before in this pass, and the one whose row was the first of a pass.
    before: usize,
    first: usize,
}

/// A series.
#[derive(Debug)]
struct Slot {
    key: Box<[u8]>,
    /// The last pass with a row of it.
    seen: u64,
    present: u128,
    revision: Option<Revision>,
    /// The slot whose row came next in that pass.
    next: usize,
}

impl Encoder {
    /// Of a table with so many columns, at most [`COLUMNS_MAX`].
    pub fn new(columns: usize) -> Self {
        Self {
            columns: columns.min(COLUMNS_MAX),
            slots: Vec::new(),
            values: Vec::new(),
            places: HashTable::new(),
            hasher: RandomState::new(),
            free: Vec::new(),
            pass: 0,
            expected: 0,
            before: NOWHERE,
            first: NOWHERE,
        }
    }

    /// A frame begins. A key frame forgets what was written before.
    pub fn begin(&mut self, is_key: bool) {
        self.expected = 0;
        if is_key {
            self.slots.clear();
            self.values.clear();
            self.places.clear();
            self.free.clear();
            (self.before, self.first) = (NOWHERE, NOWHERE);
        }
    }

    /// Series without a row since the last call end; the next pass begins.
    pub fn end_pass(&mut self) {
        for (place, slot) in self.slots.iter_mut().enumerate() {
            if slot.seen == self.pass || slot.is_free() {
                continue;
            }
            let hash = self.hasher.hash_one(&slot.key);
            if let Ok(entry) = self.places.find_entry(hash, |other| *other == place) {
                entry.remove();
            }
            slot.free();
            self.free.push(place);
        }
        self.pass += 1;
        self.before = NOWHERE;
    }

    /// Appends a row to the frame in `out`, values beyond the table's columns left out. Whether it
    /// could: a key of more than 4 KiB is refused.
    pub fn row(&mut self, out: &mut Vec<u8>, row: Row<'_>) -> bool {
        if row.key.len() > KEY_BYTES_MAX {
            return false;
        }
        let columns = self.columns;
        let values = row.values.get(..columns).unwrap_or(row.values);
        match self.find(row.key) {
            Some(place) => self.row_again(out, place, row.present, values),
            None => self.row_first(out, row, values),
        }
        true
    }

    /// Appends the row of a series that was made of the same when it was last written
    /// ([`Encoder::made_of`]); `false`, and nothing is appended, if it was not.
    pub fn repeat(&mut self, out: &mut Vec<u8>, key: &[u8], revision: Revision) -> bool {
        let Some(place) = self.find(key) else {
            return false;
        };
        let slot = self.slots.get(place);
        if slot.is_none_or(|slot| slot.revision != Some(revision)) {
            return false;
        }
        self.follow(out, place, SAME);
        true
    }

    /// What the row that was appended last is made of.
    pub fn made_of(&mut self, revision: Option<Revision>) {
        if let Some(slot) = self.slots.get_mut(self.before) {
            slot.revision = revision;
        }
    }

    /// Series that are remembered now.
    pub fn series(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The slot of a key.
    fn find(&self, key: &[u8]) -> Option<usize> {
        let likely = match self.slots.get(self.before) {
            Some(before) => before.next,
            None => self.first,
        };
        let is_it = |place: &usize| self.slots.get(*place).is_some_and(|it| it.is_of(key));
        if is_it(&likely) {
            return Some(likely);
        }
        let hash = self.hasher.hash_one(key);
        self.places.find(hash, is_it).copied()
    }

    /// A row of this slot comes next.
    fn follow(&mut self, out: &mut Vec<u8>, place: usize, op: u64) {
        match self.slots.get_mut(self.before) {
            Some(before) => before.next = place,
            None => self.first = place,
        }
        self.before = place;
        if let Some(slot) = self.slots.get_mut(place) {
            slot.seen = self.pass;
        }
        let index = place as u64;
        put(out, head(index.wrapping_sub(self.expected) as i64, op));
        self.expected = index + 1;
    }

    fn row_again(&mut self, out: &mut Vec<u8>, place: usize, present: u128, values: &[i64]) {
        let start = place * self.columns;
        let last = self.values.get(start..start + self.columns);
        let (Some(slot), Some(last)) = (self.slots.get_mut(place), last) else {
            return;
        };
        slot.revision = None;
        let is_same = slot.present == present && is_same(present, last, values);
        if is_same {
            return self.follow(out, place, SAME);
        }
        self.follow(out, place, CHANGED);
        self.change(out, place, present, values);
    }

    fn change(&mut self, out: &mut Vec<u8>, place: usize, present: u128, values: &[i64]) {
        let start = place * self.columns;
        let last = self.values.get_mut(start..start + self.columns);
        if let (Some(slot), Some(last)) = (self.slots.get_mut(place), last) {
            put_changes(out, (&mut slot.present, last), (present, values));
        }
    }

    fn row_first(&mut self, out: &mut Vec<u8>, row: Row<'_>, values: &[i64]) {
        let Some(place) = self.take_slot(row.key) else {
            put(out, LOOSE);
            put_bytes(out, row.key);
            let mut last = [0; COLUMNS_MAX];
            let last = last.get_mut(..self.columns).unwrap_or_default();
            return put_changes(out, (&mut 0, last), (row.present, values));
        };
        self.follow(out, place, NEW);
        put_bytes(out, row.key);
        self.change(out, place, row.present, values);
    }

    /// A slot for this key, while there is room.
    fn take_slot(&mut self, key: &[u8]) -> Option<usize> {
        let slot = Slot::new(key);
        let place = match self.free.pop() {
            Some(place) => {
                let start = place * self.columns;
                let last = self.values.get_mut(start..start + self.columns);
                last.unwrap_or_default().fill(0);
                *self.slots.get_mut(place)? = slot;
                place
            }
            None if self.slots.len() >= SLOTS_MAX => return None,
            None => {
                room::make(&mut self.slots, 1);
                self.slots.push(slot);
                room::make(&mut self.values, self.columns);
                self.values.resize(self.slots.len() * self.columns, 0);
                self.slots.len() - 1
            }
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        let of = |place: &usize| {
            slots
                .get(*place)
                .map_or(0, |slot| hasher.hash_one(&slot.key))
        };
        self.places.insert_unique(hasher.hash_one(key), place, of);
        Some(place)
    }
}

impl Slot {
    fn new(key: &[u8]) -> Self {
        Self {
            key: Box::from(key),
            seen: 0,
            present: 0,
            revision: None,
            next: NOWHERE,
        }
    }

    /// It has no series any more.
    fn free(&mut self) {
        self.seen = u64::MAX;
    }

    fn is_of(&self, key: &[u8]) -> bool {
        *self.key == *key && !self.is_free()
    }

    fn is_free(&self) -> bool {
        self.seen == u64::MAX
    }
}

fn is_same(present: u128, last: &[i64], values: &[i64]) -> bool {
    let mut differ = 0u128;
    for (index, (a, b)) in last.iter().zip(values).enumerate() {
        differ |= u128::from(a != b) << index;
    }
    differ & present == 0
}

fn head(step: i64, op: u64) -> u64 {
    (((step << 1) ^ (step >> 63)) as u64) << 2 | op
}
