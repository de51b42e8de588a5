//! Names of segments: `live/HOST.BOOT.STREAM.NUMBER.segment`.

use super::Origin;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folder of segments within a dataset.
pub const FOLDER: &str = "live";

/// What the name of a segment ends with.
pub const SUFFIX: &str = ".segment";

/// Letters of the boot's id in a name: enough to tell the boots of a host apart.
const BOOT_LETTERS: usize = 8;

/// The file of a writer's segment with this number.
pub(super) fn path(dataset: &Path, origin: &Origin, number: u64) -> PathBuf {
    let front = front(origin);
    dataset
        .join(FOLDER)
        .join(format!("{front}{number:08}{SUFFIX}"))
}

/// The number of the writer's segment that has this name.
pub(super) fn number(name: &OsStr, origin: &Origin) -> Option<u64> {
    let name = name.to_str()?.strip_suffix(SUFFIX)?;
    name.strip_prefix(&front(origin))?.parse().ok()
}

/// What the names of a writer's segments begin with.
fn front(origin: &Origin) -> String {
    let boot: String = origin.boot_id.chars().take(BOOT_LETTERS).collect();
    let stream = origin.stream;
    let host = escaped(&origin.host);
    let boot = escaped(&boot);
    format!("{host}.{boot}.{stream}.")
}

/// Whether this is the name of a segment: what is called otherwise is nobody's here, whatever it
/// ends with.
pub fn is_segment(path: &Path) -> bool {
    writer(path).is_some()
}

/// `HOST.BOOT.STREAM` of the name of a segment: what all segments of its writer have.
pub(crate) fn writer(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(SUFFIX)?;
    let (writer, number) = name.rsplit_once('.')?;
    let (host_and_boot, stream) = writer.rsplit_once('.')?;
    let is_escaped = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.%".contains(&byte);
    let is_ours = number.bytes().all(|digit| digit.is_ascii_digit())
        && number.parse::<u64>().is_ok()
        && stream.parse::<u32>().is_ok()
        && host_and_boot.contains('.')
        && host_and_boot.bytes().all(is_escaped);
    is_ours.then_some(writer)
}

/// Whether a segment of this name is of that writer.
#[cfg(feature = "dataset")]
pub(crate) fn is_of(path: &Path, origin: &Origin) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| number(name, origin).is_some())
}

/// A host is called as it calls itself, dots included; what is no part of a usual host name is
/// written as `%XX`, so that two hosts never get one name.
fn escaped(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_do_not_share_a_name() {
        let of = |host: &str| {
            let origin = Origin {
                host: host.to_owned(),
                boot_id: "0123456789".to_owned(),
                ..Origin::default()
            };
            path(Path::new("/d"), &origin, 3)
        };
        let names = ["a.b", "ab", "a/b", "a%2Fb", "a b"].map(of);
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(
            names[0],
            Path::new("/d/live/a.b.01234567.0.00000003.segment")
        );
        assert!(names.iter().all(|name| is_segment(name)));
    }

    #[test]
    fn what_is_called_otherwise_is_no_segment() {
        let of = |name: &str| writer(Path::new(name)).map(str::to_owned);
        assert_eq!(of("live/a.b.c.7.00000003.segment").unwrap(), "a.b.c.7");
        assert_eq!(of("h.sacct.7.123456789.segment").unwrap(), "h.sacct.7");
        let others = [
            "notes.segment",
            "a copy.segment",
            "a.7.00000003.segment",
            "a.b.7.segment",
            "a.b.7.x.segment",
            "a.b.7.+3.segment",
            "a.b.7..segment",
            "a.b.c.00000003.segment",
            "a.b.7.00000003.segment.part",
            "a b.c.7.00000003.segment",
        ];
        assert!(others.iter().all(|name| of(name).is_none()));
    }
}
