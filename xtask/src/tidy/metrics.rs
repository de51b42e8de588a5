//! METRICS.md is what the tables beside the code say.

use super::tree::Tree;
use super::{Check, Fault};

/// The check. It finds nothing in a tree whose [`Tree::fresh_metrics`] nobody asked for.
pub(crate) const CHECK: Check = Check {
    name: "metrics",
    rule: "METRICS.md is what `cargo xtask docs` writes",
    find,
};

const PATH: &str = "METRICS.md";

fn find(tree: &Tree) -> Vec<Fault> {
    let Some(fresh) = &tree.fresh_metrics else {
        return Vec::new();
    };
    let written = tree.file(PATH).map_or("", |file| &file.text);
    if written == fresh {
        return Vec::new();
    }
    let same = written
        .lines()
        .zip(fresh.lines())
        .take_while(|(old, new)| old == new)
        .count();
    let message = "not what the tables say: run `cargo xtask docs`";
    vec![Fault::new(PATH, same + 1, message)]
}
