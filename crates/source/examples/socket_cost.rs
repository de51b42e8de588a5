//! What it costs to read the tables of sockets, printed: `cargo run -p plimsoll-source --release
//! --no-default-features --example socket_cost`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints and may fail loudly"
)]

use source::query::sockets::Sockets;
use source::root::Root;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use sys::clock::{self, Clock};

/// Connections and pairs, of which each has two sockets; and how often the tables are read.
const COUNT: usize = 5000;
const ROUNDS: u64 = 20;

/// CPU time of reading all tables of this name space, and of the longest piece, us; how many pieces
/// there are.
fn measure() -> (f64, f64, u64) {
    let (root, pid) = (Root::default(), std::process::id());
    let (mut longest, mut pieces) = (0, 0);
    let begun = clock::now(Clock::Thread);
    for _ in 0..ROUNDS {
        let mut sockets = Sockets::default();
        loop {
            let before = clock::now(Clock::Thread);
            let read = sockets.read(&root, pid).unwrap();
            longest = longest.max(clock::now(Clock::Thread) - before);
            pieces += 1;
            if read.is_some() {
                break;
            }
        }
    }
    let spent = clock::now(Clock::Thread) - begun;
    let us = |ns: u64| ns as f64 / 1000.0;
    (us(spent) / ROUNDS as f64, us(longest), pieces / ROUNDS)
}

fn print(what: &str, count: usize, before: f64) {
    let (spent, longest, pieces) = measure();
    let each = (spent - before) / count as f64;
    println!("{what}: {each:.2} us each, in {pieces} pieces, the longest {longest:.0} us");
}

fn main() {
    sys::rlimit::raise_open_files(1 << 15);
    let (before, ..) = measure();
    println!("the tables as they are: {before:.0} us");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let connect = |_| {
        let client = TcpStream::connect(address).unwrap();
        (client, server.accept().unwrap())
    };
    let tcp: Vec<_> = (0..COUNT).map(connect).collect();
    print("connections", 2 * COUNT, before);
    drop(tcp);
    let (before, ..) = measure();
    let _unix: Vec<_> = (0..COUNT).map(|_| UnixStream::pair().unwrap()).collect();
    print("unix sockets", 2 * COUNT, before);
}
