//! What a traced thread asks of the kernel, and what came of it: `PTRACE_GET_SYSCALL_INFO` (Linux
//! 5.3), the same on every architecture; and what its arguments point to.

use crate::error::{Error, check};
use std::mem::offset_of;

const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const OP_EXIT: u8 = 2;
const OP_SECCOMP: u8 = 3;

/// `struct ptrace_syscall_info`: its union has the number and the arguments of a call that begins,
/// or first the result of one that is over.
#[repr(C)]
#[derive(Default)]
struct Info {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction: u64,
    stack: u64,
    words: [u64; 8],
}

const _: () = assert!(offset_of!(Info, words) == 24 && size_of::<Info>() == 88);

/// A system call that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    /// Whose numbers it has: `AUDIT_ARCH_*`.
    pub arch: u32,
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// The call before which `tid` stopped; `None` if it is gone meanwhile, or stopped for something
/// else.
pub fn entered(tid: u32) -> Option<Entered> {
    let info = read(tid)?;
    let [number, arguments @ .., _] = info.words;
    (info.op == OP_SECCOMP).then_some(Entered {
        arch: info.arch,
        number,
        arguments,
    })
}

/// What the call returned after which `tid` stopped: a number, or an error number below zero.
/// `None` as for [`entered`].
pub fn returned(tid: u32) -> Option<i64> {
    let info = read(tid)?;
    let [result, ..] = info.words;
    (info.op == OP_EXIT).then_some(result.cast_signed())
}

fn read(tid: u32) -> Option<Info> {
    let mut info = Info::default();
    // SAFETY: the kernel writes at most as many bytes as it is told that `info` has.
    let result = unsafe {
        libc::ptrace(
            GET_SYSCALL_INFO,
            tid as libc::pid_t,
            size_of::<Info>(),
            &raw mut info,
        )
    };
    (result > 0).then_some(info)
}

/// Fills `buffer` with the memory of `tid` from `address` on; how much of it could be read.
///
/// # Errors
/// `EFAULT` if nothing is there, `ESRCH` if the process is gone.
pub fn memory(tid: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Error> {
    let ours = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let theirs = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: buffer.len(),
    };
    // SAFETY: `ours` is the live buffer; what is wrong with `theirs` is an error of the call.
    let got = unsafe { libc::process_vm_readv(tid as libc::pid_t, &ours, 1, &theirs, 1, 0) };
    check("process_vm_readv", got as i64).map(|got| got as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process_is_read_as_far_as_there_is_any() {
        let text = *b"what a program keeps";
        let mut room = [0; 20];
        let me = std::process::id();
        let got = memory(me, text.as_ptr().addr() as u64, &mut room).unwrap();
        assert_eq!((got, &room), (20, &text));
        let nothing = memory(me, 16, &mut room).unwrap_err();
        assert_eq!(nothing.errno(), Some(libc::EFAULT));
    }
}
