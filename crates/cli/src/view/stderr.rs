//! Telling people on stderr: one that takes nothing is no failure, and nothing here panics.

use std::io::Write;

/// Writes `text` and the end of its line to stderr, by one call where the kernel takes it so.
///
/// A stderr that is full, closed or hung up has nobody left to be told: the task, and the status
/// that it ends with, go on as they are.
pub fn line(text: &str) {
    to(&mut std::io::stderr().lock(), text);
}

fn to(out: &mut impl Write, text: &str) {
    drop(out.write_all(format!("{text}\n").as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn a_line_is_one_write() {
        struct Writes(Vec<Vec<u8>>);
        impl Write for Writes {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.push(bytes.to_vec());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut out = Writes(Vec::new());
        to(&mut out, "plimsoll: warning: so");
        assert_eq!(out.0, [b"plimsoll: warning: so\n".to_vec()]);
    }

    #[test]
    fn a_full_device_is_passed_over() {
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert!(full.write_all(b"x").is_err());
        to(&mut full, "plimsoll: warning: so");
    }
}
