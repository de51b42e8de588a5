//! What the machine tells of itself, against what else tells the same and against work of a known
//! amount. The readers are called themselves: a dataset has their rows as they are.

use crate::harness::skip;
use record::unit::Nanos;
use source::node::Ambient;
use source::root::Root;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

/// All rows of one reading, by metric and instance.
struct Told(BTreeMap<(String, String), i64>);

impl Told {
    fn now() -> Self {
        let mut ambient = Ambient::open(&Root::default());
        let rows = ambient.read(Nanos(1)).iter();
        let told = rows.map(|row| {
            let instance = row.instance.escape_ascii().to_string();
            ((row.metric.to_owned(), instance), row.value)
        });
        Self(told.collect())
    }

    fn of(&self, metric: &str, instance: &str) -> Option<i64> {
        let key = (metric.to_owned(), instance.to_owned());
        self.0.get(&key).copied()
    }

    fn get(&self, metric: &str, instance: &str) -> i64 {
        self.of(metric, instance)
            .unwrap_or_else(|| panic!("no row {metric} [{instance}]"))
    }

    fn instances(&self, metric: &str) -> Vec<(&str, i64)> {
        let rows = self.0.iter().filter(|((name, _), _)| name == metric);
        rows.map(|((_, instance), value)| (instance.as_str(), *value))
            .collect()
    }

    /// How much a counter grew since.
    fn since(&self, before: &Told, metric: &str, instance: &str) -> i64 {
        self.get(metric, instance) - before.get(metric, instance)
    }
}

/// Reads until it is so, or for as long as the kernel may take on a loaded machine: what goes
/// through the loopback is counted when a softirq has its turn.
fn until(is_so: impl Fn(&Told) -> bool) -> Told {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let told = Told::now();
        if is_so(&told) || Instant::now() >= end {
            return told;
        }
    }
}

const TICK_NS: i64 = 10_000_000;

#[test]
fn the_cpus_add_up_to_the_machine() {
    let (first, second) = (Told::now(), Told::now());
    // Those that the kernel never sets back.
    for metric in ["node_cpu_user", "node_cpu_nice", "node_cpu_system"] {
        let sum = |told: &Told| {
            let cpus = told.instances(metric).into_iter();
            let cpus: Vec<i64> = cpus
                .filter(|(cpu, _)| !cpu.is_empty())
                .map(|(_, value)| value)
                .collect();
            assert!(!cpus.is_empty());
            // Each line is cut to whole ticks.
            (cpus.iter().sum::<i64>(), TICK_NS * cpus.len() as i64)
        };
        let (of_first, slack) = sum(&first);
        // A CPU that is not online has no line, and its time is in the sum.
        let possible = source::query::sys_cpu::read_possible(&Root::default());
        if possible == source::query::sys_cpu::read_online(&Root::default()) {
            assert!(first.get(metric, "") <= of_first + slack, "{metric}");
        }
        assert!(of_first <= second.get(metric, "") + slack, "{metric}");
    }
}

#[test]
fn every_process_made_is_counted() {
    const MADE: i64 = 40;
    let before = Told::now();
    for _ in 0..MADE {
        assert!(Command::new("/bin/true").status().unwrap().success());
    }
    let after = Told::now();
    assert!(after.since(&before, "node_forks", "") >= MADE);
    assert!(after.since(&before, "node_switches", "") >= MADE);
    // Each has a stack of its own, at least.
    assert!(after.since(&before, "vm_pgfault", "") >= MADE);
    assert!(after.get("node_threads", "") > 1 && after.get("node_running", "") >= 1);
}

/// The columns of a disk in the order of `/sys/block/NAME/stat`.
const DISK: [&str; 11] = [
    "disk_reads",
    "disk_reads_merged",
    "disk_read",
    "disk_read_time",
    "disk_writes",
    "disk_writes_merged",
    "disk_written",
    "disk_write_time",
    "disk_in_flight",
    "disk_busy",
    "disk_queue_time",
];

#[test]
fn disks_are_what_their_own_files_say() {
    let before = Told::now();
    let disks = before.instances("disk_reads");
    if disks.is_empty() {
        skip!("no disk is in use");
    }
    let stats: Vec<_> = disks
        .iter()
        .map(|(name, _)| std::fs::read_to_string(format!("/sys/block/{name}/stat")))
        .collect();
    let after = Told::now();
    for ((name, _), stat) in disks.iter().zip(stats) {
        // That there is such a file says that it is no partition.
        let stat = stat.unwrap_or_else(|error| panic!("{name}: {error}"));
        for (metric, word) in DISK.iter().zip(stat.split_whitespace()) {
            let scale = match *metric {
                "disk_read" | "disk_written" => 512,
                name if name.ends_with("_time") || name == "disk_busy" => 1_000_000,
                "disk_in_flight" => continue,
                _ => 1,
            };
            let value = word.parse::<i64>().unwrap() * scale;
            let range = before.get(metric, name)..=after.get(metric, name);
            assert!(range.contains(&value), "{name} {metric}: {value} {range:?}");
        }
    }
}

/// Two sockets of the loopback, the second one sends to the first.
fn udp_pair(address: &str) -> Option<(UdpSocket, UdpSocket, SocketAddr)> {
    let receiver = UdpSocket::bind((address, 0)).ok()?;
    let sender = UdpSocket::bind((address, 0)).ok()?;
    let place = receiver.local_addr().ok()?;
    sender.send_to(b"x", place).ok()?;
    receiver.recv(&mut [0; 8]).ok()?;
    Some((receiver, sender, place))
}

#[test]
fn every_datagram_is_counted() {
    const SENT: i64 = 500;
    const BYTES: usize = 100;
    for (address, version) in [("127.0.0.1", "udp"), ("::1", "udp6")] {
        let Some((receiver, sender, place)) = udp_pair(address) else {
            println!("skipped: no loopback of {version}");
            continue;
        };
        let before = Told::now();
        for _ in 0..SENT {
            sender.send_to(&[7; BYTES], place).unwrap();
            assert_eq!(receiver.recv(&mut [0; 200]).unwrap(), BYTES);
        }
        // Nobody listens there any more, once a child that another test forks has its exec.
        drop(receiver);
        let name = |what: &str| format!("{version}_{what}");
        let after = until(|told| {
            sender.send_to(b"x", place).unwrap();
            told.since(&before, &name("no_port"), "") >= 1
        });
        assert!(after.since(&before, &name("sent"), "") >= SENT);
        assert!(after.since(&before, &name("received"), "") >= SENT);
        assert!(after.since(&before, &name("no_port"), "") >= 1);
        for way in ["received", "sent"] {
            let bytes = after.since(&before, &format!("interface_{way}"), "lo");
            let packets = after.since(&before, &format!("interface_{way}_packets"), "lo");
            assert!(bytes >= SENT * BYTES as i64 && packets >= SENT, "{way}");
        }
    }
}

#[test]
fn datagrams_that_find_no_room_are_counted() {
    let Some((receiver, sender, place)) = udp_pair("127.0.0.1") else {
        skip!("no loopback");
    };
    receiver.set_nonblocking(true).unwrap();
    // 8 MB: more than the buffer of a socket that nobody enlarged, by much.
    const SENT: i64 = 8000;
    let before = Told::now();
    for _ in 0..SENT {
        sender.send_to(&[7; 1000], place).unwrap();
    }
    let is_counted =
        |told: &Told, metric: &str, least: i64| told.since(&before, metric, "") >= least;
    // Each is delivered or lost in the end.
    until(|told| {
        let lost = told.since(&before, "udp_receive_buffer_full", "");
        is_counted(told, "udp_received", SENT - lost)
    });
    let mut left = 0;
    while receiver.recv(&mut [0; 1200]).is_ok() {
        left += 1;
    }
    if left == SENT {
        skip!("the buffers of sockets hold all of it here");
    }
    let after = until(|told| is_counted(told, "udp_receive_buffer_full", SENT - left));
    let lost = after.since(&before, "udp_receive_buffer_full", "");
    assert!(lost >= SENT - left, "{lost} lost, {left} left of {SENT}");
    assert!(after.since(&before, "udp_received_errors", "") >= SENT - left);
    assert!(after.get("udp_sockets", "") >= 2);
}

#[test]
fn connections_are_counted_and_those_refused() {
    const MADE: i64 = 20;
    let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)) else {
        skip!("no loopback");
    };
    let place = listener.local_addr().unwrap();
    let before = Told::now();
    let made: Vec<_> = (0..MADE)
        .map(|_| {
            (
                TcpStream::connect(place).unwrap(),
                listener.accept().unwrap(),
            )
        })
        .collect();
    let after = Told::now();
    assert!(after.since(&before, "tcp_connects", "") >= MADE);
    assert!(after.since(&before, "tcp_accepts", "") >= MADE);
    assert!(after.since(&before, "tcp_segments_sent", "") >= 3 * MADE);
    assert!(after.get("tcp_established", "") >= 2 * MADE);
    assert!(after.get("tcp_sockets", "") >= 2 * MADE);
    drop(made);
    // Nobody accepts: in the end the queue is full.
    let mut waiting = Vec::new();
    for _ in 0..5000 {
        match TcpStream::connect_timeout(&place, Duration::from_millis(200)) {
            Ok(stream) => waiting.push(stream),
            Err(error) if error.kind() == ErrorKind::TimedOut => break,
            Err(error) => skip!("{error}"),
        }
    }
    let full = until(|told| told.since(&after, "tcp_listen_drops", "") >= 1);
    assert!(full.since(&after, "tcp_listen_overflows", "") >= 1);
    assert!(full.since(&after, "tcp_listen_drops", "") >= 1);
}

#[test]
fn memory_is_what_the_nodes_have() {
    let told = Told::now();
    let total = told.get("node_memory", "");
    assert!(told.get("node_memory_available", "") <= total);
    let nodes = told.instances("numa_memory");
    if nodes.is_empty() {
        skip!("a kernel without NUMA");
    }
    // Of a virtual machine whose memory grew, the nodes have less than the whole.
    let sum: i64 = nodes.iter().map(|(_, bytes)| bytes).sum();
    assert!(sum <= total, "{sum} of {total}");
    for (node, bytes) in nodes {
        let path = format!("/sys/devices/system/node/{node}/meminfo");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, rest) = text.split_once("MemTotal:").unwrap();
        let kib: i64 = rest.split_whitespace().next().unwrap().parse().unwrap();
        assert_eq!(bytes, kib * 1024, "{node}");
    }
}

#[test]
fn file_systems_are_as_large_as_df_says() {
    let told = Told::now();
    let sizes = told.instances("file_system_size");
    if sizes.is_empty() {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        // A device that is mounted is asked, unless it lies behind another machine.
        let devices = mounts.lines().filter(|line| line.contains(" - ext4 /dev/"));
        assert_eq!(devices.count(), 0, "{mounts}");
        skip!("no local file system");
    }
    for (point, size) in sizes {
        let output = Command::new("df")
            .args(["-B1", "--output=size", point])
            .output();
        let Ok(output) = output else {
            skip!("no df");
        };
        let text = String::from_utf8(output.stdout).unwrap();
        if !output.status.success() {
            println!("skipped: {point}: df does not say");
            continue;
        }
        assert_eq!(
            text.lines().nth(1).unwrap().trim(),
            size.to_string(),
            "{point}"
        );
        assert!(told.get("file_system_free", point) <= size);
    }
}

#[test]
fn pressure_is_what_the_kernel_writes() {
    let before = Told::now();
    let mut seen = 0;
    for resource in ["cpu", "memory", "io"] {
        let Ok(text) = std::fs::read_to_string(format!("/proc/pressure/{resource}")) else {
            continue;
        };
        let after = Told::now();
        let total = text.split_once("total=").unwrap().1;
        let total = total.lines().next().unwrap().parse::<i64>().unwrap() * 1000;
        let range = before.get("pressure_some", resource)..=after.get("pressure_some", resource);
        assert!(range.contains(&total), "{resource}: {total} {range:?}");
        seen += 1;
    }
    if seen == 0 {
        skip!("a kernel without pressure");
    }
}

#[test]
fn root_events_of_the_log_are_those_of_dmesg() {
    let output = Command::new("dmesg")
        .args(["--raw", "--facility=kern"])
        .output();
    let before = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => skip!("this user may not read the log"),
    };
    let told = Told::now();
    let Some(segfaults) = told.of("kernel_log_events", "segfault") else {
        skip!("this user may not read the log");
    };
    let of = |part: &str| before.lines().filter(|line| line.contains(part)).count() as i64;
    // The log may have gone on.
    assert!(segfaults >= of(" segfault at "));
    let killed = of("Out of memory: Killed process") + of("Memory cgroup out of memory: Killed");
    assert!(told.get("kernel_log_events", "oom") >= killed);
    assert_eq!(told.get("kernel_log_lost", ""), 0);
    assert!(told.get("kernel_log_position", "") > 0);
}
