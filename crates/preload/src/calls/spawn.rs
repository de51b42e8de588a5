//! `posix_spawn` and its like: with the library named where it can be loaded; and the files that
//! the C library opens in the child, as the program asked for beforehand.
//!
//! What was asked for lies in a structure of the C library's own, which is believed to be what it
//! has been since glibc 2.2 if what was just asked for is found there.

use super::{ErrorNumber, Opaque, wrap};
use crate::descriptor;
use crate::environment::{Words, fit, fit_found};
use crate::system;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

wrap! {
    fn posix_spawn(
        pid: Opaque,
        path: *const u8,
        actions: Opaque,
        how: Opaque,
        words: Words,
        environment: Words,
    ) -> ErrorNumber => |next| {
        let made = Made::before(actions);
        let result = fit(path, environment, |fitted| match fitted {
            Some(fitted) => again::posix_spawn(pid, path, actions, how, words, fitted).0,
            None => next().0,
        });
        made.after(actions);
        ErrorNumber(result)
    };
    fn posix_spawnp(
        pid: Opaque,
        name: *const u8,
        actions: Opaque,
        how: Opaque,
        words: Words,
        environment: Words,
    ) -> ErrorNumber => |next| {
        let made = Made::before(actions);
        let result = fit_found(name, environment, |fitted| match fitted {
            Some(fitted) => again::posix_spawnp(pid, name, actions, how, words, fitted).0,
            None => next().0,
        });
        made.after(actions);
        ErrorNumber(result)
    };
    fn posix_spawn_file_actions_addopen(
        actions: Opaque,
        fd: i32,
        path: *const u8,
        how: i32,
        mode: u32,
    ) -> ErrorNumber => |next| {
        let result = next();
        if result.0 == 0 && FORM.load(Relaxed) == form::UNKNOWN {
            let last = opens(actions).last().flatten();
            let found = last.is_some_and(|last| last.is(fd, path, how));
            FORM.store(if found { form::KNOWN } else { form::OTHER }, Relaxed);
        }
        result
    };
}

/// The same functions of the next library, with another environment.
mod again {
    use super::{ErrorNumber, Opaque, Words};
    use crate::calls::pass_on;

    pass_on! {
        fn posix_spawn(
            pid: Opaque,
            path: *const u8,
            actions: Opaque,
            how: Opaque,
            words: Words,
            environment: Words,
        ) -> ErrorNumber;
        fn posix_spawnp(
            pid: Opaque,
            name: *const u8,
            actions: Opaque,
            how: Opaque,
            words: Words,
            environment: Words,
        ) -> ErrorNumber;
    }
}

/// What is known of the C library's structure.
static FORM: AtomicU8 = AtomicU8::new(form::UNKNOWN);

/// Values of [`FORM`].
mod form {
    pub(super) const UNKNOWN: u8 = 0;
    pub(super) const KNOWN: u8 = 1;
    pub(super) const OTHER: u8 = 2;
}

const O_CREAT: i32 = 0o100;
/// What is asked for is an open; from here on it is something that was thought of later, the first
/// of which are changes of the working folder.
const OPENS: i32 = 2;
const LATER: i32 = 3;
const ACTION_BYTES: usize = 32;
/// Actions that are looked at.
const ACTIONS_MAX: usize = 64;

/// A file that the C library is to open in the child.
#[derive(Debug, Clone, Copy)]
struct Open {
    fd: i32,
    path: *const u8,
    how: i32,
}

impl Open {
    fn is(&self, fd: i32, path: *const u8, how: i32) -> bool {
        let text = |path: *const u8| {
            // SAFETY: a C string: the program's, or the copy of it that the C library just made.
            unsafe { CStr::from_ptr(path.cast()) }
        };
        (self.fd, self.how) == (fd, how) && !self.path.is_null() && text(self.path) == text(path)
    }
}

/// What is asked for, one by one: nothing for what is no open. Ends where paths lead from
/// elsewhere.
fn opens(actions: Opaque) -> impl Iterator<Item = Option<Open>> {
    let number = move |at: Opaque| {
        // SAFETY: within the structure, as long as it says that it is, or within its list.
        unsafe { at.cast::<i32>().read_unaligned() }
    };
    let address = move |at: Opaque| {
        // SAFETY: likewise.
        unsafe { at.cast::<Opaque>().read_unaligned() }
    };
    let (room, used, list) = if actions.is_null() {
        (0, 0, core::ptr::null())
    } else {
        let list = address(actions.wrapping_add(8));
        (number(actions), number(actions.wrapping_add(4)), list)
    };
    let right = used <= room && !list.is_null() && (list as usize).is_multiple_of(8);
    let count = usize::try_from(used).unwrap_or(0).min(ACTIONS_MAX);
    (0..if right { count } else { 0 })
        .map(move |i| list.wrapping_add(i * ACTION_BYTES))
        .take_while(move |at| number(*at) < LATER)
        .map(move |at| {
            (number(at) == OPENS).then(|| Open {
                fd: number(at.wrapping_add(8)),
                path: address(at.wrapping_add(16)),
                how: number(at.wrapping_add(24)),
            })
        })
}

/// Which files of the actions will be new, a bit for each action.
#[derive(Debug, Clone, Copy)]
struct Made(u64);

impl Made {
    fn before(actions: Opaque) -> Self {
        if FORM.load(Relaxed) != form::KNOWN || !descriptor::looks() {
            return Self(0);
        }
        let is_new =
            |open: &Open| open.how & O_CREAT != 0 && !system::exists(system::HERE, open.path);
        let found = (0..ACTIONS_MAX).zip(opens(actions));
        let bits = found.filter(|(_, open)| open.as_ref().is_some_and(is_new));
        Self(bits.fold(0, |bits, (i, _)| bits | 1 << i))
    }

    /// The child has opened them by now.
    fn after(self, actions: Opaque) {
        if self.0 == 0 {
            return;
        }
        let found = (0..ACTIONS_MAX).zip(opens(actions));
        for (_, open) in found.filter(|(i, _)| self.0 & 1 << i != 0) {
            if let Some(open) = open {
                descriptor::created(open.path);
            }
        }
    }
}
