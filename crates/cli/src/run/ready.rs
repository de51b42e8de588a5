//! Waiting for what the monitor hears of.

use std::os::fd::BorrowedFd;
use std::time::Duration;
use sys::descriptor::{self, Waiting};

/// Who may have something to say.
pub(super) struct Ready {
    pub(super) front: bool,
    pub(super) signals: bool,
}

/// Sleeps until one of these, or of `more`, is ready, or for `timeout_ns`. Which of the first are;
/// where nobody can tell, all of them.
pub(super) fn wait<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    more: Vec<Waiting<'_>>,
    timeout_ns: Option<u64>,
) -> [bool; N] {
    let mut waiting: Vec<_> = fds
        .into_iter()
        .map(|fd| Waiting {
            fd,
            exceptional: false,
        })
        .collect();
    waiting.extend(more);
    match descriptor::poll(&waiting, timeout_ns) {
        Ok(ready) => std::array::from_fn(|place| ready.get(place).is_none_or(|ready| *ready)),
        Err(_) => {
            // It would fail again at once: the shortest pause that the clock gives.
            std::thread::sleep(Duration::from_millis(1));
            [true; N]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn who_has_something_to_say_is_told() {
        let (silent, _other) = UnixStream::pair().unwrap();
        let (heard, mut says) = UnixStream::pair().unwrap();
        says.write_all(b"x").unwrap();
        let fds = [Some(silent.as_fd()), None, Some(heard.as_fd())];
        assert_eq!(wait(fds, Vec::new(), None), [false, false, true]);
        assert_eq!(wait([None], Vec::new(), Some(1)), [false]);
        let more = vec![Waiting {
            fd: Some(heard.as_fd()),
            exceptional: false,
        }];
        assert_eq!(wait([Some(silent.as_fd())], more, None), [false]);
    }
}
