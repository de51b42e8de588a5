//! A stack of our own: that of `main` ends where the limit of our caller says (`ulimit -s`), which
//! may be less than we need.

use crate::rlimit;
use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// With so much, `main`'s is used.
const ENOUGH_BYTES: u64 = 1 << 20;
/// What ours has; the kernel gives pages as they are used.
const BYTES: usize = 8 << 20;
/// Below it, never touched: as large as a page of any kernel.
const GUARD_BYTES: usize = 1 << 16;

/// What is to be done on the other stack.
static WORK: AtomicPtr<&mut dyn FnMut()> = AtomicPtr::new(ptr::null_mut());

/// Does `work`, on a stack that has room, as far as memory can be had. Only from `main`.
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    let low = rlimit::stack().is_some_and(|bytes| bytes < ENOUGH_BYTES);
    match low.then(map).flatten() {
        Some(memory) => on(memory, work),
        None => work(),
    }
}

/// The lowest usable byte of a new stack.
fn map() -> Option<*mut libc::c_void> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
    // SAFETY: new memory, without access: nothing of ours is touched.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            GUARD_BYTES + BYTES,
            libc::PROT_NONE,
            flags,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: within the mapping.
    let usable = unsafe { start.byte_add(GUARD_BYTES) };
    // SAFETY: the memory is ours, and nobody has used it.
    let opened = unsafe { libc::mprotect(usable, BYTES, libc::PROT_READ | libc::PROT_WRITE) };
    (opened == 0).then_some(usable)
}

/// Does `work` on the stack at `memory`, which is never given back.
fn on<T>(memory: *mut libc::c_void, work: impl FnOnce() -> T) -> T {
    let mut work = Some(work);
    let mut done: Option<Result<T, Box<dyn Any + Send>>> = None;
    // Nothing unwinds from one stack to another.
    let mut run = || done = work.take().map(|work| catch_unwind(AssertUnwindSafe(work)));
    let mut run: &mut dyn FnMut() = &mut run;
    // SAFETY: `enter` takes it before this function goes on, and `run` lives until then.
    WORK.store((&raw mut run).cast(), Ordering::Relaxed);
    let mut here = MaybeUninit::<libc::ucontext_t>::zeroed();
    let mut there = MaybeUninit::<libc::ucontext_t>::zeroed();
    // SAFETY: the place is large enough; the call fills it.
    if unsafe { libc::getcontext(there.as_mut_ptr()) } == 0 {
        let context = there.as_mut_ptr();
        // SAFETY: initialised above; only plain fields are set.
        let context = unsafe { &mut *context };
        context.uc_stack.ss_sp = memory;
        context.uc_stack.ss_size = BYTES;
        context.uc_link = here.as_mut_ptr();
        // SAFETY: the context has a stack of its own, and the function takes no argument.
        unsafe { libc::makecontext(context, enter, 0) };
        // SAFETY: `there` was made above; its end leads back here, which stays on this stack.
        unsafe { libc::swapcontext(here.as_mut_ptr(), context) };
    }
    if done.is_none() {
        // The kernel refused the switch: this stack is what there is.
        enter();
    }
    match done {
        Some(Ok(value)) => value,
        Some(Err(panic)) => resume_unwind(panic),
        None => crate::process::exit_now(125),
    }
}

extern "C" fn enter() {
    let run = WORK.swap(ptr::null_mut(), Ordering::Relaxed);
    if !run.is_null() {
        // SAFETY: stored by `on`, which waits for us; taken once.
        let run = unsafe { &mut *run };
        run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One after another: there is one place for what is to be done.
    #[test]
    fn what_is_done_there_comes_back() {
        let mut seen = 0;
        let place = map().unwrap();
        let inside = on(place, || {
            seen += 1;
            let here = 0u8;
            (&raw const here).addr()
        });
        assert!((place.addr()..place.addr() + BYTES).contains(&inside));
        assert_eq!(seen, 1);
        let panicked = catch_unwind(|| on(map().unwrap(), || panic!("as on any stack")));
        assert!(panicked.is_err());
        assert_eq!(with_room(|| 7), 7);
    }
}
