//! Trials of what the kernel tells over netlink: each ends a child and wants to hear of it.

use super::call::{check_int, own};
use super::child::short_lived;
use libc::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long to wait for word of a child that has already ended.
const PATIENCE: Duration = Duration::from_millis(200);

const GENERIC: c_int = 16;
const CONNECTOR: c_int = 11;

/// `NLMSG_ERROR`, and the flags of a request.
const MESSAGE_ERROR: u16 = 2;
const REQUEST: u16 = 1;
const REQUEST_ACK: u16 = 1 | 4;

/// Generic netlink: the controller, its request for a family, the attributes of its answer.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `linux/taskstats.h`.
const TASKSTATS_GET: u8 = 1;
const BY_TGID: u16 = 2;
const REGISTER_CPUMASK: u16 = 3;
const DEREGISTER_CPUMASK: u16 = 4;

/// `linux/cn_proc.h`, `linux/connector.h`.
const PROC_GROUP: u32 = 1;
const PROC_LISTEN: u32 = 1;
const PROC_IGNORE: u32 = 2;
const PROC_EXIT: u32 = 0x8000_0000;

/// Tries to be told of the end of a process, with its final values. `cpus` is the content of
/// `/sys/devices/system/cpu/possible`.
pub fn taskstats_exit_listener(cpus: &str) -> io::Result<()> {
    let socket = Socket::open(GENERIC, 0)?;
    let family = socket.taskstats_family()?;
    let mut mask = cpus.trim().as_bytes().to_vec();
    mask.push(0);
    socket.request(&generic(
        family,
        TASKSTATS_GET,
        REQUEST_ACK,
        REGISTER_CPUMASK,
        &mask,
    ))?;
    let pid = short_lived()?;
    let heard = socket.hear(|message| holds_word(message, pid));
    socket.request(&generic(
        family,
        TASKSTATS_GET,
        REQUEST_ACK,
        DEREGISTER_CPUMASK,
        &mask,
    ))?;
    heard
}

/// Tries to ask for the values of this process.
pub fn taskstats_query() -> io::Result<()> {
    let socket = Socket::open(GENERIC, 0)?;
    let family = socket.taskstats_family()?;
    let pid = std::process::id().to_ne_bytes();
    socket.request(&generic(family, TASKSTATS_GET, REQUEST, BY_TGID, &pid))
}

/// Tries to be told of forks, execs and ends.
pub fn proc_connector() -> io::Result<()> {
    let socket = Socket::open(CONNECTOR, PROC_GROUP)?;
    socket.send(&connector(PROC_LISTEN))?;
    let pid = short_lived()?;
    let heard = socket.hear(|message| is_exit_of(message, pid));
    socket.send(&connector(PROC_IGNORE))?;
    heard
}

/// Whether a connector message tells the end of `pid`: `what` at 36, the pid at 52.
fn is_exit_of(message: &[u8], pid: u32) -> bool {
    word(message, 36) == Some(PROC_EXIT) && word(message, 52) == Some(pid)
}

/// Whether a message after its headers holds `pid` in one of its attributes.
fn holds_word(message: &[u8], pid: u32) -> bool {
    let body = message.get(20..).unwrap_or_default();
    body.chunks_exact(4)
        .take(8)
        .any(|four| four == pid.to_ne_bytes())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_ne_bytes(two.try_into().ok()?))
}

/// A message of `struct nlmsghdr` and a body.
fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = ((16 + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

/// A generic netlink request with one attribute.
fn generic(family: u16, command: u8, flags: u16, attribute: u16, value: &[u8]) -> Vec<u8> {
    let mut body = vec![command, 1, 0, 0];
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(attribute.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
    message(family, flags, &body)
}

/// A request to the process connector (`struct cn_msg` with one operation).
fn connector(operation: u32) -> Vec<u8> {
    let words = [PROC_GROUP, 1, 0, 0, 4];
    let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    body.extend(operation.to_ne_bytes());
    message(3, 0, &body)
}

struct Socket(OwnedFd);

impl Socket {
    fn open(protocol: c_int, groups: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes numbers alone; the result is a new descriptor or -1.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
        let socket = own(libc::c_long::from(fd))?;
        // SAFETY: `sockaddr_nl` is made of numbers, for which all zeros are valid.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = groups;
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: `address` is live and as long as said.
        check_int(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(Self(socket))
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is live and as long as said.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        super::call::check(sent as libc::c_long).map(drop)
    }

    /// The next message before `until`.
    fn receive(&self, until: Instant) -> io::Result<Vec<u8>> {
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let milliseconds = c_int::try_from(left).unwrap_or(c_int::MAX);
        // SAFETY: `poll` is one live entry.
        if check_int(unsafe { libc::poll(&raw mut poll, 1, milliseconds) })? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the kernel told nothing",
            ));
        }
        let mut bytes = vec![0u8; 8192];
        // SAFETY: the buffer is live and as long as said.
        let got = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                0,
            )
        };
        let got = super::call::check(got as libc::c_long)?;
        bytes.truncate(usize::try_from(got).unwrap_or(0));
        Ok(bytes)
    }

    /// Waits for a message that `is_it`; others pass by.
    fn hear(&self, is_it: impl Fn(&[u8]) -> bool) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            if is_it(&self.receive(until)?) {
                return Ok(());
            }
        }
    }

    /// Sends a request; the error that answers it, if one does.
    fn request(&self, bytes: &[u8]) -> io::Result<()> {
        self.answer(bytes).map(drop)
    }

    /// Sends a request; its answer.
    fn answer(&self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.send(bytes)?;
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.receive(until)?;
            // Word of processes that ended meanwhile is no answer: it has no sequence of ours
            // either, but an answer to a query has the request's kind. Errors settle it.
            match (half(&answer, 4), word(&answer, 16)) {
                (Some(MESSAGE_ERROR), Some(0)) => return Ok(answer),
                (Some(MESSAGE_ERROR), Some(code)) => {
                    return Err(io::Error::from_raw_os_error((code as i32).wrapping_neg()));
                }
                _ if half(bytes, 6) == Some(REQUEST) => return Ok(answer),
                _ => {}
            }
        }
    }

    /// The number of the generic netlink family of taskstats.
    fn taskstats_family(&self) -> io::Result<u16> {
        let request = generic(CONTROLLER, GET_FAMILY, REQUEST, FAMILY_NAME, b"TASKSTATS\0");
        let answer = self.answer(&request)?;
        attribute(answer.get(20..).unwrap_or_default(), FAMILY_ID)
            .and_then(|value| half(value, 0))
            .ok_or_else(|| io::Error::other("the kernel's answer names no family"))
    }
}

/// The value of the first attribute of that kind.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(bytes, 0)?);
        let value = bytes.get(4..length)?;
        if half(bytes, 2)? == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_and_cut_ones_are_not() {
        let bytes = [5, 0, 9, 0, 7, 0, 0, 0, 6, 0, 1, 0, 0x34, 0x12, 0, 0];
        assert_eq!(attribute(&bytes, 1), Some(&[0x34, 0x12][..]));
        for length in 0..14 {
            assert_eq!(attribute(&bytes[..length], 1), None, "{length}");
        }
        assert_eq!(attribute(&[0; 8], 1), None);
    }

    #[test]
    fn the_kernel_answers_each_subscription() {
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
        for result in [
            proc_connector(),
            taskstats_query(),
            taskstats_exit_listener(&cpus),
        ] {
            if let Err(error) = result {
                println!("skipped: {error}");
            }
        }
    }
}
