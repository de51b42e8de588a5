//! Whose ends sockets have, by the tables of the network name spaces that processes are in
//! (`/proc/PID/net`).
//!
//! The tables of a name space are read once for all processes that are in it, through the first of
//! them, in pieces: the kernel walks all sockets of the machine for each table. What it costs is
//! measured by `examples/socket_cost.rs`.

use super::descriptors::Listing;
use super::field::number;
use super::{proc_pid_net_tcp, proc_pid_net_udp, proc_pid_net_unix};
use crate::root::{Root, process_absent};
use record::endpoints::{Endpoints, SocketState};
use record::table::descriptor::Kind;
use record::unit::Nanos;
use record::value::Absent;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use sys::burst;
use sys::clock::{self, Clock};

/// Sockets that are remembered: 7 MiB of them.
const SOCKETS_MAX: usize = 1 << 16;
/// What is read of all tables, at most: lines of TCP have 150 bytes, those of connections that have
/// ended too.
const BYTES_MAX: u64 = 32 << 20;
/// A line is shorter: what has no end by then is none.
const LINE_BYTES_MAX: usize = 4 << 10;
/// One call reads up to here; the kernel fills a page, of 4 KiB at least, with whole lines.
const CHUNK_BYTES: usize = 16 << 10;
/// Less than that is the end: another line had place. To be told so by the kernel is to have it
/// walk all of its table once more.
const FULL_BYTES: usize = 2 << 10;
/// CPU time of a piece.
const PIECE: Nanos = Nanos::from_millis(1);

/// A table with its parser.
type Table = (&'static str, fn(&[u8]) -> Vec<Entry>);

const TABLES: &[Table] = &[
    ("net/tcp", proc_pid_net_tcp::parse),
    ("net/tcp6", proc_pid_net_tcp::parse),
    ("net/udp", proc_pid_net_udp::parse),
    ("net/udp6", proc_pid_net_udp::parse),
    ("net/unix", proc_pid_net_unix::parse),
];

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of the socket.
    pub inode: u64,
    /// Its ends.
    pub ends: Endpoints,
}

/// A network name space, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Space(u64);

/// The sockets of name spaces, as they were read.
#[derive(Debug, Default)]
pub struct Sockets {
    inet: FxHashMap<u64, Endpoints>,
    /// Names are chosen by whoever binds a socket, so they count within a name space alone; nothing
    /// where two lines tell different ones of one socket.
    unix: FxHashMap<(Space, u64), Option<Endpoints>>,
    done: FxHashSet<Space>,
    reading: Option<Reading>,
    bytes: u64,
    is_cut: bool,
}

/// Tables of a name space that are being read.
#[derive(Debug)]
struct Reading {
    space: Space,
    /// Which one, with what was read of it and not parsed yet.
    table: usize,
    text: Vec<u8>,
    file: Option<File>,
}

impl Sockets {
    /// Reads a piece of the tables of the name space that `pid` is in; which one that is, once all
    /// of them were read.
    ///
    /// # Errors
    /// `Gone` where there is no such process any more, `NoPermission` where it may not be asked.
    pub fn read(&mut self, root: &Root, pid: u32) -> Result<Option<Space>, Absent> {
        // An open table keeps its name space alive: not for longer than a process that is in it.
        let kept = self.reading.take();
        let space = space_of(root, pid)?;
        if self.done.contains(&space) {
            return Ok(Some(space));
        }
        let kept = kept.filter(|reading| reading.space == space);
        let mut reading = kept.unwrap_or_else(|| Reading::new(space));
        let until = clock::now(Clock::Thread).saturating_add(PIECE.0);
        while !self.is_full() && reading.opens(root, pid)? {
            self.bytes += reading.read_chunk();
            for entry in reading.take() {
                self.add(space, entry);
            }
            burst::rest();
            if clock::now(Clock::Thread) >= until {
                self.reading = Some(reading);
                return Ok(None);
            }
        }
        self.is_cut |= self.is_full();
        self.done.insert(space);
        Ok(Some(space))
    }

    /// Puts down the ends of the sockets in `listing`, of a process that is in `space`.
    pub fn resolve(&self, space: Space, listing: &mut Listing) {
        let sockets = listing
            .all
            .iter_mut()
            .filter(|one| one.kind == Kind::Socket);
        for one in sockets {
            let inode = bracketed(&one.path, b"socket:[");
            one.socket = inode.and_then(|inode| self.of(space, inode)).cloned();
            listing.sockets_left_out += u64::from(self.is_cut && one.socket.is_none());
        }
    }

    fn of(&self, space: Space, inode: u64) -> Option<&Endpoints> {
        // A socket stays in its name space, whoever got it; its number is nobody else's.
        let inet = self.inet.get(&inode);
        inet.or_else(|| self.unix.get(&(space, inode))?.as_ref())
    }

    fn add(&mut self, space: Space, Entry { inode, ends }: Entry) {
        if name(&ends).is_none() {
            self.inet.insert(inode, ends);
            return;
        }
        match self.unix.entry((space, inode)) {
            Vacant(place) => {
                place.insert(Some(ends));
            }
            Occupied(mut place) => {
                let known = place.get().as_ref().and_then(name);
                let is_same = known == name(&ends);
                place.insert(is_same.then_some(ends));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.inet.len() + self.unix.len() >= SOCKETS_MAX || self.bytes >= BYTES_MAX
    }
}

impl Reading {
    const fn new(space: Space) -> Self {
        Self {
            space,
            table: 0,
            text: Vec::new(),
            file: None,
        }
    }

    /// Opens the next table if none is open; `false` after the last one.
    fn opens(&mut self, root: &Root, pid: u32) -> Result<bool, Absent> {
        while let Some((name, _)) = TABLES.get(self.table)
            && self.file.is_none()
        {
            self.file = File::open(root.process(pid, name)).ok();
            // It may be of another process of that number, or of another name space by now.
            if space_of(root, pid)? != self.space {
                return Err(Absent::Gone);
            }
            // A machine without IPv6 has no table of it.
            self.table += usize::from(self.file.is_none());
        }
        Ok(self.file.is_some())
    }

    /// Reads on; how many bytes that were. At its end a table is closed.
    fn read_chunk(&mut self) -> u64 {
        let mut chunk = [0; CHUNK_BYTES];
        let read = match &mut self.file {
            Some(file) => file.read(&mut chunk),
            None => Ok(0),
        };
        match read {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Ok(0) | Err(_) => {
                self.file = None;
                0
            }
            Ok(read) => {
                let text = chunk.get(..read).unwrap_or_default();
                self.text.extend_from_slice(text);
                if read < FULL_BYTES {
                    self.file = None;
                }
                read as u64
            }
        }
    }

    /// What stands in whole lines that were not taken yet.
    fn take(&mut self) -> Vec<Entry> {
        let end = memchr::memrchr(b'\n', &self.text).map_or(0, |end| end + 1);
        let parsed = TABLES.get(self.table).zip(self.text.get(..end));
        let entries = parsed.map_or_else(Vec::new, |((_, parse), text)| parse(text));
        self.text.drain(..end);
        if self.file.is_none() || self.text.len() > LINE_BYTES_MAX {
            self.text.clear();
        }
        self.table += usize::from(self.file.is_none());
        entries
    }
}

/// What a parser made of a table, for its fixtures.
pub(super) fn digest(all: &[Entry]) -> String {
    let line = |one: &Entry| {
        let state = one.ends.state().map_or("-", SocketState::name);
        let text = one.ends.text();
        format!("{} {state} {}", one.inode, text.escape_ascii())
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The name of a unix socket.
fn name(ends: &Endpoints) -> Option<&[u8]> {
    match ends {
        Endpoints::Unix { name, .. } => Some(name),
        Endpoints::Inet { .. } => None,
    }
}

/// The network name space of a process.
fn space_of(root: &Root, pid: u32) -> Result<Space, Absent> {
    let link =
        fs::read_link(root.process(pid, "ns/net")).map_err(|error| process_absent(&error))?;
    let number = bracketed(link.as_os_str().as_bytes(), b"net:[");
    number.map(Space).ok_or(Absent::NoKernelSupport)
}

/// The number of `NAME:[NUMBER]`, with all that is before the number given.
fn bracketed(text: &[u8], before: &[u8]) -> Option<u64> {
    number(text.strip_prefix(before)?.strip_suffix(b"]")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::table::descriptor::Descriptor;
    use std::fmt::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// Reads until all is read; in how many pieces.
    fn read_all(sockets: &mut Sockets, root: &Root, pid: u32) -> (Space, u32) {
        let mut pieces = 1;
        loop {
            match sockets.read(root, pid).unwrap() {
                Some(space) => return (space, pieces),
                None => pieces += 1,
            }
        }
    }

    fn socket(inode: u64) -> Descriptor {
        Descriptor {
            fd: 3,
            kind: Kind::Socket,
            path: format!("socket:[{inode}]").into_bytes(),
            mode: None,
            position: None,
            socket: None,
        }
    }

    /// What is told of these sockets of a process in `space`.
    fn told(sockets: &Sockets, space: Space, inodes: &[u64]) -> Vec<Option<String>> {
        let mut listing = Listing {
            all: inodes.iter().copied().map(socket).collect(),
            ..Listing::default()
        };
        sockets.resolve(space, &mut listing);
        let text = |ends: Endpoints| String::from_utf8(ends.text()).unwrap();
        let all = listing.all.into_iter();
        all.map(|one| one.socket.map(text)).collect()
    }

    /// A process with tables of its own.
    fn process(root: &std::path::Path, pid: u32, space: u64, tables: &[(&str, &str)]) {
        let folder = root.join(format!("proc/{pid}"));
        for name in ["net", "ns"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let link = folder.join("ns/net");
        std::os::unix::fs::symlink(format!("net:[{space}]"), link).unwrap();
        for (name, text) in tables {
            fs::write(folder.join("net").join(name), text).unwrap();
        }
    }

    fn tcp_line(port: u16, inode: u64) -> String {
        format!("0: 0100007F:{port:04X} 00000000:0000 0A 0:0 0:0 0 0 0 {inode} 1\n")
    }

    fn unix_line(inode: u64, name: &str) -> String {
        format!("0: 00000002 00000000 00010000 0001 01 {inode} {name}\n")
    }

    #[test]
    fn sockets_of_this_process_are_found() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (pair, _other) = UnixStream::pair().unwrap();
        let (root, pid) = (Root::default(), std::process::id());
        let mut sockets = Sockets::default();
        let (space, _) = read_all(&mut sockets, &root, pid);
        let mut listing = super::super::descriptors::read(&root, pid, 1 << 20).unwrap();
        sockets.resolve(space, &mut listing);
        assert_eq!(listing.sockets_left_out, 0);
        let of = |fd: i32| {
            let one = listing.all.iter().find(|one| one.fd == fd as u32);
            let text = one.unwrap().socket.as_ref().map(Endpoints::text);
            text.map(|text| String::from_utf8(text).unwrap())
        };
        let (from, to) = (client.local_addr().unwrap(), server.local_addr().unwrap());
        let expected = format!("tcp:{from}:{to}");
        assert_eq!(of(client.as_raw_fd()), Some(expected));
        assert_eq!(of(server.as_raw_fd()), Some(format!("tcp:{to}:0.0.0.0:0")));
        let at = udp.local_addr().unwrap();
        assert_eq!(of(udp.as_raw_fd()), Some(format!("udp:{at}:0.0.0.0:0")));
        assert_eq!(of(pair.as_raw_fd()).as_deref(), Some("unix:"));
        assert_eq!(sockets.read(&root, u32::MAX >> 1), Err(Absent::Gone));
    }

    #[test]
    fn tables_are_read_once_for_a_name_space() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let tables =
            |port: u16, inode| [("tcp", tcp_line(port, inode)), ("unix", unix_line(9, "@a"))];
        for (pid, space, port) in [(1, 70, 1), (2, 70, 2), (3, 71, 3)] {
            let tables = tables(port, pid.into());
            let tables = tables.each_ref().map(|(name, text)| (*name, &**text));
            process(folder.path(), pid, space, &tables);
        }
        let mut sockets = Sockets::default();
        let (first, _) = read_all(&mut sockets, &root, 1);
        assert_eq!(read_all(&mut sockets, &root, 2), (first, 1));
        let tcp = |port| Some(format!("tcp:127.0.0.1:{port}:0.0.0.0:0"));
        assert_eq!(told(&sockets, first, &[1, 2, 3]), [tcp(1), None, None]);
        let (other, _) = read_all(&mut sockets, &root, 3);
        // A socket of another name space is what it is; a name may be anything there.
        fs::write(folder.path().join("proc/2/net/unix"), unix_line(8, "/b")).unwrap();
        assert_eq!(told(&sockets, other, &[1, 3]), [tcp(1), tcp(3)]);
        assert_eq!(told(&sockets, first, &[9]), [Some("unix:@a".to_owned())]);
        assert_eq!(told(&sockets, Space(72), &[9]), [None]);
    }

    #[test]
    fn of_a_socket_with_two_names_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let lines = [
            (1, "/a"),
            (2, "/x"),
            (1, "/a"),
            (2, "/y"),
            (2, "/x"),
            (3, "/z"),
        ];
        let unix: String = lines.map(|(inode, name)| unix_line(inode, name)).concat();
        process(
            folder.path(),
            1,
            70,
            &[("unix", &unix), ("tcp", &tcp_line(80, 3))],
        );
        let mut sockets = Sockets::default();
        let (space, _) = read_all(&mut sockets, &root, 1);
        let [one, two, three] = &told(&sockets, space, &[1, 2, 3])[..] else {
            panic!("three were asked for");
        };
        assert_eq!((one.as_deref(), two), (Some("unix:/a"), &None));
        assert_eq!(three.as_deref(), Some("tcp:127.0.0.1:80:0.0.0.0:0"));
    }

    #[test]
    fn what_is_kept_has_a_bound_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let mut tcp = String::new();
        for inode in 1..=SOCKETS_MAX + 1000 {
            write!(tcp, "{}", tcp_line(1, inode as u64)).unwrap();
        }
        process(
            folder.path(),
            1,
            70,
            &[("tcp", &tcp), ("unix", &unix_line(9, "/a"))],
        );
        process(folder.path(), 2, 71, &[]);
        let mut sockets = Sockets::default();
        let (space, pieces) = read_all(&mut sockets, &root, 1);
        assert!(pieces > 1 && sockets.reading.is_none());
        assert!((SOCKETS_MAX..SOCKETS_MAX + 1000).contains(&sockets.inet.len()));
        let last = SOCKETS_MAX as u64 + 1000;
        let mut listing = Listing {
            all: [1, last].map(socket).to_vec(),
            ..Listing::default()
        };
        sockets.resolve(space, &mut listing);
        assert!(listing.all[0].socket.is_some());
        assert_eq!(
            (&listing.all[1].socket, listing.sockets_left_out),
            (&None, 1)
        );
        // Whoever comes later is not read any more.
        assert_eq!(read_all(&mut sockets, &root, 2).1, 1);
    }

    #[test]
    fn a_process_that_leaves_in_between_leaves_no_table_open() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let tcp: String = (1..40_000).map(|inode| tcp_line(1, inode)).collect();
        process(folder.path(), 1, 70, &[("tcp", &tcp)]);
        let mut sockets = Sockets::default();
        assert_eq!(sockets.read(&root, 1), Ok(None));
        assert!(sockets.reading.is_some());
        let link = folder.path().join("proc/1/ns/net");
        fs::remove_file(&link).unwrap();
        assert_eq!(sockets.read(&root, 1), Err(Absent::Gone));
        assert!(sockets.reading.is_none());
    }
}
