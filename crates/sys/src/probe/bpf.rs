//! Trials of `bpf(2)`: the smallest program or map of each kind, attached where that matters.

use super::btf::{KernelTypes, TypeKind};
use super::call::{check, own};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

const MAP_CREATE: libc::c_long = 0;
const PROG_LOAD: libc::c_long = 5;
const PROG_TEST_RUN: libc::c_long = 10;
const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const BTF_LOAD: libc::c_long = 18;
const LINK_CREATE: libc::c_long = 28;
const ITER_CREATE: libc::c_long = 33;

const PROG_TRACING: u32 = 26;
const PROG_SYSCALL: u32 = 31;
const TRACE_RAW_TP: u32 = 23;
const TRACE_FENTRY: u32 = 24;
const TRACE_ITER: u32 = 28;
const SLEEPABLE: u32 = 1 << 4;

const MAP_RINGBUF: u32 = 27;
const MAP_TASK_STORAGE: u32 = 29;
const NO_PREALLOC: u32 = 1;

/// Bytes of `union bpf_attr` that these trials use; the kernel takes a shorter one as zero-filled.
const ATTRIBUTE_BYTES: usize = 128;

/// `union bpf_attr`, filled field by field at its offset.
struct Attribute([u8; ATTRIBUTE_BYTES]);

impl Attribute {
    fn new() -> Self {
        Self([0; ATTRIBUTE_BYTES])
    }

    fn word(mut self, offset: usize, value: u32) -> Self {
        if let Some(place) = self.0.get_mut(offset..offset + 4) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        self
    }

    fn fd(self, offset: usize, fd: &OwnedFd) -> Self {
        self.word(offset, fd.as_raw_fd().unsigned_abs())
    }

    /// The address of bytes that outlive the call.
    fn pointer(mut self, offset: usize, bytes: &[u8]) -> Self {
        let address = bytes.as_ptr().expose_provenance() as u64;
        if let Some(place) = self.0.get_mut(offset..offset + 8) {
            place.copy_from_slice(&address.to_ne_bytes());
        }
        self
    }
}

fn bpf(command: libc::c_long, attribute: &Attribute) -> libc::c_long {
    // SAFETY: the attribute is live and as long as said; every address in it is of bytes that its
    // maker holds until after the call, and the kernel only reads those.
    unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attribute.0.as_ptr(),
            ATTRIBUTE_BYTES,
        )
    }
}

/// `r0 = 0; exit` in the kernel's instruction format (`struct bpf_insn`).
const RETURN_ZERO: [u8; 16] = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

/// Loads [`RETURN_ZERO`] as a program of a kind, for a place in the kernel.
fn load(kind: u32, attach: u32, place: u32, flags: u32) -> io::Result<OwnedFd> {
    let license = b"GPL\0";
    let attribute = Attribute::new()
        .word(0, kind)
        .word(4, 2)
        .pointer(8, &RETURN_ZERO)
        .pointer(16, license)
        .word(44, flags)
        .word(68, attach)
        .word(108, place);
    own(bpf(PROG_LOAD, &attribute))
}

fn place(types: &KernelTypes, kind: TypeKind, name: &str) -> io::Result<u32> {
    types.find(kind, name).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("this kernel has no {name}"),
        )
    })
}

/// Tries a program on the tracepoint of process ends, with typed arguments (`tp_btf`).
pub fn tp_btf(types: &KernelTypes) -> io::Result<()> {
    let place = place(types, TypeKind::Typedef, "btf_trace_sched_process_exit")?;
    let program = load(PROG_TRACING, TRACE_RAW_TP, place, 0)?;
    open_raw(&program)
}

/// Tries a program at the entry of a kernel function (`fentry`).
pub fn fentry(types: &KernelTypes) -> io::Result<()> {
    let place = place(types, TypeKind::Function, "do_exit")?;
    let program = load(PROG_TRACING, TRACE_FENTRY, place, 0)?;
    open_raw(&program)
}

fn open_raw(program: &OwnedFd) -> io::Result<()> {
    own(bpf(RAW_TRACEPOINT_OPEN, &Attribute::new().fd(8, program))).map(drop)
}

/// Tries an iterator over all tasks, and reads it to its end.
pub fn iterator(types: &KernelTypes) -> io::Result<()> {
    let place = place(types, TypeKind::Function, "bpf_iter_task")?;
    let program = load(PROG_TRACING, TRACE_ITER, place, 0)?;
    let link = own(bpf(
        LINK_CREATE,
        &Attribute::new().fd(0, &program).word(8, TRACE_ITER),
    ))?;
    let pass = own(bpf(ITER_CREATE, &Attribute::new().fd(0, &link)))?;
    let mut text = [0u8; 64];
    std::fs::File::from(pass).read(&mut text).map(drop)
}

/// Tries a program that is run by a system call.
pub fn syscall_program() -> io::Result<()> {
    let program = load(PROG_SYSCALL, 0, 0, SLEEPABLE)?;
    check(bpf(PROG_TEST_RUN, &Attribute::new().fd(0, &program))).map(drop)
}

/// Tries a ring buffer of `page` bytes.
pub fn ring_buffer(page: u32) -> io::Result<()> {
    own(bpf(
        MAP_CREATE,
        &Attribute::new().word(0, MAP_RINGBUF).word(12, page),
    ))
    .map(drop)
}

/// Tries a map that hangs on tasks.
pub fn task_storage() -> io::Result<()> {
    let types = own(load_int_type())?;
    let attribute = Attribute::new()
        .word(0, MAP_TASK_STORAGE)
        .word(4, 4)
        .word(8, 4)
        .word(16, NO_PREALLOC)
        .fd(48, &types)
        .word(52, 1)
        .word(56, 1);
    own(bpf(MAP_CREATE, &attribute)).map(drop)
}

/// Loads type information that holds one type, number 1: `int`.
fn load_int_type() -> libc::c_long {
    let words: [u32; 10] = [
        // Magic number and version, header length; types at 0, 16 bytes; names at 16, 5 bytes.
        u32::from_ne_bytes(header_start()),
        24,
        0,
        16,
        16,
        5,
        // Name at 1, kind int, 4 bytes, signed 32 bits.
        1,
        1 << 24,
        4,
        1 << 24 | 32,
    ];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(b"\0int\0");
    let length = bytes.len() as u32;
    bpf(
        BTF_LOAD,
        &Attribute::new().pointer(0, &bytes).word(16, length),
    )
}

fn header_start() -> [u8; 4] {
    let [first, second] = 0xeb9f_u16.to_ne_bytes();
    [first, second, 1, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn bpf_each_trial_works_or_says_why_not() {
        let types = match KernelTypes::read(Path::new("/sys/kernel/btf/vmlinux")) {
            Ok(types) => types,
            Err(error) => return println!("skipped: {error}"),
        };
        if let Err(error) = tp_btf(&types) {
            return println!("skipped: {error}");
        }
        iterator(&types).unwrap();
        ring_buffer(4096).unwrap();
        task_storage().unwrap();
        assert!(place(&types, TypeKind::Function, "no_such_function").is_err());
    }
}
