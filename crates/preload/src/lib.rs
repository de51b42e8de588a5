//! The library that `plimsoll run` loads into dynamic programs (`LD_PRELOAD`) to count what they do
//! with files, and what the run must know of it.
//!
//! Compiled twice: as a crate, for [`layout`], [`judge`] and the [`IMAGE`] of the library; and by
//! `build.rs` as that library (`cfg(shared_object)`), which defines the C functions of `calls/`.
//! In there is no C library: only system calls of its own, and the functions of the program's
//! libraries, found where the dynamic linker keeps them. It asks for no memory but from the kernel,
//! takes no lock and leaves `errno` alone, so that it may be called in a signal handler, after
//! `fork`, and within `malloc`.

#![no_std]
#![cfg_attr(
    not(shared_object),
    allow(dead_code, reason = "only the library calls what counts")
)]

#[cfg(test)]
extern crate std;

#[cfg(target_arch = "aarch64")]
#[path = "arch_aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "arch_x86_64.rs"]
mod arch;

mod calls;
mod clock;
mod count;
mod datagram;
mod descriptor;
mod environment;
mod execution;
mod hot;
#[cfg(not(shared_object))]
mod image;
pub mod judge;
pub mod layout;
mod link;
#[cfg(shared_object)]
mod memory;
mod names;
mod opening;
mod socket;
mod start;
mod state;
mod stdio;
mod system;
mod table;
mod vector;

#[cfg(not(shared_object))]
pub use image::IMAGE;

/// Nothing here panics; the language wants to know all the same.
#[cfg(shared_object)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    system::abort()
}
