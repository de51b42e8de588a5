//! What comes through the ring of a run: the paths of folders, and changes of names.

use crate::bpf::layout::Reader;

/// `EVENT_NAME`.
const NAME: u64 = u64::MAX;

/// The path of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// What rows call it.
    pub id: u64,
    /// From the root of the mount namespace; empty for what lies on no mount (a pipe).
    pub path: Vec<u8>,
    /// Components are missing in front: it is over 4096 bytes long or 64 levels deep.
    pub cut: bool,
}

/// What a call did to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameChange {
    /// It is gone: of a file of any kind but a folder.
    Removed,
    /// It is gone, a folder.
    FolderRemoved,
    /// Its file has another, which may have been that of another file.
    Renamed,
    /// It and another have changed places.
    Exchanged,
    /// Its file was cut or extended, by path.
    Truncated,
}

/// A path, as a call named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePath {
    /// The folder from which it leads; of an absolute path the root of the process.
    pub folder: u64,
    /// As the task wrote it.
    pub text: Vec<u8>,
}

/// One call that changed a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// What it did.
    pub change: NameChange,
    /// Whose call it was: the process.
    pub pid: u32,
    /// When, `CLOCK_BOOTTIME` nanoseconds to a tick of the kernel.
    pub at_ns: u64,
    /// The name.
    pub path: NamePath,
    /// The new one, or that with which it changed places.
    pub to: Option<NamePath>,
}

/// What was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The path of a folder.
    Folder(Folder),
    /// A name was changed.
    Name(Name),
}

/// One record of the ring; nothing if it only wakes the reader.
pub(in crate::bpf) fn decode(bytes: &[u8]) -> Option<Told> {
    let mut reader = Reader(bytes);
    match reader.u64()? {
        0 => None,
        NAME => decode_name(reader).map(Told::Name),
        id => decode_folder(id, reader).map(Told::Folder),
    }
}

/// `struct event_name` behind its id.
fn decode_name(mut reader: Reader<'_>) -> Option<Name> {
    let (folder, to_folder) = (reader.u64()?, reader.u64()?);
    let at_ns = reader.u64()?;
    let pid = reader.u32()?;
    let change = match reader.u32()? {
        1 => NameChange::Removed,
        2 => NameChange::FolderRemoved,
        3 => NameChange::Renamed,
        4 => NameChange::Exchanged,
        5 => NameChange::Truncated,
        _ => return None,
    };
    let lengths = [reader.u32()?, reader.u32()?];
    let [text, to] = lengths.map(|bytes| {
        let taken = reader.take(usize::try_from(bytes).ok()?)?;
        Some(taken.strip_suffix(b"\0").unwrap_or(taken).to_vec())
    });
    let to = NamePath {
        folder: to_folder,
        text: to?,
    };
    Some(Name {
        change,
        pid,
        at_ns,
        path: NamePath {
            folder,
            text: text?,
        },
        to: (!to.text.is_empty()).then_some(to),
    })
}

/// `struct event_folder` behind its id: components from the last to the first become a path.
fn decode_folder(id: u64, mut reader: Reader<'_>) -> Option<Folder> {
    let count = usize::try_from(reader.u32()?).ok()?;
    let cut = reader.u32()? != 0;
    let text = reader.take(count)?;
    let mut path = Vec::with_capacity(count + 1);
    let components = text.strip_suffix(b"\0").unwrap_or(text);
    for component in components.rsplit(|byte| *byte == 0) {
        // What lies on no visible mount has a root of that name.
        if component.is_empty() || component == b"/" {
            continue;
        }
        path.push(b'/');
        path.extend_from_slice(component);
    }
    if path.is_empty() {
        path.push(b'/');
    }
    Some(Folder { id, path, cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_from_its_end() {
        let mut bytes = 7u64.to_ne_bytes().to_vec();
        bytes.extend(11u32.to_ne_bytes());
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(b"d\0c c\0home\0");
        let Some(Told::Folder(folder)) = decode(&bytes) else {
            panic!("no folder");
        };
        assert_eq!(folder.path, b"/home/c c/d");
        assert!(!folder.cut);
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "cut to {cut}");
        }
    }

    #[test]
    fn a_renamed_file_is_told_with_both_names() {
        let mut bytes = u64::MAX.to_ne_bytes().to_vec();
        for word in [7u64, 8, 90] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in [41u32, 3, 4, 6] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(b"old\0/new \0");
        let Some(Told::Name(name)) = decode(&bytes) else {
            panic!("no name");
        };
        assert_eq!(name.change, NameChange::Renamed);
        assert_eq!((name.pid, name.at_ns), (41, 90));
        assert_eq!((name.path.folder, &name.path.text[..]), (7, &b"old"[..]));
        let to = name.to.unwrap();
        assert_eq!((to.folder, &to.text[..]), (8, &b"/new "[..]));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "cut to {cut}");
        }
    }
}
