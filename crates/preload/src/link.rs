//! Finding the functions of the program's libraries, as the dynamic linker would.
//!
//! The library needs no other by name, so that it loads with any C library of its class. It walks
//! the dynamic linker's list of objects (`struct link_map`), which begins where its `_r_debug`
//! says, and looks each object's symbols up by its hash table. That name and the place of `errno`
//! are asked of the dynamic linker itself, which says 0 where nobody has them: whoever runs the
//! program in the kernel's place (valgrind, proot) shows the kernel's vector of another program.

use crate::arch;
use crate::vector::Vector;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_DEBUG: u64 = 21;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
/// A version that only programs linked long ago use.
const HIDDEN: u16 = 0x8000;
const STT_FUNC: u8 = 2;
const STT_OBJECT: u8 = 1;
/// The longest list that is walked.
const OBJECTS_MAX: usize = 4096;
const SYMBOLS_MAX: u32 = 1 << 20;

/// Where in the list we are; 0 until [`find_ourselves`].
static OURS: AtomicUsize = AtomicUsize::new(0);
/// The first of the list: the program.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// A word of this process's memory.
///
/// Only structures that the kernel and the dynamic linker made are read, which stay as long as the
/// process.
fn word(at: usize) -> u64 {
    // SAFETY: an address inside of such a structure, each field of which is aligned.
    unsafe { (at as *const u64).read() }
}

fn half(at: usize) -> u32 {
    // SAFETY: as in `word`.
    unsafe { (at as *const u32).read() }
}

fn quarter(at: usize) -> u16 {
    // SAFETY: as in `word`.
    unsafe { (at as *const u16).read() }
}

fn byte(at: usize) -> u8 {
    // SAFETY: as in `word`.
    unsafe { (at as *const u8).read() }
}

/// Whether the C string at `at` is `name`, which has no NUL.
fn is_name(at: usize, name: &[u8]) -> bool {
    (0..).zip(name).all(|(i, wanted)| byte(at + i) == *wanted) && byte(at + name.len()) == 0
}

/// Finds the list and us in it: our own name, as the dynamic linker was told it.
pub(crate) fn find_ourselves() -> Option<&'static [u8]> {
    let debug = match arch::linkers_debug() {
        0 => debug_of_program()?,
        at => at,
    };
    // struct r_debug: the version, then the list.
    let first = word(debug + 8) as usize;
    FIRST.store(first, Relaxed);
    let ours = objects(first).find(Object::is_ours)?;
    OURS.store(ours.at, Relaxed);
    Some(ours.name())
}

/// The path of the object that lies at `bias` as the program names it, with a NUL.
pub(crate) fn named_at(bias: usize) -> Option<*const u8> {
    let mut all = objects(FIRST.load(Relaxed));
    Some(all.find(|object| object.bias == bias)?.name().as_ptr())
}

/// Where the program's own dynamic section says that the list is, if its dynamic linker does not.
fn debug_of_program() -> Option<usize> {
    let vector = Vector::of_kernel();
    let headers = Headers {
        table: vector.headers?,
        entry: vector.header_bytes?,
        count: vector.header_count?,
    };
    let bias = headers.table.wrapping_sub(headers.find(PT_PHDR)?.address);
    let dynamic = bias.wrapping_add(headers.find(PT_DYNAMIC)?.address);
    let at = entry(dynamic, DT_DEBUG)? as usize;
    (at != 0).then_some(at)
}

/// The program headers of an object in memory.
struct Headers {
    table: usize,
    entry: usize,
    count: usize,
}

/// One of them.
struct Segment {
    address: usize,
    bytes: usize,
}

impl Headers {
    /// Of an image that begins at `base`.
    fn of(base: usize) -> Self {
        Self {
            table: base.wrapping_add(word(base + 32) as usize),
            entry: quarter(base + 54) as usize,
            count: quarter(base + 56) as usize,
        }
    }

    fn find(&self, kind: u32) -> Option<Segment> {
        let mut places = (0..self.count).map(|i| self.table + i * self.entry);
        places.find(|at| half(*at) == kind).map(|at| Segment {
            address: word(at + 16) as usize,
            bytes: word(at + 40) as usize,
        })
    }
}

/// The value of an entry of a dynamic section.
fn entry(dynamic: usize, tag: u64) -> Option<u64> {
    (0..256)
        .map(|i| dynamic + 16 * i)
        .take_while(|at| word(*at) != 0)
        .find(|at| word(*at) == tag)
        .map(|at| word(at + 8))
}

/// An object that the dynamic linker loaded: a `struct link_map`, or what stands for one.
#[derive(Debug, Clone, Copy)]
struct Object {
    at: usize,
    bias: usize,
    dynamic: usize,
}

fn objects(first: usize) -> impl Iterator<Item = Object> {
    let next = |at: &usize| Some(word(at + 24) as usize).filter(|next| *next != 0);
    core::iter::successors(Some(first).filter(|at| *at != 0), next)
        .take(OBJECTS_MAX)
        .map(|at| Object {
            at,
            bias: word(at) as usize,
            dynamic: word(at + 16) as usize,
        })
}

impl Object {
    fn name(&self) -> &'static [u8] {
        let at = word(self.at + 8) as usize;
        let bytes = (0..4096).find(|i| byte(at + i) == 0).unwrap_or(0);
        // SAFETY: the dynamic linker's name of a loaded object stays; its NUL is behind it.
        unsafe { core::slice::from_raw_parts(at as *const u8, bytes + 1) }
    }

    /// Whether it is the library itself.
    fn is_ours(&self) -> bool {
        self.dynamic == our_dynamic()
    }

    /// The address of a table; not every C library adds the bias.
    fn table(&self, tag: u64) -> Option<usize> {
        let value = entry(self.dynamic, tag)? as usize;
        Some(if value < self.bias {
            value.wrapping_add(self.bias)
        } else {
            value
        })
    }

    /// The address of a function or a variable in there, of its newest version.
    fn find(&self, name: &[u8]) -> Option<usize> {
        let symbols = Symbols {
            table: self.table(DT_SYMTAB)?,
            strings: self.table(DT_STRTAB)?,
            versions: self.table(DT_VERSYM),
        };
        let number = match self.table(DT_GNU_HASH) {
            Some(hash) => symbols.by_gnu_hash(hash, name),
            None => symbols.by_hash(self.table(DT_HASH)?, name),
        }?;
        Some(self.bias.wrapping_add(symbols.value(number)))
    }
}

struct Symbols {
    table: usize,
    strings: usize,
    versions: Option<usize>,
}

impl Symbols {
    const BYTES: usize = 24;

    fn value(&self, number: u32) -> usize {
        word(self.table + number as usize * Self::BYTES + 8) as usize
    }

    fn is(&self, number: u32, name: &[u8]) -> bool {
        let at = self.table + number as usize * Self::BYTES;
        let kind = byte(at + 4) & 15;
        let defined = quarter(at + 6) != 0;
        let old = |versions: usize| quarter(versions + 2 * number as usize) & HIDDEN != 0;
        (kind == STT_FUNC || kind == STT_OBJECT || kind == 0)
            && defined
            && is_name(self.strings + half(at) as usize, name)
            && !self.versions.is_some_and(old)
    }

    fn by_gnu_hash(&self, at: usize, name: &[u8]) -> Option<u32> {
        let (buckets, first, words) = (half(at), half(at + 4), half(at + 8));
        let shift = half(at + 12);
        if buckets == 0 || words == 0 {
            return None;
        }
        let hash = gnu_hash(name);
        let bloom = word(at + 16 + 8 * ((hash / 64) & (words - 1)) as usize);
        let bits = 1u64 << (hash % 64) | 1u64 << ((hash >> (shift & 31)) % 64);
        if bloom & bits != bits {
            return None;
        }
        let starts = at + 16 + 8 * words as usize;
        let chain = starts + 4 * buckets as usize;
        let start = half(starts + 4 * (hash % buckets) as usize);
        if start < first {
            return None;
        }
        for number in start..start.saturating_add(SYMBOLS_MAX) {
            let found = half(chain + 4 * (number - first) as usize);
            if found | 1 == hash | 1 && self.is(number, name) {
                return Some(number);
            }
            if found & 1 == 1 {
                return None;
            }
        }
        None
    }

    fn by_hash(&self, at: usize, name: &[u8]) -> Option<u32> {
        let buckets = half(at);
        if buckets == 0 {
            return None;
        }
        let chain = at + 8 + 4 * buckets as usize;
        let mut number = half(at + 8 + 4 * (elf_hash(name) % buckets) as usize);
        for _ in 0..SYMBOLS_MAX {
            if number == 0 {
                return None;
            }
            if self.is(number, name) {
                return Some(number);
            }
            number = half(chain + 4 * number as usize);
        }
        None
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}

fn elf_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        (hash ^ ((hash & 0xf000_0000) >> 24)) & 0x0fff_ffff
    })
}

/// The dynamic section of the library, as its linker placed it.
#[cfg(shared_object)]
fn our_dynamic() -> usize {
    unsafe extern "C" {
        static _DYNAMIC: u64;
    }
    &raw const _DYNAMIC as usize
}

/// As a part of a program there is none of our own.
#[cfg(not(shared_object))]
const fn our_dynamic() -> usize {
    0
}

/// The function `name` of the objects behind us: what the program would have called without us.
/// Where the list does not have us, of any other object.
pub(crate) fn next(name: &[u8]) -> usize {
    if OURS.load(Relaxed) == 0 {
        find_ourselves();
    }
    let from = match OURS.load(Relaxed) {
        0 => FIRST.load(Relaxed),
        ours => ours,
    };
    let mut behind = objects(from).filter(|object| !object.is_ours());
    behind.find_map(|object| object.find(name)).unwrap_or(0)
}

/// The variable or function `name` that the whole program uses: the first one, maybe the program's
/// own copy.
pub(crate) fn variable(name: &[u8]) -> usize {
    let mut all = objects(FIRST.load(Relaxed));
    all.find_map(|object| object.find(name)).unwrap_or(0)
}

/// The first and the last address of the data of the object around `address` that the dynamic
/// linker made read-only (`PT_GNU_RELRO`).
pub(crate) fn sealed_around(address: usize) -> Option<(usize, usize)> {
    objects(FIRST.load(Relaxed)).find_map(|object| {
        // A library's headers are at its bias; a program's need not be, and are not looked for.
        let headers = (object.bias != 0).then(|| Headers::of(object.bias))?;
        let sealed = headers.find(PT_GNU_RELRO)?;
        let start = object.bias.wrapping_add(sealed.address);
        let end = start.wrapping_add(sealed.bytes);
        (start..end).contains(&address).then_some((start, end))
    })
}
