//! What two processes have in common (`kcmp(2)`). It needs the right to trace both.

use crate::error::{Error, check};

const MEMORY: libc::c_int = 1;
const FILES: libc::c_int = 2;

/// Whether two threads have one table of descriptors.
///
/// # Errors
/// `ENOSYS` where the kernel cannot tell, `EPERM` where it may not, `ESRCH` if one is gone.
pub fn share_descriptors(one: u32, other: u32) -> Result<bool, Error> {
    same(one, other, FILES)
}

/// Whether two threads have one address space: a child of `vfork` before its exec has its parent's.
/// Of two that have given theirs back it says so as well.
///
/// # Errors
/// As [`share_descriptors`].
pub fn share_memory(one: u32, other: u32) -> Result<bool, Error> {
    same(one, other, MEMORY)
}

fn same(one: u32, other: u32, what: libc::c_int) -> Result<bool, Error> {
    // SAFETY: takes plain numbers.
    let result = unsafe { libc::syscall(libc::SYS_kcmp, one, other, what, 0, 0) };
    check("kcmp", result).map(|order| order == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_itself_and_not_its_child() {
        let me = std::process::id();
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        for share in [share_descriptors, share_memory] {
            match (share(me, me), share(me, child.id())) {
                (Ok(own), Ok(other)) => assert!(own && !other),
                (own, other) => println!("skipped: {own:?} {other:?}"),
            }
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
