//! `/proc/net/netstat`: more counters of TCP and IP in our network namespace.

use super::fields::{Field, Scale, count, counter};
use super::kept::Opener;
use super::proc_net_snmp::titled;
use super::source::{Reading, Source, Tried};
use record::unit::{Nanos, Unit};
use record::value::Absent;

const NETSTAT: &[Field] = &[
    count(
        "TcpExt ListenOverflows",
        "tcp_listen_overflows",
        "connections refused because a queue of accept was full",
    ),
    count(
        "TcpExt ListenDrops",
        "tcp_listen_drops",
        "connections dropped while they began",
    ),
    count(
        "TcpExt SyncookiesSent",
        "tcp_syncookies_sent",
        "SYN cookies sent",
    ),
    count(
        "TcpExt SyncookiesFailed",
        "tcp_syncookies_failed",
        "SYN cookies that came back wrong",
    ),
    count(
        "TcpExt TCPReqQFullDrop",
        "tcp_requests_dropped",
        "SYNs dropped because their queue was full",
    ),
    count(
        "TcpExt TW",
        "tcp_time_wait",
        "connections that ended in TIME_WAIT",
    ),
    count(
        "TcpExt TCPTimeWaitOverflow",
        "tcp_time_wait_overflows",
        "of these, too many",
    ),
    count(
        "TcpExt DelayedACKs",
        "tcp_delayed_acks",
        "acknowledgements sent late",
    ),
    count(
        "TcpExt TCPTimeouts",
        "tcp_timeouts",
        "timeouts of retransmission",
    ),
    count(
        "TcpExt TCPLostRetransmit",
        "tcp_retransmits_lost",
        "segments sent again that were lost too",
    ),
    count(
        "TcpExt TCPFastRetrans",
        "tcp_fast_retransmits",
        "segments sent again before a timeout",
    ),
    count(
        "TcpExt TCPSlowStartRetrans",
        "tcp_slow_start_retransmits",
        "segments sent again while starting slowly",
    ),
    count(
        "TcpExt TCPSynRetrans",
        "tcp_syn_retransmits",
        "SYNs sent again",
    ),
    count(
        "TcpExt TCPSpuriousRTOs",
        "tcp_spurious_timeouts",
        "timeouts that were in vain",
    ),
    count(
        "TcpExt TCPLossProbes",
        "tcp_loss_probes",
        "probes for a lost tail",
    ),
    count(
        "TcpExt TCPOFOQueue",
        "tcp_out_of_order",
        "segments kept that came out of order",
    ),
    count(
        "TcpExt TCPRcvCollapsed",
        "tcp_receive_collapsed",
        "segments put together for want of room",
    ),
    count(
        "TcpExt PruneCalled",
        "tcp_prunes",
        "times that a socket had too much to hold",
    ),
    count(
        "TcpExt RcvPruned",
        "tcp_receive_pruned",
        "segments dropped for it",
    ),
    count(
        "TcpExt TCPBacklogDrop",
        "tcp_backlog_drops",
        "segments dropped because a socket was busy",
    ),
    count(
        "TcpExt TCPRcvQDrop",
        "tcp_receive_queue_drops",
        "segments dropped because a queue was full",
    ),
    count(
        "TcpExt TCPZeroWindowDrop",
        "tcp_zero_window_drops",
        "segments dropped because the window was closed",
    ),
    count(
        "TcpExt TCPToZeroWindowAdv",
        "tcp_zero_windows",
        "times that the window was closed",
    ),
    count(
        "TcpExt TCPMemoryPressures",
        "tcp_memory_pressures",
        "times that memory of sockets ran short",
    ),
    count(
        "TcpExt TCPAbortOnMemory",
        "tcp_aborts_memory",
        "connections given up for want of memory",
    ),
    count(
        "TcpExt TCPAbortOnTimeout",
        "tcp_aborts_timeout",
        "connections given up after timeouts",
    ),
    count(
        "TcpExt TCPAbortOnData",
        "tcp_aborts_data",
        "connections reset with data unread",
    ),
    count(
        "TcpExt TCPAbortOnClose",
        "tcp_aborts_close",
        "connections reset because data came after close",
    ),
    count(
        "TcpExt TCPRetransFail",
        "tcp_retransmits_failed",
        "segments that could not be sent again",
    ),
    count(
        "IpExt InNoRoutes",
        "ip_received_no_route",
        "packets received without a way",
    ),
    counter(
        "IpExt InOctets",
        Scale::One,
        "ip_received",
        Unit::Bytes,
        "bytes received",
    ),
    counter(
        "IpExt OutOctets",
        Scale::One,
        "ip_sent",
        Unit::Bytes,
        "bytes sent",
    ),
    counter(
        "IpExt InMcastOctets",
        Scale::One,
        "ip_multicast_received",
        Unit::Bytes,
        "bytes received by multicast",
    ),
    counter(
        "IpExt OutMcastOctets",
        Scale::One,
        "ip_multicast_sent",
        Unit::Bytes,
        "bytes sent by multicast",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_net_netstat",
    file: "/proc/net/netstat",
    fields: &[NETSTAT],
    tried: Tried::Live,
    period: Nanos::from_secs(10),
    listed: false,
    open,
};

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    titled(opener, "net/netstat", NETSTAT)
}
