//! Series: what was written comes back, whatever was lost.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

type Whole = (Vec<u8>, u128, Vec<i64>);

fn given(decoder: &mut Decoder, is_key: bool, payload: &[u8]) -> Result<Vec<Whole>, BadBytes> {
    let mut rows = Vec::new();
    decoder.frame(is_key, payload, &mut |row, _| {
        let known = |(n, value): (usize, &i64)| match row.present >> n & 1 {
            1 => *value,
            _ => 0,
        };
        let values = row.values.iter().enumerate().map(known).collect();
        rows.push((row.key.to_vec(), row.present, values));
    })?;
    Ok(rows)
}

fn row(key: &[u8], cells: &[Option<i64>]) -> Whole {
    let mut present = 0;
    for (index, cell) in cells.iter().enumerate() {
        present |= u128::from(cell.is_some()) << index;
    }
    let values = cells.iter().map(|cell| cell.unwrap_or(0)).collect();
    (key.to_vec(), present, values)
}

fn write(encoder: &mut Encoder, is_key: bool, rows: &[Whole]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(is_key);
    for (key, present, values) in rows {
        encoder.row(
            &mut out,
            Row {
                key,
                present: *present,
                values,
            },
        );
    }
    encoder.end_pass();
    out
}

#[test]
fn an_unchanged_row_takes_a_byte_and_a_changed_counter_few() {
    let (mut encoder, mut decoder) = (Encoder::new(3), Decoder::new(3));
    let first = [
        row(b"a", &[Some(1), None, Some(1 << 40)]),
        row(b"b", &[None, None, None]),
    ];
    let payload = write(&mut encoder, true, &first);
    assert_eq!(given(&mut decoder, true, &payload).unwrap(), first);
    let payload = write(&mut encoder, false, &first);
    assert_eq!(payload.len(), 2);
    assert_eq!(given(&mut decoder, false, &payload).unwrap(), first);
    let moved = [
        row(b"a", &[Some(1), Some(-5), Some((1 << 40) + 60)]),
        row(b"b", &[None, None, None]),
    ];
    let payload = write(&mut encoder, false, &moved);
    assert_eq!(payload.len(), 2 + 2 + 2 + 1);
    assert_eq!(given(&mut decoder, false, &payload).unwrap(), moved);
}

#[test]
fn an_absent_value_is_no_zero() {
    let (mut encoder, mut decoder) = (Encoder::new(1), Decoder::new(1));
    for cell in [Some(0), None, Some(0), Some(7), None, Some(7)] {
        let rows = [row(b"k", &[cell])];
        let is_key = encoder.series() == 0;
        let payload = write(&mut encoder, is_key, &rows);
        assert_eq!(given(&mut decoder, is_key, &payload).unwrap(), rows);
    }
}

#[test]
fn who_missed_the_beginning_is_told() {
    let mut encoder = Encoder::new(1);
    write(&mut encoder, true, &[row(b"k", &[Some(5)])]);
    let payload = write(&mut encoder, false, &[row(b"k", &[Some(6)])]);
    assert!(given(&mut Decoder::new(1), false, &payload).is_err());
}

#[test]
fn slots_are_used_again_and_never_more_than_needed() {
    let mut encoder = Encoder::new(1);
    let mut decoder = Decoder::new(1);
    for pass in 0..1000u32 {
        let rows: Vec<_> = (pass..pass + 10)
            .map(|n| row(&n.to_le_bytes(), &[Some(i64::from(n))]))
            .collect();
        let payload = write(&mut encoder, pass == 0, &rows);
        assert_eq!(given(&mut decoder, pass == 0, &payload).unwrap(), rows);
    }
    assert!(decoder.slots.len() <= 11);
}

/// A revision of what a row is made of.
fn revision(cells: &[Option<i64>]) -> Option<Revision> {
    let mut hasher = DefaultHasher::new();
    cells.hash(&mut hasher);
    Revision::new(hasher.finish())
}

#[test]
fn what_is_made_of_the_same_is_not_looked_at() {
    let mut encoder = Encoder::new(1);
    let (one, other) = (Revision::new(1).unwrap(), Revision::new(2).unwrap());
    let row = |values| Row {
        key: b"k",
        present: 1,
        values,
    };
    let mut out = Vec::new();
    encoder.begin(true);
    assert!(!encoder.repeat(&mut out, b"k", one) && out.is_empty());
    encoder.row(&mut out, row(&[5]));
    encoder.made_of(Some(one));
    encoder.end_pass();
    encoder.begin(false);
    assert!(!encoder.repeat(&mut out, b"k", other));
    out.clear();
    assert!(encoder.repeat(&mut out, b"k", one));
    assert_eq!(out.len(), 1);
    encoder.end_pass();
    // A row that nobody says that of, and a key frame, end it.
    encoder.begin(false);
    encoder.row(&mut out, row(&[5]));
    assert!(!encoder.repeat(&mut out, b"k", one));
    encoder.made_of(Some(one));
    encoder.begin(true);
    assert!(!encoder.repeat(&mut out, b"k", one));
}

proptest! {
    /// Whatever comes and goes, what is read is what was written.
    #[test]
    fn rows_come_back(
        passes in proptest::collection::vec(
            proptest::collection::btree_map(
                0u8..12,
                proptest::collection::vec(proptest::option::of(any::<i64>()), 5),
                0..12,
            ),
            1..12,
        ),
        keys in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(5), Decoder::new(5));
        for (pass, is_key) in passes.iter().zip(keys) {
            let pass: &BTreeMap<_, _> = pass;
            let rows: Vec<_> = pass.iter().map(|(key, cells)| row(&[*key], cells)).collect();
            let payload = write(&mut encoder, is_key, &rows);
            prop_assert_eq!(given(&mut decoder, is_key, &payload).unwrap(), rows);
        }
    }

    /// The same in any order, of rows that are said to be the same where they are.
    #[test]
    fn rows_that_repeat_come_back(
        passes in proptest::collection::vec(
            proptest::collection::vec((0u8..12, proptest::option::of(0i64..3)), 0..12),
            1..12,
        ),
        keys in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(1), Decoder::new(1));
        for (pass, is_key) in passes.iter().zip(keys) {
            let mut met = HashSet::new();
            let once = pass.iter().filter(|(key, _)| met.insert(*key));
            let rows: Vec<_> = once.map(|(key, cell)| row(&[*key], &[*cell])).collect();
            let mut payload = Vec::new();
            encoder.begin(is_key);
            for (key, present, values) in &rows {
                let made_of = revision(&[(*present != 0).then_some(values[0])]);
                if !encoder.repeat(&mut payload, key, made_of.unwrap()) {
                    let (present, values) = (*present, values.as_slice());
                    encoder.row(&mut payload, Row { key, present, values });
                    encoder.made_of(made_of);
                }
            }
            encoder.end_pass();
            prop_assert_eq!(given(&mut decoder, is_key, &payload).unwrap(), rows);
        }
    }

    /// Whatever the bytes are, reading them ends.
    #[test]
    fn hostile_bytes_are_survived(payloads: Vec<Vec<u8>>, columns in 0usize..200) {
        let mut decoder = Decoder::new(columns);
        for payload in payloads {
            let _ = given(&mut decoder, false, &payload);
        }
    }
}
