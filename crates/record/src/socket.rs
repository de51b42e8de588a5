//! Sockets of a task: whose ends they have, and what went through them.

use crate::file::FileCounts;
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Where the packets of an IPv4 or IPv6 socket go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ends {
    /// They stay on the machine.
    Loopback,
    /// They leave it.
    Network,
    /// It is connected to nobody: each datagram has ends of its own, and this is known of them.
    Each(Datagrams),
}

/// What is known of the datagrams of a socket; of the rest it is not known where they went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Datagrams {
    /// Sent within the machine.
    pub local_sent: Bytes,
    /// Received from within.
    pub local_received: Bytes,
    /// Sent elsewhere.
    pub remote_sent: Bytes,
    /// Received from elsewhere.
    pub remote_received: Bytes,
}

/// What is told of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SocketInfo {
    /// Its number, as `/proc/PID/fd` shows it.
    pub inode: u64,
    /// Address family (`AF_*`).
    pub family: u16,
    /// Type (`SOCK_*`).
    pub kind: u16,
    /// Protocol (`IPPROTO_*`).
    pub protocol: u16,
    /// Its own address.
    pub local: Option<SocketAddr>,
    /// That of the other end.
    pub peer: Option<SocketAddr>,
    /// Of a unix socket: its own name, else that of the other end; a NUL in front of one that is in
    /// no file system.
    pub path: Option<Vec<u8>>,
    /// Of TCP: segments sent once more.
    pub retransmits: Option<u64>,
    /// Of TCP: the smoothed round-trip time, if one was measured.
    pub round_trip: Option<Nanos>,
}

/// One socket in the report of a task, as `PREFIX.sockets.jsonl` carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketLine {
    /// Its number, as `/proc/PID/fd` shows it.
    pub inode: u64,
    /// Address family: `inet`, `inet6`, `unix`, `netlink`, `packet`, `alg`, `vsock` or its number;
    /// null if it could not be told.
    pub family: Option<String>,
    /// `stream`, `dgram`, `seqpacket`, `raw` or its number.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `tcp`, `udp`, `icmp`, `icmpv6`, `sctp`, `mptcp` or its number; null where there is none.
    pub protocol: Option<String>,
    /// Its own address, `ADDRESS:PORT`; of a unix socket its name, else that of the other end, with
    /// `@` in front of one that is in no file system.
    pub local: Option<String>,
    /// The address of the other end.
    pub peer: Option<String>,
    /// Whether its packets stay on the machine; null if that is not known, and for what is not IPv4
    /// or IPv6.
    pub loopback: Option<bool>,
    /// Processes that used it, the first [`crate::file::PROCESSES_MAX`].
    pub processes: Vec<u32>,
    /// There were more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub processes_more: bool,
    /// Calls and bytes: reads are what was received, writes what was sent.
    #[serde(flatten)]
    pub counts: FileCounts,
    /// First use, since the start of the task, to a tick of the kernel.
    pub first_ns: Nanos,
    /// Last use, likewise.
    pub last_ns: Nanos,
    /// Time spent in calls but `close`; null if it was not asked for.
    pub time_ns: Option<Nanos>,
    /// Of TCP: segments sent once more, as of its last state known.
    pub tcp_retransmits: Option<u64>,
    /// Of TCP: the smoothed round-trip time, likewise.
    pub tcp_rtt_ns: Option<Nanos>,
}
