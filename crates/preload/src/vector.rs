//! The auxiliary vector: what the program was told of itself when it started.
//!
//! It lies on the program's stack, behind its words and its environment. The kernel keeps a copy,
//! of the program that it started itself: that is another one where the program runs within a
//! program (valgrind, proot), so the copy is only asked where the stack cannot be trusted.

use crate::environment::Words;
use crate::system;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const AT_PHDR: u64 = 3;
const AT_PHENT: u64 = 4;
const AT_PHNUM: u64 = 5;
const AT_PAGESZ: u64 = 6;
const AT_BASE: u64 = 7;
const AT_EXECFN: u64 = 31;
/// The longest vector that is read, in words.
const WORDS_MAX: usize = 128;
/// Variables of an environment that was cut short end with as many null pointers more.
const NULLS_MAX: usize = 1 << 12;
const PAGE_MIN: usize = 4096;
const PAGE_MAX: usize = 65536;

static PAGE: AtomicUsize = AtomicUsize::new(0);
/// Where the dynamic linker is; 0: the kernel loaded none.
static LINKER: AtomicUsize = AtomicUsize::new(0);
/// Where the path is that was executed; 0: not known.
static EXECUTED: AtomicUsize = AtomicUsize::new(0);

/// What of it is of use; nothing: it is not in there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Vector {
    /// Where the program's headers are, how long each is, how many there are.
    pub(crate) headers: Option<usize>,
    pub(crate) header_bytes: Option<usize>,
    pub(crate) header_count: Option<usize>,
    page: Option<usize>,
    linker: Option<usize>,
    executed: Option<usize>,
}

impl Vector {
    /// As the kernel keeps it.
    pub(crate) fn of_kernel() -> Self {
        let mut words = [0; WORDS_MAX];
        let count = system::auxiliary(&mut words);
        Self::from_words(words.get(..count).unwrap_or_default().iter().copied())
    }

    /// As it lies behind the environment; nothing if that is not what comes behind the program's
    /// words, or no such vector is there.
    fn of_stack(count: i32, words: Words, variables: Words) -> Option<Self> {
        let count = usize::try_from(count).ok()?;
        let behind = words.wrapping_add(count.checked_add(1)?);
        if words.is_null() || behind != variables {
            return None;
        }
        let mut end = variables;
        while word(end) != 0 {
            end = end.wrapping_add(1);
        }
        // Who took variables out of it left a null pointer for each.
        let first = (1..NULLS_MAX).find(|i| word(end.wrapping_add(*i)) != 0)?;
        let start = end.wrapping_add(first);
        let pairs = (0..WORDS_MAX / 2).take_while(|i| word(start.wrapping_add(2 * i)) != 0);
        let words = pairs.flat_map(|i| [2 * i, 2 * i + 1].map(|at| word(start.wrapping_add(at))));
        let vector = Self::from_words(words);
        let right = |page: usize| page.is_power_of_two() && (PAGE_MIN..=PAGE_MAX).contains(&page);
        (vector.page.is_some_and(right) && vector.headers.is_some()).then_some(vector)
    }

    fn from_words(mut words: impl Iterator<Item = u64>) -> Self {
        let mut vector = Self::default();
        while let (Some(key), Some(value)) = (words.next(), words.next()) {
            let place = match key {
                AT_PHDR => &mut vector.headers,
                AT_PHENT => &mut vector.header_bytes,
                AT_PHNUM => &mut vector.header_count,
                AT_PAGESZ => &mut vector.page,
                AT_BASE => &mut vector.linker,
                AT_EXECFN => &mut vector.executed,
                _ => continue,
            };
            *place = Some(value as usize);
        }
        vector
    }
}

/// A word of the stack's beginning, which stays as long as the process.
fn word(at: Words) -> u64 {
    // SAFETY: between the program's words and the end of the vector, which a null key marks.
    unsafe { at.cast::<u64>().read() }
}

/// Keeps what later calls ask for: `count` words of the program at `words`, and its environment.
pub(crate) fn begin(count: i32, words: Words, variables: Words) {
    let vector = Vector::of_stack(count, words, variables).unwrap_or_else(Vector::of_kernel);
    PAGE.store(vector.page.unwrap_or(0), Relaxed);
    LINKER.store(vector.linker.unwrap_or(0), Relaxed);
    EXECUTED.store(vector.executed.unwrap_or(0), Relaxed);
}

/// The size of a page.
pub(crate) fn page() -> usize {
    PAGE.load(Relaxed).max(PAGE_MIN)
}

/// Where the dynamic linker is that the kernel loaded for the program.
pub(crate) fn linker() -> Option<usize> {
    Some(LINKER.load(Relaxed)).filter(|at| *at != 0)
}

/// The path that was executed, with a NUL: that of a script where the program is its interpreter.
pub(crate) fn executed() -> Option<*const u8> {
    let at = EXECUTED.load(Relaxed);
    (at != 0).then_some(at as *const u8)
}
