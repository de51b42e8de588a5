//! The repository speaks of the project alone: not of the machine it was written on, nor of who
//! wrote it with what.

use super::tree::{File, Tree};
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "scope",
    rule: "no path of a private machine, no registry's host, no word about the making of the text",
    find,
};

/// Written so that this file does not find itself.
const BANNED: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of a private machine"),
    (concat!("/tmp/", "wt"), "a path of a private machine"),
    (concat!("crates", ".io"), "a registry's host"),
    (concat!("pypi", ".org"), "a registry's host"),
    (concat!("pythonhosted", ".org"), "a registry's host"),
    (concat!("npmjs", "."), "a registry's host"),
    (concat!("proxy.golang", "."), "a registry's host"),
    (concat!("deb.debian", ".org"), "a registry's host"),
    (concat!("AI ", "assistant"), "the making of the text"),
    (concat!("language ", "model"), "the making of the text"),
    (concat!("a session ", "of"), "the making of the text"),
];

/// Made by cargo, which names the registry.
const MADE: &[&str] = &["Cargo.lock"];

fn find(tree: &Tree) -> Vec<Fault> {
    tree.files()
        .filter(|file| !MADE.contains(&file.name()))
        .flat_map(faults_of)
        .collect()
}

fn faults_of(file: &File) -> impl Iterator<Item = Fault> {
    file.lines().flat_map(move |(number, line)| {
        BANNED
            .iter()
            .filter(move |(text, _)| line.contains(text))
            .map(move |(text, what)| Fault::new(&file.path, number, format!("`{text}`: {what}")))
    })
}
