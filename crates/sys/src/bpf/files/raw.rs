//! Rows as the kernel has them: read here, made sense of here or by whom they are lent to.

use super::layout::{
    Datagrams, FileId, FileRow, ROW_BYTES, SizeClasses, Ticks, decode_classes, decode_row,
};
use crate::bpf::layout::Reader;

/// What rows are read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bpf) struct Reading {
    pub(in crate::bpf) ticks: Ticks,
    /// Whether it is known where datagrams went.
    pub(in crate::bpf) knows_network: bool,
}

/// A row.
#[derive(Debug)]
pub(in crate::bpf) struct RawRow<'a> {
    pub(in crate::bpf) file: FileId,
    pub(in crate::bpf) pid: u32,
    pub(in crate::bpf) row: &'a [u8],
    /// `struct size_classes`, or nothing.
    pub(in crate::bpf) classes: Vec<u8>,
}

impl<'a> RawRow<'a> {
    pub(in crate::bpf) fn decode(&self, reading: Reading) -> Option<FileRow> {
        let mut decoded = decode_row(self.file, self.pid, self.row, reading.ticks)?;
        if !reading.knows_network {
            decoded.datagrams = Datagrams::default();
        }
        decoded.classes = decode_classes(&self.classes).map(Box::new);
        Some(decoded)
    }

    pub(in crate::bpf) fn encode(&self, bytes: &mut Vec<u8>) {
        for word in [self.file.inode, self.file.name] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in [self.file.device, self.file.generation, self.pid] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend_from_slice(self.row);
        bytes.extend_from_slice(&self.classes);
    }

    /// From the bytes that [`RawRow::encode`] wrote.
    pub(in crate::bpf) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let (inode, name) = (reader.u64()?, reader.u64()?);
        let (device, generation) = (reader.u32()?, reader.u32()?);
        Some(Self {
            file: FileId {
                inode,
                name,
                device,
                generation,
            },
            pid: reader.u32()?,
            row: reader.take(ROW_BYTES)?,
            classes: reader.0.to_vec(),
        })
    }

    /// `i_mode` of the file, and its inode.
    pub(in crate::bpf) fn mode(&self) -> u32 {
        /// Where a row has it.
        const MODE: usize = 60;
        let bytes = self.row.get(MODE..MODE + 4);
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u32::from_ne_bytes)
    }
}

/// As `struct size_classes`.
pub(super) fn encode_classes(classes: &SizeClasses) -> Vec<u8> {
    let counts = classes.reads.iter().chain(&classes.writes);
    counts.flat_map(|count| count.to_ne_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_row_is_the_same_row() {
        let mut classes = SizeClasses {
            reads: [0; 32],
            writes: [7; 32],
        };
        classes.reads[3] = 9;
        let mut row = vec![0; ROW_BYTES];
        row[60..64].copy_from_slice(&0o100_644u32.to_ne_bytes());
        row[24..32].copy_from_slice(&5u64.to_ne_bytes());
        let raw = RawRow {
            file: FileId {
                inode: 1,
                name: 2,
                device: 3,
                generation: 4,
            },
            pid: 5,
            row: &row,
            classes: encode_classes(&classes),
        };
        let reading = Reading {
            ticks: Ticks {
                jiffies: 0,
                boot_ns: 0,
                tick_ns: 1,
            },
            knows_network: true,
        };
        let mut bytes = Vec::new();
        raw.encode(&mut bytes);
        let again = RawRow::from_bytes(&bytes).unwrap();
        assert_eq!(again.mode(), 0o100_644);
        let decoded = again.decode(reading).unwrap();
        assert_eq!(Some(&decoded), raw.decode(reading).as_ref());
        assert_eq!(decoded.classes.as_deref(), Some(&classes));
        assert_eq!((decoded.opens, decoded.mode), (5, 0o100_644));
        for cut in 0..20 + ROW_BYTES {
            assert!(RawRow::from_bytes(&bytes[..cut]).is_none(), "cut to {cut}");
        }
    }
}
