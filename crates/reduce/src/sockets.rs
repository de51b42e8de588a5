//! The sockets of a task: uses to one line a socket, bounded, and what went over networks.

use record::file::{FileCounts, FileUse, OtherFiles, PROCESSES_MAX};
use record::socket::{Ends, SocketInfo, SocketLine};
use record::unit::{Bytes, Nanos};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Payload of all IPv4 and IPv6 sockets of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkTotals {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Of those sent what stayed on the machine.
    pub loopback_sent: u64,
    /// Of those received what stayed on the machine.
    pub loopback_received: u64,
    /// Bytes sent of which it is not known.
    pub unknown_sent: u64,
    /// Bytes received of which it is not known.
    pub unknown_received: u64,
}

impl NetworkTotals {
    fn add(&mut self, ends: Ends, counts: &FileCounts) {
        let (sent, received) = (counts.bytes_written.0, counts.bytes_read.0);
        self.sent += sent;
        self.received += received;
        match ends {
            Ends::Network => {}
            Ends::Loopback => {
                self.loopback_sent += sent;
                self.loopback_received += received;
            }
            Ends::Each(of) => {
                let (local, unknown) = split(sent, of.local_sent, of.remote_sent);
                self.loopback_sent += local;
                self.unknown_sent += unknown;
                let (local, unknown) = split(received, of.local_received, of.remote_received);
                self.loopback_received += local;
                self.unknown_received += unknown;
            }
        }
    }
}

/// Of all bytes those that stayed on the machine, and those of which it is not known; no more than
/// there are, whatever is told.
fn split(all: u64, local: Bytes, remote: Bytes) -> (u64, u64) {
    let local = local.0.min(all);
    (local, (all - local).saturating_sub(remote.0))
}

#[derive(Debug, Clone)]
struct Row {
    info: Option<SocketInfo>,
    ends: Option<Ends>,
    processes: Vec<u32>,
    more_processes: bool,
    counts: FileCounts,
    first: Nanos,
    last: Nanos,
    time: Option<Nanos>,
}

/// The sockets of one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sockets {
    rows: BTreeMap<u64, Row>,
    rows_max: usize,
    others: OtherFiles,
    network: NetworkTotals,
}

/// All sockets of a task at its end.
#[derive(Debug, Clone, Default)]
pub struct SocketSummary {
    /// A line a socket, the busiest first.
    pub lines: Vec<SocketLine>,
    /// What has no line.
    pub others: OtherFiles,
    /// What went over networks; nothing where it is not told whose ends sockets have.
    pub network: Option<NetworkTotals>,
}

impl Sockets {
    pub(crate) fn new(rows_max: usize) -> Self {
        Self {
            rows_max,
            ..Self::default()
        }
    }

    /// A process used a socket.
    pub(crate) fn take(&mut self, used: &FileUse) {
        if let Some(ends) = used.ends {
            self.network.add(ends, &used.counts);
        }
        let inode = used.file.inode;
        if !self.rows.contains_key(&inode) && self.rows.len() >= self.rows_max {
            self.others.files += 1;
            self.others.counts.add(&used.counts);
            return;
        }
        let row = self.rows.entry(inode).or_insert_with(|| Row::new(used));
        row.add(used);
    }

    /// What is known of a socket by now; nothing if the task did not use it. One that has lost its
    /// other end keeps it.
    pub(crate) fn told(&mut self, mut info: SocketInfo) {
        if let Some(row) = self.rows.get_mut(&info.inode) {
            if let Some(known) = row.info.take() {
                info.local = info.local.or(known.local);
                info.peer = info.peer.or(known.peer);
                info.path = info.path.or(known.path);
                info.retransmits = info.retransmits.max(known.retransmits);
                info.round_trip = info.round_trip.or(known.round_trip);
            }
            row.info = Some(info);
        }
    }

    /// The end of a task that began at `start`.
    pub(crate) fn finish(self, start: Nanos) -> SocketSummary {
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_by_key(|(inode, row)| {
            let bytes = row.counts.bytes_read.0 + row.counts.bytes_written.0;
            (Reverse(bytes), *inode)
        });
        let lines = rows.into_iter().map(|(inode, row)| row.line(inode, start));
        SocketSummary {
            lines: lines.collect(),
            others: self.others,
            network: Some(self.network),
        }
    }
}

impl Row {
    fn new(used: &FileUse) -> Self {
        Self {
            info: None,
            ends: None,
            processes: Vec::new(),
            more_processes: false,
            counts: FileCounts::default(),
            first: used.first,
            last: used.last,
            time: None,
        }
    }

    fn add(&mut self, used: &FileUse) {
        match self.processes.binary_search(&used.pid) {
            Ok(_) => {}
            Err(_) if self.processes.len() >= PROCESSES_MAX => self.more_processes = true,
            Err(place) => self.processes.insert(place, used.pid),
        }
        self.counts.add(&used.counts);
        self.first = self.first.min(used.first);
        self.last = self.last.max(used.last);
        self.ends = used.ends.or(self.ends);
        if let Some(time) = used.time {
            self.time = Some(self.time.unwrap_or_default().plus(time));
        }
    }

    fn line(self, inode: u64, start: Nanos) -> SocketLine {
        let info = self.info.as_ref();
        let address = |end: Option<std::net::SocketAddr>| end.map(|end| end.to_string());
        SocketLine {
            inode,
            family: info.map(|info| named(FAMILIES, info.family)),
            kind: info.map(|info| named(KINDS, info.kind)),
            protocol: info
                .filter(|info| info.protocol != 0)
                .map(|info| named(PROTOCOLS, info.protocol)),
            local: info.and_then(|info| address(info.local).or_else(|| unix_name(info))),
            peer: info.and_then(|info| address(info.peer)),
            loopback: match self.ends {
                Some(Ends::Loopback) => Some(true),
                Some(Ends::Network) => Some(false),
                Some(Ends::Each(_)) | None => None,
            },
            processes: self.processes,
            processes_more: self.more_processes,
            counts: self.counts,
            first_ns: self.first.since(start),
            last_ns: self.last.max(self.first).since(start),
            time_ns: self.time,
            tcp_retransmits: info.and_then(|info| info.retransmits),
            tcp_rtt_ns: info.and_then(|info| info.round_trip),
        }
    }
}

/// Names by number (`socket(2)`).
type Names = &'static [(u16, &'static str)];

const FAMILIES: Names = &[
    (1, "unix"),
    (2, "inet"),
    (10, "inet6"),
    (16, "netlink"),
    (17, "packet"),
    (38, "alg"),
    (40, "vsock"),
];
const KINDS: Names = &[(1, "stream"), (2, "dgram"), (3, "raw"), (5, "seqpacket")];
const PROTOCOLS: Names = &[
    (1, "icmp"),
    (6, "tcp"),
    (17, "udp"),
    (58, "icmpv6"),
    (132, "sctp"),
    (136, "udplite"),
    (262, "mptcp"),
];

fn named(names: Names, number: u16) -> String {
    let name = names.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

fn unix_name(info: &SocketInfo) -> Option<String> {
    let path = info.path.as_deref().filter(|path| !path.is_empty())?;
    Some(match path.split_first() {
        Some((0, rest)) => format!("@{}", String::from_utf8_lossy(rest)),
        _ => String::from_utf8_lossy(path).into_owned(),
    })
}
