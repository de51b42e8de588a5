//! The graph of the tasks of a set: which had to be done before which, in how many steps, and what
//! the longest way through it takes. A function of names, parents and times.

use std::collections::{HashMap, HashSet};

/// A task, as a graph needs it. No two have the same name: a second of a name is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task<'a> {
    /// Its name within the set.
    pub name: &'a str,
    /// The tasks that had to be done before.
    pub parents: &'a [String],
    /// How long it took, in nanoseconds, if that is known.
    pub wall: Option<u64>,
}

/// The longest way through a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Its tasks, the first to be done first: places among the tasks given.
    pub tasks: Vec<usize>,
    /// Nanoseconds of all of them whose time is known.
    pub wall: u64,
    /// How many of the graph do not say how long they took: where there are any, the way may be
    /// longer, and be another.
    pub unknown: usize,
}

/// A parent that no task of the set has the name of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dangling {
    /// The place of the task that names it.
    pub task: usize,
    /// The name.
    pub parent: String,
}

/// The graph of some tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
    /// Tasks by level: those of the first need no other, those of the next only these.
    pub levels: Vec<Vec<usize>>,
    /// Ways on which a task comes before itself, each in the order of its tasks. Those that are
    /// only behind one of them, and cycles that share a task with one, are not told.
    pub cycles: Vec<Vec<usize>>,
    /// How many tasks are on a cycle or behind one: they have no level.
    pub without_level: usize,
    /// Parents that are not there.
    pub dangling: Vec<Dangling>,
    /// Names that more than one of the tasks given has.
    pub repeated: usize,
}

impl Graph {
    /// Of tasks, in any order.
    pub fn of(tasks: &[Task<'_>]) -> Self {
        let mut places = HashMap::with_capacity(tasks.len());
        let mut graph = Self {
            parents: vec![Vec::new(); tasks.len()],
            children: vec![Vec::new(); tasks.len()],
            ..Self::default()
        };
        let mut is_first = vec![true; tasks.len()];
        for ((place, task), is_first) in tasks.iter().enumerate().zip(&mut is_first) {
            *is_first = *places.entry(task.name).or_insert(place) == place;
            graph.repeated += usize::from(!*is_first);
        }
        let first = tasks.iter().enumerate().zip(&is_first);
        for ((place, task), _) in first.filter(|(_, is_first)| **is_first) {
            graph.join(place, task, &places);
        }
        graph.sort_into_levels(&is_first);
        graph
    }

    fn join(&mut self, place: usize, task: &Task<'_>, places: &HashMap<&str, usize>) {
        let mut seen = HashSet::with_capacity(task.parents.len());
        for parent in task.parents.iter().filter(|parent| seen.insert(*parent)) {
            match places.get(parent.as_str()) {
                Some(from) => {
                    push(&mut self.parents, place, *from);
                    push(&mut self.children, *from, place);
                }
                None => self.dangling.push(Dangling {
                    task: place,
                    parent: parent.clone(),
                }),
            }
        }
    }

    /// Level by level, those all of whose parents have one (Kahn 1962).
    fn sort_into_levels(&mut self, is_task: &[bool]) {
        let mut missing: Vec<usize> = self.parents.iter().map(Vec::len).collect();
        let ready = missing.iter().zip(is_task).enumerate();
        let ready = ready.filter(|(_, (missing, is_task))| **missing == 0 && **is_task);
        let mut level: Vec<usize> = ready.map(|(place, _)| place).collect();
        let mut left = is_task.iter().filter(|is_task| **is_task).count();
        while !level.is_empty() {
            left -= level.len();
            let mut next = Vec::new();
            for child in level.iter().flat_map(|place| self.children(*place)) {
                if let Some(missing) = missing.get_mut(*child) {
                    *missing -= 1;
                    if *missing == 0 {
                        next.push(*child);
                    }
                }
            }
            next.sort_unstable();
            self.levels.push(std::mem::replace(&mut level, next));
        }
        self.without_level = left;
        self.find_cycles(&missing);
    }

    /// What is left has a parent that is left: who goes from one to the next comes back.
    fn find_cycles(&mut self, missing: &[usize]) {
        let is_left = |place: usize| missing.get(place).is_some_and(|missing| *missing > 0);
        let mut walked = vec![false; missing.len()];
        for start in (0..missing.len()).filter(|one| is_left(*one)) {
            let mut way = Vec::new();
            let mut at = start;
            while let Some(mark @ false) = walked.get_mut(at) {
                *mark = true;
                way.push(at);
                let parents = self.parents(at).iter();
                match parents.copied().find(|parent| is_left(*parent)) {
                    Some(parent) => at = parent,
                    None => break,
                }
            }
            let met = way.iter().position(|place| *place == at);
            if let Some(cycle) = met.and_then(|met| way.get(met..)) {
                // Walked from child to parent.
                self.cycles.push(cycle.iter().rev().copied().collect());
            }
        }
    }

    /// The tasks that had to be done before this one, each once.
    pub fn parents(&self, place: usize) -> &[usize] {
        self.parents.get(place).map_or(&[], Vec::as_slice)
    }

    /// The tasks that had to wait for this one, each once.
    pub fn children(&self, place: usize) -> &[usize] {
        self.children.get(place).map_or(&[], Vec::as_slice)
    }

    /// Tasks of different names.
    pub fn tasks(&self) -> usize {
        self.parents.len() - self.repeated
    }

    /// Pairs of a task and one that had to be done before.
    pub fn edges(&self) -> usize {
        self.parents.iter().map(Vec::len).sum()
    }

    /// The most tasks of one level: so many could have run at once, at most, level by level.
    pub fn width(&self) -> usize {
        self.levels.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The way that takes longest, of the tasks that have a level; none if no time of theirs is
    /// known. The same tasks as [`Graph::of`] had.
    pub fn critical_path(&self, tasks: &[Task<'_>]) -> Option<Path> {
        // Until its end, and the parent on the way.
        let mut until: Vec<(u64, Option<usize>)> = vec![(0, None); tasks.len()];
        let (mut last, mut unknown, mut known) = (None, 0, 0);
        for place in self.levels.iter().flatten() {
            let wall = tasks.get(*place).and_then(|task| task.wall);
            known += usize::from(wall.is_some());
            unknown += usize::from(wall.is_none());
            let ends = |parent: &usize| until.get(*parent).map_or(0, |(ends, _)| *ends);
            // Of two that are as long the first, whichever way they are listed.
            let parents = self.parents(*place).iter();
            let before = parents
                .copied()
                .max_by_key(|parent| (ends(parent), std::cmp::Reverse(*parent)));
            let begins = before.map_or(0, |parent| ends(&parent));
            let ends = begins.saturating_add(wall.unwrap_or(0));
            if let Some(slot) = until.get_mut(*place) {
                *slot = (ends, before);
            }
            if last.is_none_or(|(longest, _)| ends > longest) {
                last = Some((ends, *place));
            }
        }
        let (wall, last) = last.filter(|_| known > 0)?;
        let before = |place: &usize| until.get(*place).and_then(|(_, before)| *before);
        let mut tasks: Vec<usize> = std::iter::successors(Some(last), before).collect();
        tasks.reverse();
        Some(Path {
            tasks,
            wall,
            unknown,
        })
    }
}

fn push(lists: &mut [Vec<usize>], place: usize, what: usize) {
    if let Some(list) = lists.get_mut(place) {
        list.push(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Name, parents and time of each.
    type Rows = Vec<(String, Vec<String>, Option<u64>)>;

    fn rows(rows: &[(&str, &[&str], u64)]) -> Rows {
        let row = |(name, parents, wall): &(&str, &[&str], u64)| {
            let parents = parents.iter().map(|parent| (*parent).to_owned());
            ((*name).to_owned(), parents.collect(), Some(*wall))
        };
        rows.iter().map(row).collect()
    }

    fn tasks(rows: &Rows) -> Vec<Task<'_>> {
        rows.iter()
            .map(|(name, parents, wall)| Task {
                name,
                parents,
                wall: *wall,
            })
            .collect()
    }

    fn path(rows: &Rows) -> Option<(Vec<usize>, u64, usize)> {
        let tasks = tasks(rows);
        let path = Graph::of(&tasks).critical_path(&tasks)?;
        Some((path.tasks, path.wall, path.unknown))
    }

    #[test]
    fn a_chain_is_as_long_as_all_of_it() {
        let chain = rows(&[("c", &["b"], 3), ("b", &["a"], 2), ("a", &[], 1)]);
        let graph = Graph::of(&tasks(&chain));
        assert_eq!((graph.tasks(), graph.edges(), graph.width()), (3, 2, 1));
        assert_eq!(graph.levels, [[2], [1], [0]]);
        assert_eq!(path(&chain), Some((vec![2, 1, 0], 6, 0)));
    }

    #[test]
    fn a_diamond_goes_by_its_longer_side() {
        let diamond = rows(&[
            ("top", &[], 1),
            ("left", &["top"], 5),
            ("right", &["top", "top"], 7),
            ("bottom", &["left", "right"], 1),
        ]);
        let graph = Graph::of(&tasks(&diamond));
        // A parent that is named twice is one.
        assert_eq!(
            (graph.edges(), graph.width(), graph.levels.len()),
            (4, 2, 3)
        );
        assert_eq!(graph.children(0), [1, 2]);
        assert_eq!(graph.parents(3), [1, 2]);
        assert_eq!(path(&diamond), Some((vec![0, 2, 3], 9, 0)));
    }

    #[test]
    fn a_fan_is_as_wide_as_it_has_ribs() {
        let mut fan = rows(&[("hub", &[], 1)]);
        for rib in 0..500 {
            fan.push((format!("r{rib}"), vec!["hub".to_owned()], Some(rib % 400)));
        }
        let graph = Graph::of(&tasks(&fan));
        assert_eq!((graph.width(), graph.levels.len()), (500, 2));
        // Of two that are as long the first.
        assert_eq!(path(&fan), Some((vec![0, 400], 400, 0)));
        assert_eq!(Graph::of(&[]), Graph::default());
        assert_eq!(Graph::of(&[]).critical_path(&[]), None);
    }

    #[test]
    fn cycles_and_what_is_behind_them_are_named() {
        let cyclic = rows(&[
            ("free", &[], 1),
            ("a", &["free", "c"], 1),
            ("b", &["a"], 1),
            ("c", &["b"], 1),
            ("behind", &["c"], 100),
            ("itself", &["itself"], 1),
        ]);
        let graph = Graph::of(&tasks(&cyclic));
        assert_eq!(graph.cycles, [vec![2, 3, 1], vec![5]]);
        assert_eq!((graph.without_level, graph.levels.len()), (5, 1));
        assert_eq!(path(&cyclic), Some((vec![0], 1, 0)));
    }

    #[test]
    fn parents_that_are_not_there_and_names_that_are_twice_are_told() {
        let mut odd = rows(&[
            ("a", &["gone", "gone"], 1),
            ("a", &["a"], 9),
            ("b", &["a"], 2),
        ]);
        let graph = Graph::of(&tasks(&odd));
        assert_eq!((graph.tasks(), graph.repeated, graph.edges()), (2, 1, 1));
        let parent = "gone".to_owned();
        assert_eq!(graph.dangling, [Dangling { task: 0, parent }]);
        assert!(graph.cycles.is_empty());
        assert_eq!(path(&odd), Some((vec![0, 2], 3, 0)));
        odd[2].2 = None;
        assert_eq!(path(&odd), Some((vec![0], 1, 1)));
        odd[0].2 = None;
        assert_eq!(path(&odd), None, "nothing is known");
    }

    #[test]
    fn a_hundred_thousand_in_a_row_and_in_layers() {
        let mut long: Rows = Vec::new();
        for number in 0..100_000 {
            let parents = (number > 0).then(|| (number - 1).to_string());
            long.push((number.to_string(), parents.into_iter().collect(), Some(1)));
        }
        let (way, wall, _) = path(&long).unwrap();
        assert_eq!((way.len(), wall), (100_000, 100_000));
        long[0].1 = vec!["99999".to_owned()];
        assert_eq!(Graph::of(&tasks(&long)).cycles[0].len(), 100_000);
        for (number, row) in long.iter_mut().enumerate() {
            let above = (number / 100).checked_sub(1);
            let parents =
                above.map(|above| (0..10).map(move |one| (above * 100 + one).to_string()));
            row.1 = parents.into_iter().flatten().collect();
        }
        let graph = Graph::of(&tasks(&long));
        assert_eq!(
            (graph.levels.len(), graph.width(), graph.edges()),
            (1000, 100, 999_000)
        );
    }

    /// The longest way by trying all of them.
    fn longest(rows: &Rows, place: usize) -> u64 {
        let parents = rows[place].1.iter().map(|parent| parent.parse().unwrap());
        let before = parents.map(|parent| longest(rows, parent)).max();
        before.unwrap_or(0) + rows[place].2.unwrap_or(0)
    }

    proptest! {
        #[test]
        fn levels_follow_their_parents_and_the_path_is_the_longest(
            drawn in prop::collection::vec((prop::collection::vec(0usize..8, 0..3), 0u64..9), 1..9),
        ) {
            let row = |(place, (parents, wall)): (usize, (Vec<usize>, u64))| {
                let parents = parents.into_iter().filter(|parent| *parent < place);
                (place.to_string(), parents.map(|one| one.to_string()).collect(), Some(wall))
            };
            let rows: Rows = drawn.into_iter().enumerate().map(row).collect();
            let tasks = tasks(&rows);
            let graph = Graph::of(&tasks);
            prop_assert_eq!(graph.levels.iter().map(Vec::len).sum::<usize>(), rows.len());
            let level = |place: usize| graph.levels.iter().position(|one| one.contains(&place));
            for place in 0..rows.len() {
                let above = graph.parents(place).iter().map(|parent| level(*parent).unwrap()).max();
                prop_assert_eq!(level(place).unwrap(), above.map_or(0, |above| above + 1));
            }
            let path = graph.critical_path(&tasks).unwrap();
            let all = (0..rows.len()).map(|place| longest(&rows, place)).max();
            prop_assert_eq!(Some(path.wall), all);
            for pair in path.tasks.windows(2) {
                prop_assert!(graph.parents(pair[1]).contains(&pair[0]));
            }
        }
    }
}
