//! The filter of system calls under which a traced task stops at its calls on files, and what these
//! calls are.
//!
//! A filter is a program of the classic Berkeley packet filter over the number and the arguments of
//! a call (`seccomp(2)`); the launcher installs it before the command's exec, and all that the
//! command starts has it. Without its tracer a task under this filter cannot live: the calls that
//! it picks fail with `ENOSYS` then.

#[cfg(target_arch = "aarch64")]
#[path = "seccomp/arch_aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "seccomp/arch_x86_64.rs"]
mod arch;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "seccomp/arch_other.rs"]
mod arch;

use crate::ptrace::Entered;
use FileCall as Do;

/// What a system call does with files. Descriptors are its first argument if nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCall {
    /// Reads one buffer of as many bytes as the third argument says.
    Read,
    /// The same at the place of the fourth argument.
    ReadAt,
    /// Reads several buffers.
    ReadVector,
    /// Writes one buffer of as many bytes as the third argument says.
    Write,
    /// The same at the place of the fourth argument.
    WriteAt,
    /// Writes several buffers, or to a socket.
    WriteVector,
    /// Receives from a socket; flags are the fourth argument.
    Receive,
    /// Receives a message; flags are the third argument.
    ReceiveMessage,
    /// Receives several messages (second argument); flags are the fourth.
    ReceiveMessages,
    /// Sends a message, which may have descriptors in it.
    SendMessage,
    /// Sends several messages (second argument).
    SendMessages,
    /// `open`: path and flags are the first two arguments.
    Open,
    /// `creat`: the path is the first argument.
    Create,
    /// `openat`: folder, path and flags.
    OpenAt,
    /// `openat2`: folder, path and a structure that begins with the flags.
    OpenHow,
    /// `close`.
    Close,
    /// `close_range`: the first and the last descriptor.
    CloseRange,
    /// `dup2`, `dup3`: the second argument becomes another file.
    Duplicate,
    /// `dup`, `fcntl` with its command: a new descriptor shares the place in the file.
    Share,
    /// `execve`, `execveat`.
    Exec,
    /// `unshare` of the table of descriptors.
    Unshare,
    /// `lseek` by the second argument, from what the third says.
    Seek,
    /// `mmap` of a file: the fifth argument.
    Map,
    /// `sendfile`: from the second argument to the first.
    SendFile,
    /// `copy_file_range`, `splice`: from the first argument to the third.
    Copy,
    /// `tee`: from the first argument to the second.
    Tee,
    /// `ftruncate`.
    Cut,
    /// A name, by path.
    Name(NameCall),
    /// `clone` that asks for a child without a tracer.
    Clone,
    /// `clone3`: a structure that begins with the flags.
    Clone3,
    /// `io_submit`.
    Submit,
    /// `io_uring_setup`.
    Ring,
    /// A call on files by the interface of 32-bit programs.
    Compat,
}

/// What a system call does to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameCall {
    /// `unlink`: the path is the first argument.
    Unlink,
    /// `unlinkat`: folder, path and flags.
    UnlinkAt,
    /// `rmdir`: the path is the first argument.
    Rmdir,
    /// `rename`: the old and the new path.
    Rename,
    /// `renameat`: folder and path of the old and of the new one.
    RenameAt,
    /// `renameat2`: the same and flags.
    RenameAt2,
    /// `truncate`: the path is the first argument.
    Truncate,
}

const CALLS: &[(libc::c_long, FileCall)] = &[
    (libc::SYS_read, Do::Read),
    (libc::SYS_write, Do::Write),
    (libc::SYS_close, Do::Close),
    (libc::SYS_openat, Do::OpenAt),
    (libc::SYS_pread64, Do::ReadAt),
    (libc::SYS_pwrite64, Do::WriteAt),
    (libc::SYS_lseek, Do::Seek),
    (libc::SYS_readv, Do::ReadVector),
    (libc::SYS_writev, Do::WriteVector),
    (libc::SYS_recvfrom, Do::Receive),
    (libc::SYS_sendto, Do::WriteVector),
    (libc::SYS_recvmsg, Do::ReceiveMessage),
    (libc::SYS_sendmsg, Do::SendMessage),
    (libc::SYS_recvmmsg, Do::ReceiveMessages),
    (libc::SYS_sendmmsg, Do::SendMessages),
    (libc::SYS_preadv, Do::ReadVector),
    (libc::SYS_pwritev, Do::WriteVector),
    (libc::SYS_preadv2, Do::ReadVector),
    (libc::SYS_pwritev2, Do::WriteVector),
    (libc::SYS_openat2, Do::OpenHow),
    (libc::SYS_dup3, Do::Duplicate),
    (libc::SYS_dup, Do::Share),
    (libc::SYS_execve, Do::Exec),
    (libc::SYS_execveat, Do::Exec),
    (libc::SYS_close_range, Do::CloseRange),
    (libc::SYS_sendfile, Do::SendFile),
    (libc::SYS_copy_file_range, Do::Copy),
    (libc::SYS_splice, Do::Copy),
    (libc::SYS_tee, Do::Tee),
    (libc::SYS_io_submit, Do::Submit),
    (libc::SYS_io_uring_setup, Do::Ring),
    (libc::SYS_clone3, Do::Clone3),
    (libc::SYS_ftruncate, Do::Cut),
    (libc::SYS_unlinkat, Do::Name(NameCall::UnlinkAt)),
    (libc::SYS_renameat2, Do::Name(NameCall::RenameAt2)),
    (libc::SYS_truncate, Do::Name(NameCall::Truncate)),
];

const AT_NUMBER: u32 = 0;
const AT_ARCH: u32 = 4;

const fn at_argument(index: u32) -> u32 {
    // The low half of eight bytes, in the order of a little-endian machine.
    16 + 8 * index
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;

const TRACE: u32 = libc::SECCOMP_RET_TRACE;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// Numbers from here on are of another interface (x32).
const OTHER_INTERFACE: u32 = 0x4000_0000;

/// What a call does with files; `None` if the filter picks none of its number.
pub fn file_call(entered: &Entered) -> Option<FileCall> {
    if entered.arch != arch::NATIVE {
        return Some(Do::Compat);
    }
    let number = libc::c_long::try_from(entered.number).ok()?;
    match number {
        libc::SYS_mmap => return Some(Do::Map),
        libc::SYS_unshare => return Some(Do::Unshare),
        libc::SYS_clone => return Some(Do::Clone),
        libc::SYS_fcntl => return Some(Do::Share),
        _ => {}
    }
    let all = CALLS.iter().chain(arch::CALLS);
    let mut of_number = all.filter(|(known, _)| *known == number);
    of_number.next().map(|(_, call)| *call)
}

/// The filter as the kernel takes it, an instruction every eight bytes; empty where Plimsoll does
/// not know the numbers of this architecture.
pub fn filter() -> Vec<u8> {
    if arch::NATIVE == 0 {
        return Vec::new();
    }
    let mut program = Program(Vec::new());
    let native = of_native();
    program.step(LOAD, AT_ARCH);
    program.branch(IF_EQUAL, arch::NATIVE, 1, 0);
    program.step(JUMP, (native.0.len() / 8) as u32);
    program.0.extend_from_slice(&native.0);
    program.branch(IF_EQUAL, arch::COMPAT, 1, 0);
    program.step(RETURN, ALLOW);
    program.step(LOAD, AT_NUMBER);
    for number in arch::COMPAT_CALLS {
        program.pick(*number);
    }
    program.step(RETURN, ALLOW);
    program.0
}

fn of_native() -> Program {
    let mut program = Program(Vec::new());
    program.step(LOAD, AT_NUMBER);
    program.branch(IF_AT_LEAST, OTHER_INTERFACE, 0, 1);
    program.step(RETURN, ALLOW);
    for (number, _) in CALLS.iter().chain(arch::CALLS) {
        program.pick(*number as u32);
    }
    // Of a file only: memory without a file is mapped far more often.
    program.branch(IF_EQUAL, libc::SYS_mmap as u32, 0, 4);
    program.step(LOAD, at_argument(3));
    program.branch(IF_ANY_BIT, libc::MAP_ANONYMOUS as u32, 1, 0);
    program.step(RETURN, TRACE);
    program.step(RETURN, ALLOW);
    program.branch(IF_EQUAL, libc::SYS_fcntl as u32, 0, 5);
    program.step(LOAD, at_argument(1));
    program.branch(IF_EQUAL, libc::F_DUPFD as u32, 1, 0);
    program.branch(IF_EQUAL, libc::F_DUPFD_CLOEXEC as u32, 0, 1);
    program.step(RETURN, TRACE);
    program.step(RETURN, ALLOW);
    program.branch(IF_EQUAL, libc::SYS_clone as u32, 0, 4);
    program.step(LOAD, at_argument(0));
    program.branch(IF_ANY_BIT, libc::CLONE_UNTRACED as u32, 0, 1);
    program.step(RETURN, TRACE);
    program.step(RETURN, ALLOW);
    program.branch(IF_EQUAL, libc::SYS_unshare as u32, 1, 0);
    program.step(RETURN, ALLOW);
    program.step(LOAD, at_argument(0));
    program.branch(IF_ANY_BIT, libc::CLONE_FILES as u32, 0, 1);
    program.step(RETURN, TRACE);
    program.step(RETURN, ALLOW);
    program
}

/// Instructions: code (2 bytes), jump if true, jump if false, value (4 bytes).
struct Program(Vec<u8>);

impl Program {
    fn branch(&mut self, code: u32, value: u32, if_true: u8, if_false: u8) {
        self.0.extend_from_slice(&(code as u16).to_ne_bytes());
        self.0.extend_from_slice(&[if_true, if_false]);
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    fn step(&mut self, code: u32, value: u32) {
        self.branch(code, value, 0, 0);
    }

    fn pick(&mut self, number: u32) {
        self.branch(IF_EQUAL, number, 0, 1);
        self.step(RETURN, TRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn verdict(arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let program = filter();
        let mut data = [0; 64];
        data[..4].copy_from_slice(&number.to_ne_bytes());
        data[4..8].copy_from_slice(&arch.to_ne_bytes());
        for (place, argument) in arguments.iter().enumerate() {
            data[16 + 8 * place..24 + 8 * place].copy_from_slice(&argument.to_ne_bytes());
        }
        let half = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().unwrap());
        let (mut at, mut held) = (0, 0);
        loop {
            let step = &program[at * 8..at * 8 + 8];
            let code = u32::from(u16::from_ne_bytes([step[0], step[1]]));
            let value = half(&step[4..8]);
            let jump = |taken: bool| usize::from(if taken { step[2] } else { step[3] });
            at += 1;
            match code {
                LOAD => held = half(&data[value as usize..value as usize + 4]),
                RETURN => return value,
                JUMP => at += value as usize,
                IF_EQUAL => at += jump(held == value),
                IF_AT_LEAST => at += jump(held >= value),
                IF_ANY_BIT => at += jump(held & value != 0),
                _ => panic!("code {code}"),
            }
        }
    }

    fn native(number: libc::c_long, arguments: [u64; 6]) -> u32 {
        verdict(arch::NATIVE, number as u32, arguments)
    }

    #[test]
    fn the_filter_picks_calls_on_files_and_no_others() {
        if arch::NATIVE == 0 {
            return println!("skipped: no numbers of this architecture");
        }
        for (number, call) in CALLS.iter().chain(arch::CALLS) {
            assert_eq!(native(*number, [0; 6]), TRACE, "{call:?}");
            let entered = Entered {
                arch: arch::NATIVE,
                number: *number as u64,
                arguments: [0; 6],
            };
            assert_eq!(file_call(&entered), Some(*call));
        }
        for number in [libc::SYS_fstat, libc::SYS_getpid, libc::SYS_futex] {
            assert_eq!(native(number, [!0; 6]), ALLOW);
        }
        assert_eq!(verdict(7, libc::SYS_read as u32, [0; 6]), ALLOW);
        let other = OTHER_INTERFACE | libc::SYS_read as u32;
        assert_eq!(verdict(arch::NATIVE, other, [0; 6]), ALLOW);
        // Read, unlink, truncate64.
        for number in [3, 10, 193] {
            assert_eq!(verdict(arch::COMPAT, number, [0; 6]), TRACE);
        }
        assert_eq!(verdict(arch::COMPAT, 20, [0; 6]), ALLOW);
        assert!(filter().len() < 4096 - 8);
    }

    #[test]
    fn of_some_calls_it_depends_on_what_they_ask() {
        if arch::NATIVE == 0 {
            return println!("skipped: no numbers of this architecture");
        }
        let map = |flags: libc::c_int| native(libc::SYS_mmap, [0, 0, 0, flags as u64, 3, 0]);
        assert_eq!(map(libc::MAP_PRIVATE), TRACE);
        assert_eq!(map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS), ALLOW);
        let unshare = |what: libc::c_int| native(libc::SYS_unshare, [what as u64, 0, 0, 0, 0, 0]);
        assert_eq!(unshare(libc::CLONE_FILES | libc::CLONE_FS), TRACE);
        assert_eq!(unshare(libc::CLONE_NEWNS), ALLOW);
        let clone = |what: libc::c_int| native(libc::SYS_clone, [what as u64, 0, 0, 0, 0, 0]);
        assert_eq!(clone(libc::CLONE_UNTRACED | libc::SIGCHLD), TRACE);
        assert_eq!(clone(libc::CLONE_FILES | libc::SIGCHLD), ALLOW);
        let fcntl = |what: libc::c_int| native(libc::SYS_fcntl, [0, what as u64, 0, 0, 0, 0]);
        assert_eq!(fcntl(libc::F_DUPFD), TRACE);
        assert_eq!(fcntl(libc::F_DUPFD_CLOEXEC), TRACE);
        assert_eq!(fcntl(libc::F_SETFD), ALLOW);
    }
}
