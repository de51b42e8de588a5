//! Sockets: totals are whole however small the table is, and what is told finds its line.

use record::file::{FileCounts, FileFlags, FileId, FileKind, FileRest, FileUse, Mounted, Place};
use record::socket::{Datagrams, Ends, SocketInfo};
use record::unit::{Bytes, Nanos};
use reduce::files::FileTable;

fn used(inode: u64, pid: u32, ends: Option<Ends>, sent: u64, received: u64) -> FileUse {
    FileUse {
        page_cache: None,
        file: FileId {
            device: (0, 8),
            inode,
            name: 0,
            generation: None,
        },
        below: None,
        kind: FileKind::Socket,
        place: Place {
            folder: 1,
            leaf: None,
        },
        pid,
        first: Nanos(100),
        last: Nanos(200),
        counts: FileCounts {
            reads: 1,
            writes: 1,
            bytes_read: Bytes(received),
            bytes_written: Bytes(sent),
            ..FileCounts::default()
        },
        time: None,
        size_first: Some(Bytes(0)),
        size_last: Bytes(0),
        size_is_old: false,
        flags: FileFlags::default(),
        unlinked: false,
        mounted: Mounted::Unknown,
        ends,
        sizes: Vec::new(),
        classes: None,
    }
}

#[test]
fn totals_are_by_where_packets_go() {
    let mut table = FileTable::new(10);
    table.take(used(1, 5, Some(Ends::Loopback), 10, 20));
    table.take(used(1, 6, Some(Ends::Loopback), 1, 2));
    table.take(used(2, 5, Some(Ends::Network), 300, 400));
    table.take(used(
        3,
        5,
        Some(Ends::Each(Datagrams::default())),
        5000,
        6000,
    ));
    table.take(used(4, 5, None, 70_000, 80_000));
    let summary = table.finish(&FileRest::default(), Nanos(50));
    let network = summary.sockets.network.unwrap();
    assert_eq!((network.sent, network.received), (5311, 6422));
    assert_eq!((network.loopback_sent, network.loopback_received), (11, 22));
    assert_eq!(
        (network.unknown_sent, network.unknown_received),
        (5000, 6000)
    );
    let order: Vec<_> = summary.sockets.lines.iter().map(|it| it.inode).collect();
    assert_eq!(order, [4, 3, 2, 1]);
    let last = &summary.sockets.lines[3];
    assert_eq!(
        (last.loopback, &last.processes[..]),
        (Some(true), &[5, 6][..])
    );
    assert_eq!((last.first_ns, last.last_ns), (Nanos(50), Nanos(150)));
    assert_eq!(summary.sockets.lines[1].loopback, None);
    assert!(summary.lines.iter().any(|line| line.path == "socket:[4]"));
}

/// No more than there is, whatever is told.
#[test]
fn datagrams_are_told_apart_as_far_as_they_are_known() {
    let of = |local: u64, remote: u64| Datagrams {
        local_sent: Bytes(local),
        remote_sent: Bytes(remote),
        local_received: Bytes(2 * local),
        remote_received: Bytes(2 * remote),
    };
    for (told, loopback, unknown) in [
        (of(30, 60), (30, 60), (10, 20)),
        (of(0, 100), (0, 0), (0, 0)),
        (of(100, 0), (100, 200), (0, 0)),
        (of(900, u64::MAX / 2), (100, 200), (0, 0)),
    ] {
        let mut table = FileTable::new(10);
        table.take(used(1, 5, Some(Ends::Each(told)), 100, 200));
        let summary = table.finish(&FileRest::default(), Nanos(0));
        let it = summary.sockets.network.unwrap();
        assert_eq!((it.loopback_sent, it.loopback_received), loopback);
        assert_eq!((it.unknown_sent, it.unknown_received), unknown);
    }
}

#[test]
fn beyond_the_bound_sockets_are_one_sum() {
    let mut table = FileTable::new(2);
    for inode in 0..100 {
        table.take(used(inode, 5, Some(Ends::Network), 1, 2));
    }
    let sockets = table.finish(&FileRest::default(), Nanos(0)).sockets;
    assert_eq!((sockets.lines.len(), sockets.others.files), (2, 98));
    assert_eq!(sockets.others.counts.bytes_read, Bytes(2 * 98));
    let network = sockets.network.unwrap();
    assert_eq!((network.sent, network.received), (100, 200));
}

#[test]
fn what_is_told_of_a_socket_finds_its_line() {
    let mut table = FileTable::new(10);
    table.take(used(1, 5, Some(Ends::Network), 1, 1));
    table.take(used(2, 5, None, 1, 1));
    let tcp = SocketInfo {
        inode: 1,
        family: 2,
        kind: 1,
        protocol: 6,
        local: Some("192.0.2.1:5000".parse().unwrap()),
        peer: Some("192.0.2.2:80".parse().unwrap()),
        retransmits: Some(3),
        round_trip: Some(Nanos(25_000)),
        ..SocketInfo::default()
    };
    table.socket(SocketInfo {
        inode: 9,
        ..tcp.clone()
    });
    table.socket(tcp);
    table.socket(SocketInfo {
        inode: 2,
        family: 1,
        kind: 99,
        path: Some(b"\0hidden".to_vec()),
        ..SocketInfo::default()
    });
    let lines = table.finish(&FileRest::default(), Nanos(0)).sockets.lines;
    let [tcp, unix] = &lines[..] else {
        panic!("{lines:#?}");
    };
    let words = [&tcp.family, &tcp.kind, &tcp.protocol, &tcp.local, &tcp.peer];
    let words = words.map(|word| word.as_deref().unwrap());
    assert_eq!(
        words,
        ["inet", "stream", "tcp", "192.0.2.1:5000", "192.0.2.2:80"]
    );
    assert_eq!(tcp.tcp_retransmits, Some(3));
    assert_eq!(unix.local.as_deref(), Some("@hidden"));
    assert_eq!((unix.kind.as_deref(), &unix.protocol), (Some("99"), &None));
}
