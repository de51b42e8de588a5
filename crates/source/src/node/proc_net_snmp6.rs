//! `/proc/net/snmp6`: counters of IP and UDP of version 6 in our network namespace.

use super::fields::{Field, Fields, Scale, count, counter};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::proc_vmstat::values;
use record::unit::{Nanos, Unit};
use record::value::Absent;

const FIELDS: &[Field] = &[
    count(
        "Ip6InReceives",
        "ip6_packets_received",
        "IPv6 packets received",
    ),
    count(
        "Ip6InHdrErrors",
        "ip6_header_errors",
        "packets dropped for a bad header",
    ),
    count(
        "Ip6InAddrErrors",
        "ip6_address_errors",
        "packets dropped for a bad address",
    ),
    count(
        "Ip6InDiscards",
        "ip6_packets_received_dropped",
        "good packets dropped for want of room",
    ),
    count(
        "Ip6InDelivers",
        "ip6_packets_delivered",
        "packets given to protocols",
    ),
    count(
        "Ip6OutForwDatagrams",
        "ip6_packets_forwarded",
        "packets passed on",
    ),
    count("Ip6OutRequests", "ip6_packets_sent", "packets sent"),
    count(
        "Ip6OutDiscards",
        "ip6_packets_sent_dropped",
        "packets dropped instead of sent",
    ),
    count("Ip6OutNoRoutes", "ip6_no_route", "packets without a way"),
    count(
        "Ip6ReasmFails",
        "ip6_reassembly_errors",
        "packets that could not be put together",
    ),
    counter(
        "Ip6InOctets",
        Scale::One,
        "ip6_received",
        Unit::Bytes,
        "bytes received",
    ),
    counter(
        "Ip6OutOctets",
        Scale::One,
        "ip6_sent",
        Unit::Bytes,
        "bytes sent",
    ),
    count(
        "Udp6InDatagrams",
        "udp6_received",
        "datagrams given to programs (IPv6)",
    ),
    count(
        "Udp6NoPorts",
        "udp6_no_port",
        "datagrams to a port where nobody listens",
    ),
    count(
        "Udp6InErrors",
        "udp6_received_errors",
        "datagrams that could not be given to a program",
    ),
    count("Udp6OutDatagrams", "udp6_sent", "datagrams sent"),
    count(
        "Udp6RcvbufErrors",
        "udp6_receive_buffer_full",
        "datagrams lost because a socket had no room",
    ),
    count(
        "Udp6SndbufErrors",
        "udp6_send_buffer_full",
        "datagrams not sent because a socket had no room",
    ),
    count(
        "Udp6InCsumErrors",
        "udp6_checksum_errors",
        "datagrams with a wrong checksum",
    ),
    count(
        "Udp6MemErrors",
        "udp6_memory_errors",
        "datagrams lost for want of memory",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_net_snmp6",
    file: "/proc/net/snmp6",
    fields: &[FIELDS],
    tried: Tried::Live,
    period: Nanos::from_secs(10),
    listed: false,
    open,
};

struct Snmp6 {
    file: KeptFile,
    fields: Fields,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(Snmp6 {
        file: opener.open(opener.root().proc("net/snmp6"))?,
        fields: Fields::new(FIELDS, None),
        buffer: Vec::new(),
    }))
}

impl Reading for Snmp6 {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        self.fields.begin();
        // Lines of a name and a number, as in /proc/vmstat.
        for (key, value) in values(self.file.read(&mut self.buffer)?) {
            self.fields.put(rows, b"", key, value);
        }
        Ok(())
    }
}
