//! `/proc/PID/cmdline`: the arguments, each ended by NUL. Empty for kernel threads and zombies; a
//! program may have written over it.

use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_cmdline",
    file: "/proc/PID/cmdline",
    metrics: &[],
    digest: |text| {
        let arguments: Vec<_> = parse(text)
            .into_iter()
            .map(String::from_utf8_lossy)
            .collect();
        format!("{arguments:#?}")
    },
};

/// The arguments, raw. Empty ones count; the NUL at the end does not begin another.
pub fn parse(text: &[u8]) -> Vec<&[u8]> {
    if text.is_empty() {
        return Vec::new();
    }
    let whole = text.strip_suffix(b"\0").unwrap_or(text);
    whole.split(|byte| *byte == 0).collect()
}

/// Reads the file of `pid`, raw: arguments separated by NUL.
pub fn read(root: &Root, pid: u32) -> Result<Vec<u8>, Absent> {
    root.read_process(Some(pid), "cmdline")
}

/// The same, no more than the first `bytes_max` bytes of it.
pub fn read_start(root: &Root, pid: u32, bytes_max: u64) -> Result<Vec<u8>, Absent> {
    root.read_start(pid, "cmdline", bytes_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_a_part_of_the_whole() {
        let (root, me) = (Root::default(), std::process::id());
        let whole = read(&root, me).unwrap();
        assert_eq!(read_start(&root, me, 3).unwrap(), whole[..3]);
        assert_eq!(read_start(&root, me, 1 << 20).unwrap(), whole);
        assert_eq!(read_start(&root, u32::MAX, 3), Err(Absent::Gone));
    }

    #[test]
    fn empty_arguments_count() {
        assert_eq!(parse(b"sh\0-c\0\0"), [&b"sh"[..], b"-c", b""]);
        assert_eq!(parse(b"\0"), [&b""[..]]);
        assert!(parse(b"").is_empty());
        assert_eq!(parse(b"cut"), [&b"cut"[..]]);
    }
}
