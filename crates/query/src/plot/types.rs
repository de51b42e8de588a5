//! A job over time, as it is drawn: what each process and all of them together had and did.
//!
//! Instants are nanoseconds since 1970, on all hosts.

use crate::job::Facts;

/// A job over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plot {
    /// Who it was and what it had; nothing if only processes name it.
    pub facts: Option<Facts>,
    /// Where it was, each host once.
    pub hosts: Vec<String>,
    /// Its processes that are known, those that no reading met included.
    pub processes: u64,
    /// The first of them began.
    pub began: i64,
    /// What is drawn begins here.
    pub from: i64,
    /// What is drawn ends here: the last end or reading.
    pub to: i64,
    /// It goes on behind that, as far as is known.
    pub goes_on: bool,
    /// The usual time between two readings.
    pub period_ns: Option<i64>,
    /// Of so much time one reading was taken: there were too many for all of them.
    pub thinned_ns: Option<i64>,
    /// Memory that it had, all hosts together, bytes.
    pub memory_had: Option<i64>,
    /// CPUs that it had, all hosts together.
    pub cpus_had: Option<i64>,
    /// What its processes ran, the one with the largest process first.
    pub programs: Vec<Program>,
    /// The processes that a reading met, in the order of their beginning.
    pub lines: Vec<Line>,
    /// All of them together.
    pub totals: Totals,
    /// The most of all that in one reading, or from one to the next.
    pub peaks: Peaks,
    /// What it mostly did when, without gaps.
    pub phases: Vec<Phase>,
}

/// What some processes ran.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// What it is known by.
    pub name: String,
    /// Processes of it that a reading met.
    pub processes: u64,
    /// The largest resident set of one of them in a reading, bytes.
    pub rss_max: i64,
    /// What they used of the CPUs while they were watched, nanoseconds.
    pub cpu_time: i64,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// Its place in [`Plot::hosts`].
    pub host: usize,
    /// Its pid there.
    pub pid: i64,
    /// Its place in [`Plot::programs`].
    pub program: usize,
    /// Its resident set, bytes.
    pub rss: Vec<Point>,
    /// CPUs that it kept busy.
    pub cores: Vec<Step>,
}

/// A value in one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub at: i64,
    /// Nothing where nobody watched from then to the next one.
    pub value: Option<i64>,
}

/// A rate from one reading to the next.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// From when.
    pub from: i64,
    /// Until when.
    pub to: i64,
    /// Parts of a second in a second: CPUs. Or bytes a second.
    pub rate: f64,
}

/// All processes together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    /// Resident sets: shared pages count in each.
    pub rss: Vec<Point>,
    /// Anonymous and shared memory of each, without pages of files.
    pub held: Vec<Point>,
    /// CPUs that were busy.
    pub cores: Vec<Step>,
    /// Bytes through read-like calls, a second.
    pub read: Vec<Step>,
    /// Bytes through write-like calls, a second.
    pub written: Vec<Step>,
    /// Bytes fetched from storage, a second.
    pub disk_read: Vec<Step>,
    /// Bytes sent to storage, a second.
    pub disk_written: Vec<Step>,
}

/// The most that was met. Absent is what is not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Peaks {
    /// Resident sets, bytes.
    pub rss: Option<i64>,
    /// Anonymous and shared memory, bytes.
    pub held: Option<i64>,
    /// CPUs.
    pub cores: Option<f64>,
    /// CPUs of one process.
    pub cores_of_one: Option<f64>,
    /// Bytes a second.
    pub read: Option<f64>,
    /// Bytes a second.
    pub written: Option<f64>,
    /// Bytes a second.
    pub disk_read: Option<f64>,
    /// Bytes a second.
    pub disk_written: Option<f64>,
}

impl Peaks {
    pub(super) fn of(totals: &Totals, lines: &[Line]) -> Self {
        let point = |points: &[Point]| points.iter().filter_map(|point| point.value).max();
        let step = |steps: &[Step]| steps.iter().map(|step| step.rate).reduce(f64::max);
        Self {
            rss: point(&totals.rss),
            held: point(&totals.held),
            cores: step(&totals.cores),
            cores_of_one: lines
                .iter()
                .filter_map(|line| step(&line.cores))
                .reduce(f64::max),
            read: step(&totals.read),
            written: step(&totals.written),
            disk_read: step(&totals.disk_read),
            disk_written: step(&totals.disk_written),
        }
    }
}

/// What a job mostly did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// It read.
    Reading,
    /// It wrote.
    Writing,
    /// It used CPUs.
    Computing,
    /// Nothing of that.
    Waiting,
}

/// What a job mostly did from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// From when.
    pub from: i64,
    /// Until when.
    pub to: i64,
    /// What.
    pub doing: Doing,
}
