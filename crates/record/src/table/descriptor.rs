//! `descriptor`: what a process has open, a row when it is first seen and one whenever it changes.

use super::sample::KEY as PROCESS;
use super::{Column, Form, Table, int, text};
use crate::codec::cells::{Cell, put_row};
use crate::endpoints::Endpoints;
use crate::identity::ProcessId;

/// The table.
pub const TABLE: Table = Table {
    id: 6,
    name: "descriptor",
    form: Form::Cells,
    key: &KEY,
    once: None,
    columns: COLUMNS,
    doc: "What a process has open: one row when it is first seen, one more when it has changed or \
          is closed.",
};

const KEY: [Column; 3] = match *PROCESS {
    [pid, start] => [
        pid,
        start,
        int("fd", "", "/proc/PID/fd/FD", "number of the descriptor"),
    ],
    _ => panic!("a process has another key"),
};

const COLUMNS: &[Column] = &[
    int(
        "open",
        "",
        "/proc/PID/fd",
        "1: it is open; 0: it is not any more, or its process has ended",
    ),
    text(
        "type",
        "/proc/PID/fd/FD",
        "file, memfd, pipe, socket, anon_inode or other",
    ),
    text(
        "path",
        "/proc/PID/fd/FD",
        "the path, or the kernel's name of what has none",
    ),
    text(
        "mode",
        "/proc/PID/fd/FD",
        "r, w or rw; empty: it may be neither read nor written",
    ),
    int(
        "position",
        "bytes",
        "/proc/PID/fdinfo/FD pos",
        "of a file: where the next read or write is",
    ),
    text(
        "socket",
        "/proc/PID/net/{tcp,tcp6,udp,udp6,unix}",
        "of a socket: its own end and the other one, `tcp:ADDRESS:PORT:ADDRESS:PORT`, \
         `tcp6:[ADDRESS]:PORT:[ADDRESS]:PORT`, likewise `udp` and `udp6`; `unix:NAME`, with `@` \
         for what is in no file system",
    ),
    text(
        "socket_state",
        "/proc/PID/net/{tcp,tcp6,udp,udp6,unix} st",
        "of a socket: established, listen, unconnected and others, as the kernel calls them",
    ),
];

/// What is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What has a path: a file, a folder, a device.
    File,
    /// A file in memory without a path.
    Memfd,
    /// A pipe without a name.
    Pipe,
    /// A socket.
    Socket,
    /// What has no inode of its own: `epoll`, `timerfd`, an `io_uring`.
    AnonInode,
    /// Another thing, such as a name space.
    Other,
}

/// What may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode {
    /// It may be read.
    pub reads: bool,
    /// It may be written.
    pub writes: bool,
}

/// A descriptor that is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Its number.
    pub fd: u32,
    /// What is open.
    pub kind: Kind,
    /// The path, or the kernel's name of what has none (`pipe:[INODE]`).
    pub path: Vec<u8>,
    /// What may be done with it, if that is known.
    pub mode: Option<Mode>,
    /// Of a file: where the next read or write is, bytes.
    pub position: Option<u64>,
    /// Of a socket: its ends, where they are known.
    pub socket: Option<Endpoints>,
}

impl Kind {
    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Memfd => "memfd",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::AnonInode => "anon_inode",
            Self::Other => "other",
        }
    }
}

impl Mode {
    const fn name(self) -> &'static str {
        match (self.reads, self.writes) {
            (true, true) => "rw",
            (true, false) => "r",
            (false, true) => "w",
            (false, false) => "",
        }
    }
}

/// Appends the row of one that is open.
pub fn put_open(out: &mut Vec<u8>, id: ProcessId, one: &Descriptor) {
    let mode = one.mode.map(Mode::name);
    let position = one.position.and_then(|at| i64::try_from(at).ok());
    let ends = one.socket.as_ref().map(Endpoints::text);
    let state = one.socket.as_ref().and_then(Endpoints::state);
    let [pid, start, fd] = key(id, one.fd);
    let cells = [
        Some(pid),
        Some(start),
        Some(fd),
        Some(Cell::Int(1)),
        Some(Cell::Text(one.kind.name().as_bytes())),
        Some(Cell::Text(&one.path)),
        mode.map(|mode| Cell::Text(mode.as_bytes())),
        position.map(Cell::Int),
        ends.as_deref().map(Cell::Text),
        state.map(|state| Cell::Text(state.name().as_bytes())),
    ];
    let known = |(place, cell): (usize, Option<_>)| Some((u8::try_from(place).ok()?, cell?));
    put_row(out, cells.into_iter().enumerate().filter_map(known));
}

/// Appends the row of one that is open no more.
pub fn put_closed(out: &mut Vec<u8>, id: ProcessId, fd: u32) {
    let [pid, start, fd] = key(id, fd);
    let cells = [pid, start, fd, Cell::Int(0)];
    put_row(out, (0u8..).zip(cells));
}

fn key(id: ProcessId, fd: u32) -> [Cell<'static>; KEY.len()] {
    let start = i64::try_from(id.start_ns.0).unwrap_or(i64::MAX);
    [id.pid.into(), start, fd.into()].map(Cell::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::cells::take_row;
    use crate::endpoints::SocketState;
    use crate::unit::Nanos;

    #[test]
    fn each_value_finds_its_column() {
        let id = ProcessId::new(7, Nanos(10_000_000));
        let one = Descriptor {
            fd: 3,
            kind: Kind::File,
            path: b"/a b\xff".to_vec(),
            mode: Some(Mode {
                reads: false,
                writes: true,
            }),
            position: Some(11),
            socket: None,
        };
        let socket = Descriptor {
            kind: Kind::Socket,
            path: b"socket:[5]".to_vec(),
            mode: None,
            position: None,
            socket: Some(Endpoints::Unix {
                name: (*b"@n\xff").into(),
                state: Some(SocketState::Listen),
            }),
            ..one.clone()
        };
        let mut rows = Vec::new();
        put_open(&mut rows, id, &one);
        put_open(&mut rows, id, &socket);
        put_closed(&mut rows, id, 4);
        let mut from = rows.as_slice();
        let all: Vec<_> = TABLE.key.iter().chain(TABLE.columns).collect();
        let mut take = || {
            let cells = take_row(&mut from).unwrap().into_iter();
            let named = cells.map(|(place, cell)| (all[usize::from(place)].name, cell));
            named.collect::<Vec<_>>()
        };
        let open = [
            ("pid", Cell::Int(7)),
            ("start_ns", Cell::Int(10_000_000)),
            ("fd", Cell::Int(3)),
            ("open", Cell::Int(1)),
            ("type", Cell::Text(b"file")),
            ("path", Cell::Text(b"/a b\xff")),
            ("mode", Cell::Text(b"w")),
            ("position", Cell::Int(11)),
        ];
        assert_eq!(take(), open);
        let told = [
            ("path", Cell::Text(b"socket:[5]")),
            ("socket", Cell::Text(b"unix:@n\xff")),
            ("socket_state", Cell::Text(b"listen")),
        ];
        assert_eq!(take()[5..], told);
        assert_eq!(take()[2..], [("fd", Cell::Int(4)), ("open", Cell::Int(0))]);
        assert!(from.is_empty());
    }
}
