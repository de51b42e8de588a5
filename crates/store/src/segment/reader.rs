//! The reading end of a segment, one that is still being written included.
//!
//! What is damaged is passed over and counted: the reader looks for the next frame behind it.

use super::{MAGIC, ORIGIN, Origin};
use crate::error::Error;
use record::codec::BadBytes;
use record::codec::frame::{self, Front, Header};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Read at a time.
const CHUNK_BYTES: usize = 256 << 10;

const NO_FRAME: BadBytes = BadBytes("no frame begins here");

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A frame.
    Frame {
        /// Its header.
        header: Header,
        /// Its rows.
        payload: &'a [u8],
    },
    /// So many bytes that are no frame.
    Bad {
        /// How many.
        bytes: u64,
        /// What is wrong with the first of them.
        why: BadBytes,
    },
    /// The end. The last so many bytes are the beginning of a frame: it was being written, or its
    /// writer died, or they are damaged where that cannot be told (docs/segment.md).
    End {
        /// How many.
        torn: u64,
    },
}

/// How a segment begins.
#[derive(Debug)]
pub(crate) enum Beginning {
    /// As it should.
    Whole(Reader),
    /// Its writer died before its first frame was whole: there is nothing in it.
    Torn,
    /// A later version of the format wrote it.
    Later,
    /// Its first bytes are not what was written, or it is none.
    Damaged,
}

/// Reads one segment, frame by frame.
#[derive(Debug)]
pub struct Reader {
    file: File,
    path: PathBuf,
    origin: Origin,
    buffer: Vec<u8>,
    /// What of the buffer was given already.
    used: usize,
    at_end: bool,
}

impl Reader {
    /// Opens a segment. `None` if it does not begin as one of this version: it is damaged there, of
    /// a later one, or its writer did not finish to begin.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        Ok(match Self::begin(path)? {
            Beginning::Whole(reader) => Some(reader),
            Beginning::Torn | Beginning::Later | Beginning::Damaged => None,
        })
    }

    /// Opens a segment, or says why not.
    pub(crate) fn begin(path: &Path) -> Result<Beginning, Error> {
        let mut reader = Self::at_front(path)?;
        if !reader.buffer.starts_with(&MAGIC) {
            return Ok(match reader.buffer.get(..MAGIC.len()) {
                None if MAGIC.starts_with(&reader.buffer) => Beginning::Torn,
                Some(magic) if is_later(magic) => Beginning::Later,
                _ => Beginning::Damaged,
            });
        }
        let (origin, is_over) = match reader.read_next()? {
            Found::Frame { header, payload } if header.table == ORIGIN => {
                (serde_json::from_slice(payload).ok(), false)
            }
            Found::End { .. } => (None, true),
            _ => (None, false),
        };
        // What is left of the buffer then is all that is behind the magic bytes.
        let rest = reader.buffer.get(reader.used..).unwrap_or_default();
        Ok(match origin {
            Some(origin) => Beginning::Whole(Self { origin, ..reader }),
            None if is_over && is_torn_origin(rest) => Beginning::Torn,
            None => Beginning::Damaged,
        })
    }

    /// Who wrote a segment whose beginning is damaged: `None` if the frame that says so is damaged
    /// itself.
    #[cfg(feature = "dataset")]
    pub(crate) fn origin_behind(path: &Path) -> Result<Option<Origin>, Error> {
        let mut reader = Self::at_front(path)?;
        loop {
            match reader.read_next()? {
                Found::Bad { .. } => {}
                Found::Frame { header, payload } if header.table == ORIGIN => {
                    return Ok(serde_json::from_slice(payload).ok());
                }
                Found::Frame { .. } | Found::End { .. } => return Ok(None),
            }
        }
    }

    /// Opens a file, however it begins: at the first byte behind the magic ones, or at the very
    /// first if those are not right.
    pub(crate) fn at_front(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| failed(path, source))?;
        let mut reader = Self {
            file,
            path: path.to_owned(),
            origin: Origin::default(),
            buffer: Vec::new(),
            used: 0,
            at_end: false,
        };
        while reader.buffer.len() < MAGIC.len() && !reader.at_end {
            reader.fill()?;
        }
        if reader.buffer.starts_with(&MAGIC) {
            reader.used = MAGIC.len();
        }
        Ok(reader)
    }

    /// Who wrote it.
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What comes next. Behind the end of one that is still being written there may be more later.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_next(&mut self) -> Result<Found<'_>, Error> {
        let (mut bad, mut why) = (0u64, NO_FRAME);
        loop {
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            let pass_over = match frame::front(rest) {
                Front::Cut(_) if !self.at_end => {
                    self.fill()?;
                    continue;
                }
                _ if rest.is_empty() && bad == 0 => {
                    self.at_end = false;
                    return Ok(Found::End { torn: 0 });
                }
                Front::Frame { bytes, .. } if bad == 0 => return Ok(self.give(bytes)),
                Front::Frame { .. } => return Ok(Found::Bad { bytes: bad, why }),
                // What looks like the beginning of the last frame may be damage: does it say so, or
                // is there one behind?
                Front::Cut(_) => match (frame::next_marker(rest), frame::damage(rest)) {
                    (next, Some(what)) => {
                        if bad == 0 {
                            why = what;
                        }
                        next.unwrap_or(rest.len())
                    }
                    (Some(at), None) => at,
                    (None, None) if bad > 0 => return Ok(Found::Bad { bytes: bad, why }),
                    (None, None) => {
                        self.at_end = false;
                        let torn = rest.len() as u64;
                        return Ok(Found::End { torn });
                    }
                },
                Front::Bad(what) => {
                    if bad == 0 {
                        why = what;
                    }
                    // A marker may lie across the end of what was read so far.
                    let known = rest.len().saturating_sub(frame::MARKER.len() - 1);
                    frame::next_marker(rest).unwrap_or(known.max(1))
                }
            };
            bad += pass_over as u64;
            self.used += pass_over;
        }
    }

    /// The frame at the front, which takes so many bytes.
    fn give(&mut self, bytes: usize) -> Found<'_> {
        let start = self.used;
        self.used += bytes;
        match frame::front(self.buffer.get(start..).unwrap_or_default()) {
            Front::Frame {
                header, payload, ..
            } => Found::Frame { header, payload },
            Front::Cut(_) | Front::Bad(_) => Found::End { torn: 0 },
        }
    }

    fn fill(&mut self) -> Result<(), Error> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let start = self.buffer.len();
        self.buffer.resize(start + CHUNK_BYTES, 0);
        let room = self.buffer.get_mut(start..).unwrap_or_default();
        let read = self.file.read(room);
        let count = *read.as_ref().unwrap_or(&0);
        self.buffer.truncate(start + count);
        self.at_end = count == 0;
        read.map(drop).map_err(|source| failed(&self.path, source))
    }
}

/// Whether these are the magic bytes of a later version of the format.
fn is_later(magic: &[u8]) -> bool {
    let of = MAGIC.split_last().zip(magic.split_last());
    of.is_some_and(|((ours, front), (theirs, its_front))| front == its_front && theirs > ours)
}

/// Whether this is the beginning of what a writer writes first. What it cannot have written is
/// damage, of which nothing may be dropped.
fn is_torn_origin(rest: &[u8]) -> bool {
    let is_so = |from: usize, fixed: &[u8]| {
        let there = rest.get(from..).unwrap_or_default();
        there.iter().zip(fixed).all(|(one, other)| one == other)
    };
    // Of the header of a first frame only length, checksum, stream and time are not fixed
    // (docs/segment.md). Its JSON has no control characters.
    let payload = rest.get(frame::HEADER_BYTES..).unwrap_or_default();
    is_so(0, &frame::MARKER)
        && is_so(12, &[ORIGIN, 0, 0, 0])
        && is_so(20, &[0; 12])
        && is_so(40, &[0; 24])
        && is_so(frame::HEADER_BYTES, b"{\"host\":\"")
        && payload.iter().all(|byte| *byte >= b' ')
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}
