//! Whole numbers of variable length: seven bits a byte, the lowest first (LEB128); signed ones with
//! the sign in the lowest bit (zigzag).

use super::BadBytes;

/// A number has at most so many bytes.
const BYTES_MAX: u32 = 10;

/// Appends `value`.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed `value`.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends bytes behind their length.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes a number off the front of `from`.
///
/// # Errors
/// There is none.
pub fn take(from: &mut &[u8]) -> Result<u64, BadBytes> {
    let mut value = 0u64;
    for index in 0..BYTES_MAX {
        let byte = take_byte(from)?;
        let bits = u64::from(byte & 0x7f);
        if index == BYTES_MAX - 1 && bits > 1 {
            break;
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(BadBytes("a number of more than 64 bits"))
}

/// Takes a signed number.
///
/// # Errors
/// There is none.
pub fn take_signed(from: &mut &[u8]) -> Result<i64, BadBytes> {
    let value = take(from)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Takes one byte.
///
/// # Errors
/// There is none.
pub fn take_byte(from: &mut &[u8]) -> Result<u8, BadBytes> {
    let (first, rest) = from.split_first().ok_or(BadBytes("a record that is cut"))?;
    *from = rest;
    Ok(*first)
}

/// Takes bytes behind their length.
///
/// # Errors
/// There are not so many.
pub fn take_bytes<'a>(from: &mut &'a [u8]) -> Result<&'a [u8], BadBytes> {
    let count = usize::try_from(take(from)?).map_err(|_| BadBytes("a length beyond the record"))?;
    let (bytes, rest) = from
        .split_at_checked(count)
        .ok_or(BadBytes("a length beyond the record"))?;
    *from = rest;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64, bytes: Vec<u8>) {
            let mut out = Vec::new();
            put(&mut out, value);
            put_signed(&mut out, signed);
            put_bytes(&mut out, &bytes);
            let mut from = &out[..];
            prop_assert_eq!(take(&mut from), Ok(value));
            prop_assert_eq!(take_signed(&mut from), Ok(signed));
            prop_assert_eq!(take_bytes(&mut from), Ok(&bytes[..]));
            prop_assert!(from.is_empty());
        }
    }

    #[test]
    fn small_numbers_are_short_and_bad_ones_refused() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (u64::MAX, 10)] {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(out.len(), bytes);
        }
        assert!(take(&mut &[0x80; 11][..]).is_err());
        assert!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]).is_err());
        assert!(take(&mut &[0x80][..]).is_err());
        assert!(take_bytes(&mut &[5, 1, 2][..]).is_err());
    }
}
