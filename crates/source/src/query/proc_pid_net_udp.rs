//! `/proc/PID/net/udp` and `udp6`: the UDP sockets of the network name space that a process is in,
//! those that have a port.

use super::field::lines;
use super::proc_pid_net_tcp::entry;
use super::sockets::{Entry, digest};
use super::source::Source;
use record::endpoints::{Protocol, SocketState};

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_net_udp",
    file: "/proc/PID/net/udp, udp6",
    metrics: &[],
    digest: |text| digest(&parse(text)),
};

/// The sockets, a line each.
pub fn parse(text: &[u8]) -> Vec<Entry> {
    lines(text)
        .filter_map(|line| entry(line, Protocol::Udp, state))
        .collect()
}

/// The numbers are those of TCP; there are two.
fn state(number: u8) -> Option<SocketState> {
    match number {
        1 => Some(SocketState::Established),
        7 => Some(SocketState::Unconnected),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_connected_or_not() {
        let line =
            |st: &str| format!("1: 0100007F:0035 00000000:0000 {st} 0:0 0:0 0 0 0 7 2 0 0\n");
        for (st, state) in [("07", "unconnected"), ("01", "established")] {
            let [one] = &parse(line(st).as_bytes())[..] else {
                panic!("no line");
            };
            assert_eq!(one.ends.text(), b"udp:127.0.0.1:53:0.0.0.0:0");
            assert_eq!(one.ends.state().map(SocketState::name), Some(state));
        }
    }
}
