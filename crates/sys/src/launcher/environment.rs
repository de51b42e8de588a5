//! The environment of the launcher, which it gives to the command: ours, and in front of it the
//! variable that names the library to load, if there is one.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

const NAME: &[u8] = b"LD_PRELOAD=/proc/";
/// Digits of a pid.
const DIGITS: usize = 10;

/// A list for `execve(2)`, made before the process: the launcher's pid is put in after it, without
/// asking for memory.
#[derive(Debug)]
pub(super) struct Variables {
    /// The variable of the library, as far as it is known, and room for the rest.
    first: Vec<u8>,
    /// What comes behind the pid, with a NUL.
    tail: Vec<u8>,
    list: Vec<*const libc::c_char>,
}

impl Variables {
    pub(super) fn new(library: Option<BorrowedFd<'_>>) -> Self {
        let mut tail = Vec::new();
        let mut list = Vec::new();
        if let Some(library) = library {
            tail = format!("/fd/{}", library.as_raw_fd()).into_bytes();
            let others = std::env::var_os("LD_PRELOAD");
            if let Some(others) = others.as_deref().map(OsStr::as_bytes)
                && !others.is_empty()
            {
                tail.push(b':');
                tail.extend_from_slice(others);
            }
            tail.push(0);
            // Set when the pid is known.
            list.push(std::ptr::null());
        }
        list.extend(ours());
        list.push(std::ptr::null());
        Self {
            first: Vec::with_capacity(NAME.len() + DIGITS + tail.len()),
            tail,
            list,
        }
    }

    /// The list, for the process that becomes the launcher. Async-signal-safe.
    pub(super) fn in_launcher(&mut self) -> &[*const libc::c_char] {
        if !self.tail.is_empty() {
            let mut digits = [0; DIGITS];
            let digits = decimal(std::process::id(), &mut digits);
            for part in [NAME, digits, &self.tail] {
                // Within the capacity.
                self.first.extend_from_slice(part);
            }
            if let Some(place) = self.list.first_mut() {
                *place = self.first.as_ptr().cast();
            }
        }
        &self.list
    }
}

fn decimal(number: u32, digits: &mut [u8; DIGITS]) -> &[u8] {
    let mut rest = number;
    let mut start = digits.len();
    for place in digits.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        start -= 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits.get(start..).unwrap_or_default()
}

/// The strings of our own environment as they are, those included that are no variables.
fn ours() -> Vec<*const libc::c_char> {
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    // SAFETY: the C library initialised `environ` before main; nobody here changes it.
    let mut at = unsafe { environ };
    let mut list = Vec::new();
    while !at.is_null() {
        // SAFETY: within the list, whose end is not passed.
        let one = unsafe { at.read() };
        if one.is_null() {
            break;
        }
        list.push(one);
        // SAFETY: the null pointer at the end is still to come.
        at = unsafe { at.add(1) };
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_is_written_in_decimal_digits() {
        for pid in [1, 9, 10, 4_194_304, u32::MAX] {
            let mut digits = [0; DIGITS];
            assert_eq!(decimal(pid, &mut digits), pid.to_string().as_bytes());
        }
    }
}
