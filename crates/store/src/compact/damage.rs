//! Segments of which something could not be read: each is copied to the folder `bad`, and what can
//! still be told of one whose beginning is damaged is found out.

use super::journal::{ASIDE, remove, rename};
use crate::disk::Disk;
use crate::error::Error;
use crate::segment::{self, Origin, Reader};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const BAD: &str = "bad";

/// Read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Copies of different segments that had one name.
const COPIES_MAX: u32 = 1000;

/// Keeps a copy of a segment; says where it is. A writer may have had the name before, so what is
/// there already is the copy only if it is the same.
pub(super) fn keep<D: Disk>(disk: &D, dataset: &Path, segment: &Path) -> Result<PathBuf, Error> {
    let name = segment.file_name().unwrap_or_default();
    for number in 0..COPIES_MAX {
        let mut name = name.to_owned();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        let copy = dataset.join(BAD).join(&name);
        if !copy.exists() {
            // Aside first: whoever dies meanwhile leaves no part that is taken for the whole.
            let aside = dataset.join(ASIDE).join(&name);
            make_folder(disk, &aside)?;
            make_folder(disk, &copy)?;
            remove(disk, &aside)?;
            copy_file(disk, segment, &aside)?;
            rename(disk, &aside, &copy)?;
            return Ok(copy);
        }
        let same = is_same(segment, &copy);
        if same.map_err(|source| read_failed(segment, source))? {
            return Ok(copy);
        }
    }
    Err(Error::Open {
        path: dataset.join(BAD).join(name),
        source: io::ErrorKind::AlreadyExists.into(),
    })
}

/// Who wrote a segment whose beginning is damaged: its own first frame says so, or that of another
/// segment which by its name is of the same writer.
pub(super) fn origin(path: &Path, segments: &[PathBuf]) -> Result<Option<Origin>, Error> {
    if let Some(origin) = Reader::origin_behind(path)? {
        return Ok(Some(origin));
    }
    let writer = segment::writer(path);
    let siblings = segments
        .iter()
        .filter(|other| *other != path && segment::writer(other) == writer);
    // One that cannot be read tells nothing.
    let opened = siblings.filter_map(|other| Reader::open(other).ok().flatten());
    let mut origins = opened.map(|reader| reader.origin().clone());
    Ok(origins.find(|origin| segment::is_of(path, origin)))
}

fn make_folder<D: Disk>(disk: &D, file: &Path) -> Result<(), Error> {
    let folder = file.parent().unwrap_or(file);
    disk.make_folder(folder).map_err(|source| Error::Open {
        path: folder.to_owned(),
        source,
    })
}

fn copy_file<D: Disk>(disk: &D, from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: to.to_owned(),
        source,
    };
    let mut source = File::open(from).map_err(|source| read_failed(from, source))?;
    let mut file = disk.create(to).map_err(|source| Error::Open {
        path: to.to_owned(),
        source,
    })?;
    let mut chunk = Vec::new();
    loop {
        next_chunk(&mut source, &mut chunk).map_err(|source| read_failed(from, source))?;
        if chunk.is_empty() {
            return disk.sync(&file).map_err(failed);
        }
        disk.append(&mut file, &chunk).map_err(failed)?;
    }
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut its, mut others) = (Vec::new(), Vec::new());
    loop {
        next_chunk(&mut one, &mut its)?;
        next_chunk(&mut other, &mut others)?;
        if its != others || its.is_empty() {
            return Ok(its == others);
        }
    }
}

/// The next bytes of a file; none at its end.
fn next_chunk(file: &mut File, chunk: &mut Vec<u8>) -> io::Result<()> {
    chunk.clear();
    file.take(CHUNK_BYTES as u64).read_to_end(chunk).map(drop)
}

fn read_failed(path: &Path, source: io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}
