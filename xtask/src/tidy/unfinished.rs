//! Nothing unfinished is kept.

use super::tree::Tree;
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "unfinished",
    rule: "no unfinished code, no ignored test, no note to do it later",
    find,
};

/// Written so that this file does not find itself.
const MARKS: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("#[", "ignore"),
];

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .filter(|file| file.ends(&[".rs", ".c", ".h", ".toml", "Makefile"]))
        .flat_map(|file| {
            file.lines().flat_map(move |(number, line)| {
                MARKS
                    .iter()
                    .filter(move |mark| has_word(line, mark))
                    .map(move |mark| Fault::new(&file.path, number, format!("`{mark}`")))
            })
        })
        .collect()
}

/// Whether a mark stands in a line and is not a part of a longer word, such as a template of
/// mkstemp.
fn has_word(line: &str, mark: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(mark).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + mark.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(part) && (mark.ends_with('(') || !after.is_some_and(part))
    })
}
