//! A function does one thing and fits on a screen.

use super::tree::{File, Tree};
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "function_length",
    rule: "a function has at most 70 lines, in Rust and C, in tests too",
    find,
};

const LINES: usize = 70;

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .flat_map(|file| {
            functions(file)
                .into_iter()
                .filter(|(_, lines, _)| *lines > LINES)
                .map(|(line, lines, name)| {
                    let message = format!("`{name}` has {lines} lines, {LINES} are allowed");
                    Fault::new(&file.path, line, message)
                })
        })
        .collect()
}

/// First line, number of lines, name of each function of a file.
fn functions(file: &File) -> Vec<(usize, usize, String)> {
    match &file.rust {
        Some(rust) => rust
            .functions()
            .into_iter()
            .map(|f| {
                (
                    *f.lines.start(),
                    f.lines.end() - f.lines.start() + 1,
                    f.name,
                )
            })
            .collect(),
        None if file.ends(&[".c", ".h"]) => c_functions(file),
        None => Vec::new(),
    }
}

/// Functions of C: a line that ends with `{` and names parameters, from the first column to `}` in
/// the first column.
fn c_functions(file: &File) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    let mut signature = None;
    for (number, line) in file.lines() {
        if line.starts_with(|c: char| c.is_alphabetic() || c == '_') && line.contains('(') {
            let name = line.split('(').next().unwrap_or_default();
            let name = name.rsplit([' ', '*']).next().unwrap_or_default();
            signature = Some((number, name.to_owned()));
        } else if line.starts_with('}') {
            found.extend(
                signature
                    .take()
                    .map(|(first, name)| (first, number - first + 1, name)),
            );
        } else if line.ends_with(';') && !line.starts_with([' ', '\t']) {
            signature = None;
        }
    }
    found
}
