//! `/proc/PID/net/tcp` and `tcp6`: the TCP sockets of the network name space that a process is in.
//!
//! `udp` and `udp6` have the same columns ([`super::proc_pid_net_udp`]).

use super::field::{lines, number, words};
use super::sockets::{Entry, digest};
use super::source::Source;
use record::endpoints::{Address, Endpoints, Protocol, SocketState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_net_tcp",
    file: "/proc/PID/net/tcp, tcp6",
    metrics: &[],
    digest: |text| digest(&parse(text)),
};

/// Digits of a word of 32 bits, and of a state.
pub(super) const WORD_DIGITS: usize = 8;
pub(super) const STATE_DIGITS: usize = 2;
/// How many of these an address of IPv6 is.
const WORDS_IPV6: usize = 4;

/// The sockets that somebody may have open, a line each.
pub fn parse(text: &[u8]) -> Vec<Entry> {
    lines(text)
        .filter_map(|line| entry(line, Protocol::Tcp, state))
        .collect()
}

/// A line of one of the four files. What has no inode is in nobody's hands: a connection that is
/// about to begin, or has ended.
pub(super) fn entry(
    line: &[u8],
    protocol: Protocol,
    state: impl Fn(u8) -> Option<SocketState>,
) -> Option<Entry> {
    let mut words = words(line);
    words.next()?.strip_suffix(b":")?;
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    let number_of_state = hexadecimal(words.next()?, STATE_DIGITS)?;
    // Behind its queues, its timer, its transmissions, its user and its timeout.
    let inode = number(words.nth(5)?).filter(|inode| *inode > 0)?;
    // Whatever follows: without it the number may be cut.
    words.next()?;
    let (local, remote) = same_family(local, remote)?;
    Some(Entry {
        inode,
        ends: Endpoints::Inet {
            protocol,
            local,
            remote,
            state: u8::try_from(number_of_state).ok().and_then(state),
        },
    })
}

fn state(number: u8) -> Option<SocketState> {
    Some(match number {
        1 => SocketState::Established,
        2 => SocketState::SynSent,
        3 => SocketState::SynRecv,
        4 => SocketState::FinWait1,
        5 => SocketState::FinWait2,
        7 => SocketState::Close,
        8 => SocketState::CloseWait,
        9 => SocketState::LastAck,
        10 => SocketState::Listen,
        11 => SocketState::Closing,
        _ => return None,
    })
}

/// `0100007F:1F90`: words of 32 bits as they are in memory, and a port.
fn address(text: &[u8]) -> Option<Address> {
    let (ip, port) = text.split_at(memchr::memchr(b':', text)?);
    let port = u16::try_from(hexadecimal(port.get(1..)?, 4)?).ok()?;
    let ip = match ip.len() {
        WORD_DIGITS => IpAddr::V4(Ipv4Addr::from(hexadecimal(ip, WORD_DIGITS)?.to_ne_bytes())),
        _ => {
            let mut bytes = [0; WORDS_IPV6 * size_of::<u32>()];
            let mut digits = ip.chunks_exact(WORD_DIGITS);
            for place in bytes.chunks_exact_mut(size_of::<u32>()) {
                place.copy_from_slice(&hexadecimal(digits.next()?, WORD_DIGITS)?.to_ne_bytes());
            }
            let is_whole = digits.next().is_none() && digits.remainder().is_empty();
            is_whole.then(|| IpAddr::V6(Ipv6Addr::from(bytes)))?
        }
    };
    Some(Address { ip, port })
}

/// A number of so many digits, no more and no less.
pub(super) fn hexadecimal(text: &[u8], digits: usize) -> Option<u32> {
    let is_hexadecimal = text.len() == digits && text.iter().all(u8::is_ascii_hexdigit);
    let text = is_hexadecimal.then(|| std::str::from_utf8(text))?.ok()?;
    u32::from_str_radix(text, 16).ok()
}

/// A socket of IPv6 may carry IPv4: then both ends are of that.
fn same_family(local: Address, remote: Address) -> Option<(Address, Address)> {
    let (IpAddr::V6(from), IpAddr::V6(to)) = (local.ip, remote.ip) else {
        return (local.ip.is_ipv4() && remote.ip.is_ipv4()).then_some((local, remote));
    };
    let within = |ip: Ipv6Addr| match ip.is_unspecified() {
        true => Some(Ipv4Addr::UNSPECIFIED),
        false => ip.to_ipv4_mapped(),
    };
    let is_any = from.is_unspecified() && to.is_unspecified();
    Some(match (within(from), within(to)) {
        (Some(from), Some(to)) if !is_any => {
            let of = |ip: Ipv4Addr, port| Address {
                ip: ip.into(),
                port,
            };
            (of(from, local.port), of(to, remote.port))
        }
        _ => (local, remote),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(local: &str, remote: &str) -> Option<String> {
        let line = format!("0: {local} {remote} 0A 0:0 0:0 0 0 0 7 1");
        let entry = entry(line.as_bytes(), Protocol::Tcp, state)?;
        String::from_utf8(entry.ends.text()).ok()
    }

    #[test]
    fn addresses_are_words_in_the_order_of_memory() {
        let (any, ours) = ("00000000:0000", "0100007F:1F90");
        let told = text_of(ours, any).unwrap();
        assert_eq!(told, "tcp:127.0.0.1:8080:0.0.0.0:0");
        let loopback = "00000000000000000000000001000000:0050";
        let any = "00000000000000000000000000000000:0000";
        let told = text_of(loopback, any).unwrap();
        assert_eq!(told, "tcp6:[::1]:80:[::]:0");
        assert_eq!(text_of(any, any).unwrap(), "tcp6:[::]:0:[::]:0");
        // IPv4 through a socket of IPv6, connected and not.
        let mapped = "0000000000000000FFFF00000100007F:0050";
        let told = text_of(mapped, mapped).unwrap();
        assert_eq!(told, "tcp:127.0.0.1:80:127.0.0.1:80");
        let told = text_of(mapped, any).unwrap();
        assert_eq!(told, "tcp:127.0.0.1:80:0.0.0.0:0");
        for bad in [
            "0100007F",
            "+100007F:1F90",
            "0100007F:1F9",
            "0100007F0:1F90",
            ":",
        ] {
            assert_eq!(text_of(bad, ours), None, "{bad}");
        }
        assert_eq!(text_of(loopback, ours), None);
    }

    #[test]
    fn who_is_in_nobodys_hands_is_left_out() {
        let line = |end: &str| format!("0: 0100007F:0001 0100007F:0002 06 0:0 0:0 0 0 0 {end}\n");
        assert_eq!(parse(line("0 3 0000").as_bytes()), []);
        assert_eq!(parse(line("12").as_bytes()), []);
        let [one] = &parse(line("12 3").as_bytes())[..] else {
            panic!("no line");
        };
        assert_eq!((one.inode, one.ends.state()), (12, None));
    }
}
