//! In whose line a file is that got another name.
//!
//! What was done with a file is told by the name under which it was opened. Of several files that
//! had this name one after another, each but the last one is told by the first name that it was
//! given later and that no other file had after it. One without such a name stays.

use crate::at_path::{AtPath, Number, number};
use crate::file_row::Row;
use crate::files::Unordered;
use crate::span::TICK;
use record::name::{Name, NameChange};
use record::unit::Nanos;

/// Names of one file that are looked at.
const NAMES_MAX: usize = 64;

/// Moves to one name that are looked at.
const MOVES_MAX: usize = 1024;

/// The files by their paths; whether components are missing in front of it.
pub(crate) type Found = Unordered<Vec<u8>, (AtPath, bool)>;

/// One name that became another.
#[derive(Debug, Clone)]
struct Move {
    at: Nanos,
    from: Vec<u8>,
    to: Vec<u8>,
}

/// The names of a task that became others, of files and folders.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moves {
    max: usize,
    all: Vec<Move>,
}

/// A name that a file was given: which move that was, and the name.
#[derive(Debug)]
struct Given {
    index: usize,
    name: Vec<u8>,
}

/// A file by its path, its number and when it was first used; and the names that it was given.
type Placed = (Vec<u8>, (Number, Nanos), Vec<Given>);

/// The moves in the order in which they took place, and by their names.
struct Ordered<'a> {
    all: &'a [Move],
    from: Unordered<&'a [u8], Vec<usize>>,
    to: Unordered<&'a [u8], Vec<usize>>,
}

impl Moves {
    /// So many are kept at most.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            all: Vec::new(),
        }
    }

    /// A call changed a name.
    pub(crate) fn take(&mut self, name: &Name<Vec<u8>>) {
        let exchanged = name.change == NameChange::Exchanged;
        let Some(to) = &name.to else { return };
        if self.all.len() >= self.max || (!exchanged && name.change != NameChange::Renamed) {
            return;
        }
        let mut put = |from: &Vec<u8>, to: &Vec<u8>| {
            self.all.push(Move {
                at: name.at,
                from: from.clone(),
                to: to.clone(),
            });
        };
        put(&name.path, to);
        if exchanged {
            put(to, &name.path);
        }
    }

    /// Puts each file under the name by which it is told.
    pub(crate) fn place(mut self, found: &mut Found) {
        // Those at one time were told in their order.
        self.all.sort_by_key(|it| it.at);
        let moves = Ordered::new(&self.all);
        for (path, (files, _)) in found.iter_mut().filter(|(_, it)| it.0.rows().len() > 1) {
            files.join(|first, next| moves.first_between(path, first, next).is_none());
        }
        if moves.all.is_empty() {
            return;
        }
        reunite(&moves, found);
        let placed: Vec<_> = found
            .iter_mut()
            .filter(|(_, (files, cut))| !*cut && files.rows().len() > 1)
            .flat_map(|(path, (files, _))| {
                files.sort();
                moves.of_rows(path, files)
            })
            .collect();
        for (path, (file, first), given) in placed {
            let is_own = given
                .into_iter()
                .find(|it| !moves.is_taken(it, file, found));
            let row = is_own.and_then(|own| Some((own, take_out(found, &path, file, first)?)));
            if let Some((own, row)) = row {
                found.entry(own.name).or_default().0.put(row);
            }
        }
    }
}

/// Puts what was done with a file through a descriptor that was there when its name changed to the
/// row of the name before.
fn reunite(moves: &Ordered<'_>, found: &mut Found) {
    let mut later = Vec::new();
    for (path, (files, cut)) in found.iter() {
        for row in files.rows().iter().filter(|_| !*cut) {
            let used = row.counts.opens + row.counts.executions;
            if used == 0 && !row.mixed && moves.leads_to(path) {
                later.push((row.first, path.clone(), number(&row.file)));
            }
        }
    }
    // What got two names goes to the second first, and with that to the first.
    later.sort_unstable();
    for (first, path, file) in later.into_iter().rev() {
        let has_it = |name: &[u8]| {
            let files = found.get(name).map(|(files, _)| files.rows());
            files.is_some_and(|rows| rows.iter().any(|row| row.is_only(file)))
        };
        let Some(before) = moves.name_before(&path, first, has_it) else {
            continue;
        };
        let Some(row) = take_out(found, &path, file, first) else {
            continue;
        };
        if let Some(same) = found.get_mut(&before).and_then(|it| it.0.of(file, first)) {
            same.merge(row);
        }
    }
}

fn take_out(found: &mut Found, path: &[u8], file: Number, first: Nanos) -> Option<Row> {
    let (files, _) = found.get_mut(path)?;
    let row = files.take_out(file, first);
    if files.rows().is_empty() {
        found.remove(path);
    }
    row
}

/// The folders of a path, and itself.
fn names_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at)).chain([path])
}

/// The path with another beginning.
fn with_beginning(path: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    [new, path.get(old.len()..).unwrap_or_default()].concat()
}

impl<'a> Ordered<'a> {
    fn new(all: &'a [Move]) -> Self {
        let (mut from, mut to) = (Unordered::default(), Unordered::default());
        for (index, one) in all.iter().enumerate() {
            let of_from: &mut Vec<usize> = from.entry(&one.from[..]).or_default();
            of_from.push(index);
            let of_to: &mut Vec<usize> = to.entry(&one.to[..]).or_default();
            of_to.push(index);
        }
        Self { all, from, to }
    }

    fn leads_to(&self, path: &[u8]) -> bool {
        names_above(path).any(|name| self.to.contains_key(name))
    }

    /// Which name the file had, of which `has_it` says so, that had this one at `at`.
    fn name_before(
        &self,
        path: &[u8],
        at: Nanos,
        has_it: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let mut waiting = vec![(path.to_vec(), self.all.len())];
        let mut seen: Vec<Vec<u8>> = vec![path.to_vec()];
        while let Some((name, end)) = waiting.pop() {
            for above in names_above(&name) {
                let indices = self.to.get(above).map_or(&[][..], |it| it);
                let before = indices.iter().rev().filter(|index| **index < end);
                for index in before.take(MOVES_MAX) {
                    let Some(one) = self.all.get(*index) else {
                        continue;
                    };
                    if one.at > at.plus(TICK) || seen.len() >= NAMES_MAX {
                        continue;
                    }
                    let before = with_beginning(&name, above, &one.from);
                    if has_it(&before) {
                        return Some(before);
                    }
                    if !seen.contains(&before) {
                        seen.push(before.clone());
                        waiting.push((before, *index));
                    }
                }
            }
        }
        None
    }

    /// The first move of this name or of a folder above it, from that of number `least` on.
    fn first_of(&self, path: &[u8], least: usize) -> Option<Given> {
        let firsts = names_above(path).filter_map(|above| {
            let indices = self.from.get(above)?;
            let first = indices.partition_point(|index| *index < least);
            Some((*indices.get(first)?, above))
        });
        let (index, above) = firsts.min()?;
        let name = with_beginning(path, above, &self.all.get(index)?.to);
        Some(Given { index, name })
    }

    /// The first move of them between the first uses of two files.
    fn first_between(&self, path: &[u8], first: Nanos, next: Nanos) -> Option<Given> {
        let least = self.all.partition_point(|it| it.at < first);
        let given = self.first_of(path, least)?;
        (self.at(given.index) < next).then_some(given)
    }

    /// The files that had this name, but the last one, with the names that each was given later;
    /// `files` are sorted.
    fn of_rows(&self, path: &[u8], files: &AtPath) -> Vec<Placed> {
        let pairs = files.rows().windows(2);
        let moved = pairs.filter_map(|pair| {
            let [row, next] = pair else { return None };
            // Else the name was that of the next one by then.
            let given = self.first_between(path, row.first, next.first)?;
            let file = (number(&row.file), row.first);
            (!row.mixed).then(|| (path.to_vec(), file, self.after(given)))
        });
        moved.collect()
    }

    /// A name that a file was given, and those that it was given after that.
    fn after(&self, first: Given) -> Vec<Given> {
        let mut all = vec![first];
        while let Some(last) = all.last()
            && all.len() < NAMES_MAX
            && let Some(next) = self.first_of(&last.name, last.index + 1)
            && !self.is_given(&last.name, last.index, next.index)
        {
            all.push(next);
        }
        all
    }

    /// Whether a move between two others gave this name to something.
    fn is_given(&self, name: &[u8], after: usize, before: usize) -> bool {
        names_above(name).any(|above| {
            let indices = self.to.get(above).map_or(&[][..], |it| it);
            let next = indices.partition_point(|index| *index <= after);
            indices.get(next).is_some_and(|index| *index < before)
        })
    }

    fn at(&self, index: usize) -> Nanos {
        self.all.get(index).map_or(Nanos(0), |it| it.at)
    }

    /// Whether another file had the name after that one.
    fn is_taken(&self, given: &Given, file: Number, found: &Found) -> bool {
        let at = self.at(given.index);
        let files = found.get(&given.name).map(|(files, _)| files.rows());
        let mut rows = files.unwrap_or_default().iter();
        rows.any(|row| row.first > at && !row.is_only(file))
            || self.is_given(&given.name, given.index, self.all.len())
    }
}
