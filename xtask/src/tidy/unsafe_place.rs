//! Unsafe code stays behind one fence.

use super::tree::Tree;
use super::{Check, Fault};
use crate::rust_text::words;

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "unsafe_place",
    rule: "unsafe code stands only in crates/sys and crates/preload",
    find,
};

const ALLOWED: &[&str] = &["sys", "preload"];

fn find(tree: &Tree) -> Vec<Fault> {
    tree.rust()
        .filter(|(file, _)| {
            !file
                .crate_name()
                .is_some_and(|name| ALLOWED.contains(&name))
        })
        .flat_map(|(file, rust)| {
            rust.lines()
                .filter(|(_, line)| words(line, "unsafe").next().is_some())
                .map(|(number, _)| Fault::new(&file.path, number, "unsafe code outside sys"))
        })
        .collect()
}
