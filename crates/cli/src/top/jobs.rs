//! The table of jobs.

use super::columns::{ABSENT, or_absent, percent, size_of};
use super::look::Look;
use crate::live::load::Load;
use crate::live::people::People;
use crate::live::tasks::Task;
use crate::view::style::{cut, printable};
use record::quantity::show_time;
use rustc_hash::FxHashSet;

/// A row of it.
pub(super) struct Job {
    pub(super) load: Load,
    /// What is known of it beside its processes.
    pub(super) task: Option<Task>,
    /// Since the first of its processes that are there began, nanoseconds.
    pub(super) age_ns: u64,
}

impl Job {
    /// All of these processes, those that use most first.
    pub(super) fn all(people: &People, at_ns: u64) -> Vec<Self> {
        let loads = crate::live::load::by_job(people.living(), people.gone());
        let job = |load: Load| Self {
            task: people.tasks.of(&load.identifier).cloned(),
            age_ns: at_ns.saturating_sub(u64::try_from(load.first_start_ns).unwrap_or(0)),
            load,
        };
        loads.into_iter().map(job).collect()
    }

    /// Those of them that have a process of the user or with the text that is looked for.
    pub(super) fn of_look(people: &People, at_ns: u64, look: &Look) -> Vec<Self> {
        let mut jobs = Self::all(people, at_ns);
        let any = Look {
            job: None,
            ..look.clone()
        };
        if any.user.is_some() || !any.text.is_empty() {
            let fit = people.living().filter(|one| any.fits(one));
            let named: FxHashSet<&str> = fit.filter_map(|one| one.job.as_deref()).collect();
            jobs.retain(|one| named.contains(one.load.identifier.as_str()));
        }
        jobs
    }

    /// Those of them that a look at one job, or at one user, has.
    pub(super) fn chosen(people: &People, at_ns: u64, look: &Look) -> Vec<Self> {
        let mut jobs = Self::all(people, at_ns);
        let job = look.job.as_ref();
        jobs.retain(|one| job.is_none_or(|job| *job == one.load.identifier));
        jobs.retain(|one| look.user.is_none() || look.user.as_ref() == one.user());
        jobs
    }

    /// How its CPUs are used: cores of those that it has.
    fn cores(&self) -> String {
        let used = or_absent(self.load.cores.map(|cores| format!("{cores:.2}")));
        match self.task.as_ref().and_then(|task| task.cpus) {
            Some(cpus) => format!("{used}/{cpus}"),
            None => used,
        }
    }

    fn memory(&self) -> String {
        let used = size_of(self.load.memory_bytes);
        match self.task.as_ref().and_then(|task| task.memory) {
            Some(had) => format!("{used}/{}", size_of(Some(had as f64))),
            None => used,
        }
    }

    /// Whose it is: as it was told, else by its processes.
    pub(super) fn user(&self) -> Option<&String> {
        let told = self.task.as_ref().and_then(|task| task.user.as_ref());
        told.or(self.load.user.as_ref())
    }
}

/// The names of the columns.
pub(super) fn title(width: usize) -> String {
    let mut line = format!(
        "{:<16} {:<8} {:>5} {:>5} {:>11} {:>6} {:>5} {:>11} {:>6} {:>6}",
        "JOB", "USER", "PROCS", "ENDED", "CORES/HAS", "WAIT%", "RSS", "MEM/HAS", "READ/s", "WRIT/s"
    );
    if width >= WIDE {
        line += &format!(" {:>9} {}", "AGE", "NAME");
    }
    line
}

/// From so many columns on, its age and its name are shown.
const WIDE: usize = 110;

/// The line of one.
pub(super) fn line(job: &Job, width: usize) -> String {
    let load = &job.load;
    let user = job.user().map_or(ABSENT, String::as_str);
    let mut line = format!(
        "{:<16} {:<8} {:>5} {:>5} {:>11} {:>6} {:>5} {:>11} {:>6} {:>6}",
        cut(&printable(&load.identifier), 16),
        cut(&printable(user), 8),
        load.processes,
        load.ended,
        job.cores(),
        percent(load.wait),
        size_of(load.rss_bytes),
        job.memory(),
        size_of(load.read),
        size_of(load.written)
    );
    if width >= WIDE {
        let task = job.task.as_ref();
        let named = task.map_or(String::new(), |task| {
            let words = [
                Some(&task.scheduler),
                task.partition.as_ref(),
                task.name.as_ref(),
            ];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            words.join(" ")
        });
        line += &format!(" {:>9} {}", show_time(job.age_ns), printable(&named));
    }
    line
}
