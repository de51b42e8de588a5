//! The memory of this process that it does not use (`malloc_trim(3)`).

/// Gives back to the kernel what was freed: of who holds much for a moment and then lives long.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers; it may be called at any time.
    unsafe {
        libc::malloc_trim(0)
    };
}
