//! The end of a task: everything the report needs, in one value.

use crate::course::offer;
use crate::fold::Lines;
use crate::series::Series;
use crate::settings::End;
use crate::top::TopProcess;
use crate::total::Totals;
use crate::tree::Tree;
use record::quantity;
use record::report::{FootprintLine, Gpu, Usage};

/// How the note begins that work left the tree of processes.
pub(crate) const LEFT_THE_TREE: &str = "work left the tree through";

/// A process that outlived the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

/// Everything the report needs.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Every metric of the task, present or absent with its reason.
    pub usage: Usage,
    /// The same by GPU, for those that the task used.
    pub gpus: Vec<Gpu>,
    /// The measured folders by file system, if that was told.
    pub footprint: Vec<FootprintLine>,
    /// A line for each process, identical ones folded beyond the bound; empty unless asked for.
    pub processes: Lines,
    /// Processes without a line of their own.
    pub folded: u64,
    /// The time series; empty unless asked for.
    pub series: Series,
    /// The processes that used most, by CPU time.
    pub top: Vec<TopProcess>,
    /// The processes that outlived the task.
    pub survivors: Vec<Survivor>,
    /// What a reader should know, in plain words.
    pub notes: Vec<String>,
}

impl Tree {
    /// The end: `end` says how, and with what totals of the wait chain.
    pub fn finish(mut self, end: &End) -> Summary {
        self.retire_all();
        let totals = Totals::new(&self, end);
        let (untraced, missed) = (totals.has_untraced(), totals.chain_misses_some());
        self.untraced |= untraced;
        // Of those that have ended since they were seen last, too.
        let gone = self
            .living
            .keys()
            .filter(|pid| !end.survivors.contains(pid));
        let ends_others = gone
            .copied()
            .any(|pid| self.ends_others(end.at, pid, false));
        self.auto_reaped |= missed || ends_others;
        let usage = self.usage(end);
        self.close(end);
        let survivors = end.survivors.iter().map(|&pid| Survivor {
            pid,
            command: self.command(pid).unwrap_or_default(),
        });
        let survivors = survivors.collect();
        let mut top = self.top.clone();
        for life in self.living.values() {
            offer(&mut top, life);
        }
        let notes = self.notes();
        let processes = self.lines(end);
        Summary {
            usage,
            gpus: self.gpu_reports(end.at.since(self.start)),
            footprint: self.footprint_lines(end),
            folded: processes.folded(),
            processes,
            notes,
            survivors,
            top: top.list(),
            series: self.series,
        }
    }

    /// Whoever is no survivor has ended, the main process as `end` tells.
    fn close(&mut self, end: &End) {
        let Some(main) = end.main else { return };
        if self.living.contains_key(&self.root) {
            let how = Some(main.ending);
            self.end(main.at, self.root, true, how, None, None);
        } else {
            self.table.tell_end(self.root, main.at, main.ending);
        }
        let survives = |pid: &u32| end.survivors.contains(pid);
        let mut unseen: Vec<_> = self.living.keys().copied().collect();
        unseen.retain(|pid| !survives(pid));
        unseen.sort_unstable();
        for pid in unseen {
            self.end_unseen(end.at, pid);
        }
    }

    /// The process table: who lives on has a line as well, the oldest before the others, as long as
    /// they fill at most half of the table.
    fn lines(&mut self, end: &End) -> Lines {
        if !self.settings.keep_processes {
            return Lines::default();
        }
        let late_cpu = self.late_cpu();
        let mut living: Vec<_> = self.living.drain().map(|(_, life)| life).collect();
        living.sort_by_key(|life| (life.pid != self.root, life.start, life.pid));
        // Half of the table may be folds, and the main process has a line, alive or not.
        let room = self.table.max().saturating_sub(2) / 2;
        let main_lives = living.first().is_some_and(|life| life.pid == self.root);
        let own_lines = living.len().min(room.max(usize::from(main_lives)));
        for life in living.split_off(own_lines) {
            self.table.fold_living(life, late_cpu);
        }
        let living = living.into_iter();
        self.table.lines(living, (self.start, end.at), late_cpu)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.departed.is_empty() {
            let programs = self.departed.join(", ");
            notes.push(format!(
                "{LEFT_THE_TREE} {programs}: what it used there is not in these numbers"
            ));
        }
        let lost = self.events_lost();
        if lost > 0 {
            notes.push(format!(
                "{lost} events were lost: some processes may be missing"
            ));
        }
        if self.untraced {
            notes.push(
                "a process was made so that it is not traced (CLONE_UNTRACED): counts of processes \
                 and threads are lower bounds, what it used is in the totals of the wait chain"
                    .to_owned(),
            );
        }
        if self.auto_reaped && !self.knows_finals() {
            notes.push(
                "nobody waited for some processes (SIGCHLD is ignored or taken with \
                 SA_NOCLDWAIT, or a PID namespace ended): the totals are lower bounds, what those \
                 used is in them as far as it was seen"
                    .to_owned(),
            );
        }
        if let Some(what) = &self.io_unseen {
            notes.push(format!(
                "{what} was used: what it read and wrote is not in the bytes and calls read and \
                 written"
            ));
        }
        if let Some(bytes) = self.peaks.hugetlb.value.filter(|bytes| *bytes > 0) {
            let amount = quantity::show_bytes(bytes);
            notes.push(format!(
                "{amount} of the machine's pool of huge pages (hugetlbfs, MAP_HUGETLB) were in use \
                 in samples, shared ones once for each process: they are in no number of memory"
            ));
        }
        if self.ended.unread > 0 {
            let (unread, count) = (self.ended.unread, self.ended.count);
            let place = match self.auto_reaped && !self.knows_finals() {
                true => "those that somebody waited for are in the totals",
                false => "they are in the totals",
            };
            notes.push(format!(
                "{unread} of {count} ended processes were gone before they could be read; {place}"
            ));
        }
        if self.series.dropped() > 0 {
            let dropped = self.series.dropped();
            notes.push(format!(
                "{dropped} rows of small processes are not in the series"
            ));
        }
        notes
    }
}
