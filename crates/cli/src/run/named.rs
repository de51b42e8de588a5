//! The files that the task was said to read and to write: looked at before it starts, outputs once
//! more after its end.

use super::facts::Facts;
use super::person;
use crate::cmd::named::NamedPath;
use crate::cmd::run::RunOptions;
use crate::view::style::printable;
use record::file::path_hex;
use record::named::{Change, Look, NamedFile};
use source::stat::{self, Looked, Version};
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The start of the task waits this long for a file to answer.
const FIRST_PATIENCE: Duration = Duration::from_millis(500);
/// And its end this long: what was written may have to reach a server first.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// Files that one note names.
const NOTED_MAX: usize = 4;

/// The outputs of one task: where each is, and what was there before.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Vec<(PathBuf, Option<Version>)>);

/// Looks at all named files and puts them into the report of a task that has not begun.
pub(crate) fn first_look(options: &RunOptions, facts: &mut Facts) {
    let (inputs, mut seen) = files(&options.named_inputs, FIRST_PATIENCE);
    let told = options.inputs.map(|bytes| bytes.0);
    facts.report.task.inputs_bytes = told.or(sum(&inputs, &seen));
    note(facts, "inputs", &inputs, |file| Some(&file.before));
    facts.report.inputs = inputs;
    (facts.report.outputs, seen) = files(&options.named_outputs, FIRST_PATIENCE);
    let paths = options
        .named_outputs
        .iter()
        .map(|named| absolute(&named.path));
    facts.outputs = Outputs(paths.zip(seen).collect());
}

/// Looks at the outputs of a task that ended.
pub(crate) fn last_look(facts: &mut Facts) {
    let Outputs(before) = std::mem::take(&mut facts.outputs);
    let paths: Vec<_> = before.iter().map(|(path, _)| path.clone()).collect();
    let looked = stat::look_at(&paths, LAST_PATIENCE);
    let both = before.iter().zip(looked);
    for (file, ((_, before), after)) in facts.report.outputs.iter_mut().zip(both) {
        let same = *before == after.version;
        let after = named(after.look);
        file.change = change(&file.before, &after, same);
        file.after = Some(after);
    }
    let outputs = std::mem::take(&mut facts.report.outputs);
    note(facts, "outputs", &outputs, |file| file.after.as_ref());
    facts.report.outputs = outputs;
}

fn files(paths: &[NamedPath], patience: Duration) -> (Vec<NamedFile>, Vec<Option<Version>>) {
    let full: Vec<_> = paths.iter().map(|named| absolute(&named.path)).collect();
    let looked = stat::look_at(&full, patience);
    let versions = looked.iter().map(|one| one.version).collect();
    let file = |((asked, full), looked): ((&NamedPath, &PathBuf), Looked)| NamedFile {
        name: asked.name.clone(),
        path: full.to_string_lossy().into_owned(),
        path_hex: path_hex(full.as_os_str().as_bytes()),
        before: named(looked.look),
        after: None,
        change: None,
    };
    let files = paths.iter().zip(&full).zip(looked).map(file);
    (files.collect(), versions)
}

/// A path that stays the same when the working directory is left.
fn absolute(path: &Path) -> PathBuf {
    // Without a working directory, or empty, it leads nowhere in either form.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The look with the names of its user and group.
fn named(mut look: Look) -> Look {
    if let Some(state) = &mut look.state {
        state.user = person::known(state.uid);
        state.group = person::group(state.gid);
    }
    look
}

/// The size of all inputs, if each of them is a file that was there; links to one count once.
fn sum(inputs: &[NamedFile], versions: &[Option<Version>]) -> Option<u64> {
    let mut known = HashSet::new();
    let mut sum = None;
    for (file, version) in inputs.iter().zip(versions) {
        let (size, (device, inode, ..)) = (file.before.content()?, (*version)?);
        let size = if known.insert((device, inode)) {
            size.0
        } else {
            0
        };
        sum = Some(sum.unwrap_or(0_u64).saturating_add(size));
    }
    sum
}

/// What became of an output that is the `same` as before or not.
fn change(before: &Look, after: &Look, same: bool) -> Option<Change> {
    Some(match (before.exists?, after.exists?) {
        (false, true) => Change::Made,
        (true, true) if same => Change::Unchanged,
        (true, true) => Change::Changed,
        (true, false) => Change::Removed,
        (false, false) => Change::Missing,
    })
}

/// A note on those that are missing, and one on those of which nothing could be told.
fn note<'f>(
    facts: &mut Facts,
    which: &str,
    files: &'f [NamedFile],
    look: impl Fn(&'f NamedFile) -> Option<&'f Look>,
) {
    for (exists, what) in [(Some(false), "missing"), (None, "unknown")] {
        let without = |file: &'f NamedFile| {
            let look = look(file).filter(|look| look.exists == exists)?;
            let reason = look.reason.as_deref().unwrap_or_default();
            Some(format!("{} ({reason})", printable(&file.name)))
        };
        let mut names: Vec<_> = files.iter().filter_map(without).collect();
        let more = names.len().saturating_sub(NOTED_MAX);
        names.truncate(NOTED_MAX);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        if !names.is_empty() {
            facts.note(format!("{what} {which}: {}", names.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(exists: Option<bool>) -> Look {
        Look {
            exists,
            errno: None,
            reason: None,
            state: None,
        }
    }

    #[test]
    fn what_became_of_an_output_is_told_where_both_looks_tell() {
        let judge = |before, after, same| change(&look(before), &look(after), same);
        let (there, gone) = (Some(true), Some(false));
        assert_eq!(judge(gone, there, false), Some(Change::Made));
        assert_eq!(judge(there, there, false), Some(Change::Changed));
        assert_eq!(judge(there, there, true), Some(Change::Unchanged));
        assert_eq!(judge(there, gone, false), Some(Change::Removed));
        assert_eq!(judge(gone, gone, true), Some(Change::Missing));
        assert_eq!(judge(None, there, false), None);
        assert_eq!(judge(gone, None, true), None);
    }

    #[test]
    fn the_size_of_the_inputs_needs_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), "12345").unwrap();
        std::fs::write(path("b"), "123").unwrap();
        std::fs::hard_link(path("a"), path("c")).unwrap();
        let bytes = |names: &[&str]| {
            let paths = names.iter().map(|name| NamedPath::new(path(name)));
            let (files, versions) = files(&paths.collect::<Vec<_>>(), LAST_PATIENCE);
            sum(&files, &versions)
        };
        assert_eq!(bytes(&["a", "b", "c", "a"]), Some(8));
        assert_eq!(bytes(&["a", "none"]), None);
        assert_eq!(bytes(&["a", "."]), None);
        assert_eq!(bytes(&[]), None);
    }
}
