//! Each unsafe block says why it is sound.

use super::tree::{File, Tree};
use super::{Check, Fault};
use crate::rust_text::words;

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "safety",
    rule: "an unsafe block or impl has a `SAFETY:` comment above it",
    find,
};

fn find(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in tree.rust() {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in rust.lines() {
            if opens_unsafe(line) && !is_explained(&lines, number) {
                faults.push(fault(file, number));
            }
        }
    }
    faults
}

fn fault(file: &File, number: usize) -> Fault {
    Fault::new(&file.path, number, "unsafe without a `SAFETY:` comment")
}

/// Whether an unsafe block or impl begins on this line of code; an unsafe function has its own
/// lint.
fn opens_unsafe(line: &str) -> bool {
    words(line, "unsafe").any(|at| {
        let after = line.get(at + "unsafe".len()..).unwrap_or_default();
        let after = after.trim_start();
        after.is_empty() || after.starts_with('{') || after.starts_with("impl")
    })
}

/// Whether a comment on line `number` (from 1), or above it in the same statement, says `SAFETY:`.
fn is_explained(lines: &[&str], number: usize) -> bool {
    let above = lines.iter().take(number).rev();
    for (distance, line) in above.enumerate() {
        let line = line.trim();
        if line.contains("SAFETY:") {
            return true;
        }
        let ends_statement = line.ends_with([';', '}']) || line.is_empty();
        if distance > 0 && !line.starts_with("//") && ends_statement {
            return false;
        }
    }
    false
}
