//! `/proc/PID/net/unix`: the unix sockets of the network name space that a process is in.
//!
//! The kernel writes a name as it is, and who binds a socket chooses it: it may have ends of lines.
//! So what is no socket belongs to the name before it; what looks like a socket cannot be told from
//! one.

use super::field::number;
use super::proc_pid_net_tcp::{STATE_DIGITS, WORD_DIGITS, hexadecimal};
use super::sockets::{Entry, digest};
use super::source::Source;
use record::endpoints::{Endpoints, SocketState};

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_net_unix",
    file: "/proc/PID/net/unix",
    metrics: &[],
    digest: |text| digest(&parse(text)),
};

/// Bytes of a name (`UNIX_PATH_MAX`).
const NAME_BYTES_MAX: usize = 108;
/// Of the flags: it waits for others to connect (`__SO_ACCEPTCON`).
const LISTENS: u32 = 1 << 16;

/// A line in parts.
struct Line<'a> {
    inode: u64,
    state: Option<SocketState>,
    name: Option<&'a [u8]>,
}

/// The sockets, a line each.
pub fn parse(text: &[u8]) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut last: Option<(Line<'_>, Vec<u8>)> = None;
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        match (Line::of(line), &mut last) {
            (Some(next), _) => {
                let name = next.name.unwrap_or_default().to_vec();
                all.extend(last.replace((next, name)).and_then(entry));
            }
            (None, Some((before, name))) if before.name.is_some() => {
                name.push(b'\n');
                name.extend_from_slice(line);
            }
            (None, _) => {}
        }
    }
    all.extend(last.and_then(entry));
    all
}

/// What has no inode is in nobody's hands yet.
fn entry((line, mut name): (Line<'_>, Vec<u8>)) -> Option<Entry> {
    name.truncate(NAME_BYTES_MAX);
    (line.inode > 0).then(|| Entry {
        inode: line.inode,
        ends: Endpoints::Unix {
            name: name.into(),
            state: line.state,
        },
    })
}

impl<'a> Line<'a> {
    /// `ADDRESS: COUNT PROTOCOL FLAGS TYPE STATE INODE NAME`, or without a name.
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut rest = line;
        let mut next = || field(&mut rest);
        next()?.strip_suffix(b":")?;
        let (_, _, flags) = (next()?, next()?, hexadecimal(next()?, WORD_DIGITS)?);
        let (_, state) = (next()?, hexadecimal(next()?, STATE_DIGITS)?);
        let inode = number(next()?)?;
        Some(Self {
            inode,
            state: state_of(flags, state),
            // Behind one blank; it may begin with others.
            name: rest.get(1..),
        })
    }
}

/// The next field; what is left is behind it.
fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    let (_, text) = rest.split_at(blanks);
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    let (field, behind) = text.split_at(end);
    *rest = behind;
    (!field.is_empty()).then_some(field)
}

/// `SS_UNCONNECTED` and others, of which one that listens is the first.
const fn state_of(flags: u32, state: u32) -> Option<SocketState> {
    match state {
        1 if flags & LISTENS != 0 => Some(SocketState::Listen),
        1 => Some(SocketState::Unconnected),
        2 => Some(SocketState::Connecting),
        3 => Some(SocketState::Established),
        4 => Some(SocketState::Disconnecting),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, Vec<u8>, &'static str)> {
        let parts = |one: Entry| {
            let state = one.ends.state().map_or("", SocketState::name);
            (one.inode, one.ends.text(), state)
        };
        parse(text).into_iter().map(parts).collect()
    }

    #[test]
    fn a_name_is_all_that_stands_behind_one_blank() {
        let text = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000051ba9b4a: 00000002 00000000 00010000 0001 01 97481 /run/a b: 1 \n\
            0: 00000003 00000000 00000000 0001 03  1124\n\
            0: 00000003 00000000 00000000 0002 01   125  @two\n\
            0: 00000003 00000000 00000000 0001 03     0 /gone\n";
        let told = [
            (97481, b"unix:/run/a b: 1 ".to_vec(), "listen"),
            (1124, b"unix:".to_vec(), "established"),
            (125, b"unix: @two".to_vec(), "unconnected"),
        ];
        assert_eq!(all(text), told);
    }

    #[test]
    fn a_name_may_have_ends_of_lines() {
        let text = b"0: 00000002 00000000 00010000 0001 01 7 /a\n\nb\n\n\
            0: 00000002 00000000 00010000 0001 01 9 \nc\n\
            0: 00000003 00000000 00000000 0001 03 8\nwhose\n";
        let told = [
            (7, b"unix:/a\n\nb\n".to_vec(), "listen"),
            (9, b"unix:\nc".to_vec(), "listen"),
            (8, b"unix:".to_vec(), "established"),
        ];
        assert_eq!(all(text), told);
        let mut long = b"0: 00000002 00000000 00010000 0001 01 7 /".to_vec();
        long.extend([b'a'; 1000]);
        assert_eq!(all(&long)[0].1.len(), "unix:".len() + NAME_BYTES_MAX);
    }
}
