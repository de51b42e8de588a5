//! Level io: what went through sockets, against what the workload did by construction.

use crate::harness::expect::field;
use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Done, Run};
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
                with(Mechanism::Bpf, |_| super::$check("sockets"));
            }
            #[test]
            fn bpf_static() {
                with(Mechanism::Bpf, |_| super::$check("sockets.static"));
            }
        }
    )* };
}

dynamic_and_static!(tcp, tcp6, datagrams, local, far);

/// Exit status of a workload that cannot be done here.
const SKIP: i32 = 77;

/// What was seen of one part of the workload; nothing if it cannot be done here.
fn watch(name: &str, part: &str) -> Option<(Done, Vec<SocketLine>)> {
    let run = Run::watched(Mechanism::Bpf, Vec::new()).options(["--level", "io"]);
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
    Some((done, lines))
}

#[track_caller]
fn exactly(done: &Done, name: &str, truth: u64) {
    let seen = field(done, name);
    assert_eq!(seen.whole(), Some(truth), "{name}: {seen:?}");
    assert!(
        matches!(seen, Field::Present(it) if it.method == Method::Exact),
        "{name}: {seen:?}"
    );
}

fn tcp(name: &str) {
    let Some((done, lines)) = watch(name, "tcp") else {
        skip!("no 127.0.0.1 here");
    };
    connection(&done, &lines, "inet", "127.0.0.1:");
}

fn tcp6(name: &str) {
    let Some((done, lines)) = watch(name, "tcp6") else {
        skip!("no ::1 here");
    };
    connection(&done, &lines, "inet6", "[::1]:");
}

/// What was peeked at is not received.
#[track_caller]
fn connection(done: &Done, lines: &[SocketLine], family: &str, address: &str) {
    for name in ["network_sent", "network_received"] {
        exactly(done, name, 20_256 + 777);
    }
    for name in ["network_loopback_sent", "network_loopback_received"] {
        exactly(done, name, 20_256 + 777);
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

/// Of a socket that is connected to nobody it is not known where its datagrams went.
fn datagrams(name: &str) {
    let Some((done, lines)) = watch(name, "udp") else {
        skip!("no 127.0.0.1 here");
    };
    exactly(&done, "network_sent", 850);
    exactly(&done, "network_received", 850);
    exactly(&done, "network_loopback_received", 850);
    let sent = field(&done, "network_loopback_sent");
    let Field::Present(value) = sent else {
        panic!("{sent:?}");
    };
    assert_eq!(
        (sent.whole(), value.method),
        (Some(700), Method::LowerBound { upper: Some(850) })
    );
    let server = lines.iter().find(|line| line.counts.reads > 0).unwrap();
    assert_eq!((server.counts.reads, server.counts.bytes_read.0), (10, 850));
    assert_eq!(server.protocol.as_deref(), Some("udp"));
}

fn local(name: &str) {
    let (done, lines) = watch(name, "local").expect("unix sockets");
    exactly(&done, "network_sent", 0);
    let named = lines.iter().filter(|line| line.counts.bytes_read.0 == 500);
    let [server] = named.collect::<Vec<_>>()[..] else {
        panic!("{lines:#?}");
    };
    assert_eq!(server.family.as_deref(), Some("unix"));
    assert_eq!(server.local.as_deref(), Some("named"));
    assert_eq!((server.loopback, server.tcp_rtt_ns), (None, None));
}

/// What goes to an address of the machine stays there, whichever interface has it.
fn far(name: &str) {
    let Some((done, lines)) = watch(name, "far") else {
        skip!("no network of its own here");
    };
    exactly(&done, "network_sent", 1100);
    exactly(&done, "network_loopback_sent", 100);
    exactly(&done, "network_received", 0);
    let gone = lines.iter().find(|line| line.counts.writes == 4).unwrap();
    assert_eq!(gone.peer.as_deref(), Some("192.0.2.2:9"));
    assert_eq!(gone.loopback, Some(false));
}
