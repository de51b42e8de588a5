//! What `sys::descriptor` says of the descriptors of a process. A program of its own, one test at a
//! time: a test beside them that starts a child would put copies of their descriptors into it.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use sys::descriptor::{
    Received, Waiting, any_above_stderr, channel, open_now, poll, receive, send,
};

/// Held by the test that runs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_channel_keeps_borders_and_tells_its_end() {
    let _alone = alone();
    let (a, b) = channel().unwrap();
    send(a.as_fd(), b"one").unwrap();
    send(a.as_fd(), b"three").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(
        receive(b.as_fd(), &mut buffer, true).unwrap(),
        Received::Bytes(3)
    );
    let ready = poll(
        &[Waiting {
            fd: Some(b.as_fd()),
            exceptional: false,
        }],
        Some(0),
    )
    .unwrap();
    assert_eq!(ready, [true]);
    assert_eq!(
        receive(b.as_fd(), &mut buffer, true).unwrap(),
        Received::Bytes(5)
    );
    assert_eq!(
        receive(b.as_fd(), &mut buffer, false).unwrap(),
        Received::Nothing
    );
    drop(a);
    assert_eq!(
        receive(b.as_fd(), &mut buffer, false).unwrap(),
        Received::End
    );
    assert_eq!(
        send(b.as_fd(), b"x").unwrap_err().errno(),
        Some(libc::EPIPE)
    );
}

#[test]
fn the_last_words_of_a_peer_that_did_not_read_ours_are_heard() {
    let _alone = alone();
    let (a, b) = channel().unwrap();
    send(b.as_fd(), b"unread").unwrap();
    send(a.as_fd(), b"last").unwrap();
    drop(a);
    let mut buffer = [0; 16];
    for expected in [Received::Bytes(4), Received::End, Received::End] {
        assert_eq!(receive(b.as_fd(), &mut buffer, true).unwrap(), expected);
    }
}

#[test]
fn the_open_descriptors_are_listed_without_the_listing_itself() {
    let _alone = alone();
    let before = open_now();
    let (a, _b) = channel().unwrap();
    let after = open_now();
    assert!(after.contains(&a.as_raw_fd()) && after.len() >= before.len());
}

#[test]
fn a_descriptor_above_the_standard_ones_is_seen() {
    let _alone = alone();
    // The folder itself is one.
    let own = std::fs::File::open("/proc/self/fd").unwrap();
    assert!(any_above_stderr(&own).unwrap());
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    assert!(any_above_stderr(&file).is_err());
    let mut child = std::process::Command::new("/bin/sleep")
        .arg("60")
        .spawn()
        .unwrap();
    // A spawn returns when the child has its new memory, which is before what
    // closes on exec is closed; the new name comes after both.
    let name = format!("/proc/{}/comm", child.id());
    while std::fs::read_to_string(&name).unwrap() != "sleep\n" {
        std::thread::yield_now();
    }
    let folder = std::fs::File::open(format!("/proc/{}/fd", child.id())).unwrap();
    let seen = any_above_stderr(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    // What the test was started with may stay open in the child.
    assert_eq!(
        seen.unwrap(),
        open_now().iter().any(|fd| *fd > 2 && !closes_on_exec(*fd))
    );
}

fn closes_on_exec(fd: RawFd) -> bool {
    // SAFETY: only reads a flag.
    unsafe { libc::fcntl(fd, libc::F_GETFD) & libc::FD_CLOEXEC != 0 }
}
