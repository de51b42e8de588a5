//! Those who connect: slow ones, hostile ones, too many.

use super::{Lines, Served, instants, served, wait_for_more};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{Signal, is_root, patience, wait_until};
use record::codec::cells::{Cell, put_row};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use sys::local;

/// The first words of a request (docs/live.md).
const VERB: u64 = 64;
const VERSION: u64 = 1;
/// Statuses that say why not.
const OTHER_VERSION: u64 = 1;
const TOO_MANY: u64 = 4;
const UNKNOWN: u64 = 6;

/// A request for everything.
fn request(words: [u64; 2]) -> Vec<u8> {
    let mut bytes = words.map(u64::to_ne_bytes).concat();
    let tables = vec![&b"sample"[..], b"process", b"node", b"exit", b"job"];
    let cells = [(0, Cell::List(tables)), (2, Cell::Int(0))];
    put_row(&mut bytes, cells.into_iter());
    bytes
}

/// Connects and says this.
fn client(served: &Served, message: &[u8]) -> OwnedFd {
    let socket = local::connect(&served.socket, Duration::from_secs(20)).unwrap();
    // One that is refused at once may not take it.
    let _ = local::send(socket.as_fd(), message, None);
    socket
}

/// The first message that comes: a status, or the beginning of a stream.
fn answer(socket: &OwnedFd) -> Result<u64, Vec<u8>> {
    let mut bytes = vec![0; 64 << 10];
    let (count, _) = local::receive(socket.as_fd(), &mut bytes).unwrap();
    bytes.truncate(count);
    match bytes.starts_with(b"PLIMSEG\x01") {
        true => Err(bytes),
        false => Ok(u64::from_ne_bytes(bytes.try_into().unwrap())),
    }
}

/// Who does not take what he is told misses readings, is told how many, and delays nobody.
#[test]
fn a_slow_reader_misses_readings_and_is_told_how_many() {
    let served = served(Mechanism::Procfs, "100ms", &[]);
    let mut slow = Command::new(&served.plimsoll)
        .args(["agent", "watch", "--format", "json", "--socket"])
        .arg(&served.socket)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = slow.stdout.take().unwrap();
    let mut text = vec![0; 1000];
    pipe.read_exact(&mut text).unwrap();
    // Nobody reads any more: first the pipe fills, then the socket.
    wait_for_more(&served.dataset, 150);
    let mut buffer = vec![0; 1 << 16];
    let begun = Instant::now();
    let mut is_told = false;
    while !is_told {
        let count = pipe.read(&mut buffer).unwrap();
        let more = String::from_utf8_lossy(&buffer[..count]);
        // Cut between two pieces now and then: the next one is as good.
        let mut lost = more.split("\"readings_lost\":").skip(1);
        is_told = lost.any(|rest| rest.starts_with(|digit| ('1'..='9').contains(&digit)));
        text.extend(&buffer[..count]);
        assert!(begun.elapsed() < patience(), "nothing was lost");
    }
    // The rest of that line.
    let count = pipe.read(&mut buffer).unwrap();
    text.extend(&buffer[..count]);
    let lines = Lines::so_far(&String::from_utf8_lossy(&text));
    let times = lines.numbers("reading", "at_ns");
    let lost = lines.numbers("reading", "readings_lost");
    let all = instants(&served.dataset);
    // Between two that are told as many were read as are said to be missing.
    for (pair, lost) in times.windows(2).zip(&lost[1..]) {
        let between = all.iter().filter(|at| (pair[0] + 1..pair[1]).contains(at));
        assert_eq!(between.count() as i64, *lost, "{times:?}");
    }
    slow.kill().unwrap();
    slow.wait().unwrap();
    served.end();
}

#[test]
fn garbage_is_refused_with_the_reason() {
    let served = served(Mechanism::Procfs, "100ms", &[]);
    let good = request([VERB, VERSION]);
    let mut longer = good.clone();
    longer.extend([7; 100]);
    let mut long = good.clone();
    long.resize(100_000, 0);
    for (message, status) in [
        (request([VERB, 9]), OTHER_VERSION),
        (good[..20].to_vec(), UNKNOWN),
        (good[..8].to_vec(), UNKNOWN),
        (longer, UNKNOWN),
        (long, UNKNOWN),
        ([VERB, VERSION].map(u64::to_ne_bytes).concat(), UNKNOWN),
        ([&good[..16], &[0xff; 64][..]].concat(), UNKNOWN),
    ] {
        let told = answer(&client(&served, &message));
        assert_eq!(told, Ok(status), "{message:?}");
    }
    // Whatever is no request at all is for who lends, who refuses it, too.
    let other = client(&served, &[0xee; 16]);
    let mut bytes = [0; 64];
    let (count, _) = local::receive(other.as_fd(), &mut bytes).unwrap();
    assert!(count == 0 || count == 8, "{count}");
    // Who says something else later is not told any more.
    let changed = client(&served, &good);
    assert!(answer(&changed).is_err());
    local::send(changed.as_fd(), &[1; 30], None).unwrap();
    let mut bytes = vec![0; 64 << 10];
    let begun = Instant::now();
    while local::receive(changed.as_fd(), &mut bytes).unwrap().0 > 0 {
        assert!(begun.elapsed() < patience(), "he is told on and on");
    }
    served.watch(&["--once"]).finish().expect_status(0);
    served.end();
}

/// So many readers at once, and of one user, and no more; who leaves makes room.
#[test]
fn only_so_many_at_once() {
    let served = served(Mechanism::Procfs, "100ms", &[]);
    let places = if is_root() { 64 } else { 16 };
    let good = request([VERB, VERSION]);
    let mut all: Vec<OwnedFd> = (0..places).map(|_| client(&served, &good)).collect();
    for one in &all {
        assert!(answer(one).is_err());
    }
    assert_eq!(answer(&client(&served, &good)), Ok(TOO_MANY));
    let refused = served.watch(&["--once"]).finish();
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    let why = "as many readers as it takes";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    // None of them takes what comes, and the agent reads on.
    wait_for_more(&served.dataset, 20);
    all.truncate(3);
    wait_until("there is room again", || {
        served.watch(&["--once"]).finish().status == 0
    });
    drop(all);
    served.end();
}

/// Who asks again and again is given a full picture a second, and the others theirs.
#[test]
fn who_asks_without_end_keeps_nobody_waiting() {
    let served = served(Mechanism::Procfs, "100ms", &[]);
    let good = request([VERB, VERSION]);
    let busy = client(&served, &good);
    let asking = busy.try_clone().unwrap();
    let flood = std::thread::spawn(move || {
        // Until he is not heard any more.
        while local::send(asking.as_fd(), &good, None).is_ok() {}
    });
    for _ in 0..3 {
        served.watch(&["--once"]).finish().expect_status(0);
    }
    local::shut(busy.as_fd());
    flood.join().unwrap();
    served.end();
}

/// Who lends or tells may be ended from without: the agent says so and goes on.
#[test]
fn the_agent_outlives_who_tells() {
    let served = served(Mechanism::Procfs, "100ms", &[]);
    let mut watch = served
        .watch(&["--format", "json", "--tables", "node"])
        .start();
    watch.wait_for("\"reading\"");
    let socket_of = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        status.trim() == "plimsoll"
    };
    let mut all = crate::harness::process::descendants(served.agent.pid());
    all.retain(socket_of);
    // The keeper is the first, then who listens, then who tells.
    all.sort_unstable();
    let teller = all[2];
    assert!(crate::harness::process::send(teller, Signal::KILL));
    let done = watch.finish();
    done.expect_status(3);
    wait_until("the agent says so", || {
        served
            .agent
            .printed()
            .contains("who tells live records has ended")
    });
    let refused = served.watch(&["--once"]).finish();
    assert_eq!(refused.status, 1);
    assert!(
        refused.stderr.contains("nobody any more"),
        "{}",
        refused.stderr
    );
    wait_for_more(&served.dataset, 5);
    served.agent.send(Signal::TERM);
    served.agent.finish().expect_status(0);
}
