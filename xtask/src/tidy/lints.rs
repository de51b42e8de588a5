//! No crate escapes the lints: each inherits the workspace's, and a `clippy.toml` of its own
//! repeats the root's.

use super::tree::{File, Tree};
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "lints",
    rule: "a crate inherits the workspace's lints, and its clippy.toml repeats the root's lines",
    find,
};

/// Crates that write their own table because an inherited `forbid(unsafe_code)` cannot be relaxed.
const OWN_TABLE: &[&str] = &["sys", "preload"];

fn find(tree: &Tree) -> Vec<Fault> {
    let root = tree.file("clippy.toml");
    tree.files()
        .filter(|file| file.folder().matches('/').count() <= 1 && !file.folder().is_empty())
        .flat_map(|file| match file.name() {
            "Cargo.toml" => manifest(file),
            "clippy.toml" => root.map_or_else(Vec::new, |root| missing(file, root)),
            _ => Vec::new(),
        })
        .collect()
}

fn manifest(file: &File) -> Vec<Fault> {
    if file
        .crate_name()
        .is_some_and(|name| OWN_TABLE.contains(&name))
    {
        return Vec::new();
    }
    let inherits = file.text.parse::<toml::Table>().is_ok_and(|manifest| {
        manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace")?.as_bool())
            .unwrap_or(false)
    });
    if inherits {
        Vec::new()
    } else {
        vec![Fault::new(&file.path, 1, "no `[lints] workspace = true`")]
    }
}

fn missing(file: &File, root: &File) -> Vec<Fault> {
    root.lines()
        .map(|(_, line)| line)
        .filter(|line| !line.trim().is_empty() && !file.text.lines().any(|own| own == *line))
        .map(|line| Fault::new(&file.path, 1, format!("does not repeat `{line}`")))
        .collect()
}
