//! Children that shall not be traced (`CLONE_UNTRACED`): the wish is taken out of the call before
//! which its thread stopped.

use super::call::memory;
use crate::error::{Error, check};

const UNTRACED: u64 = libc::CLONE_UNTRACED as u64;
/// Room for the general registers of every architecture that has a filter.
const REGISTERS_MAX: usize = 64;

/// Which of the registers has the first argument of a call.
#[cfg(target_arch = "x86_64")]
const FIRST_ARGUMENT: usize = std::mem::offset_of!(libc::user_regs_struct, rdi) / 8;
#[cfg(target_arch = "aarch64")]
const FIRST_ARGUMENT: usize = std::mem::offset_of!(libc::user_regs_struct, regs) / 8;
/// No call stops here: there is no filter for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FIRST_ARGUMENT: usize = REGISTERS_MAX;

/// Makes a `clone` before which `tid` stopped one whose child is traced.
///
/// # Errors
/// `ESRCH` if it is gone.
pub fn trace_clone(tid: u32) -> Result<(), Error> {
    let mut registers = [0u64; REGISTERS_MAX];
    let bytes = size_of_val(&registers);
    let (get, set) = (libc::PTRACE_GETREGSET, libc::PTRACE_SETREGSET);
    let bytes = register_set("ptrace(PTRACE_GETREGSET)", get, tid, &mut registers, bytes)?;
    if let Some(flags) = registers.get_mut(FIRST_ARGUMENT) {
        *flags &= !UNTRACED;
    }
    register_set("ptrace(PTRACE_SETREGSET)", set, tid, &mut registers, bytes).map(drop)
}

/// The same of a `clone3`, whose structure at `address` begins with the flags; it stays so.
///
/// # Errors
/// `ESRCH` if it is gone, `EIO` if the structure cannot be written.
pub fn trace_clone3(tid: u32, address: u64) -> Result<(), Error> {
    let mut flags = [0; 8];
    let read = memory(tid, address, &mut flags);
    let flags = u64::from_ne_bytes(flags);
    // What cannot be read the kernel does not take either; of a program that this user may not read
    // it stays as it is.
    if read.is_err() || flags & UNTRACED == 0 {
        return Ok(());
    }
    let address = std::ptr::without_provenance_mut::<libc::c_void>(address as usize);
    let flags = std::ptr::without_provenance_mut::<libc::c_void>((flags & !UNTRACED) as usize);
    // SAFETY: both are numbers to this request, of the tracee's memory, not ours.
    let result = unsafe { libc::ptrace(libc::PTRACE_POKEDATA, tid as libc::pid_t, address, flags) };
    check("ptrace(PTRACE_POKEDATA)", result).map(drop)
}

/// Reads or writes the first `bytes` of the general registers; how many there are.
fn register_set(
    call: &'static str,
    request: libc::c_uint,
    tid: u32,
    registers: &mut [u64; REGISTERS_MAX],
    bytes: usize,
) -> Result<usize, Error> {
    let mut room = libc::iovec {
        iov_base: registers.as_mut_ptr().cast(),
        iov_len: bytes.min(size_of_val(registers)),
    };
    let set = std::ptr::without_provenance_mut::<libc::c_void>(libc::NT_PRSTATUS as usize);
    // SAFETY: `room` is live, and so are as many bytes as it says.
    let result = unsafe { libc::ptrace(request, tid as libc::pid_t, set, &raw mut room) };
    check(call, result).map(|_| room.iov_len)
}
