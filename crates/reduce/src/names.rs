//! Names that a task removed, changed, or truncated a file by: to the lines of their paths.

use crate::file_row::Row;
use crate::files::Unordered;
use record::file::FileKind;
use record::name::{Name, NameChange};
use record::unit::Nanos;

/// The rows that become lines, by path; whether components are missing in front of it.
pub(crate) type ByPath = Unordered<Vec<u8>, (Box<Row>, bool)>;

/// Another name of a file, and when it was changed.
#[derive(Debug, Clone)]
struct Other {
    path: Vec<u8>,
    at: Nanos,
}

/// Keeps the later of two: what one process did may be told after what another one did later.
fn put(place: &mut Option<Other>, path: &[u8], at: Nanos) {
    if place.as_ref().is_none_or(|known| known.at <= at) {
        let path = path.to_vec();
        *place = Some(Other { path, at });
    }
}

/// What was done to one name.
#[derive(Debug, Clone, Default)]
struct Changed {
    removed: bool,
    truncated: bool,
    is_folder: bool,
    from: Option<Other>,
    to: Option<Other>,
    pids: Vec<u32>,
    first: Nanos,
    last: Nanos,
}

/// The changed names of one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    max: usize,
    changed: Unordered<Vec<u8>, Changed>,
    /// Changes of names beyond `max`.
    beyond: u64,
}

impl Names {
    /// So many names are kept at most.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    /// A call changed a name; the paths lead from the root.
    pub(crate) fn take(&mut self, name: &Name<Vec<u8>>) {
        let Name { path, at, .. } = name;
        let exchanged = name.change == NameChange::Exchanged;
        self.change(path, name, |it| match name.change {
            NameChange::Removed => it.removed = true,
            NameChange::FolderRemoved => (it.removed, it.is_folder) = (true, true),
            NameChange::Truncated => it.truncated = true,
            NameChange::Renamed | NameChange::Exchanged => {}
        });
        let Some(to) = &name.to else { return };
        self.change(path, name, |it| {
            put(&mut it.to, to, *at);
            if exchanged {
                put(&mut it.from, to, *at);
            }
        });
        self.change(to, name, |it| {
            put(&mut it.from, path, *at);
            if exchanged {
                put(&mut it.to, path, *at);
            }
        });
    }

    fn change(&mut self, path: &[u8], name: &Name<Vec<u8>>, apply: impl FnOnce(&mut Changed)) {
        if !self.changed.contains_key(path) {
            if self.changed.len() >= self.max {
                self.beyond += 1;
                return;
            }
            let first = Changed {
                first: name.at,
                ..Changed::default()
            };
            self.changed.insert(path.to_vec(), first);
        }
        if let Some(changed) = self.changed.get_mut(path) {
            changed.first = changed.first.min(name.at);
            changed.last = changed.last.max(name.at);
            if !changed.pids.contains(&name.pid) {
                changed.pids.push(name.pid);
            }
            apply(changed);
        }
    }

    /// Adds what was done to the rows of these names; a name without a row gets one while there are
    /// fewer than `lines_max`. How many found none.
    pub(crate) fn merge(self, rows: &mut ByPath, lines_max: usize) -> u64 {
        let mut without = self.beyond;
        let mut changed: Vec<_> = self.changed.into_iter().collect();
        // A file's first name comes before the names that it was given.
        changed
            .sort_unstable_by(|(a_path, a), (b_path, b)| (a.first, a_path).cmp(&(b.first, b_path)));
        for (path, changed) in changed {
            if !rows.contains_key(&path) {
                if rows.len() >= lines_max {
                    without += 1;
                    continue;
                }
                let row = new_row(&changed, rows);
                rows.insert(path.clone(), (row, false));
            }
            if let Some((row, _)) = rows.get_mut(&path) {
                row.removed |= changed.removed;
                row.flags.truncated |= changed.truncated;
                row.renamed_from = changed.from.map(|from| from.path);
                row.renamed_to = changed.to.map(|to| to.path);
                row.named(&changed.pids, changed.first, changed.last);
            }
        }
        without
    }
}

/// A row of a name that was never opened: what it is told by the row of the name before.
fn new_row(changed: &Changed, rows: &ByPath) -> Box<Row> {
    let before = changed.from.as_ref().and_then(|from| rows.get(&from.path));
    let mut row = Box::new(Row::of_a_name(before.map(|(row, _)| &**row), changed.first));
    if changed.is_folder {
        row.kind = FileKind::Directory;
    } else if changed.truncated && row.kind == FileKind::Unknown {
        row.kind = FileKind::File;
    }
    row
}
