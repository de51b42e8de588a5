//! `/proc/net/snmp`: counters of IP, ICMP, TCP and UDP (of version 4, TCP of both) in our network
//! namespace.

use super::fields::{Field, Fields, Scale, count, gauge};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{lines, number, words};
use record::unit::{Nanos, Unit};
use record::value::Absent;

const SNMP: &[Field] = &[
    count(
        "Ip InReceives",
        "ip_packets_received",
        "IPv4 packets received",
    ),
    count(
        "Ip InHdrErrors",
        "ip_header_errors",
        "packets dropped for a bad header",
    ),
    count(
        "Ip InAddrErrors",
        "ip_address_errors",
        "packets dropped for a bad address",
    ),
    count(
        "Ip ForwDatagrams",
        "ip_packets_forwarded",
        "packets passed on",
    ),
    count(
        "Ip InDiscards",
        "ip_packets_received_dropped",
        "good packets dropped for want of room",
    ),
    count(
        "Ip InDelivers",
        "ip_packets_delivered",
        "packets given to protocols",
    ),
    count("Ip OutRequests", "ip_packets_sent", "packets sent"),
    count(
        "Ip OutDiscards",
        "ip_packets_sent_dropped",
        "packets dropped instead of sent",
    ),
    count("Ip OutNoRoutes", "ip_no_route", "packets without a way"),
    count(
        "Ip ReasmFails",
        "ip_reassembly_errors",
        "packets that could not be put together",
    ),
    count(
        "Ip FragFails",
        "ip_fragmentation_errors",
        "packets that could not be cut",
    ),
    count("Icmp InMsgs", "icmp_received", "ICMP messages received"),
    count(
        "Icmp InErrors",
        "icmp_received_errors",
        "ICMP messages that were bad",
    ),
    count(
        "Icmp InDestUnreachs",
        "icmp_received_unreachable",
        "messages that something cannot be reached",
    ),
    count("Icmp OutMsgs", "icmp_sent", "ICMP messages sent"),
    count(
        "Icmp OutDestUnreachs",
        "icmp_sent_unreachable",
        "messages sent that something cannot be reached",
    ),
    count(
        "Tcp ActiveOpens",
        "tcp_connects",
        "connections begun from here",
    ),
    count(
        "Tcp PassiveOpens",
        "tcp_accepts",
        "connections begun from elsewhere",
    ),
    count(
        "Tcp AttemptFails",
        "tcp_connects_failed",
        "connections that did not come about",
    ),
    count(
        "Tcp EstabResets",
        "tcp_resets",
        "connections that were reset",
    ),
    gauge(
        "Tcp CurrEstab",
        Scale::One,
        "tcp_established",
        Unit::Count,
        "connections established now",
    ),
    count("Tcp InSegs", "tcp_segments_received", "segments received"),
    count(
        "Tcp OutSegs",
        "tcp_segments_sent",
        "segments sent, those sent again left out",
    ),
    count(
        "Tcp RetransSegs",
        "tcp_segments_retransmitted",
        "segments sent again",
    ),
    count(
        "Tcp InErrs",
        "tcp_segments_bad",
        "segments received that were bad",
    ),
    count(
        "Tcp InCsumErrors",
        "tcp_checksum_errors",
        "of these, with a wrong checksum",
    ),
    count("Tcp OutRsts", "tcp_resets_sent", "segments sent with RST"),
    count(
        "Udp InDatagrams",
        "udp_received",
        "datagrams given to programs (IPv4)",
    ),
    count(
        "Udp NoPorts",
        "udp_no_port",
        "datagrams to a port where nobody listens",
    ),
    count(
        "Udp InErrors",
        "udp_received_errors",
        "datagrams that could not be given to a program",
    ),
    count("Udp OutDatagrams", "udp_sent", "datagrams sent"),
    count(
        "Udp RcvbufErrors",
        "udp_receive_buffer_full",
        "datagrams lost because a socket had no room",
    ),
    count(
        "Udp SndbufErrors",
        "udp_send_buffer_full",
        "datagrams not sent because a socket had no room",
    ),
    count(
        "Udp InCsumErrors",
        "udp_checksum_errors",
        "datagrams with a wrong checksum",
    ),
    count(
        "Udp IgnoredMulti",
        "udp_multicast_ignored",
        "multicast datagrams that nobody wanted",
    ),
    count(
        "Udp MemErrors",
        "udp_memory_errors",
        "datagrams lost for want of memory",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_net_snmp",
    file: "/proc/net/snmp",
    fields: &[SNMP],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

/// A file of lines in pairs: `Tcp: ActiveOpens ...`, `Tcp: 5 ...`.
struct Titled {
    file: KeptFile,
    fields: Fields,
    titles: Vec<Titles>,
    buffer: Vec<u8>,
}

/// A line of titles as it was last seen, and the field of each title.
#[derive(Default)]
struct Titles {
    line: Vec<u8>,
    fields: Vec<Option<Field>>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    titled(opener, "net/snmp", SNMP)
}

/// A file of such lines below /proc.
pub(super) fn titled(
    opener: &mut Opener,
    path: &str,
    fields: &[Field],
) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(Titled {
        file: opener.open(opener.root().proc(path))?,
        fields: Fields::new(fields, None),
        titles: Vec::new(),
        buffer: Vec::new(),
    }))
}

impl Reading for Titled {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        let mut lines = lines(self.file.read(&mut self.buffer)?);
        let mut place = 0;
        while let (Some(titles), Some(values)) = (lines.next(), lines.next()) {
            if place == self.titles.len() {
                self.titles.push(Titles::default());
            }
            if let Some(known) = self.titles.get_mut(place) {
                known.learn(titles, &self.fields);
                known.put(values, rows);
            }
            place += 1;
        }
        Ok(())
    }
}

impl Titles {
    fn learn(&mut self, line: &[u8], fields: &Fields) {
        if self.line == line {
            return;
        }
        self.line = line.to_vec();
        let mut words = words(line);
        let protocol = words.next().unwrap_or_default();
        let protocol = protocol.strip_suffix(b":").unwrap_or_default();
        let key = |title: &[u8]| [protocol, b" ", title].concat();
        self.fields = words.map(|title| fields.find(&key(title))).collect();
    }

    /// `values` is the line behind, if it begins as its titles do.
    fn put(&self, values: &[u8], rows: &mut Rows) {
        let mut values = words(values);
        if values.next() != words(&self.line).next() {
            return;
        }
        for (field, word) in self.fields.iter().zip(values) {
            if let (Some(field), Some(number)) = (field, number(word)) {
                field.put(rows, b"", number);
            }
        }
    }
}
