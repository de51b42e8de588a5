//! `/sys/class/infiniband/DEVICE/ports/N/counters`: the ports of InfiniBand and Omni-Path.
//!
//! Older devices count in 32 bits and stay at the largest number (`port_xmit_data` at 16 GiB).

use super::fields::{Field, Scale, count, counter};
use super::kept::Opener;
use super::numbers::Numbers;
use super::source::{Reading, Source, Tried};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// `port_rcv_data` and `port_xmit_data` are in words of 4 bytes, whatever the width of the link.
const WORDS: Scale = Scale::By(4);

const FIELDS: &[Field] = &[
    counter(
        "port_rcv_data",
        WORDS,
        "infiniband_received",
        Unit::Bytes,
        "bytes received",
    ),
    counter(
        "port_xmit_data",
        WORDS,
        "infiniband_sent",
        Unit::Bytes,
        "bytes sent",
    ),
    count(
        "port_rcv_packets",
        "infiniband_received_packets",
        "packets received",
    ),
    count(
        "port_xmit_packets",
        "infiniband_sent_packets",
        "packets sent",
    ),
    count(
        "unicast_rcv_packets",
        "infiniband_received_unicast",
        "packets received for one",
    ),
    count(
        "unicast_xmit_packets",
        "infiniband_sent_unicast",
        "packets sent to one",
    ),
    count(
        "multicast_rcv_packets",
        "infiniband_received_multicast",
        "packets received for several",
    ),
    count(
        "multicast_xmit_packets",
        "infiniband_sent_multicast",
        "packets sent to several",
    ),
    count(
        "port_xmit_wait",
        "infiniband_sent_wait",
        "ticks of the port in which data waited for credits",
    ),
    count(
        "port_xmit_discards",
        "infiniband_sent_discards",
        "packets dropped instead of sent",
    ),
    count(
        "port_xmit_constraint_errors",
        "infiniband_sent_constraint_errors",
        "packets not sent because a rule forbade it",
    ),
    count(
        "port_rcv_errors",
        "infiniband_received_errors",
        "packets received that were bad",
    ),
    count(
        "port_rcv_remote_physical_errors",
        "infiniband_received_remote_errors",
        "packets received that were marked as bad",
    ),
    count(
        "port_rcv_switch_relay_errors",
        "infiniband_received_relay_errors",
        "packets that a switch could not pass on",
    ),
    count(
        "port_rcv_constraint_errors",
        "infiniband_received_constraint_errors",
        "packets not taken because a rule forbade it",
    ),
    count(
        "symbol_error",
        "infiniband_symbol_errors",
        "errors on the wire",
    ),
    count(
        "link_error_recovery",
        "infiniband_link_recoveries",
        "times that the link recovered",
    ),
    count(
        "link_downed",
        "infiniband_link_downs",
        "times that the link failed",
    ),
    count(
        "local_link_integrity_errors",
        "infiniband_integrity_errors",
        "times that errors on the wire were too many",
    ),
    count(
        "excessive_buffer_overrun_errors",
        "infiniband_buffer_overruns",
        "times that buffers overran again and again",
    ),
    count(
        "VL15_dropped",
        "infiniband_management_dropped",
        "packets of the subnet's management dropped for want of room",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_infiniband",
    file: "/sys/class/infiniband/DEVICE/ports/N/counters",
    fields: &[FIELDS],
    tried: Tried::FixtureOnly,
    period: Nanos(0),
    listed: true,
    open,
};

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let mut numbers = Numbers::default();
    let devices = opener.root().sys("class/infiniband");
    for device in numbers.names(&devices) {
        let ports = devices.join(&device).join("ports");
        for port in numbers.names(&ports) {
            let counters = ports.join(&port).join("counters");
            numbers.add(opener, &counters, &format!("{device}/{port}"), FIELDS);
        }
    }
    numbers.into_reading()
}
