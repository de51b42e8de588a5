//! Names that say nothing.

use super::tree::Tree;
use super::{Check, Fault};

/// The check.
pub(crate) const CHECK: Check = Check {
    name: "module_names",
    rule: "no file, folder or module is called manager, helper, util, common or misc",
    find,
};

const BANNED: &[&str] = &["manager", "helper", "util", "common", "misc"];

fn find(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in tree.rust() {
        let parts = file.path.trim_end_matches(".rs").split('/');
        faults.extend(
            parts
                .filter(|part| is_banned(part))
                .map(|part| Fault::new(&file.path, 1, format!("`{part}` says nothing"))),
        );
        for (number, line) in rust.lines() {
            let mut words = line.split_whitespace().skip_while(|word| *word != "mod");
            let name = words.nth(1).unwrap_or_default();
            // `mod name;` is told by its file.
            if line.trim_end().ends_with('{') && is_banned(name) {
                faults.push(Fault::new(
                    &file.path,
                    number,
                    format!("`{name}` says nothing"),
                ));
            }
        }
    }
    faults
}

fn is_banned(name: &str) -> bool {
    name.split('_').any(|word| {
        let one = word.strip_suffix('s').unwrap_or(word);
        BANNED.contains(&word) || BANNED.contains(&one)
    })
}
