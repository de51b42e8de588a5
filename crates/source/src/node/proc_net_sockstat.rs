//! `/proc/net/sockstat` and `/proc/net/sockstat6`: sockets in use in our network namespace, and the
//! memory of their buffers.

use super::fields::{Field, Fields, Scale, gauge};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{number, pairs, words};
use record::unit::{Nanos, Unit};
use record::value::Absent;

const FIELDS: &[Field] = &[
    gauge(
        "sockets used",
        Scale::One,
        "sockets",
        Unit::Count,
        "sockets of all kinds",
    ),
    gauge(
        "TCP inuse",
        Scale::One,
        "tcp_sockets",
        Unit::Count,
        "TCP sockets in use (IPv4)",
    ),
    gauge(
        "TCP orphan",
        Scale::One,
        "tcp_sockets_orphaned",
        Unit::Count,
        "of no process any more",
    ),
    gauge(
        "TCP tw",
        Scale::One,
        "tcp_sockets_time_wait",
        Unit::Count,
        "in TIME_WAIT",
    ),
    gauge(
        "TCP alloc",
        Scale::One,
        "tcp_sockets_allocated",
        Unit::Count,
        "TCP sockets that exist",
    ),
    gauge(
        "TCP mem",
        Scale::Pages,
        "tcp_memory",
        Unit::Bytes,
        "memory of the buffers of TCP, of all namespaces",
    ),
    gauge(
        "UDP inuse",
        Scale::One,
        "udp_sockets",
        Unit::Count,
        "UDP sockets in use (IPv4)",
    ),
    gauge(
        "UDP mem",
        Scale::Pages,
        "udp_memory",
        Unit::Bytes,
        "memory of the buffers of UDP, of all namespaces",
    ),
    gauge(
        "RAW inuse",
        Scale::One,
        "raw_sockets",
        Unit::Count,
        "raw sockets in use (IPv4)",
    ),
    gauge(
        "FRAG inuse",
        Scale::One,
        "ip_fragments",
        Unit::Count,
        "packets that are being put together",
    ),
    gauge(
        "FRAG memory",
        Scale::One,
        "ip_fragments_memory",
        Unit::Bytes,
        "memory of these",
    ),
    gauge(
        "TCP6 inuse",
        Scale::One,
        "tcp6_sockets",
        Unit::Count,
        "TCP sockets in use (IPv6)",
    ),
    gauge(
        "UDP6 inuse",
        Scale::One,
        "udp6_sockets",
        Unit::Count,
        "UDP sockets in use (IPv6)",
    ),
    gauge(
        "RAW6 inuse",
        Scale::One,
        "raw6_sockets",
        Unit::Count,
        "raw sockets in use (IPv6)",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_net_sockstat",
    file: "/proc/net/{sockstat,sockstat6}",
    fields: &[FIELDS],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Sockstat {
    files: Vec<KeptFile>,
    fields: Fields,
    buffer: Vec<u8>,
    key: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let first = opener.open(opener.root().proc("net/sockstat"))?;
    // Not there without IPv6.
    let second = opener.open_any(opener.root().proc("net/sockstat6"));
    Ok(Box::new(Sockstat {
        files: std::iter::once(first).chain(second).collect(),
        fields: Fields::new(FIELDS, opener.page_bytes()),
        buffer: Vec::new(),
        key: Vec::new(),
    }))
}

impl Reading for Sockstat {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        self.fields.begin();
        for file in &self.files {
            for (kind, values) in pairs(file.read(&mut self.buffer)?) {
                let mut words = words(values);
                while let (Some(name), Some(value)) = (words.next(), words.next()) {
                    self.key.clear();
                    self.key.extend_from_slice(kind);
                    self.key.push(b' ');
                    self.key.extend_from_slice(name);
                    if let Some(value) = number(value) {
                        self.fields.put(rows, b"", &self.key, value);
                    }
                }
            }
        }
        Ok(())
    }
}
