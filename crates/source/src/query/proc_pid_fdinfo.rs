//! `/proc/PID/fdinfo/FD`: where a descriptor of a process stands, and how it was opened.
//!
//! What stands behind `flags` may be of a driver, which is asked by reading the file: of devices it
//! is not read.

use super::field::{first_number, pairs};
use super::source::Source;
use crate::root::Root;
use record::table::descriptor::Mode;
use std::fs::File;
use std::io::{self, Read};

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_fdinfo",
    file: "/proc/PID/fdinfo/FD",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// The fields that are wanted are the first ones.
const FILE_BYTES_MAX: u64 = 256;
/// Of `flags`: how it was opened, and that it is no more than a name.
const O_ACCMODE: u64 = 3;
const O_WRONLY: u64 = 1;
const O_RDWR: u64 = 2;
const O_PATH: u64 = 0o10_000_000;

/// What the file tells; `None` for each that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FdInfo {
    /// Where the next read or write is, bytes.
    pub position: Option<u64>,
    /// What may be done with it.
    pub mode: Option<Mode>,
}

/// Parses the file.
pub fn parse(text: &[u8]) -> FdInfo {
    let mut info = FdInfo::default();
    for (key, value) in pairs(text) {
        match key {
            b"pos" => info.position = first_number(value),
            b"flags" => info.mode = octal(value).map(mode),
            _ => {}
        }
    }
    info
}

fn octal(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    u64::from_str_radix(text, 8).ok()
}

fn mode(flags: u64) -> Mode {
    let how = flags & O_ACCMODE;
    let is_name = flags & O_PATH != 0;
    Mode {
        reads: !is_name && how != O_WRONLY,
        writes: !is_name && (how == O_WRONLY || how == O_RDWR),
    }
}

/// Reads the file.
///
/// # Errors
/// The kernel's: it was closed meanwhile, or may not be read.
pub fn read(root: &Root, pid: u32, fd: u32) -> io::Result<FdInfo> {
    let mut text = Vec::with_capacity(FILE_BYTES_MAX as usize);
    let file = File::open(root.process(pid, &format!("fdinfo/{fd}")))?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(parse(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_tell_what_may_be_done() {
        let of = |flags: &str| parse(format!("pos:\t5\nflags:\t{flags}\n").as_bytes());
        for (flags, reads, writes) in [
            ("0100000", true, false),
            ("0100001", false, true),
            ("02100002", true, true),
            ("012000000", false, false),
        ] {
            assert_eq!(of(flags).mode, Some(Mode { reads, writes }), "{flags}");
        }
        assert_eq!((of("9").mode, of("0").position), (None, Some(5)));
    }
}
