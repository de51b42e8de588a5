//! Level io: what went through sockets, against what the workload did by construction.

use crate::files::at_level_io;
use crate::harness::expect::field;
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::run::Done;
use crate::harness::workload::program;
use crate::harness::{skip, words};
use record::socket::SocketLine;
use record::value::{Field, Method};

/// One test of each function with a dynamic program and with a static one.
macro_rules! dynamic_and_static {
    ($($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::harness::mechanism::{Mechanism, with};
            #[test]
            fn bpf() {
                with(Mechanism::Bpf, |it| super::$check(it, "sockets"));
            }
            #[test]
            fn bpf_static() {
                with(Mechanism::Bpf, |it| super::$check(it, "sockets.static"));
            }
            #[test]
            fn preload() {
                with(Mechanism::Preload, |it| super::$check(it, "sockets"));
            }
        }
    )* };
}

dynamic_and_static!(
    tcp, tcp6, datagrams, each4, each6, mapped, own, elsewhere, apart, local, far
);

/// Exit status of a workload that cannot be done here.
const SKIP: i32 = 77;

/// What was seen of one part of the workload; nothing if it cannot be done here.
fn watch(mechanism: Mechanism, name: &str, part: &str) -> Option<(Seen, Vec<SocketLine>)> {
    let run = at_level_io(mechanism);
    let folder = run.path("data");
    std::fs::create_dir(&folder).unwrap();
    let done = run.command(words![program(name), folder, part]).finish();
    if done.status == SKIP {
        return None;
    }
    done.expect_status(0);
    let text = std::fs::read_to_string(done.path("r.sockets.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines = lines.collect();
    Some((Seen { done, mechanism }, lines))
}

/// One run, and by what it was watched.
struct Seen {
    done: Done,
    mechanism: Mechanism,
}

impl Seen {
    /// How a total is told of which every part was seen: the library cannot know that it was.
    fn method(&self, whole: Method) -> Method {
        match self.mechanism {
            Mechanism::Preload => Method::LowerBound { upper: None },
            _ => whole,
        }
    }

    #[track_caller]
    fn exactly(&self, name: &str, truth: u64) {
        self.told(name, truth, Method::Exact);
    }

    #[track_caller]
    fn told(&self, name: &str, truth: u64, whole: Method) {
        let seen = field(&self.done, name);
        let Field::Present(value) = seen else {
            panic!("{name}: {seen:?}");
        };
        let told = (seen.whole(), value.method);
        assert_eq!(told, (Some(truth), self.method(whole)), "{name}");
    }
}

fn tcp(mechanism: Mechanism, name: &str) {
    let Some((seen, lines)) = watch(mechanism, name, "tcp") else {
        skip!("no 127.0.0.1 here");
    };
    connection(&seen, &lines, "inet", "127.0.0.1:");
}

fn tcp6(mechanism: Mechanism, name: &str) {
    let Some((seen, lines)) = watch(mechanism, name, "tcp6") else {
        skip!("no ::1 here");
    };
    connection(&seen, &lines, "inet6", "[::1]:");
}

/// What was peeked at is not received.
#[track_caller]
fn connection(seen: &Seen, lines: &[SocketLine], family: &str, address: &str) {
    for name in ["network_sent", "network_received"] {
        seen.exactly(name, 20_256 + 777);
    }
    for name in ["network_loopback_sent", "network_loopback_received"] {
        seen.exactly(name, 20_256 + 777);
    }
    let of = |bytes| lines.iter().find(|line| line.counts.bytes_read.0 == bytes);
    let (server, client) = (of(20_256).unwrap(), of(777).unwrap());
    assert_eq!((client.counts.writes, client.counts.reads), (22, 1));
    for (one, other) in [(server, client), (client, server)] {
        assert_eq!(one.family.as_deref(), Some(family));
        assert_eq!(one.kind.as_deref(), Some("stream"));
        assert_eq!(one.protocol.as_deref(), Some("tcp"));
        assert_eq!(one.loopback, Some(true));
        assert_eq!(one.peer, other.local, "{lines:#?}");
        assert!(one.peer.as_deref().unwrap().starts_with(address));
        assert_eq!(one.tcp_retransmits, Some(0));
        assert!(one.tcp_rtt_ns.unwrap().0 < 1_000_000_000, "{one:?}");
        assert_eq!(one.processes.len(), 1);
    }
}

/// Of a socket that is connected to nobody the address of each datagram says where it went; one
/// that is bound to the loopback address has no others.
fn datagrams(mechanism: Mechanism, name: &str) {
    let Some((seen, lines)) = watch(mechanism, name, "udp") else {
        skip!("no 127.0.0.1 here");
    };
    seen.exactly("network_sent", 2850);
    seen.exactly("network_received", 950);
    seen.exactly("network_loopback_received", 950);
    seen.exactly("network_loopback_sent", 2850);
    let server = lines.iter().find(|line| line.counts.reads > 0).unwrap();
    assert_eq!((server.counts.reads, server.counts.bytes_read.0), (11, 950));
    assert_eq!(server.protocol.as_deref(), Some("udp"));
}

fn each4(mechanism: Mechanism, name: &str) {
    within(mechanism, name, "each4");
}

fn each6(mechanism: Mechanism, name: &str) {
    within(mechanism, name, "each6");
}

fn mapped(mechanism: Mechanism, name: &str) {
    within(mechanism, name, "mapped");
}

fn own(mechanism: Mechanism, name: &str) {
    within(mechanism, name, "own");
}

/// All stays on the machine. Of what is received by calls that tell no address this is not known.
#[track_caller]
fn within(mechanism: Mechanism, name: &str, part: &str) {
    let Some((seen, _)) = watch(mechanism, name, part) else {
        skip!("no such address here");
    };
    seen.exactly("network_sent", 465);
    seen.exactly("network_received", 465);
    seen.exactly("network_loopback_sent", 465);
    let bounds = Method::LowerBound { upper: Some(465) };
    seen.told("network_loopback_received", 465 - 155, bounds);
}

/// Nothing stays on the machine.
fn elsewhere(mechanism: Mechanism, name: &str) {
    let Some((seen, _)) = watch(mechanism, name, "elsewhere") else {
        skip!("no way to elsewhere");
    };
    seen.exactly("network_sent", 465);
    seen.exactly("network_loopback_sent", 0);
}

/// Which addresses another network has is not known: 548 bytes stay on the machine, of which 83
/// are sent to, and come from, an address that every network has.
fn apart(mechanism: Mechanism, name: &str) {
    let Some((seen, _)) = watch(mechanism, name, "apart") else {
        skip!("no network of its own here");
    };
    let (sent, received) = (465 + 465 + 123, 465 + 83 + 4 * 11);
    seen.exactly("network_sent", sent);
    seen.exactly("network_received", received);
    for (name, upper) in [
        ("network_loopback_sent", sent),
        ("network_loopback_received", received),
    ] {
        let bounds = Method::LowerBound { upper: Some(upper) };
        seen.told(name, 83, bounds);
    }
}

fn local(mechanism: Mechanism, name: &str) {
    let (seen, lines) = watch(mechanism, name, "local").expect("unix sockets");
    seen.exactly("network_sent", 0);
    let named = lines.iter().filter(|line| line.counts.bytes_read.0 == 500);
    let [server] = named.collect::<Vec<_>>()[..] else {
        panic!("{lines:#?}");
    };
    assert_eq!(server.family.as_deref(), Some("unix"));
    assert_eq!(server.local.as_deref(), Some("named"));
    assert_eq!((server.loopback, server.tcp_rtt_ns), (None, None));
}

/// What goes to an address of the machine stays there, whichever interface has it.
fn far(mechanism: Mechanism, name: &str) {
    let Some((seen, lines)) = watch(mechanism, name, "far") else {
        skip!("no network of its own here");
    };
    seen.exactly("network_sent", 1100);
    seen.exactly("network_loopback_sent", 100);
    seen.exactly("network_received", 0);
    let gone = lines.iter().find(|line| line.counts.writes == 4).unwrap();
    assert_eq!(gone.peer.as_deref(), Some("192.0.2.2:9"));
    assert_eq!(gone.loopback, Some(false));
}

#[test]
fn bpf_a_connection_that_was_reset_has_its_port() {
    with(Mechanism::Bpf, |mechanism| {
        let Some((seen, lines)) = watch(mechanism, "sockets", "reset") else {
            skip!("no 127.0.0.1 here");
        };
        let server = lines.iter().find(|line| line.counts.failed > 0).unwrap();
        let truth = format!("127.0.0.1:{}", seen.done.printed("port"));
        assert_eq!(server.local.as_deref(), Some(truth.as_str()));
    });
}

/// A connection is looked at once more before it ends, whichever way.
#[test]
fn preload_tells_connections_as_they_were_at_their_end() {
    let Some((seen, lines)) = watch(Mechanism::Preload, "sockets", "ending") else {
        skip!("no 127.0.0.1 here");
    };
    let truth = std::fs::read_to_string(seen.done.path("data/connections")).unwrap();
    let truth = truth.lines().map(|line| line.split_once(' ').unwrap());
    let mut ends = 0;
    for (inode, rtt_us) in truth {
        let is_it = |line: &&SocketLine| line.inode.to_string() == inode;
        let line = lines.iter().find(is_it).unwrap();
        assert_eq!((line.counts.reads, line.counts.writes), (200, 200));
        let rtt_us = rtt_us.parse::<u64>().unwrap();
        assert_eq!(
            line.tcp_rtt_ns.map(|rtt| rtt.0),
            Some(rtt_us * 1000),
            "{line:#?}"
        );
        ends += 1;
    }
    assert_eq!(ends, 4);
}

/// What a message had no room for was not received, though the call tells its length.
#[test]
fn preload_messages_that_had_no_room() {
    let (_, lines) = watch(Mechanism::Preload, "sockets", "cut").expect("unix sockets");
    let server = lines.iter().find(|line| line.counts.reads > 0).unwrap();
    assert_eq!((server.counts.reads, server.counts.bytes_read.0), (3, 130));
}
