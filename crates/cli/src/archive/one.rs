//! One attempt, by what it is called.

use crate::view::style::printable;
use anyhow::{Result, bail};
use std::ops::ControlFlow;
use store::Error;
use store::archive::folder::Stored;
use store::archive::{Archive, Filter};

/// What has a name.
pub(crate) enum Found {
    /// Nothing.
    None,
    /// More than one.
    Several,
    /// This.
    One(Box<Stored>),
}

/// The only attempt of this id, of an id that begins so, or of the task of this name.
pub(crate) fn find(archive: &Archive, id: &str) -> Result<Stored> {
    let found = look(archive, id)?;
    match found {
        Found::One(stored) => Ok(*stored),
        Found::None => bail!(
            "no attempt `{}` in {}",
            printable(id),
            archive.folder().path().display()
        ),
        Found::Several => bail!("{}", several(id)),
    }
}

/// What is to be said where more than one has a name.
pub(crate) fn several(id: &str) -> String {
    format!(
        "several attempts are called `{}` or begin so",
        printable(id)
    )
}

/// The same, where it is no failure that there is none.
pub(crate) fn look(archive: &Archive, id: &str) -> Result<Found, Error> {
    let is_prefix = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = match is_prefix {
        true => archive.find(&id.to_ascii_lowercase(), 2)?,
        false => Vec::new(),
    };
    if found.is_empty() {
        for one in ids_of_task(archive, id)? {
            found.extend(archive.find(&one, 1)?);
        }
    }
    let more = found.len() > 1;
    Ok(match found.pop() {
        None => Found::None,
        Some(_) if more => Found::Several,
        Some(one) => Found::One(Box::new(one)),
    })
}

/// Two at most.
fn ids_of_task(archive: &Archive, task: &str) -> Result<Vec<String>, Error> {
    let filter = Filter {
        task: Some(task.to_owned()),
        ..Filter::default()
    };
    let mut ids = Vec::new();
    archive.scan(&["id"], &filter, &mut |batch, rows| {
        let texts = rows.iter().filter_map(|row| batch.text(0, *row));
        ids.extend(texts.map(str::to_owned));
        Ok(match ids.len() > 1 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    ids.truncate(2);
    Ok(ids)
}
