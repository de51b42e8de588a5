//! Names in an archive that are much like one that is not.

use crate::cmd::similar::did_you_mean;
use crate::view::style::printable;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Filter};

/// The columns of what a filter may name, and the names.
fn named(filter: &Filter) -> [(&'static str, Option<&str>); 2] {
    [
        ("category", filter.category.as_deref()),
        ("set", filter.set.as_deref()),
    ]
}

/// ` (did you mean `NAME`?)` where the archive has none of the name of a set or a category that is
/// asked for, and one that is much like it; else nothing.
pub(crate) fn meant(
    archive: &Archive,
    filter: &Filter,
    heed: &dyn Fn(u64) -> bool,
) -> Result<String, Error> {
    let mut said = String::new();
    for (column, name) in named(filter) {
        let Some(name) = name else {
            continue;
        };
        let names = all(archive, &Filter::default(), column, heed)?;
        if !names.contains(name) {
            let meant = did_you_mean(name, names.iter().map(String::as_str));
            said.push_str(&printable(&meant));
        }
    }
    Ok(said)
}

/// The names that a column has of the attempts that are wanted.
pub(crate) fn all(
    archive: &Archive,
    filter: &Filter,
    column: &'static str,
    heed: &dyn Fn(u64) -> bool,
) -> Result<BTreeSet<String>, Error> {
    let (mut names, mut read) = (BTreeSet::new(), 0);
    archive.scan(&[column], filter, &mut |batch, rows| {
        read += rows.len() as u64;
        if !heed(read) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            if let Some(name) = batch.text(0, *row)
                && !names.contains(name)
            {
                names.insert(name.to_owned());
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(names)
}
