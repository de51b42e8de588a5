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

/// Whether this is the name of a segment.
pub fn is_segment(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(SUFFIX))
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
}
