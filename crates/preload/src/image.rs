//! The library as `build.rs` made it.

/// The library's file; empty on a processor that it is not built for.
pub const IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libplimsoll.so"));
