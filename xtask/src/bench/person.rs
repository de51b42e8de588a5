//! Who runs a benchmark: the user who started it, and where that is root, uid 65534 too.

use crate::step;
use std::ffi::OsString;

/// The unprivileged user: nobody.
pub(super) const NOBODY: u32 = 65534;

/// A user that commands run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Person {
    /// Whoever started us.
    Own,
    /// `setpriv` to uid 65534.
    Nobody,
}

impl Person {
    /// All that can be had.
    pub(super) fn all() -> Vec<Self> {
        if step::is_root() && step::find_program("setpriv").is_some() {
            vec![Person::Own, Person::Nobody]
        } else {
            vec![Person::Own]
        }
    }

    /// What stands before a command so that this user runs it.
    pub(super) fn prefix(self) -> Vec<OsString> {
        let words = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ];
        match self {
            Person::Own => Vec::new(),
            Person::Nobody => words.iter().map(OsString::from).collect(),
        }
    }

    /// The name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Person::Nobody => "uid 65534",
            Person::Own if step::is_root() => "root",
            Person::Own => "user",
        }
    }
}
