//! The launcher within our own program, for where none can be executed from memory: a start of it
//! under the launcher's name goes there before `main`.

use std::ffi::CStr;

/// The launcher's first word. It is not called as the program is: who kills all processes of that
/// name leaves one that ends the tree.
pub(super) const NAME: &CStr = c"plim-launcher";

/// Words in front of COMMAND's.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const WORDS: libc::c_int = 7;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn(libc::c_int, *const *const libc::c_char) = begin;

/// The C library passes these on to constructors as `main` gets them; the list lies where the
/// kernel put it, behind the count.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" fn begin(count: libc::c_int, words: *const *const libc::c_char) {
    unsafe extern "C" {
        fn plimsoll_launcher_start(stack: *const libc::c_long);
    }
    if count <= WORDS {
        return;
    }
    // SAFETY: there are more words than one.
    let first = unsafe { words.read() };
    // SAFETY: each word is a C string.
    let first = unsafe { CStr::from_ptr(first) };
    if first == NAME {
        // SAFETY: the word of the count is in front of the list (System V ABI).
        let stack = unsafe { words.cast::<libc::c_long>().sub(1) };
        // SAFETY: what the kernel gave us is as it gives it to the launcher. Never returns.
        unsafe { plimsoll_launcher_start(stack) };
    }
}
