//! What happens when the library is loaded: before the program's own first line.

use crate::calls::Next;
use crate::clock;
use crate::environment::{self, Words};
use crate::execution;
use crate::hot::HOT;
use crate::link;
use crate::socket;
use crate::state;
use crate::stdio;
use crate::system;
use crate::vector;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Where our own path is, and how long it is with its NUL; 0: not known.
static PATH: AtomicUsize = AtomicUsize::new(0);
static PATH_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Our file as it was then: one that a path leads to later may be another.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);

/// The dynamic linker calls this.
#[cfg(shared_object)]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn(i32, Words, *mut *mut u8) = begin;

/// And this at the end of the process, by `exit(3)`.
#[cfg(shared_object)]
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn end() {
    socket::leave_all();
}

/// Finds the program's libraries and gets ready to count; where something is missing the library
/// only passes calls on.
extern "C" fn begin(count: i32, words: Words, variables: *mut *mut u8) {
    let Some(path) = link::find_ourselves() else {
        return;
    };
    // Loaded by any other name there is no table behind us.
    if !path.starts_with(b"/proc/") {
        return;
    }
    let Some(stat) = system::stat(path.as_ptr()) else {
        return;
    };
    DEVICE.store(stat.device, Relaxed);
    INODE.store(stat.inode, Relaxed);
    PATH_BYTES.store(path.len(), Relaxed);
    PATH.store(path.as_ptr() as usize, Relaxed);
    vector::begin(count, words, variables.cast_const().cast());
    clock::find();
    environment::hide(variables);
    HOT.single
        .store(link::variable(b"__libc_single_threaded"), Relaxed);
    state::begin();
    tell_children();
    stdio::begin();
    execution::begin();
}

/// A child of `fork` is told who it is before it can start another one that borrows its memory.
fn tell_children() {
    static REGISTER: Next = Next::new();
    type Handler = Option<extern "C" fn()>;
    type Register = extern "C" fn(Handler, Handler, Handler, usize) -> i32;
    // SAFETY: the address of that function, or 0, which is `None`.
    let register: Option<Register> =
        unsafe { core::mem::transmute(REGISTER.find("__register_atfork")) };
    if let Some(register) = register {
        register(None, None, Some(in_child), 0);
    }
}

extern "C" fn in_child() {
    state::begin();
    if let Some(state) = state::known() {
        state.pid.store(system::pid(), Relaxed);
    }
}

/// The path that we were loaded from, with a NUL, as those see it who do not clear it.
pub(crate) fn own_path() -> Option<*const u8> {
    let at = PATH.load(Relaxed);
    (at != 0).then_some(at as *const u8)
}

/// Likewise, without it.
pub(crate) fn own_name() -> Option<&'static [u8]> {
    let path = own_path()?;
    let bytes = PATH_BYTES.load(Relaxed).saturating_sub(1);
    // SAFETY: the dynamic linker's name of us, which stays, and its length.
    Some(unsafe { core::slice::from_raw_parts(path, bytes) })
}

/// Whether a file is the one that we were loaded from.
pub(crate) fn is_own_file(stat: &system::Stat) -> bool {
    stat.device == DEVICE.load(Relaxed) && stat.inode == INODE.load(Relaxed)
}

/// Whether our path still leads to us, and will for a program that this process becomes: in another
/// root it may not, and another user than that of the run loses with the exec what let it in.
pub(crate) fn is_within_reach() -> bool {
    own_path().and_then(system::stat).is_some_and(|stat| {
        let (user, group) = system::user_and_group();
        is_own_file(&stat) && (user == 0 || (user, group) == (stat.user, stat.group))
    })
}
