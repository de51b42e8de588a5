//! Links the program at a fixed address: its tables of pointers, 160 000 with everything in it, are
//! then right in the file. Else each start of it, one a task, writes them all anew, which takes 1
//! to 3 ms and 2.5 MiB; libraries, heap and stack still lie at random places.

#![expect(
    clippy::disallowed_macros,
    reason = "cargo reads what is printed, and a build script may panic"
)]

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    // One static file is linked so by its own flags (`cargo xtask dist`).
    if !features.split(',').any(|feature| feature == "crt-static") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
