//! Frames: what a file or a wire carries one after another, each with its length and its checksum.

use super::BadBytes;
use crc32c::crc32c;

/// The first four bytes of a frame: where a reader that lost its way looks for the next one.
pub const MARKER: [u8; 4] = *b"PLFR";

/// Bytes in front of the payload.
pub const HEADER_BYTES: usize = 64;

/// Bytes of a payload, at most: a writer splits what is more, a reader refuses it.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// Marker, length and checksum themselves are not part of what is summed up.
const SUMMED_FROM: usize = 12;

/// In `flags`: nothing before this frame of its table is needed to read it.
const KEY: u8 = 1;

/// What is said of a frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// The table that the rows are of: the number that the first frame of the file gives it.
    pub table: u8,
    /// Whether it is a key frame.
    pub is_key: bool,
    /// Who wrote it, of all writers of one boot.
    pub stream: u32,
    /// Counts the frames of a stream: a gap is a loss.
    pub seq: u64,
    /// `CLOCK_BOOTTIME` when the reading began, nanoseconds.
    pub at_ns: u64,
    /// What to add for the time of day (`CLOCK_REALTIME`), nanoseconds.
    pub real_offset_ns: i64,
    /// How long the reading took, nanoseconds.
    pub span_ns: u32,
    /// Of a table of series: counts its key frames.
    pub chain: u32,
    /// Of a table of series: counts the frames since the key frame, which is 0.
    pub link: u32,
    /// Rows that could not be kept since the stream's last frame.
    pub lost: u32,
}

/// What the front of some bytes is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front<'a> {
    /// A whole frame.
    Frame {
        /// Its header.
        header: Header,
        /// Its payload.
        payload: &'a [u8],
        /// How many bytes it takes in all.
        bytes: usize,
    },
    /// The beginning of a frame, of which at least so many bytes are missing.
    Cut(usize),
    /// No frame, or a damaged one.
    Bad(BadBytes),
}

/// Appends a frame; `payload` is at most [`PAYLOAD_BYTES_MAX`] long.
pub fn put(out: &mut Vec<u8>, header: &Header, payload: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&MARKER);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[header.table, if header.is_key { KEY } else { 0 }, 0, 0]);
    out.extend_from_slice(&header.stream.to_le_bytes());
    out.extend_from_slice(&header.span_ns.to_le_bytes());
    out.extend_from_slice(&header.seq.to_le_bytes());
    out.extend_from_slice(&header.at_ns.to_le_bytes());
    out.extend_from_slice(&header.real_offset_ns.to_le_bytes());
    out.extend_from_slice(&header.chain.to_le_bytes());
    out.extend_from_slice(&header.link.to_le_bytes());
    out.extend_from_slice(&header.lost.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
    let sum = out.get(start + SUMMED_FROM..).map_or(0, crc32c);
    if let Some(place) = out.get_mut(start + 8..start + 12) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Looks at the front of `bytes`.
pub fn front(bytes: &[u8]) -> Front<'_> {
    let Some((head, rest)) = bytes.split_at_checked(HEADER_BYTES) else {
        let known = bytes.len().min(MARKER.len());
        return match MARKER.get(..known) == bytes.get(..known) {
            true => Front::Cut(HEADER_BYTES - bytes.len()),
            false => Front::Bad(BadBytes("no frame begins here")),
        };
    };
    let mut fields = Fields(head);
    if fields.take() != MARKER {
        return Front::Bad(BadBytes("no frame begins here"));
    }
    let length = u32::from_le_bytes(fields.take()) as usize;
    if length > PAYLOAD_BYTES_MAX {
        return Front::Bad(BadBytes("a frame that is too long"));
    }
    let sum = u32::from_le_bytes(fields.take());
    let Some(payload) = rest.get(..length) else {
        return Front::Cut(length - rest.len());
    };
    let whole = bytes.get(SUMMED_FROM..HEADER_BYTES + length);
    if whole.map(crc32c) != Some(sum) {
        return Front::Bad(BadBytes("a frame whose checksum does not match"));
    }
    let [table, flags, ..] = fields.take::<4>();
    let header = Header {
        table,
        is_key: flags & KEY != 0,
        stream: u32::from_le_bytes(fields.take()),
        span_ns: u32::from_le_bytes(fields.take()),
        seq: u64::from_le_bytes(fields.take()),
        at_ns: u64::from_le_bytes(fields.take()),
        real_offset_ns: i64::from_le_bytes(fields.take()),
        chain: u32::from_le_bytes(fields.take()),
        link: u32::from_le_bytes(fields.take()),
        lost: u32::from_le_bytes(fields.take()),
    };
    Front::Frame {
        header,
        payload,
        bytes: HEADER_BYTES + length,
    }
}

/// Why bytes that look like a beginning of a frame ([`Front::Cut`]) were not cut but damaged, where
/// that can be told.
pub fn damage(bytes: &[u8]) -> Option<BadBytes> {
    let summed = bytes.get(SUMMED_FROM..)?;
    let [_, flags, reserved @ ..] = *summed.first_chunk::<4>()?;
    let last = bytes.get(HEADER_BYTES - 4..HEADER_BYTES);
    if flags & !KEY != 0 || reserved != [0; 2] || last.is_some_and(|last| last != [0; 4]) {
        return Some(BadBytes("a frame with bits that nobody sets"));
    }
    let sum = bytes.get(SUMMED_FROM - 4..SUMMED_FROM)?;
    let is_whole = last.is_some() && crc32c(summed).to_le_bytes() == *sum;
    is_whole.then_some(BadBytes("a frame of another length than it says"))
}

/// Where the next frame may begin, behind the first byte of `bytes`.
pub fn next_marker(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(1..)?;
    rest.windows(MARKER.len())
        .position(|four| four == MARKER)
        .map(|at| at + 1)
}

/// The fields of a header, one after another.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        if let Some((bytes, rest)) = self.0.split_at_checked(N) {
            field.copy_from_slice(bytes);
            self.0 = rest;
        }
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            table: 3,
            is_key: true,
            stream: 7,
            seq: u64::MAX,
            at_ns: 5,
            real_offset_ns: -9,
            span_ns: 11,
            chain: 2,
            link: 1,
            lost: 4,
        }
    }

    fn framed(payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, &header(), payload);
        out
    }

    #[test]
    fn a_frame_comes_back_and_every_cut_of_it_is_one() {
        let out = framed(b"rows");
        assert_eq!(out.len(), HEADER_BYTES + 4);
        let whole = Front::Frame {
            header: header(),
            payload: b"rows",
            bytes: out.len(),
        };
        assert_eq!(front(&out), whole);
        for end in 0..out.len() {
            assert!(
                matches!(front(&out[..end]), Front::Cut(missing) if missing > 0),
                "{end}"
            );
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed_wherever_it_is() {
        let out = framed(b"some rows");
        for bit in 0..out.len() * 8 {
            let mut bad = out.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(front(&bad), Front::Frame { .. }), "{bit}");
        }
    }

    #[test]
    fn a_longer_length_is_told_from_a_cut() {
        let out = framed(b"rows");
        for bit in 32..64 {
            let mut bad = out.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let is_cut = matches!(front(&bad), Front::Cut(_));
            assert!(!is_cut || damage(&bad).is_some(), "{bit}");
        }
        for end in 0..out.len() {
            assert_eq!(damage(&out[..end]), None, "{end}");
        }
        for at in [13, 14, 15, 63] {
            let mut bad = out.clone();
            bad[at] ^= 0x80;
            assert!(damage(&bad[..HEADER_BYTES + 1]).is_some(), "{at}");
        }
    }

    #[test]
    fn the_next_frame_is_found_behind_damage() {
        let mut bytes = framed(b"PLF PLFR");
        bytes[40] ^= 1;
        let second = bytes.len();
        bytes.extend(framed(b"second"));
        let mut at = 0;
        while !matches!(front(&bytes[at..]), Front::Frame { .. }) {
            at += next_marker(&bytes[at..]).unwrap();
        }
        assert_eq!(at, second);
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_survived(bytes: Vec<u8>) {
            let _ = front(&bytes);
            let _ = damage(&bytes);
            let _ = next_marker(&bytes);
        }
    }
}
