//! What one job did: who it was, what it had, what it used of that on each host.

mod had;
mod notes;

use crate::engine::{Engine, Heed, Progress};
use crate::error::Error;
use crate::report::{Dialect, Known, Params, fill};
use crate::session::Session;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::LineDelimitedWriter;
pub(crate) use had::{Granted, had};
pub use notes::notes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const LONGEST: &str = concat!(
    include_str!("processes.sql"),
    "ORDER BY wall_time DESC, coalesce(cpu_time, 0) DESC, host, pid LIMIT {{rows 5}}"
);

/// What each host says that a job had there.
pub(crate) const GRANTED: &str = include_str!("granted.sql");

/// By SIGKILL.
const KILLED: &str = concat!(
    include_str!("processes.sql"),
    "WHERE signal = 9 ORDER BY coalesce(rss_peak, 0) DESC, host, pid LIMIT 1"
);

/// What was told of it, by its hosts while it ran and by the scheduler's accounting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Who gave it its name.
    pub scheduler: String,
    /// Its name.
    pub identifier: String,
    /// The array that it is an element of.
    pub array_job: Option<String>,
    /// Its index in the array.
    pub array_task: Option<String>,
    /// Whose it is.
    pub job_user: Option<String>,
    /// Who is charged.
    pub account: Option<String>,
    /// The partition or queue.
    pub queue: Option<String>,
    /// What its user calls it.
    pub job_name: Option<String>,
    /// Machines that it has.
    pub nodes: Option<i64>,
    /// CPUs that it asked for.
    pub cpus_requested: Option<i64>,
    /// CPUs that it may use.
    pub cpus_allocated: Option<i64>,
    /// Memory that it asked for, bytes.
    pub memory_requested: Option<i64>,
    /// Memory that it was given, bytes.
    pub memory_allocated: Option<i64>,
    /// Memory that it may use on a machine, bytes.
    pub memory_limit: Option<i64>,
    /// GPUs that it asked for.
    pub gpus_requested: Option<i64>,
    /// GPUs that it was given.
    pub gpus_allocated: Option<i64>,
    /// How long it may run, nanoseconds.
    pub time_limit: Option<i64>,
    /// As the scheduler calls it.
    pub state: Option<String>,
    /// Of its script.
    pub exit_status: Option<i64>,
    /// Nanoseconds since 1970.
    pub started: Option<i64>,
    /// Nanoseconds since 1970.
    pub ended: Option<i64>,
}

/// What it used on one host, from one boot to the next. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub host: String,
    /// Tells its boots apart.
    pub boot_id: String,
    /// Processes that were seen or ended.
    pub processes: i64,
    /// Of these the ones whose end was told.
    pub ended: i64,
    /// When the first of them was seen, or began; since 1970.
    pub began_ns: Option<i64>,
    /// From then to the last that was seen.
    pub elapsed: i64,
    /// CPU time.
    pub cpu_time: Option<i64>,
    /// Ready to run, and waiting for a CPU.
    pub cpu_wait: Option<i64>,
    /// Waiting for a device or a server (sampled).
    pub blocked_time: Option<i64>,
    /// Bytes through read-like calls.
    pub bytes_read: Option<i64>,
    /// Bytes through write-like calls.
    pub bytes_written: Option<i64>,
    /// Bytes fetched from storage.
    pub disk_read: Option<i64>,
    /// Bytes sent to storage.
    pub disk_written: Option<i64>,
    /// Page faults with disk I/O.
    pub faults_major: Option<i64>,
    /// The largest resident set of one process.
    pub rss_peak_process: Option<i64>,
    /// The largest sum of resident sets in one reading: shared pages count in each (sampled).
    pub rss_peak: Option<i64>,
    /// The same of anonymous and shared memory alone, without files: no less than what had to be
    /// provided (sampled).
    pub memory_peak: Option<i64>,
    /// The largest sum of swapped-out pages in one reading (sampled).
    pub swap_peak: Option<i64>,
    /// Processes in one reading (sampled).
    pub processes_peak: Option<i64>,
    /// Threads in one reading (sampled).
    pub threads_peak: Option<i64>,
    /// CPUs busy from one reading to the next, by those too that ended in between; a stretch of
    /// less than 20 ms is none (sampled).
    pub cores_peak: Option<f64>,
    /// The longest time from one reading of its processes to the next.
    pub period_ns: Option<i64>,
    /// The most that its control group was charged, page cache included, those of its processes
    /// that ended too, up to the last reading of it.
    #[serde(default)]
    pub cgroup_peak: Option<i64>,
    /// CPU time that its control group counted, since it was made, up to the last reading of it.
    #[serde(default)]
    pub cgroup_cpu_time: Option<i64>,
    /// CPUs that it had here.
    #[serde(default)]
    pub cpus_had: Option<i64>,
    /// Memory that it had here, bytes.
    #[serde(default)]
    pub memory_had: Option<i64>,
    /// GPUs that it had here.
    #[serde(default)]
    pub gpus_had: Option<i64>,
}

/// One of its processes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Process {
    /// Where.
    pub host: String,
    /// Its pid there.
    pub pid: i64,
    /// When it began, since boot.
    pub start_ns: i64,
    /// What it is known by.
    pub program: String,
    /// How long it lived while somebody watched.
    pub wall_time: i64,
    /// What it used then.
    pub cpu_time: Option<i64>,
    /// Its largest resident set.
    pub rss_peak: Option<i64>,
    /// How it ended.
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// Its arguments with blanks between them.
    pub command: Option<String>,
}

/// One device that it used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gpu {
    /// Where.
    pub host: String,
    /// Which.
    pub device: String,
    /// The most memory that its processes had together in one reading (sampled).
    pub memory_peak: Option<i64>,
    /// The part of the time in which kernels of its processes ran, while one of them was on it:
    /// the sum of theirs, in which what ran side by side counts twice (sampled).
    pub busy_mean: Option<f64>,
    /// The same between two readings, at most.
    pub busy_peak: Option<f64>,
}

#[derive(Deserialize)]
struct Devices {
    devices: i64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Job {
    /// Who it was and what it had; nothing if only processes name it.
    pub facts: Option<Facts>,
    /// What it used, by host.
    pub hosts: Vec<Host>,
    /// The processes that lived longest.
    pub longest: Vec<Process>,
    /// Of those that were killed (SIGKILL) the largest.
    pub killed: Option<Process>,
    /// The devices that it used.
    pub gpus: Vec<Gpu>,
    /// Devices of which its hosts told while it ran; of a dataset only where it had some.
    pub gpus_told: Option<i64>,
    /// It is as one reading of now tells it: what is a peak elsewhere is what it has now, but for
    /// that of a process and of its control group.
    pub is_live: bool,
}

impl Job {
    /// All that a dataset has of a job; nothing if it has none of that name.
    ///
    /// # Errors
    /// The dataset cannot be read, or `heed` wants no more.
    pub fn of(
        engine: &Engine,
        params: &Params,
        heed: &mut dyn FnMut(Progress) -> Heed,
    ) -> Result<Option<Self>, Error> {
        engine.look(heed, &mut |session| {
            Self::told(session, params).map_err(|error| (error, 0))
        })
    }

    fn told(session: &mut Session<'_>, params: &Params) -> Result<Option<Self>, Error> {
        session.of_reports();
        let known = Known::of(session, params, "")?;
        let mut ask = |template| {
            let question = Dialect::DataFusion.spell(&fill(template, params, &known));
            session.rows(&question)
        };
        let facts: Vec<Facts> = read(&ask(include_str!("facts.sql"))?)?;
        let hosts: Vec<Host> = read(&ask(include_str!("hosts.sql"))?)?;
        if facts.is_empty() && hosts.is_empty() {
            return Ok(None);
        }
        let mut job = Self {
            facts: facts.into_iter().next(),
            hosts,
            longest: read(&ask(LONGEST)?)?,
            killed: read(&ask(KILLED)?)?.into_iter().next(),
            gpus: read(&ask(include_str!("gpus.sql"))?)?,
            ..Self::default()
        };
        job.grant(&read::<Granted>(&ask(GRANTED)?)?);
        if job.gpus_had().is_some() {
            let told: Vec<Devices> = read(&ask(include_str!("devices.sql"))?)?;
            job.gpus_told = told.first().map(|told| told.devices);
        }
        Ok(Some(job))
    }
}

/// The rows of the answer to one question.
pub(crate) fn rows<T: DeserializeOwned>(
    engine: &Engine,
    template: &str,
    params: &Params,
    heed: &mut dyn FnMut(Progress) -> Heed,
) -> Result<Vec<T>, Error> {
    let question = Dialect::DataFusion.spell(&fill(template, params, &Known::default()));
    engine.look(heed, &mut |session| {
        let told = session.rows(&question).and_then(|rows| read(&rows));
        told.map_err(|error| (error, 0))
    })
}

/// The rows of an answer, as what they are.
fn read<T: DeserializeOwned>(batches: &[RecordBatch]) -> Result<Vec<T>, Error> {
    let mut text = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut text);
    let written = batches.iter().try_for_each(|batch| writer.write(batch));
    let written = written.and_then(|()| writer.finish());
    written.map_err(|error| Error::Failed(error.to_string()))?;
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let read: Result<_, serde_json::Error> = lines.map(serde_json::from_slice).collect();
    read.map_err(|error| Error::Failed(error.to_string()))
}
