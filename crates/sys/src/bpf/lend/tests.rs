//! What an agent answers to whoever says whatever.

use super::guest::Guest;
use super::wire::{
    self, ADD, BEGIN, DONE, FILES, LAYOUT, Message, NOT_STILL, NOT_YOURS, OTHER_LAYOUT,
    OTHER_NAMESPACE, REST, SLEEP, SOCKETS, TAKE, TOTALS, UNKNOWN,
};
use crate::bpf::TaskPrograms;
use crate::{descriptor, local, process};
use rustix::net::Shutdown;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

struct Both {
    ours: OwnedFd,
    guest: Guest,
    programs: TaskPrograms,
}

fn both(uid: u32) -> Option<Both> {
    let programs = match TaskPrograms::open_private() {
        Ok(programs) => programs,
        Err(error) => {
            println!("skipped: {error}");
            return None;
        }
    };
    let (ours, theirs) = descriptor::channel().unwrap();
    rustix::io::ioctl_fionbio(&theirs, true).unwrap();
    Some(Both {
        ours,
        guest: Guest::new(theirs, uid),
        programs,
    })
}

impl Both {
    fn ask(&mut self, words: &[u64], file: Option<BorrowedFd<'_>>) -> Message {
        wire::send(self.ours.as_fd(), words, file).unwrap();
        self.guest.serve(&self.programs).unwrap();
        wire::receive(self.ours.as_fd()).unwrap().unwrap()
    }

    fn status(&mut self, words: &[u64], file: Option<BorrowedFd<'_>>) -> u64 {
        self.ask(words, file).word(0)
    }
}

/// A process that waits for a line, which dies with its input.
fn waiting() -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read line; exit 3"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    for _ in 0..2000 {
        if std::fs::read_to_string(&status).is_ok_and(|it| it.contains("State:\tS")) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child
}

#[test]
fn bpf_root_what_cannot_be_asked_is_refused() {
    let Some(mut both) = both(0) else { return };
    for words in [
        &[ADD, 1][..],
        &[TOTALS],
        &[FILES, 10, 0],
        &[TAKE, 1],
        &[999],
        &[0],
    ] {
        assert_eq!(both.status(words, None), UNKNOWN, "{words:?}");
    }
    assert_eq!(both.status(&[BEGIN, LAYOUT + 1], None), OTHER_LAYOUT);
    let begun = both.ask(&[BEGIN, LAYOUT], None);
    assert!(begun.word(0) == DONE && begun.file.is_some());
    assert_eq!(both.status(&[BEGIN, LAYOUT], None), UNKNOWN);
    assert_eq!(both.status(&[ADD, 1], None), UNKNOWN, "no descriptor");
    for verb in [TAKE, REST, SOCKETS] {
        assert_eq!(both.status(&[verb], None), UNKNOWN, "no files");
    }
    let half = [1u8; 5];
    local::send(both.ours.as_fd(), &half, None).unwrap();
    both.guest.serve(&both.programs).unwrap();
    let answer = wire::receive(both.ours.as_fd()).unwrap().unwrap();
    assert_eq!(answer.word(0), UNKNOWN);
    // Not closed: a child that another test has just forked may have it, too.
    rustix::net::shutdown(&both.ours, Shutdown::Both).unwrap();
    let gone = both.guest.serve(&both.programs).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn bpf_root_no_process_is_taken_in_but_a_still_one_of_the_user() {
    let (Some(mut nobody), Some(mut root)) = (both(65534), both(0)) else {
        return;
    };
    let mut child = waiting();
    let pidfd = process::pidfd(child.id()).unwrap();
    let own = process::pidfd(std::process::id()).unwrap();
    let add = |pid: u32| [ADD, u64::from(pid)];
    assert_eq!(nobody.status(&[BEGIN, LAYOUT], None), DONE);
    let status = nobody.status(&add(child.id()), Some(pidfd.as_fd()));
    assert_eq!(status, NOT_YOURS);
    assert_eq!(root.status(&[BEGIN, LAYOUT], None), DONE);
    let other = root.status(&add(child.id() + 1), Some(pidfd.as_fd()));
    assert_eq!(other, OTHER_NAMESPACE);
    // We run right now, and have more threads than one.
    let us = root.status(&add(std::process::id()), Some(own.as_fd()));
    assert_eq!(us, NOT_STILL);
    let no_pidfd = std::fs::File::open("/dev/null").unwrap();
    let other = root.status(&add(child.id()), Some(no_pidfd.as_fd()));
    assert_eq!(other, OTHER_NAMESPACE);
    let answer = root.ask(&add(child.id()), Some(pidfd.as_fd()));
    assert!(answer.word(0) == DONE && answer.word(1) > 0);
    assert_eq!(root.ask(&[TOTALS], None).words[..3], [DONE, 1, 1]);
    assert_eq!(root.status(&[SLEEP], None), DONE);
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_guest_that_takes_no_answers_is_dropped() {
    let Some(mut both) = both(0) else { return };
    let dropped = (0..100_000).find_map(|_| {
        let sent = wire::send(both.ours.as_fd(), &[TOTALS], None);
        sent.and_then(|()| both.guest.serve(&both.programs)).err()
    });
    assert_eq!(dropped.unwrap().kind(), ErrorKind::WouldBlock);
}
