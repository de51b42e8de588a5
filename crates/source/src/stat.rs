//! stat(2) of files that were named, in a thread of its own: a dead server holds nobody up.

use record::file::FileKind;
use record::named::{FileState, Look};
use record::timestamp::rfc3339;
use record::unit::Bytes;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// `st_blocks` counts these, whatever the file system's own block.
const BLOCK_BYTES: u64 = 512;
/// Files that do not answer before no further one is asked.
const SILENT_MAX: usize = 2;

/// What tells whether a file was written: device, inode, size, time of modification.
pub type Version = (u64, u64, u64, i64, i64);

/// A look at one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What it told; names of users and groups are not looked up.
    pub look: Look,
    /// What the file was, to tell it from what it becomes.
    pub version: Option<Version>,
}

/// Looks at each of `paths`, links followed. One that does not answer within `patience` is left
/// behind with its thread; after two such ones the others are not asked.
pub fn look_at(paths: &[PathBuf], patience: Duration) -> Vec<Looked> {
    let mut looked = Vec::with_capacity(paths.len());
    let mut silent = 0;
    while let Some(rest) = paths.get(looked.len()..).filter(|rest| !rest.is_empty()) {
        if silent >= SILENT_MAX {
            let others = "not asked: others did not answer";
            looked.extend(rest.iter().map(|_| unknown(others.to_owned())));
            break;
        }
        match ask(rest.to_vec()) {
            Ok(answers) => {
                let told = std::iter::from_fn(|| answers.recv_timeout(patience).ok());
                looked.extend(told.take(rest.len()));
            }
            Err(error) => {
                let why = format!("no thread to look: {}", words(&error));
                looked.extend(rest.iter().map(|_| unknown(why.clone())));
                break;
            }
        }
        if looked.len() < paths.len() {
            let patience = patience.as_millis();
            looked.push(unknown(format!("no answer within {patience} ms")));
            silent += 1;
        }
    }
    looked
}

/// The answers of the files, one after the other.
fn ask(paths: Vec<PathBuf>) -> io::Result<Receiver<Looked>> {
    let (tell, told) = sync_channel(paths.len());
    let look = move || {
        for path in paths {
            // Nobody waits any more: then there is nobody to tell.
            if tell.send(looked(fs::metadata(path))).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("stat".into())
        .spawn(look)?;
    Ok(told)
}

fn unknown(reason: String) -> Looked {
    Looked {
        look: Look {
            exists: None,
            errno: None,
            reason: Some(reason),
            state: None,
        },
        version: None,
    }
}

fn looked(answer: io::Result<Metadata>) -> Looked {
    match answer {
        Ok(data) => Looked {
            version: Some((
                data.dev(),
                data.ino(),
                data.size(),
                data.mtime(),
                data.mtime_nsec(),
            )),
            look: Look {
                exists: Some(true),
                errno: None,
                reason: None,
                state: Some(state(&data)),
            },
        },
        Err(error) => {
            let gone = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            let mut looked = unknown(words(&error));
            looked.look.exists = gone.then_some(false);
            looked.look.errno = error.raw_os_error();
            looked
        }
    }
}

fn state(data: &Metadata) -> FileState {
    FileState {
        kind: kind(data),
        size_bytes: Bytes(data.size()),
        allocated_bytes: Bytes(data.blocks().saturating_mul(BLOCK_BYTES)),
        block_bytes: Bytes(data.blksize()),
        mode: format!("{:04o}", data.mode() & 0o7777),
        uid: data.uid(),
        user: None,
        gid: data.gid(),
        group: None,
        inode: data.ino(),
        device: device(data.dev()),
        links: data.nlink(),
        mtime: instant(data.mtime(), data.mtime_nsec()),
        ctime: instant(data.ctime(), data.ctime_nsec()),
        atime: instant(data.atime(), data.atime_nsec()),
    }
}

fn kind(data: &Metadata) -> FileKind {
    let kind = data.file_type();
    match () {
        () if kind.is_dir() => FileKind::Directory,
        () if kind.is_fifo() => FileKind::Fifo,
        () if kind.is_socket() => FileKind::Socket,
        () if kind.is_char_device() => FileKind::CharacterDevice,
        () if kind.is_block_device() => FileKind::BlockDevice,
        () => FileKind::File,
    }
}

/// A device as `MAJOR:MINOR`, out of the number that stat(2) has for it (glibc's `gnu_dev_major`).
pub fn device(number: u64) -> String {
    let major = ((number >> 8) & 0xfff) | ((number >> 32) & !0xfff);
    let minor = (number & 0xff) | ((number >> 12) & 0xffff_ff00);
    format!("{major}:{minor}")
}

fn instant(seconds: i64, nanos: i64) -> Option<String> {
    let seconds = u64::try_from(seconds).ok()?;
    let nanos = u64::try_from(nanos).ok()?;
    let since_1970 = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    Some(rfc3339(since_1970))
}

/// What an error says, without the number that stands beside it.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn each_file_is_told_or_has_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a b,c"), "12345").unwrap();
        fs::set_permissions(path("a b,c"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a b,c", path("link")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        let names = ["a b,c", "link", "none", "dangling", "a b,c/x", "."];
        let looked = look_at(&names.map(path), PATIENCE);
        let exists: Vec<_> = looked.iter().map(|one| one.look.exists).collect();
        let (there, gone) = (Some(true), Some(false));
        assert_eq!(exists, [there, there, gone, gone, gone, there]);
        assert_eq!(looked[0], looked[1]);
        let state = looked[0].look.state.as_ref().unwrap();
        assert_eq!((state.size_bytes, &*state.mode), (Bytes(5), "0640"));
        assert_eq!((state.kind, state.links), (FileKind::File, 1));
        assert_eq!(looked[5].look.content(), None);
        let none = &looked[2].look;
        assert_eq!(none.reason.as_deref(), Some("No such file or directory"));
        assert_eq!((none.errno, &none.state), (Some(2), &None));
        assert_eq!(looked[4].look.errno, Some(20));
        assert!(look_at(&[], PATIENCE).is_empty());
    }

    #[test]
    fn a_version_is_that_of_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "12345").unwrap();
        let look = || {
            look_at(std::slice::from_ref(&path), PATIENCE)[0]
                .version
                .unwrap()
        };
        let before = look();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(look(), before);
        fs::write(&path, "1234567").unwrap();
        assert_ne!(look(), before);
    }

    #[test]
    fn a_device_has_its_two_numbers() {
        assert_eq!(device(0x801), "8:1");
        assert_eq!(device(0xfe00), "254:0");
        // What makedev(3) makes of 0x12345 and 0x6789ab.
        assert_eq!(device(0x1_2006_7893_45ab), "74565:6785451");
    }

    #[test]
    fn what_was_before_1970_has_no_date() {
        assert_eq!(instant(-1, 0), None);
        assert_eq!(instant(0, 1000).unwrap(), "1970-01-01T00:00:00.000001Z");
    }
}
