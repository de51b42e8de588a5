//! What is compressed by gzip, unpacked up to a bound.

use crate::Error;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// What begins a file of gzip.
const MAGIC: &[u8] = &[0x1f, 0x8b];

/// Bytes that one file unpacks to.
const UNPACKED_MAX: u64 = 64 << 30;

/// How many times larger the unpacked bytes are, once there are [`RATIO_FROM`] of them: tables of
/// tasks reach a tenth of it, and gzip no more than 1032.
const RATIO_MAX: u64 = 250;
const RATIO_FROM: u64 = 64 << 20;

/// Bytes of the beginning that are held, to tell what it is of.
const BEGINNING: usize = 1 << 16;

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// An input, unpacked where it is compressed, without a byte order mark.
pub struct Unpacked<R: BufRead> {
    beginning: Vec<u8>,
    /// Bytes of it that were read.
    taken: usize,
    /// What comes behind the beginning.
    failed: Option<io::Error>,
    rest: Kind<R>,
}

/// The input with the bytes that were looked at in front.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

enum Kind<R: BufRead> {
    Plain(Whole<R>),
    Packed(Box<BufReader<Bounded<R>>>),
}

/// Unpacks the input if it begins as files of gzip do.
pub fn unpacked<R: BufRead>(mut input: R) -> Result<Unpacked<R>, Error> {
    let mut first = Vec::new();
    let magic = (&mut input)
        .take(MAGIC.len() as u64)
        .read_to_end(&mut first);
    magic.map_err(|source| Error::Import { source })?;
    let is_packed = first == MAGIC;
    let input = Cursor::new(first).chain(input);
    let mut rest = match is_packed {
        false => Kind::Plain(input),
        true => {
            let input = Counted { input, taken: 0 };
            let bounded = Bounded {
                decoder: MultiGzDecoder::new(input),
                unpacked: 0,
            };
            Kind::Packed(Box::new(BufReader::with_capacity(1 << 16, bounded)))
        }
    };
    let mut beginning = Vec::new();
    let failed = (&mut rest)
        .take(BEGINNING as u64)
        .read_to_end(&mut beginning)
        .err();
    let taken = match beginning.starts_with(MARK) {
        true => MARK.len(),
        false => 0,
    };
    Ok(Unpacked {
        beginning,
        taken,
        failed,
        rest,
    })
}

impl<R: BufRead> Unpacked<R> {
    /// How it begins, up to 64 KiB, as far as that was not read yet.
    pub fn beginning(&self) -> &[u8] {
        self.beginning.get(self.taken..).unwrap_or_default()
    }
}

impl<R: BufRead> Read for Kind<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Kind::Plain(input) => input.read(buffer),
            Kind::Packed(input) => input.read(buffer),
        }
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut chunk = self.fill_buf()?;
        let count = chunk.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Unpacked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken < self.beginning.len() {
            return Ok(self.beginning());
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        match &mut self.rest {
            Kind::Plain(input) => input.fill_buf(),
            Kind::Packed(input) => input.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        if self.taken < self.beginning.len() {
            self.taken = self.taken.saturating_add(amount);
            return;
        }
        match &mut self.rest {
            Kind::Plain(input) => input.consume(amount),
            Kind::Packed(input) => input.consume(amount),
        }
    }
}

/// Stops what becomes too much.
struct Bounded<R: BufRead> {
    decoder: MultiGzDecoder<Counted<Whole<R>>>,
    unpacked: u64,
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.unpacked += count as u64;
        let (unpacked, packed) = (self.unpacked, self.decoder.get_ref().taken);
        let is_bomb = unpacked > RATIO_FROM && unpacked / packed.max(1) > RATIO_MAX;
        match is_bomb || unpacked > UNPACKED_MAX {
            true => Err(io::Error::other(Error::Unpacked { unpacked, packed })),
            false => Ok(count),
        }
    }
}

/// Counts what is taken of the compressed bytes.
struct Counted<R> {
    input: R,
    taken: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount as u64;
        self.input.consume(amount);
    }
}
