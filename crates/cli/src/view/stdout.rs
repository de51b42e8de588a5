//! Writing to stdout: a reader that has gone away is no failure.

use crate::cmd::Status;
use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};

/// Writes `text` to stdout; status 0, also when the reader has closed the pipe.
pub fn write(text: &[u8]) -> Result<Status> {
    to(&mut std::io::stdout().lock(), text)
}

/// Writes a piece of more to come; whether somebody still reads.
pub fn piece(text: &str) -> Result<bool> {
    piece_to(&mut std::io::stdout().lock(), text.as_bytes())
}

fn to(out: &mut impl Write, text: &[u8]) -> Result<Status> {
    piece_to(out, text).map(|_| 0)
}

fn piece_to(out: &mut impl Write, text: &[u8]) -> Result<bool> {
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true).context("writing to stdout"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_success_and_a_full_disk_is_not() {
        assert_eq!(to(&mut Fails(ErrorKind::BrokenPipe), b"x").unwrap(), 0);
        assert!(!piece_to(&mut Fails(ErrorKind::BrokenPipe), b"x").unwrap());
        assert!(to(&mut Fails(ErrorKind::StorageFull), b"x").is_err());
    }
}
