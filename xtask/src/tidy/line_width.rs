//! A line fits beside another file.

use super::tree::Tree;
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "line_width",
    rule: "a line of Rust or C has at most 100 columns",
    find,
};

const COLUMNS: usize = 100;

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .filter(|file| file.ends(&[".rs", ".c", ".h"]))
        .flat_map(|file| {
            file.lines().filter_map(|(number, line)| {
                let columns = line.chars().count();
                let message = format!("{columns} columns, {COLUMNS} are allowed");
                (columns > COLUMNS).then(|| Fault::new(&file.path, number, message))
            })
        })
        .collect()
}
