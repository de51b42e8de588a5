//! The process table: a line for each ended process up to a bound, identical ones folded beyond
//! it.

use crate::life::{Life, nothing, words};
use crate::spent::Spent;
use record::identity::Ending;
use record::report::Process;
use record::unit::Nanos;
use record::value::Method;
use std::collections::HashMap;
use std::sync::Arc;

/// Distinct folds kept, and at most half of the lines; what differs from all of them goes into one
/// fold of others.
const FOLDS_MAX: usize = 4096;

/// The name of the fold of everything else.
const OTHERS: &[u8] = b"(others)";

/// Parent's command, command, and how it ended as (kind, number).
type Key = (Arc<[u8]>, Arc<[u8]>, (u8, u8));

const UNKNOWN: (u8, u8) = (0, 0);

fn ending_key(ending: Option<Ending>) -> (u8, u8) {
    match ending {
        None => UNKNOWN,
        Some(Ending::Code(code)) => (1, code),
        Some(Ending::Signal(signal)) => (2, signal),
    }
}

#[derive(Debug, Clone)]
struct Fold {
    pid: u32,
    parent: Option<u32>,
    start: Nanos,
    end: Option<Nanos>,
    spent: Spent,
}

/// The process table.
#[derive(Debug)]
pub(crate) struct Table {
    max: usize,
    /// The main process, which always has a line.
    root: u32,
    rows: Vec<Row>,
    folds: HashMap<Key, Fold>,
}

/// A process with a line of its own.
#[derive(Debug)]
struct Row {
    life: Box<Life>,
    parent_command: Arc<[u8]>,
    late_cpu: bool,
}

impl Row {
    fn key(&self) -> Key {
        let command = Arc::clone(&self.life.command);
        let ending = ending_key(self.life.ending);
        (Arc::clone(&self.parent_command), command, ending)
    }
}

impl Table {
    /// An empty table of at most `max` lines, folds and the main process `root` counted; one line
    /// is too few to tell the main process from the others, so two is the least.
    pub(crate) fn new(max: usize, root: u32) -> Self {
        Self {
            max: max.max(2),
            root,
            rows: Vec::new(),
            folds: HashMap::new(),
        }
    }

    /// Adds an ended process; `late_cpu` as in [`Life::spent`].
    pub(crate) fn push(&mut self, life: Box<Life>, parent_command: Arc<[u8]>, late_cpu: bool) {
        let main = life.pid == self.root;
        let row = Row {
            life,
            parent_command,
            late_cpu,
        };
        if main || self.len() < self.max {
            self.rows.push(row);
        } else {
            self.fold(row);
        }
        self.shrink(self.max);
    }

    /// Adds a process that lives on and has no line of its own.
    pub(crate) fn fold_living(&mut self, life: Box<Life>, late_cpu: bool) {
        self.fold(Row {
            life,
            parent_command: nothing(),
            late_cpu,
        });
    }

    /// The most lines there may be.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Lines used.
    fn len(&self) -> usize {
        self.rows.len() + self.folds.len()
    }

    /// Folds the newest lines until no more than `max` are used; the main process keeps its own.
    fn shrink(&mut self, max: usize) {
        while self.len() > max {
            let root = self.root;
            let Some(newest) = self.rows.iter().rposition(|row| row.life.pid != root) else {
                return;
            };
            let row = self.rows.remove(newest);
            self.fold(row);
        }
    }

    fn fold(&mut self, row: Row) {
        let folds_max = (self.max / 2).min(FOLDS_MAX);
        let mut key = row.key();
        // The last fold is kept for the others.
        if self.folds.len() + 1 >= folds_max && !self.folds.contains_key(&key) {
            key = (nothing(), Arc::from(OTHERS), UNKNOWN);
        }
        let life = &row.life;
        let fold = self.folds.entry(key).or_insert_with(|| Fold {
            pid: life.pid,
            parent: life.parent,
            start: life.start,
            end: life.end,
            spent: Spent::default(),
        });
        fold.start = fold.start.min(life.start);
        fold.end = fold.end.max(life.end);
        fold.spent.add(&life.spent(row.late_cpu));
    }

    /// The end of `pid`, if its line is here and lacks one that was told.
    pub(crate) fn tell_end(&mut self, pid: u32, at: Nanos, ending: Ending) {
        let untold = |life: &&mut Box<Life>| life.pid == pid && life.ending.is_none();
        let mut lives = self.rows.iter_mut().rev().map(|row| &mut row.life);
        if let Some(life) = lives.find(untold) {
            life.end = Some(at.max(life.start));
            life.end_told = true;
            life.ending = Some(ending);
        }
    }

    /// Every line, by start, and one for each of `living`; times counted from `zero` to `now`. The
    /// table is empty then.
    pub(crate) fn lines(
        &mut self,
        living: impl ExactSizeIterator<Item = Box<Life>>,
        (zero, now): (Nanos, Nanos),
        late_cpu: bool,
    ) -> Lines {
        self.shrink(self.max.saturating_sub(living.len()));
        let ended = self.rows.drain(..).map(|row| row.life);
        let mut lines: Vec<_> = ended.chain(living).map(Line::One).collect();
        let folds = self.folds.drain();
        lines.extend(folds.map(|fold| Line::Many(Box::new(fold))));
        lines.sort_by_key(Line::place);
        Lines {
            lines,
            zero,
            now,
            late_cpu,
        }
    }
}

/// The lines of the process table. Each is made when it is asked for: it is many times as large as
/// what it is made of.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    lines: Vec<Line>,
    zero: Nanos,
    now: Nanos,
    late_cpu: bool,
}

impl Lines {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// How many processes have no line of their own.
    pub(crate) fn folded(&self) -> u64 {
        let many = self.lines.iter().map(|line| match line {
            Line::One(_) => 0,
            Line::Many(fold) => fold.1.spent.count,
        });
        many.sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// One after the other, by start.
    pub fn iter(&self) -> impl Iterator<Item = Process> + '_ {
        self.lines.iter().map(|line| match line {
            Line::One(life) => life.process(self.zero, self.now, self.late_cpu),
            Line::Many(fold) => fold.1.line(&fold.0, self.zero),
        })
    }
}

#[derive(Debug, Clone)]
enum Line {
    One(Box<Life>),
    Many(Box<(Key, Fold)>),
}

impl Line {
    fn place(&self) -> (Nanos, u32) {
        match self {
            Line::One(life) => (life.start, life.pid),
            Line::Many(fold) => (fold.1.start, fold.1.pid),
        }
    }
}

impl Fold {
    fn line(&self, key: &Key, zero: Nanos) -> Process {
        let (_, command, (kind, number)) = key;
        let lived = self.end.unwrap_or(self.start).since(self.start);
        Process {
            pid: self.pid,
            ppid: self.parent,
            start_ns: self.start.since(zero),
            end_ns: self.end.map(|end| end.since(zero)),
            command: words(command),
            exec_history: Vec::new(),
            code: (*kind == 1).then_some(i32::from(*number)),
            signal: (*kind == 2).then_some(i32::from(*number)),
            folded: self.spent.count,
            usage: self.spent.usage(lived, Method::Exact),
        }
    }
}
