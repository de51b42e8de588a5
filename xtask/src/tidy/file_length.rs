//! One idea a file: not longer than can be read in one go.

use super::tree::{File, Tree};
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "file_length",
    rule: "a file has at most 500 lines outside tests",
    find,
};

const LINES: usize = 500;

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .filter(|file| file.ends(&[".rs", ".c", ".h"]) && !file.is_test())
        .filter_map(|file| {
            let lines = length(file);
            let message = format!("{lines} lines outside tests, {LINES} are allowed");
            (lines > LINES).then(|| Fault::new(&file.path, 1, message))
        })
        .collect()
}

fn length(file: &File) -> usize {
    file.rust.as_ref().map_or_else(
        || file.text.lines().count(),
        |rust| rust.lines_outside_tests(),
    )
}
