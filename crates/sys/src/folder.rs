//! Lists a folder from a position on (`getdents64(2)`).

use crate::error::{Error, check};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Bytes of an entry before its name: inode, position of the next, length, kind.
const HEAD: usize = 19;

/// An entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The position of the next one.
    pub next: u64,
}

/// Gives each entry from `position` on, the first being 0, until there is none or `each` says that
/// it has enough. So many are read at once as `buffer` holds.
///
/// # Errors
/// If the folder cannot be listed from there.
pub fn list_from(
    folder: &File,
    position: u64,
    buffer: &mut [u8],
    each: &mut dyn FnMut(Entry<'_>) -> bool,
) -> Result<(), Error> {
    let position = i64::try_from(position).unwrap_or(i64::MAX);
    // SAFETY: moves the position of an open file.
    let moved = unsafe { libc::lseek64(folder.as_raw_fd(), position, libc::SEEK_SET) };
    check("lseek", moved)?;
    loop {
        // SAFETY: the kernel writes no more than the length that is told, into the buffer.
        let got = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                folder.as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        let got = usize::try_from(check("getdents64", got)?).unwrap_or(0);
        let mut rest = buffer.get(..got).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while let Some((entry, length)) = entry(rest) {
            if !each(entry) {
                return Ok(());
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

/// The first entry, and its length.
fn entry(bytes: &[u8]) -> Option<(Entry<'_>, usize)> {
    let number = |from: usize| {
        Some(u64::from_ne_bytes(
            bytes.get(from..from + 8)?.try_into().ok()?,
        ))
    };
    let length = u16::from_ne_bytes(bytes.get(16..18)?.try_into().ok()?);
    let name = bytes.get(HEAD..usize::from(length))?;
    let end = name.iter().position(|byte| *byte == 0)?;
    let entry = Entry {
        name: name.get(..end)?,
        next: number(8)?,
    };
    Some((entry, usize::from(length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_are_told_and_from_a_position_on_those_behind_it() {
        let place = tempfile::tempdir().unwrap();
        let names: BTreeSet<String> = (0..300).map(|number| format!("file{number}")).collect();
        for name in &names {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let folder = File::open(place.path()).unwrap();
        let told = |position, most: usize| {
            let mut told: Vec<(String, u64)> = Vec::new();
            list_from(&folder, position, &mut [0; 700], &mut |entry| {
                let name = String::from_utf8(entry.name.to_vec()).unwrap();
                told.push((name, entry.next));
                told.len() < most
            })
            .unwrap();
            told
        };
        let all = told(0, usize::MAX);
        let found: BTreeSet<String> = all.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(found.len(), names.len() + 2, "and . and ..");
        assert!(found.is_superset(&names));
        assert_eq!(told(all[99].1, 50), all[100..150]);
        assert_eq!(told(0, 1).len(), 1);
        let file = File::open(place.path().join("file7")).unwrap();
        let refused = list_from(&file, 0, &mut [0; 700], &mut |_| true);
        assert_eq!(refused.unwrap_err().errno(), Some(libc::ENOTDIR));
    }
}
