//! Blocks of names as records.

use super::table::{half, word};
use preload::layout::{Name, Names, PATH_MAX, SLOT_BYTES, SLOTS, name, name_bytes, slot};
use record::name::NameChange;
use std::mem::offset_of;

/// A changed name as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) change: NameChange,
    /// On `CLOCK_MONOTONIC`.
    pub(super) at_ns: u64,
    /// From the root.
    pub(super) path: Vec<u8>,
    pub(super) to: Option<Vec<u8>>,
}

/// What is in one block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Its slots.
    pub(super) slots: usize,
    pub(super) names: Vec<Raw>,
    /// Names that were not put down to the end, at least.
    pub(super) lost: u64,
}

/// The block whose head is the first of these slots; none if there is none.
pub(super) fn block(slots: &[u8]) -> Option<Block> {
    if half(slots, offset_of!(Names, state)) != slot::NAMES {
        return None;
    }
    let count = half(slots, offset_of!(Names, slots)).clamp(1, SLOTS) as usize;
    let used = half(slots, offset_of!(Names, used)) as usize;
    let bytes = slots.len().min(count * SLOT_BYTES).min(used);
    let mut rest = slots.get(size_of::<Names>()..bytes).unwrap_or_default();
    let mut block = Block {
        slots: count,
        ..Block::default()
    };
    while !rest.is_empty() {
        let (path, to) = lengths(rest);
        let whole = rest.split_at_checked(name_bytes(path, to));
        let Some((bytes, behind)) = whole.filter(|_| path > 0) else {
            block.lost += 1;
            break;
        };
        match raw(bytes, path, to) {
            Some(name) => block.names.push(name),
            None => block.lost += 1,
        }
        rest = behind;
    }
    Some(block)
}

/// Of both paths; a longer one than there can be is none.
fn lengths(bytes: &[u8]) -> (usize, usize) {
    let length = |at: usize| match half(bytes, at) as usize {
        length if length <= PATH_MAX => length,
        _ => 0,
    };
    (
        length(offset_of!(Name, bytes)),
        length(offset_of!(Name, to_bytes)),
    )
}

fn raw(bytes: &[u8], path: usize, to: usize) -> Option<Raw> {
    let change = match half(bytes, offset_of!(Name, change)) {
        name::REMOVED => NameChange::Removed,
        name::FOLDER_REMOVED => NameChange::FolderRemoved,
        name::RENAMED => NameChange::Renamed,
        name::EXCHANGED => NameChange::Exchanged,
        name::TRUNCATED => NameChange::Truncated,
        _ => return None,
    };
    let text = bytes.get(size_of::<Name>()..)?;
    let (path, rest) = text.split_at_checked(path)?;
    let to = (to > 0).then(|| rest.get(..to)).flatten();
    // Of two names both are told.
    let has_two = matches!(change, NameChange::Renamed | NameChange::Exchanged);
    (has_two == to.is_some()).then(|| Raw {
        change,
        at_ns: word(bytes, offset_of!(Name, at)),
        path: path.to_vec(),
        to: to.map(<[u8]>::to_vec),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut [u8], at: usize, number: u32) {
        bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
    }

    fn add(bytes: &mut Vec<u8>, change: u32, path: &str, to: &str) {
        let start = bytes.len();
        bytes.resize(start + name_bytes(path.len(), to.len()), 0);
        let name = &mut bytes[start..];
        put(name, offset_of!(Name, bytes), path.len() as u32);
        put(name, offset_of!(Name, to_bytes), to.len() as u32);
        put(name, offset_of!(Name, change), change);
        let text = [path.as_bytes(), to.as_bytes()].concat();
        name[size_of::<Name>()..][..text.len()].copy_from_slice(&text);
    }

    /// A block of one slot.
    fn of(add: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<Names>()];
        add(&mut bytes);
        let used = bytes.len() as u32;
        put(&mut bytes, offset_of!(Names, used), used);
        put(&mut bytes, offset_of!(Names, slots), 1);
        put(&mut bytes, offset_of!(Names, state), slot::NAMES);
        bytes.resize(SLOT_BYTES, 0);
        bytes
    }

    #[test]
    fn names_are_read_one_after_another() {
        let bytes = of(|bytes| {
            add(bytes, name::REMOVED, "/a/b", "");
            add(bytes, name::RENAMED, "/c", "/folder/d");
        });
        let block = block(&bytes).unwrap();
        assert_eq!((block.slots, block.lost), (1, 0));
        let [removed, renamed] = &block.names[..] else {
            panic!("{block:?}");
        };
        assert_eq!((removed.change, &removed.to), (NameChange::Removed, &None));
        assert_eq!(removed.path, b"/a/b");
        assert_eq!(renamed.change, NameChange::Renamed);
        assert_eq!(renamed.to.as_deref(), Some(b"/folder/d".as_slice()));
    }

    #[test]
    fn what_was_not_put_down_to_the_end_is_lost() {
        let bytes = of(|bytes| {
            add(bytes, name::NOTHING, "/under/way", "");
            add(bytes, name::RENAMED, "/without/another", "");
            add(bytes, name::TRUNCATED, "/whole", "");
            // No length yet: where the next one begins is not known.
            add(bytes, name::NOTHING, "", "");
            add(bytes, name::REMOVED, "/behind", "");
        });
        let block = block(&bytes).unwrap();
        assert_eq!(block.lost, 3);
        let paths: Vec<_> = block.names.iter().map(|it| &it.path[..]).collect();
        assert_eq!(paths, [b"/whole"]);
    }

    #[test]
    fn lengths_lead_nowhere_else() {
        for length in [PATH_MAX as u32, PATH_MAX as u32 + 1, u32::MAX] {
            let mut bytes = of(|bytes| add(bytes, name::REMOVED, "/a", ""));
            put(
                &mut bytes,
                size_of::<Names>() + offset_of!(Name, bytes),
                length,
            );
            put(&mut bytes, offset_of!(Names, used), length);
            put(&mut bytes, offset_of!(Names, slots), length);
            let block = block(&bytes).unwrap();
            assert_eq!((block.names.len(), block.lost), (0, 1));
        }
        assert_eq!(block(&[0; SLOT_BYTES]), None);
        assert_eq!(block(&[]), None);
    }
}
