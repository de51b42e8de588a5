//! The rules of the house that neither rustfmt nor clippy knows: one file a check, all of them in
//! [`CHECKS`].

mod edges;
mod exceptions;
mod file_length;
mod function_length;
mod header;
mod line_width;
mod lints;
mod metrics;
mod module_names;
mod safety;
mod scope;
mod tables;
mod tree;
mod unfinished;
mod unsafe_place;

#[cfg(test)]
mod tests;

pub(crate) use exceptions::{EXCEPTIONS, Exception};
pub(crate) use tree::Tree;

/// One rule: its name in reports and exceptions, and the faults that it finds.
pub(crate) struct Check {
    /// Its name: that of its file.
    pub(crate) name: &'static str,
    /// What it demands, one sentence.
    pub(crate) rule: &'static str,
    /// Looks for faults in a tree.
    pub(crate) find: fn(&Tree) -> Vec<Fault>,
}

/// Every check.
pub(crate) const CHECKS: &[&Check] = &[
    &edges::CHECK,
    &file_length::CHECK,
    &function_length::CHECK,
    &header::CHECK,
    &line_width::CHECK,
    &lints::CHECK,
    &metrics::CHECK,
    &module_names::CHECK,
    &safety::CHECK,
    &scope::CHECK,
    &tables::CHECK,
    &unfinished::CHECK,
    &unsafe_place::CHECK,
];

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The file, relative to the root of the tree.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) message: String,
}

impl Fault {
    /// A fault at a line (from 1) of a file.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

/// All faults that no exception covers, as `path:line: check: message`, sorted; an exception that
/// covers nothing is one.
pub(crate) fn examine(tree: &Tree, exceptions: &[Exception]) -> Vec<String> {
    let mut used = vec![false; exceptions.len()];
    let mut found = Vec::new();
    for check in CHECKS {
        for fault in (check.find)(tree) {
            let excuse = exceptions
                .iter()
                .zip(&mut used)
                .find(|(exception, _)| exception.covers(check.name, &fault));
            match excuse {
                Some((_, used)) => *used = true,
                None => found.push((check.name, fault)),
            }
        }
    }
    let stale = exceptions.iter().zip(&used).filter(|(_, used)| !**used);
    found.extend(stale.map(|(exception, _)| ("exceptions", exception.stale())));
    found.sort_by(|(_, a), (_, b)| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
        .iter()
        .map(|(check, fault)| report(check, fault))
        .collect()
}

fn report(check: &str, fault: &Fault) -> String {
    let Fault {
        path,
        line,
        message,
    } = fault;
    format!("{path}:{line}: {check}: {message}")
}
