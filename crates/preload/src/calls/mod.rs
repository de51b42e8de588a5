//! The C functions that the library stands in front of, a family a file.
//!
//! Each calls the next one of its name, that of the C library or of another library that stands in
//! front of it, with the arguments as they came, and counts when it has returned. `errno` is the
//! next one's. Variable arguments of system calls come in the registers of fixed ones, on every
//! processor that this is built for.

use crate::arch;
use crate::link;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

mod aio;
mod close;
mod exec;
mod list;
mod name;
mod open;
mod other;
mod raw;
mod socket;
mod spawn;
mod stream;
mod transfer;

/// `struct iovec`, `struct msghdr` and the like, which are only passed on.
pub(crate) type Opaque = *const u8;

/// The next function of a name, found at its first call. The name is not in here: the dynamic
/// linker would have to write its address there at each start of a program.
#[derive(Debug)]
pub(crate) struct Next {
    at: AtomicUsize,
}

/// It is not there.
const NOWHERE: usize = 1;

impl Next {
    pub(crate) const fn new() -> Self {
        Self {
            at: AtomicUsize::new(0),
        }
    }

    /// Its address; 0: there is none.
    #[inline(always)]
    pub(crate) fn find(&self, name: &'static str) -> usize {
        match self.at.load(Relaxed) {
            0 => self.look(name),
            NOWHERE => 0,
            found => found,
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self, name: &'static str) -> usize {
        let found = link::next(name.as_bytes());
        self.at
            .store(if found == 0 { NOWHERE } else { found }, Relaxed);
        found
    }
}

/// What a function gives back that cannot be called.
pub(crate) trait Failure {
    /// From the kernel's answer, with `errno` set if that is an error.
    fn from_kernel(answer: isize) -> Self;
}

impl Failure for isize {
    #[cold]
    #[inline(never)]
    fn from_kernel(answer: isize) -> Self {
        if answer < 0 {
            set_errno(-answer as i32);
            return -1;
        }
        answer
    }
}

impl Failure for i32 {
    fn from_kernel(answer: isize) -> Self {
        isize::from_kernel(answer) as i32
    }
}

impl Failure for i64 {
    fn from_kernel(answer: isize) -> Self {
        isize::from_kernel(answer) as i64
    }
}

/// What a function gives back that keeps `errno` as it is: 0, or the number of an error.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct ErrorNumber(i32);

impl Failure for ErrorNumber {
    fn from_kernel(answer: isize) -> Self {
        Self(answer.min(0).unsigned_abs() as i32)
    }
}

/// The kernel's own answer, an error as its negative number.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Answer(i32);

impl Failure for Answer {
    fn from_kernel(answer: isize) -> Self {
        Self(answer as i32)
    }
}

/// A stream or a folder; null if there is none.
impl Failure for *mut u8 {
    fn from_kernel(answer: isize) -> Self {
        isize::from_kernel(answer).max(0) as *mut u8
    }
}

fn set_errno(error: i32) {
    if let Some(place) = errno_place() {
        // SAFETY: where the calling thread's `errno` is.
        unsafe { place.write(error) };
    }
}

/// What the last call of the calling thread that failed did so with; 0 if nobody tells.
pub(crate) fn errno() -> i32 {
    // SAFETY: where the calling thread's `errno` is.
    errno_place().map_or(0, |place| unsafe { place.read() })
}

fn errno_place() -> Option<*mut i32> {
    // SAFETY: the address of that function, or 0, which is `None`.
    let location: Option<extern "C" fn() -> *mut i32> =
        unsafe { core::mem::transmute(arch::errno_location()) };
    location.map(|location| location())
}

/// Defines C functions. `|next|` is a closure that calls the next one with the same arguments;
/// `raw` is the system call that takes its place where there is none.
macro_rules! wrap {
    ($(
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty
            $(, raw $number:expr, [$($word:expr),*])? => |$next:ident| $body:expr;
    )*) => { $(
        #[cfg_attr(shared_object, unsafe(no_mangle))]
        pub(crate) extern "C" fn $name($($argument: $type),*) -> $result {
            static NEXT: $crate::calls::Next = $crate::calls::Next::new();
            let $next = || -> $result {
                let next: Option<unsafe extern "C" fn($($type),*) -> $result> = {
                    // SAFETY: the address of the C function of this name, or 0, which is `None`.
                    unsafe { core::mem::transmute(NEXT.find(stringify!($name))) }
                };
                match next {
                    // SAFETY: the program's own call.
                    Some(next) => unsafe { next($($argument),*) },
                    None => $crate::calls::wrap!(@raw $result $(, $number, [$($word),*])?),
                }
            };
            $body
        }
    )* };
    (@raw $result:ty) => {
        <$result as $crate::calls::Failure>::from_kernel($crate::system::refuse())
    };
    (@raw $result:ty, $number:expr, [$($word:expr),*]) => {
        <$result as $crate::calls::Failure>::from_kernel(
            $crate::system::pass($number, $crate::calls::six(&[$($word as usize),*])),
        )
    };
}
pub(crate) use wrap;

/// Defines functions that call the next ones of their names and nothing more.
macro_rules! pass_on {
    ($(
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty
            $(, raw $number:expr, [$($word:expr),*])?;
    )*) => { $(
        pub(super) fn $name($($argument: $type),*) -> $result {
            static NEXT: $crate::calls::Next = $crate::calls::Next::new();
            let next: Option<unsafe extern "C" fn($($type),*) -> $result> = {
                // SAFETY: the address of the C function of this name, or 0, which is `None`.
                unsafe { core::mem::transmute(NEXT.find(stringify!($name))) }
            };
            match next {
                // SAFETY: the program's own call.
                Some(next) => unsafe { next($($argument),*) },
                None => $crate::calls::wrap!(@raw $result $(, $number, [$($word),*])?),
            }
        }
    )* };
}
pub(crate) use pass_on;

/// The arguments of a system call, filled up with zeros.
pub(crate) fn six(words: &[usize]) -> [usize; 6] {
    let mut all = [0; 6];
    for (place, word) in all.iter_mut().zip(words) {
        *place = *word;
    }
    all
}
