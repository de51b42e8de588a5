//! Keys of series: numbers and texts as bytes that sort as they do.

use super::BadBytes;
use crate::table::{Column, Shape};

/// The sign bit: with it flipped, numbers without a sign sort as those with one.
const SIGN: u64 = 1 << 63;

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A whole number.
    Int(i64),
    /// A text.
    Text(Vec<u8>),
}

/// Appends a number: eight bytes, the highest first.
pub fn put_int(key: &mut Vec<u8>, value: i64) {
    key.extend_from_slice(&(value as u64 ^ SIGN).to_be_bytes());
}

/// Appends a text: its bytes, a NUL among them as `00 FF`, and `00 00` behind them.
pub fn put_text(key: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        key.push(*byte);
        if *byte == 0 {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

/// Takes a key apart by the columns that it is made of.
///
/// # Errors
/// It is no such key.
pub fn parts(columns: &[Column], key: &[u8]) -> Result<Vec<Part>, BadBytes> {
    let mut from = key;
    let mut parts = Vec::with_capacity(columns.len());
    for column in columns {
        parts.push(match column.shape {
            Shape::Int | Shape::Letter => Part::Int(take_int(&mut from)?),
            Shape::Text | Shape::List => Part::Text(take_text(&mut from)?),
        });
    }
    match from.is_empty() {
        true => Ok(parts),
        false => Err(BadBytes("a key with more parts than its table")),
    }
}

/// The two numbers of a key that is made of two.
pub fn two_ints(key: &[u8]) -> Option<(i64, i64)> {
    let mut from = key;
    let two = (take_int(&mut from).ok()?, take_int(&mut from).ok()?);
    from.is_empty().then_some(two)
}

/// The number that a key begins with.
pub fn first_int(key: &[u8]) -> Option<i64> {
    let mut from = key;
    take_int(&mut from).ok()
}

fn take_int(from: &mut &[u8]) -> Result<i64, BadBytes> {
    let (bytes, rest) = from.split_first_chunk::<8>().ok_or(CUT)?;
    *from = rest;
    Ok((u64::from_be_bytes(*bytes) ^ SIGN) as i64)
}

fn take_text(from: &mut &[u8]) -> Result<Vec<u8>, BadBytes> {
    let mut text = Vec::new();
    loop {
        let (byte, rest) = from.split_first().ok_or(CUT)?;
        *from = rest;
        if *byte != 0 {
            text.push(*byte);
            continue;
        }
        let (mark, rest) = from.split_first().ok_or(CUT)?;
        *from = rest;
        match mark {
            0 => return Ok(text),
            0xff => text.push(0),
            _ => return Err(BadBytes("a key with a text that does not end")),
        }
    }
}

const CUT: BadBytes = BadBytes("a key that is cut");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{node, process};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_sort_as_their_parts_do(
            a: (i64, i64),
            b: (i64, i64),
            s: (Vec<u8>, Vec<u8>),
            t: (Vec<u8>, Vec<u8>),
        ) {
            let ints = |(x, y): (i64, i64)| {
                let mut key = Vec::new();
                put_int(&mut key, x);
                put_int(&mut key, y);
                key
            };
            prop_assert_eq!(ints(a).cmp(&ints(b)), a.cmp(&b));
            prop_assert_eq!(two_ints(&ints(a)), Some(a));
            prop_assert_eq!(first_int(&ints(a)), Some(a.0));
            prop_assert_eq!(two_ints(ints(a).get(1..).unwrap_or_default()), None);
            prop_assert_eq!(
                parts(process::TABLE.key, &ints(a)),
                Ok(vec![Part::Int(a.0), Part::Int(a.1)])
            );
            let texts = |pair: &(Vec<u8>, Vec<u8>)| {
                let mut key = Vec::new();
                put_text(&mut key, &pair.0);
                put_text(&mut key, &pair.1);
                key
            };
            prop_assert_eq!(texts(&s).cmp(&texts(&t)), s.cmp(&t));
            let (first, second) = s.clone();
            prop_assert_eq!(
                parts(node::TABLE.key, &texts(&s)),
                Ok(vec![Part::Text(first), Part::Text(second)])
            );
        }

        #[test]
        fn hostile_keys_are_survived(key: Vec<u8>) {
            let _ = parts(process::TABLE.key, &key);
            let _ = parts(node::TABLE.key, &key);
        }
    }
}
