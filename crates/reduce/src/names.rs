//! Names that a task removed, changed, or truncated a file by: to the lines of their paths.

use crate::file_row::Row;
use crate::files::Unordered;
use record::file::FileKind;
use record::name::{Name, NameChange};
use record::unit::Nanos;

/// The rows that become lines, by path; whether components are missing in front of it.
pub(crate) type ByPath = Unordered<Vec<u8>, (Box<Row>, bool)>;

/// What was done to one name.
#[derive(Debug, Clone, Default)]
struct Changed {
    removed: bool,
    truncated: bool,
    is_folder: bool,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
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
        let Name { path, to, .. } = name;
        self.change(path, name, |it| match name.change {
            NameChange::Removed => it.removed = true,
            NameChange::FolderRemoved => (it.removed, it.is_folder) = (true, true),
            NameChange::Renamed => it.to.clone_from(to),
            NameChange::Exchanged => (it.from, it.to) = (to.clone(), to.clone()),
            NameChange::Truncated => it.truncated = true,
        });
        if let Some(to) = to {
            self.change(to, name, |it| {
                it.from = Some(path.clone());
                if name.change == NameChange::Exchanged {
                    it.to = Some(path.clone());
                }
            });
        }
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
            changed.last = name.at;
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
                row.flags.removed |= changed.removed;
                row.flags.truncated |= changed.truncated;
                row.renamed_from = changed.from;
                row.renamed_to = changed.to;
                row.named(&changed.pids, changed.first, changed.last);
            }
        }
        without
    }
}

/// A row of a name that was never opened: what it is told by the row of the name before.
fn new_row(changed: &Changed, rows: &ByPath) -> Box<Row> {
    let before = changed.from.as_ref().and_then(|from| rows.get(from));
    let mut row = Box::new(Row::of_a_name(before.map(|(row, _)| &**row), changed.first));
    if changed.is_folder {
        row.kind = FileKind::Directory;
    } else if changed.truncated && row.kind == FileKind::Unknown {
        row.kind = FileKind::File;
    }
    row
}
