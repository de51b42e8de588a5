//! Names that a task removed, changed, or truncated a file by: to the lines of their paths.

use crate::file_row::Row;
use crate::files::Unordered;
use crate::former::{FORMER_MAX, Former, hash};
use crate::span::TICK;
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
    /// When it was last taken from a file: removed, or changed for another one.
    gone: Option<Nanos>,
    from: Option<Other>,
    to: Option<Other>,
    pids: Vec<u32>,
    first: Nanos,
    last: Nanos,
}

/// Names that were removed and are kept as a hash each, in some 18 MiB.
const HASHES_MAX: usize = FORMER_MAX;

/// The changed names of one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    max: usize,
    changed: Unordered<Vec<u8>, Changed>,
    /// When names beyond `max` were last removed, by hash.
    removed: Unordered<u64, Nanos>,
    /// Changes that are not kept.
    lost: u64,
    /// Of these those that removed a name.
    removed_lost: u64,
}

/// What did not find its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WithoutLine {
    /// Names.
    pub(crate) names: u64,
    /// Changes that no line tells of.
    pub(crate) changes: u64,
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
            NameChange::Removed => it.removed(*at),
            NameChange::FolderRemoved => {
                it.removed(*at);
                it.is_folder = true;
            }
            NameChange::Truncated => it.truncated = true,
            NameChange::Renamed => it.taken(*at),
            NameChange::Exchanged => {}
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
                return self.change_beyond(path, name);
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

    /// Of names beyond the bound it is kept that they were removed.
    fn change_beyond(&mut self, path: &[u8], name: &Name<Vec<u8>>) {
        let removed = matches!(name.change, NameChange::Removed | NameChange::FolderRemoved);
        if !removed {
            self.lost += 1;
            return;
        }
        let (hash, full) = (hash(path), self.removed.len() >= HASHES_MAX);
        match self.removed.get_mut(&hash) {
            Some(at) => *at = name.at.max(*at),
            None if full => (self.lost, self.removed_lost) = (self.lost + 1, self.removed_lost + 1),
            None => _ = self.removed.insert(hash, name.at),
        }
    }

    /// Adds what was done to the rows of these names; a name without a row gets one while there are
    /// fewer than `lines_max`. Those of `former` are counted already. `all_told`: every change of a
    /// name came here.
    pub(crate) fn merge(
        self,
        rows: &mut ByPath,
        lines_max: usize,
        former: &Former,
        all_told: bool,
    ) -> WithoutLine {
        let all_told = all_told && self.removed_lost == 0;
        let beyond = self.removed.keys();
        let mut names = self.lost + beyond.filter(|hash| !former.has(**hash)).count() as u64;
        for (path, (row, cut)) in rows.iter_mut() {
            row.gone = !*cut && self.is_gone(path, row.opened_last);
            let hash = (!self.removed.is_empty()).then(|| hash(path));
            let found = hash.filter(|hash| self.removed.contains_key(hash));
            names -= u64::from(found.is_some_and(|hash| !former.has(hash)));
            row.removed = match found {
                Some(_) => Some(true),
                // Of a cut path it may be told under the whole one.
                None => (all_told && !*cut).then_some(false),
            };
        }
        let mut changed: Vec<_> = self.changed.into_iter().collect();
        // A file's first name comes before the names that it was given.
        changed
            .sort_unstable_by(|(a_path, a), (b_path, b)| (a.first, a_path).cmp(&(b.first, b_path)));
        for (path, changed) in changed {
            if !rows.contains_key(&path) {
                if rows.len() >= lines_max {
                    names += u64::from(former.is_empty() || !former.has(hash(&path)));
                    continue;
                }
                let mut row = new_row(&changed, rows);
                row.removed = all_told.then_some(false);
                row.gone = changed.gone.is_some();
                rows.insert(path.clone(), (row, false));
            }
            if let Some((row, _)) = rows.get_mut(&path) {
                if changed.removed {
                    row.removed = Some(true);
                }
                row.flags.truncated |= changed.truncated;
                row.renamed_from = changed.from.map(|from| from.path);
                row.renamed_to = changed.to.map(|to| to.path);
                row.named(&changed.pids, changed.first, changed.last);
            }
        }
        WithoutLine {
            names,
            changes: self.lost,
        }
    }

    /// Whether the task took a name, or that of a folder in which it lies, at `since` or later.
    fn is_gone(&self, path: &[u8], since: Nanos) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let folders = slashes.filter_map(|(at, _)| path.get(..at));
        folders.chain([path]).any(|name| {
            let kept = self.changed.get(name).and_then(|it| it.gone);
            let hashed = || (!self.removed.is_empty()).then(|| self.removed.get(&hash(name)));
            let gone = kept.or_else(|| hashed().flatten().copied());
            gone.is_some_and(|at| at.plus(TICK) >= since)
        })
    }
}

impl Changed {
    fn removed(&mut self, at: Nanos) {
        self.removed = true;
        self.taken(at);
    }

    fn taken(&mut self, at: Nanos) {
        self.gone = self.gone.max(Some(at));
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
