//! Who asks: hostile ones, and where nobody else can.

use super::page::Page;
use super::{answering, stop};
use crate::harness::dataset::{agent, wait_for_reading};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{Signal, wait_until};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Instant;

#[test]
fn no_client_keeps_another_from_his_page() {
    let (mut agent, at) = answering(Mechanism::Procfs, &[]);
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    // Who never asks, who asks by halves, who never reads, who ends his side.
    let mut held = Vec::new();
    for number in 0..100 {
        let mut stream = at.connect();
        match number % 3 {
            0 => {}
            1 => stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap(),
            _ => {
                // One that was ended for others may say so.
                let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
            }
        }
        held.push(stream);
    }
    for _ in 0..10 {
        assert!(at.page().get("plimsoll_jobs", &[]).is_some());
    }
    let mut half = at.connect();
    half.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).unwrap();
    assert!(Page::of(&answer).get("plimsoll_jobs", &[]).is_some());
    for (request, status) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "200"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
        (b"GET /metric HTTP/1.1\r\n\r\n", "404"),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"\x00\xff nonsense\r\n\r\n", "400"),
        (&[b'x'; 100_000], "431"),
    ] {
        let answer = at.ask(request);
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
    }
    // Who says nothing is ended within his time.
    let begun = Instant::now();
    let mut idle = at.connect();
    let mut nothing = Vec::new();
    idle.read_to_end(&mut nothing).unwrap();
    assert!(nothing.is_empty() && begun.elapsed().as_secs() < 15);
    wait_for_reading(&mut agent, &dataset);
    let cut = at.page().get("plimsoll_metrics_connections_cut_total", &[]);
    assert!(cut >= Some(60.0), "{cut:?}");
    drop(held);
    stop(agent);
}

#[test]
fn a_unix_socket_is_for_its_owner_and_group() {
    let run = agent(&[]);
    let socket = run.path("metrics.sock");
    let folder = run.path("d");
    let text = socket.to_str().unwrap().to_owned();
    let options = [
        "--mechanism",
        "procfs",
        "--interval",
        "100ms",
        "--metrics",
        &text,
    ];
    let mut command = crate::harness::words![
        crate::harness::run::plimsoll(),
        "agent",
        "--dataset",
        folder
    ];
    command.extend(options.map(std::ffi::OsString::from));
    // A socket that nobody listens to any more is in the way.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let mut agent = run.command(command).start();
    wait_for_reading(&mut agent, &folder);
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let mut last = String::new();
    wait_until("a page", || {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        last.clear();
        stream.read_to_string(&mut last).unwrap();
        Page::of(&last).get("plimsoll_jobs", &[]).is_some()
    });
    agent.send(Signal::TERM);
    agent.finish().expect_status(0);
}

#[test]
fn other_machines_are_refused_at_the_start() {
    for (address, why) in [
        ("0.0.0.0:9100", "reverse proxy"),
        ("[::]:9100", "reverse proxy"),
        ("192.0.2.1:9100", "reverse proxy"),
        ("node1:9100", "127.0.0.1:PORT"),
        ("9100", "127.0.0.1:PORT"),
    ] {
        let done = agent(&["--metrics", address]).finish();
        assert_eq!(done.status, 2, "{address}: {}", done.stderr);
        // Lines are broken where the terminal ends.
        let words: Vec<_> = done.stderr.split_whitespace().collect();
        assert!(words.join(" ").contains(why), "{address}: {}", done.stderr);
        assert!(!done.path("d").exists());
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = agent(&["--metrics", &address]).finish();
    assert_ne!(done.status, 0);
    assert!(done.stderr.contains("--metrics"), "{}", done.stderr);
}
