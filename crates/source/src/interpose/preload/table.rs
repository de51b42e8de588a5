//! The table in the file: read with `pread(2)`, so that whoever writes it meanwhile, or writes
//! nonsense, can do no harm.

use preload::layout::{
    CHUNK_BYTES, CHUNKS, Chunk, FILE_BYTES, HEADER_BYTES, Header, MAGIC, OWN_ADDRESSES, Others,
    SLOT_BYTES, SLOTS, TABLE_AT, TIMES, halves,
};
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use sys::network::Network;

/// A number of eight bytes.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at.saturating_add(8)).unwrap_or_default();
    part.try_into().map(u64::from_ne_bytes).unwrap_or_default()
}

/// A number of four bytes.
pub(super) fn half(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at.saturating_add(4)).unwrap_or_default();
    part.try_into().map(u32::from_ne_bytes).unwrap_or_default()
}

/// A number of two bytes.
pub(super) fn quarter(bytes: &[u8], at: usize) -> u16 {
    let part = bytes.get(at..at.saturating_add(2)).unwrap_or_default();
    part.try_into().map(u16::from_ne_bytes).unwrap_or_default()
}

/// The library's file with its table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) file: File,
    /// Chunks given back so far; the table's own count is nobody's to believe.
    freed: u32,
}

/// What the header says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Heading {
    /// Chunks that were ever taken for the first time.
    pub(super) chunks: u32,
    /// Of those given back, how many were taken again.
    pub(super) taken_again: u32,
    pub(super) without_stdio: u32,
    pub(super) attached: u32,
    /// Changes of names that the library could not put down.
    pub(super) names_lost: u64,
    /// Executions of programs without the library.
    pub(super) left_out: u64,
    pub(super) libaio_calls: u64,
    pub(super) aio_requests: u64,
    pub(super) rings: u64,
    pub(super) blind_calls: u64,
}

impl Table {
    /// A new one, with the library in front of it.
    pub(super) fn create(run: u64, times: bool) -> Result<Self, sys::Error> {
        let file = sys::memfd::create(c"plimsoll", FILE_BYTES)?;
        let table = Self { file, freed: 0 };
        table.fill(run, times).map_err(|source| sys::Error::Call {
            call: "write of the library",
            source,
        })?;
        Ok(table)
    }

    fn fill(&self, run: u64, times: bool) -> io::Result<()> {
        self.file.write_all_at(preload::IMAGE, 0)?;
        let asked = if times { TIMES } else { 0 };
        self.put(offset_of!(Header, run), &run.to_ne_bytes())?;
        self.put(offset_of!(Header, asked), &asked.to_ne_bytes())?;
        // Without them what goes to an address of this machine is taken to leave it.
        if let Ok(network) = Network::of_self() {
            self.put_network(&network)?;
        }
        self.put(offset_of!(Header, magic), &MAGIC.to_ne_bytes())
    }

    fn put_network(&self, network: &Network) -> io::Result<()> {
        let own = network.addresses.iter().take(OWN_ADDRESSES);
        let words: Vec<u8> = own
            .flat_map(|it| <[u64; 2]>::from(halves(*it)))
            .flat_map(u64::to_ne_bytes)
            .collect();
        let count = words.len() as u64 / 16;
        self.put(offset_of!(Header, own), &words)?;
        self.put(offset_of!(Header, own_count), &count.to_ne_bytes())?;
        let cookie = network.cookie.unwrap_or(0);
        self.put(offset_of!(Header, network), &cookie.to_ne_bytes())
    }

    fn put(&self, at: usize, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, TABLE_AT + at as u64)
    }

    fn header(&self) -> io::Result<[u8; offset_of!(Header, free)]> {
        let mut bytes = [0; offset_of!(Header, free)];
        self.file.read_exact_at(&mut bytes, TABLE_AT)?;
        Ok(bytes)
    }

    pub(super) fn heading(&self) -> io::Result<Heading> {
        let bytes = self.header()?;
        Ok(Heading {
            chunks: half(&bytes, offset_of!(Header, next)).min(CHUNKS),
            taken_again: half(&bytes, offset_of!(Header, head)),
            without_stdio: half(&bytes, offset_of!(Header, without_stdio)),
            attached: half(&bytes, offset_of!(Header, attached)),
            names_lost: word(&bytes, offset_of!(Header, names_lost)),
            left_out: word(&bytes, offset_of!(Header, left_out)),
            libaio_calls: word(&bytes, offset_of!(Header, libaio_calls)),
            // Below zero where somebody asked for a result twice.
            aio_requests: (word(&bytes, offset_of!(Header, aio_requests)) as i64).max(0) as u64,
            rings: word(&bytes, offset_of!(Header, rings)),
            blind_calls: word(&bytes, offset_of!(Header, blind_calls)),
        })
    }

    /// What had no room: rows, opens, closes, reads, writes, bytes read and written, seeks, failed,
    /// executions, writes without room.
    pub(super) fn others(&self) -> io::Result<[u64; 11]> {
        const { assert!(size_of::<Others>() == 11 * 8) };
        let bytes = self.header()?;
        let start = offset_of!(Header, others);
        Ok(std::array::from_fn(|i| word(&bytes, start + 8 * i)))
    }

    /// How many chunks are in use, by these numbers.
    pub(super) fn in_use(&self, heading: &Heading) -> u32 {
        let free = self.freed.wrapping_sub(heading.taken_again).min(CHUNKS);
        heading.chunks.saturating_sub(free)
    }

    /// Whose a chunk is and how many slots of it are used; none if it is nobody's.
    pub(super) fn owner(&self, chunk: u32) -> io::Result<Option<(u32, u32)>> {
        let mut bytes = [0; size_of::<Chunk>()];
        self.file.read_exact_at(&mut bytes, place(chunk))?;
        let pid = half(&bytes, offset_of!(Chunk, pid));
        let used = half(&bytes, offset_of!(Chunk, used)).min(SLOTS);
        Ok((pid != 0 && used > 0).then_some((pid, used)))
    }

    /// The first `slots` slots of a chunk.
    pub(super) fn slots(&self, chunk: u32, slots: u32) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; slots.min(SLOTS) as usize * SLOT_BYTES];
        self.file.read_exact_at(&mut bytes, place(chunk))?;
        Ok(bytes)
    }

    /// `bytes` from a slot of the whole table on; none that would go beyond its chunk.
    pub(super) fn slot(&self, number: u32, bytes: usize) -> Option<Vec<u8>> {
        let (chunk, slot) = (number / SLOTS, number % SLOTS);
        let start = slot as usize * SLOT_BYTES;
        if chunk >= CHUNKS || slot == 0 || start.checked_add(bytes)? > CHUNK_BYTES {
            return None;
        }
        let mut held = vec![0; bytes];
        let read = self
            .file
            .read_exact_at(&mut held, place(chunk) + start as u64);
        read.ok().map(|()| held)
    }

    /// Lets a chunk be used again.
    pub(super) fn free(&mut self, chunk: u32) -> Result<(), sys::Error> {
        sys::memfd::empty(&self.file, place(chunk), CHUNK_BYTES as u64)?;
        let ring = offset_of!(Header, free) + (self.freed % CHUNKS) as usize * 4;
        let freed = self.freed.wrapping_add(1);
        // The number first: who sees the count finds it.
        let put = self
            .put(ring, &chunk.to_ne_bytes())
            .and_then(|()| self.put(offset_of!(Header, tail), &freed.to_ne_bytes()));
        put.map_err(|source| sys::Error::Call {
            call: "write of the table",
            source,
        })?;
        self.freed = freed;
        Ok(())
    }
}

/// Where a chunk begins in the file.
const fn place(chunk: u32) -> u64 {
    TABLE_AT + HEADER_BYTES as u64 + chunk as u64 * CHUNK_BYTES as u64
}
