//! Whether a program can load the library: asked before every exec, so that the dynamic linker
//! never finds something in `LD_PRELOAD` that it must complain of.

use crate::arch;
use crate::system;
use core::ffi::CStr;

/// What becomes of the library in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is loaded.
    Loads,
    /// A static program: it has no dynamic linker that would look.
    Static,
    /// A 32-bit program, or one for another processor.
    OtherMachine,
    /// Its dynamic linker is not that of the GNU C library.
    OtherLoader,
    /// It needs a sanitizer's runtime, which must come first.
    Sanitizer,
    /// It runs as another user or group: its dynamic linker would not look.
    Setuid,
    /// No program at all, or nothing that can be read.
    Unknown,
}

impl Verdict {
    /// Whether the library must not be named to this program.
    pub const fn refuses(self) -> bool {
        !matches!(self, Verdict::Loads | Verdict::Unknown)
    }

    /// In words, for a report; nothing where it is loaded.
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Verdict::Loads | Verdict::Unknown => None,
            Verdict::Static => Some("it is a static program"),
            Verdict::OtherMachine => Some("it is a 32-bit program or one of another processor"),
            Verdict::OtherLoader => Some("it does not use the GNU C library"),
            Verdict::Sanitizer => Some("it is built with a sanitizer"),
            Verdict::Setuid => Some("it is a setuid or setgid program"),
        }
    }
}

const HEAD: usize = 1024;
const SCRIPTS_MAX: u32 = 5;
const FORMAT: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const SETUID_OR_SETGID: u32 = 0o6000;
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const NEEDED_MAX: usize = 256;
const SEGMENTS_MAX: u64 = 64;
/// Runtimes of sanitizers, as their names begin.
const SANITIZERS: [&[u8]; 6] = [
    b"libasan",
    b"liblsan",
    b"libtsan",
    b"libmsan",
    b"libhwasan",
    b"libclang_rt.",
];

/// What becomes of the library in the program at `path`.
pub fn judge(path: &CStr) -> Verdict {
    judge_at(path.as_ptr().cast(), SCRIPTS_MAX)
}

/// Likewise, of a path that ends with a NUL.
pub(crate) fn judge_path(path: *const u8) -> Verdict {
    judge_at(path, SCRIPTS_MAX)
}

fn judge_at(path: *const u8, scripts: u32) -> Verdict {
    match system::stat(path) {
        Some(stat) if stat.mode & FORMAT != REGULAR => return Verdict::Unknown,
        Some(stat) if stat.mode & SETUID_OR_SETGID != 0 => return Verdict::Setuid,
        Some(_) => {}
        None => return Verdict::Unknown,
    }
    let Some(fd) = system::open(path, system::TO_READ) else {
        return Verdict::Unknown;
    };
    let mut head = [0; HEAD];
    let bytes = system::read_at(fd, &mut head, 0);
    let head = head.get_mut(..bytes).unwrap_or_default();
    let verdict = match head {
        [0x7f, b'E', b'L', b'F', ..] => Some(Elf { fd, head }.judge()),
        [b'#', b'!', ..] => None,
        _ => Some(Verdict::Unknown),
    };
    system::close(fd);
    match (verdict, scripts) {
        (Some(verdict), _) => verdict,
        (None, 0) => Verdict::Unknown,
        (None, _) => match interpreter(head) {
            Some(path) => judge_at(path.as_ptr(), scripts - 1),
            None => Verdict::Unknown,
        },
    }
}

/// The program of a script's first line, a NUL put behind it, as the kernel takes it.
fn interpreter(head: &mut [u8]) -> Option<&[u8]> {
    let line = head.get_mut(2..)?;
    let blank = |byte: &u8| matches!(*byte, b' ' | b'\t');
    let start = line.iter().position(|byte| !blank(byte))?;
    let word = line.get_mut(start..)?;
    let end = word
        .iter()
        .position(|byte| blank(byte) || matches!(*byte, b'\n' | 0))?;
    *word.get_mut(end)? = 0;
    (end > 0).then_some(word)
}

/// A program in the format of all of today's.
struct Elf<'a> {
    fd: i32,
    head: &'a [u8],
}

/// A part of the file.
struct Part {
    offset: u64,
    address: u64,
    bytes: u64,
}

impl Elf<'_> {
    fn judge(&self) -> Verdict {
        const CLASS_64: u8 = 2;
        const OWN_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };
        if self.head.get(4) != Some(&CLASS_64)
            || self.head.get(5) != Some(&OWN_ORDER)
            || number(self.head, 18, 2) != Some(arch::MACHINE.into())
        {
            return Verdict::OtherMachine;
        }
        let Some(interpreter) = self.find(|kind, _| kind == PT_INTERP) else {
            return Verdict::Static;
        };
        let (start, bytes) = (interpreter.offset as usize, interpreter.bytes as usize);
        let mut room = [0; 256];
        // Most linkers put it right behind the headers.
        let name = match self.head.get(start..start.saturating_add(bytes)) {
            Some(name) => name,
            None => {
                let read = system::read_at(self.fd, &mut room, interpreter.offset);
                room.get(..read.min(bytes)).unwrap_or_default()
            }
        };
        if !is_glibc(name) {
            return Verdict::OtherLoader;
        }
        if self.needs_sanitizer().unwrap_or(false) {
            return Verdict::Sanitizer;
        }
        Verdict::Loads
    }

    fn find(&self, wanted: impl Fn(u64, &Part) -> bool) -> Option<Part> {
        let table = number(self.head, 32, 8)?;
        let entry = number(self.head, 54, 2)?;
        let count = number(self.head, 56, 2)?.min(SEGMENTS_MAX);
        for i in 0..count {
            let at = table.checked_add(i * entry)?;
            let mut bytes = [0; 56];
            let held = usize::try_from(at).ok();
            match held.and_then(|at| self.head.get(at..at.checked_add(56)?)) {
                Some(held) => bytes.copy_from_slice(held),
                None if system::read_at(self.fd, &mut bytes, at) == bytes.len() => {}
                None => return None,
            }
            let part = Part {
                offset: number(&bytes, 8, 8)?,
                address: number(&bytes, 16, 8)?,
                bytes: number(&bytes, 32, 8)?,
            };
            if wanted(number(&bytes, 0, 4)?, &part) {
                return Some(part);
            }
        }
        None
    }

    fn needs_sanitizer(&self) -> Option<bool> {
        let dynamic = self.find(|kind, _| kind == PT_DYNAMIC)?;
        let strings = self.entries(&dynamic).find(|(tag, _)| *tag == DT_STRTAB)?.1;
        let holds = |part: &Part| strings >= part.address && strings - part.address < part.bytes;
        let segment = self.find(|kind, part| kind == PT_LOAD && holds(part))?;
        let strings = segment.offset.checked_add(strings - segment.address)?;
        let needed = self.entries(&dynamic).filter(|(tag, _)| *tag == DT_NEEDED);
        Some(needed.into_iter().any(|(_, name)| {
            let mut start = [0; 16];
            let at = strings.wrapping_add(name);
            system::read_at(self.fd, &mut start, at);
            SANITIZERS
                .iter()
                .any(|sanitizer| start.starts_with(sanitizer))
        }))
    }

    /// The entries of the dynamic section.
    fn entries(&self, dynamic: &Part) -> impl Iterator<Item = (u64, u64)> {
        let (fd, offset) = (self.fd, dynamic.offset);
        let mut block = [0; 512];
        let mut held = 0;
        let count = NEEDED_MAX.min((dynamic.bytes / 16) as usize);
        (0..count).map_while(move |i| {
            let place = i * 16 % block.len();
            if place == 0 {
                held = system::read_at(fd, &mut block, offset.wrapping_add(i as u64 * 16));
            }
            let entry = block.get(..held)?.get(place..place + 16)?;
            let tag = number(entry, 0, 8)?;
            (tag != 0).then_some((tag, number(entry, 8, 8)?))
        })
    }
}

/// Whether a dynamic linker is called as that of the GNU C library is.
fn is_glibc(path: &[u8]) -> bool {
    let end = path
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(path.len());
    let path = path.get(..end).unwrap_or_default();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b"ld-linux") || name.starts_with(b"ld-2.")
}

/// Whether the items of `LD_PRELOAD` name a sanitizer's runtime.
pub fn names_sanitizer(items: &[u8]) -> bool {
    SANITIZERS
        .iter()
        .any(|name| items.windows(name.len()).any(|part| part == *name))
}

/// A number of `width` bytes in this machine's order.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(width)?)?;
    let mut eight = [0; 8];
    if cfg!(target_endian = "little") {
        eight.get_mut(..width)?.copy_from_slice(part);
    } else {
        eight.get_mut(8 - width..)?.copy_from_slice(part);
    }
    Some(u64::from_ne_bytes(eight))
}
