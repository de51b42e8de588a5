//! Whose ends a socket has, and in which state it is, as the kernel's tables of sockets tell it.

use std::net::IpAddr;

/// What carries the bytes of an IPv4 or IPv6 socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// One end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// Its address, never one of IPv4 within IPv6.
    pub ip: IpAddr,
    /// Its port.
    pub port: u16,
}

/// The ends of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoints {
    /// IPv4 or IPv6. The other end of what is connected to nobody is address and port 0.
    Inet {
        /// What carries its bytes.
        protocol: Protocol,
        /// Its own end.
        local: Address,
        /// The other one, of the same family.
        remote: Address,
        /// Its state, if that has a name.
        state: Option<SocketState>,
    },
    /// Within the machine.
    Unix {
        /// Its own name, `@` in the place of each NUL; empty if it has none.
        name: Box<[u8]>,
        /// Its state, if that has a name.
        state: Option<SocketState>,
    },
}

/// The state of a socket (`tcp_states.h`, `linux/net.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SocketState {
    /// It is connected.
    Established,
    /// It asked to be connected.
    SynSent,
    /// It was asked to be connected.
    SynRecv,
    /// It has closed its side.
    FinWait1,
    /// And the other end knows.
    FinWait2,
    /// Both sides are closed.
    Close,
    /// The other end has closed its side.
    CloseWait,
    /// Both have, and the other end does not know of this one yet.
    LastAck,
    /// It waits for others to connect.
    Listen,
    /// Both closed at once.
    Closing,
    /// It is connected to nobody, and needs not be.
    Unconnected,
    /// A unix socket that waits to be connected.
    Connecting,
    /// A unix socket that is about to go.
    Disconnecting,
}

impl Endpoints {
    /// As the table `descriptor` has it: `tcp:ADDRESS:PORT:ADDRESS:PORT`, its own end first, with
    /// addresses of IPv6 in brackets behind `tcp6`; likewise `udp`; `unix:NAME`.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Self::Inet {
                protocol,
                local,
                remote,
                ..
            } => {
                let name = protocol.name();
                let (from, to) = (local.port, remote.port);
                let text = match (local.ip, remote.ip) {
                    (IpAddr::V4(local), IpAddr::V4(remote)) => {
                        format!("{name}:{local}:{from}:{remote}:{to}")
                    }
                    (local, remote) => format!("{name}6:[{local}]:{from}:[{remote}]:{to}"),
                };
                text.into_bytes()
            }
            Self::Unix { name, .. } => [b"unix:", &**name].concat(),
        }
    }

    /// The state, if it has a name.
    pub const fn state(&self) -> Option<SocketState> {
        match self {
            Self::Inet { state, .. } | Self::Unix { state, .. } => *state,
        }
    }
}

impl Protocol {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl SocketState {
    /// Its name: the kernel's, in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::SynSent => "syn_sent",
            Self::SynRecv => "syn_recv",
            Self::FinWait1 => "fin_wait1",
            Self::FinWait2 => "fin_wait2",
            Self::Close => "close",
            Self::CloseWait => "close_wait",
            Self::LastAck => "last_ack",
            Self::Listen => "listen",
            Self::Closing => "closing",
            Self::Unconnected => "unconnected",
            Self::Connecting => "connecting",
            Self::Disconnecting => "disconnecting",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_written_one_way() {
        let of = |ip: &str, port| Address {
            ip: ip.parse().unwrap(),
            port,
        };
        let inet = |protocol, local, remote| Endpoints::Inet {
            protocol,
            local,
            remote,
            state: Some(SocketState::Listen),
        };
        let unix = |name: &[u8]| Endpoints::Unix {
            name: name.into(),
            state: None,
        };
        for (ends, text) in [
            (
                inet(Protocol::Tcp, of("127.0.0.1", 80), of("0.0.0.0", 0)),
                &b"tcp:127.0.0.1:80:0.0.0.0:0"[..],
            ),
            (
                inet(Protocol::Udp, of("::1", 53), of("fe80::2", 65535)),
                b"udp6:[::1]:53:[fe80::2]:65535",
            ),
            (unix(b"/run/a b\xff"), b"unix:/run/a b\xff"),
            (unix(b"@name"), b"unix:@name"),
            (unix(b""), b"unix:"),
        ] {
            assert_eq!(ends.text(), text, "{ends:?}");
        }
        let ends = inet(Protocol::Tcp, of("::", 1), of("::", 0));
        assert_eq!(ends.state().map(SocketState::name), Some("listen"));
        assert_eq!(unix(b"").state(), None);
        // As many of them are remembered as there are sockets.
        assert!(size_of::<Endpoints>() <= 48);
    }
}
