//! Every file says first what it is.

use super::tree::Tree;
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "header",
    rule: "a Rust file opens with //!, a C file with a comment",
    find,
};

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .filter_map(|file| {
            let wanted: &[&str] = match file.path.rsplit('.').next()? {
                "rs" => &["//! "],
                "c" | "h" => &["//", "/*"],
                _ => return None,
            };
            let good = wanted.iter().any(|start| file.text.starts_with(start));
            let message = format!("opens without {}", wanted.join(" or "));
            (!good).then(|| Fault::new(&file.path, 1, message))
        })
        .collect()
}
