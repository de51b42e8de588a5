//! What is compressed by gzip, unpacked up to a bound.

use crate::Error;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// What begins a file of gzip.
const MAGIC: &[u8] = &[0x1f, 0x8b];

/// Bytes that one file unpacks to.
const UNPACKED_MAX: u64 = 64 << 30;

/// How many times larger the unpacked bytes are, once there are [`RATIO_FROM`] of them: tables of
/// tasks reach a tenth of it, and gzip no more than 1032.
const RATIO_MAX: u64 = 250;
const RATIO_FROM: u64 = 64 << 20;

/// An input, unpacked where it is compressed.
pub struct Unpacked<R: BufRead>(Kind<R>);

enum Kind<R: BufRead> {
    Plain(R),
    Packed(Box<BufReader<Bounded<R>>>),
}

/// Unpacks the input if it begins as files of gzip do.
pub fn unpacked<R: BufRead>(mut input: R) -> Result<Unpacked<R>, Error> {
    let is_packed = loop {
        match input.fill_buf() {
            Ok(first) => break first.starts_with(MAGIC),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::Import { source }),
        }
    };
    Ok(Unpacked(match is_packed {
        false => Kind::Plain(input),
        true => {
            let input = Counted { input, taken: 0 };
            let decoder = MultiGzDecoder::new(input);
            let bounded = Bounded {
                decoder,
                unpacked: 0,
            };
            Kind::Packed(Box::new(BufReader::with_capacity(1 << 16, bounded)))
        }
    }))
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(input) => input.read(buffer),
            Kind::Packed(input) => input.read(buffer),
        }
    }
}

impl<R: BufRead> BufRead for Unpacked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Kind::Plain(input) => input.fill_buf(),
            Kind::Packed(input) => input.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match &mut self.0 {
            Kind::Plain(input) => input.consume(amount),
            Kind::Packed(input) => input.consume(amount),
        }
    }
}

/// Stops what becomes too much.
struct Bounded<R: BufRead> {
    decoder: MultiGzDecoder<Counted<R>>,
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
