//! Which crate may use which: the one direction of the data, as a table.

use super::tree::{File, Tree};
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "edges",
    rule: "a crate uses only the crates that MAY_USE allows it",
    find,
};

/// Folder below `crates/`, and the folders of the crates that it may use. A new crate gets its row
/// here and in ARCHITECTURE.md.
pub(crate) const MAY_USE: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("sys", &[]),
    ("preload", &[]),
    ("source", &["record", "sys", "preload"]),
    ("reduce", &["record"]),
    ("advise", &["record"]),
    ("store", &["record", "reduce"]),
    ("query", &["record", "store"]),
    ("serve", &[]),
    (
        "cli",
        &[
            "record", "sys", "preload", "source", "reduce", "advise", "store", "query", "serve",
        ],
    ),
];

const KINDS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .filter(|file| file.name() == "Cargo.toml" && file.path.matches('/').count() == 2)
        .filter_map(|file| Some((file, file.crate_name()?)))
        .flat_map(|(file, name)| faults_of(file, name))
        .collect()
}

fn faults_of(file: &File, name: &str) -> Vec<Fault> {
    let Some((_, allowed)) = MAY_USE.iter().find(|(row, _)| *row == name) else {
        return vec![Fault::new(
            &file.path,
            1,
            format!("{name} has no row in MAY_USE"),
        )];
    };
    match file.text.parse::<toml::Table>() {
        Ok(manifest) => used(&manifest)
            .into_iter()
            .filter(|used| !allowed.contains(&used.as_str()))
            .map(|used| {
                let line = line_of(file, &used);
                Fault::new(&file.path, line, format!("{name} may not use {used}"))
            })
            .collect(),
        Err(error) => vec![Fault::new(&file.path, 1, format!("no TOML: {error}"))],
    }
}

/// The folders of our crates that a manifest names as dependencies, of any kind and target.
fn used(manifest: &toml::Table) -> Vec<String> {
    let targets = manifest
        .get("target")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(|targets| targets.values().filter_map(toml::Value::as_table));
    std::iter::once(manifest)
        .chain(targets)
        .flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)?.as_table()))
        .flat_map(|dependencies| {
            dependencies
                .iter()
                .filter_map(|(key, value)| ours(key, value))
        })
        .collect()
}

/// The folder of the crate behind a dependency, if it is one of ours, under whichever name it is
/// used.
fn ours(key: &str, value: &toml::Value) -> Option<String> {
    let text = |field| value.get(field).and_then(toml::Value::as_str);
    let path = text("path").and_then(|path| path.trim_end_matches('/').rsplit('/').next());
    let package = text("package").unwrap_or(key);
    let name = path.unwrap_or_else(|| match package {
        "plimsoll" => "cli",
        other => other.strip_prefix("plimsoll-").unwrap_or(other),
    });
    let known = path.is_some() || MAY_USE.iter().any(|(row, _)| *row == name);
    (known || package.starts_with("plimsoll-")).then(|| name.to_owned())
}

fn line_of(file: &File, name: &str) -> usize {
    file.lines()
        .find(|(_, line)| line.split(['.', '=', ' ']).next() == Some(name))
        .or_else(|| {
            file.lines()
                .find(|(_, line)| line.contains(name) && line.contains('='))
        })
        .map_or(1, |(line, _)| line)
}
