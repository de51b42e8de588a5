//! The report of one task, schema `plimsoll.task/1`: what `PREFIX.json` holds.

use crate::call::CallLine;
use crate::file::FileSystemLine;
use crate::named::NamedFile;
use crate::unit::{Bytes, Nanos, Unit};
use crate::value::{Field, Number};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use std::collections::BTreeMap;

/// The name and version of this schema.
pub const SCHEMA: &str = "plimsoll.task/1";

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`] when written by this version.
    pub schema: String,
    /// What was run.
    pub task: Task,
    /// What was asked for, by resource name.
    pub request: BTreeMap<String, Claim>,
    /// What was provided, by resource name.
    pub allocation: BTreeMap<String, Claim>,
    /// Where it ran.
    pub host: Host,
    /// Start, RFC 3339 with microseconds.
    pub start: String,
    /// End, or the instant of a running state.
    pub end: String,
    /// How it ended.
    pub exit: Exit,
    /// The limits that were set.
    pub limits: Vec<LimitSet>,
    /// The limits that were exceeded.
    pub exceeded: Vec<Exceeded>,
    /// What it used.
    pub usage: Usage,
    /// The files that it was said to read (`--inputs`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<NamedFile>,
    /// The files that it was said to write (`--outputs`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<NamedFile>,
    /// Containers that a daemon ran for the task: not in `usage`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Container>,
    /// The processes that outlived the command, at most [`SURVIVORS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
    /// What it used of each GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The measured folders by file system, the largest first (`--follow-mounts`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub footprint: Vec<FootprintLine>,
    /// What it did on each file system, the busiest first (level io).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<FileSystemLine>,
    /// Its system calls by kind, those that took most time first (`--syscalls`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system_calls: Vec<CallLine>,
    /// How we know.
    pub monitor: Monitor,
}

/// Survivors that a report names.
pub const SURVIVORS_MAX: usize = 1000;

/// A process that outlived the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// What became of it.
    pub fate: Fate,
    /// By when, from the start of the task, it was gone where Plimsoll ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_by_ns: Option<Nanos>,
}

/// What became of a process that outlived the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It runs on.
    LeftRunning,
    /// Plimsoll ended it.
    Ended,
    /// Plimsoll may not end it: it is another user's.
    Refused,
}

/// A container that a program of the task had a daemon run, followed by its control group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Container {
    /// Its id, 64 hexadecimal digits.
    pub id: String,
    /// The program of the task that asked for it: `docker`.
    pub program: String,
    /// The command line of its first process.
    pub command: Vec<String>,
    /// What its control group used, as far as it could be read before it was removed.
    pub usage: Usage,
}

/// What the measured folders hold on one file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FootprintLine {
    /// Its device, `MAJOR:MINOR`; `others` for those without a line.
    pub device: String,
    /// Where it is mounted, if that is known.
    pub mount: Option<String>,
    /// Its type, if that is known.
    pub kind: Option<String>,
    /// `footprint_peak` and `files_peak` of this one; its peaks may be of other instants.
    pub usage: Usage,
}

/// What a task used of one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Identity of the device: its UUID, or its PCI address.
    pub id: String,
    /// Its name, if known.
    pub name: Option<String>,
    /// The metrics of GPUs, for this one.
    pub usage: Usage,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Task {
    /// Unique name of this run.
    pub id: String,
    /// The command and its arguments, invalid UTF-8 replaced.
    pub command: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// User name, or the uid in digits.
    pub user: String,
    /// User id.
    pub uid: u32,
    /// Category given by the user.
    pub category: Option<String>,
    /// Labels given by the user.
    pub labels: BTreeMap<String, String>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Size of the input, if told, or if all of it was named and there.
    pub inputs_bytes: Option<u64>,
    /// Container image, if known.
    pub image: Option<String>,
    /// The scheduler's names for it.
    pub job: Job,
}

/// The scheduler's names for the task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Job {
    /// `slurm`, `pbs`, `lsf`, `htcondor`, `gridengine`, ...
    pub scheduler: Option<String>,
    /// Job id.
    pub id: Option<String>,
    /// Array id as the user types it.
    pub array: Option<String>,
    /// Step.
    pub step: Option<String>,
}

/// A request or an allocation: a number and who says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The number, in `unit`.
    pub value: Number,
    /// Its unit.
    pub unit: Unit,
    /// Who says so: an option, an environment variable, a kernel file.
    pub source: String,
}

impl Claim {
    /// So many of `unit`, as `source` says.
    pub fn whole(value: u64, unit: Unit, source: impl Into<String>) -> Self {
        Self {
            value: Number::Whole(value),
            unit,
            source: source.into(),
        }
    }
}

/// Where it ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Host name: a label, not an identity.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Identity of this boot.
    pub boot_id: String,
    /// Online processors.
    pub cpus: u64,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Processor model, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Machine architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

/// How a task ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitType {
    /// It exited.
    Normal,
    /// A signal killed it.
    Signal,
    /// Plimsoll ended it because of a limit.
    Limit,
    /// It never started.
    NotStarted,
    /// It had not ended when this was written.
    Running,
    /// Nobody could tell.
    Unknown,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// In one word.
    #[serde(rename = "type")]
    pub kind: ExitType,
    /// Exit code; null unless it exited.
    pub code: Option<i32>,
    /// What Plimsoll itself returned.
    pub status: Option<i32>,
    /// Signal number, if one killed it.
    pub signal: Option<i32>,
    /// One sentence.
    pub cause: Option<String>,
    /// What the sentence rests on.
    pub evidence: Vec<Evidence>,
}

/// One piece of evidence about the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// `oom_kill`, `signal_sender`, `throttled`, `disk_full`, ...
    pub kind: String,
    /// What was seen.
    pub value: serde_free::Scalar,
    /// Where.
    pub source: String,
}

/// A number or a word, for evidence.
pub mod serde_free {
    use serde::{Deserialize, Serialize};

    /// A number or a word.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    pub enum Scalar {
        /// A number.
        Whole(u64),
        /// Words.
        Text(String),
    }
}

/// A limit that was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitSet {
    /// Name of the resource.
    pub resource: String,
    /// The highest value allowed.
    pub limit: Number,
    /// Its unit.
    pub unit: Unit,
}

/// A limit that was exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exceeded {
    /// Name of the resource.
    pub resource: String,
    /// The highest value allowed.
    pub limit: Number,
    /// The value that was seen.
    pub value: Number,
    /// Unit of both.
    pub unit: Unit,
    /// When, since the start.
    pub at_ns: Option<Nanos>,
    /// The process that broke it, if one can be named.
    pub pid: Option<u32>,
    /// Its name.
    pub process: Option<String>,
    /// Whether the task was ended for it.
    pub enforced: bool,
    /// How it was enforced or noticed.
    pub source: String,
}

/// What a task used: field by metric name, in the order of the table of metrics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage(pub Vec<(String, Field)>);

impl Usage {
    /// The field called `name`.
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.0
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, field)| field)
    }

    /// Adds a field, or replaces the one of that name.
    pub fn set(&mut self, name: &str, field: Field) {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = field,
            None => self.0.push((name.to_owned(), field)),
        }
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, field) in &self.0 {
            map.serialize_entry(name, field)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> de::Visitor<'de> for Fields {
            type Value = Usage;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of metric names to fields")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Usage, A::Error> {
                let mut usage = Usage::default();
                while let Some((name, field)) = map.next_entry::<String, Field>()? {
                    usage.0.push((name, field));
                }
                Ok(usage)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// How we know, and what knowing cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Monitor {
    /// Version of Plimsoll.
    pub version: String,
    /// `query`, `events`, `io`.
    pub level: String,
    /// `bpf`, `taskstats` (the connector, and taskstats beside it), `connector`, `procfs` or
    /// `ptrace`.
    pub mechanism: String,
    /// Time between two samples.
    pub interval_ns: Nanos,
    /// CPU time of our own processes.
    pub cpu_time_ns: Nanos,
    /// Largest resident set of our own processes.
    pub memory_peak_bytes: Bytes,
    /// Events lost between the kernel and us.
    pub events_lost: u64,
    /// Everything a reader should know, in plain words.
    pub notes: Vec<String>,
}

/// One process of the task, as `PREFIX.processes.jsonl` carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Its parent at birth.
    pub ppid: Option<u32>,
    /// Start, since the start of the task.
    pub start_ns: Nanos,
    /// End, since the start of the task; null while alive.
    pub end_ns: Option<Nanos>,
    /// Its last command line, arguments separated.
    pub command: Vec<String>,
    /// Its earlier command lines, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec_history: Vec<Vec<String>>,
    /// Exit code, if it exited and the mechanism tells.
    pub code: Option<i32>,
    /// Signal, if one killed it and the mechanism tells.
    pub signal: Option<i32>,
    /// How many processes this line stands for (folded identical short children).
    pub folded: u64,
    /// What it used.
    pub usage: Usage,
}
