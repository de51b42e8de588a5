//! The command line of `plimsoll run`, as clap reads it: raw words, help texts, groups.

use super::amounts::amount;
use super::formats::{self, AskedFormat, FormatParser};
use clap::{Args, ValueEnum};
use record::limit::{LIMITS, LimitKind, Resource};
use record::unit::Unit;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

/// The usage line: clap would call the command and its arguments one list.
pub const USAGE: &str = "plimsoll run [OPTIONS] [--] COMMAND [ARG...]";

/// Names of limits, exit statuses and examples, shown after the options.
pub fn after_help() -> String {
    format!(
        "Formats (--format NAME[=PATH]):\n{}\n\nLimits (--limit NAME=VALUE):\n{}\n{NOTE}\n\n\
         Exit status:\n{STATUSES}\n{}\n\n{EXAMPLES}",
        formats::list(),
        limit_names(),
        limit_statuses()
    )
}

const NOTE: &str = "  \
  memory counts each page once and leaves out cache that can be dropped; rss is
  the sum of the resident sets. --limits FILE holds lines such as wall = \"2h\";
  a limits file of CCTools is taken too.";

const STATUSES: &str = "  \
  the task's own; 128+N if signal N ended it; 127 command not found, 126 not
  executable; 125 Plimsoll could not do what was asked, before the task started.
  A limit that was enforced:";

const EXAMPLES: &str = "\
Examples:
  plimsoll run make -j8
  plimsoll run --limit memory=4GiB,wall=2h -- ./simulate --steps 1000
  plimsoll run --output run1 --with processes,series python3 train.py
  plimsoll run --level io --output run1 -- ./convert in.nc out.nc
  plimsoll run --inputs in.nc --outputs out.nc -- ./convert in.nc out.nc
  plimsoll run --format nextflow-trace=.command.trace -- bash .command.sh
  plimsoll run --format json=fd:3 --format text ./job 3>report.json
  plimsoll run --append all.jsonl --category align --quiet bwa mem ref.fa r.fq
  plimsoll run --measure-only --limit memory=1GiB ./job
  plimsoll run --archive --category c --limits auto --retry 3 ./job </dev/null";

/// The forms of the values of limits, by unit.
const FORMS: &[(Unit, &str)] = &[
    (Unit::Nanoseconds, "time: 200ms, 90s, 15m, 1.5h, 1h30m"),
    (Unit::Bytes, "size: 512MiB, 4GiB, 4G (= 4GiB), 4GB (= 10^9)"),
    (Unit::Cores, "number: 2, 1.5"),
    (Unit::Count, "whole number: 64"),
];

fn limit_names() -> String {
    let lines = FORMS.iter().map(|(unit, form)| {
        let names = names_of(|kind| kind.unit == *unit);
        if names.len() < 22 {
            format!("  {names:<22}{form}")
        } else {
            format!("  {names}\n{:24}{form}", "")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn limit_statuses() -> String {
    let statuses: BTreeSet<u8> = LIMITS.iter().map(|kind| kind.exit_status).collect();
    let lines = statuses.into_iter().map(|status| {
        let names = names_of(|kind| kind.exit_status == status);
        format!("    {status}  {names}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn names_of(chosen: impl Fn(&LimitKind) -> bool) -> String {
    let names: Vec<_> = LIMITS
        .iter()
        .filter(|kind| chosen(kind))
        .map(|kind| kind.name)
        .collect();
    names.join(", ")
}

/// `plimsoll run [OPTIONS] [--] COMMAND [ARG...]`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to watch and how.
    #[command(flatten)]
    pub watching: WatchingArgs,
    /// Where the report goes.
    #[command(flatten)]
    pub report: ReportArgs,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// What is left at the end.
    #[command(flatten)]
    pub ending: EndingArgs,
    /// Names for the report.
    #[command(flatten)]
    pub labels: LabelArgs,
    /// The command and its arguments; options of plimsoll end at the first word that is no option
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        value_hint = clap::ValueHint::CommandWithArguments,
        hide = true
    )]
    pub command: Vec<OsString>,
}

/// What to watch and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Watching")]
pub struct WatchingArgs {
    /// How closely to watch [default: the best of query and events that works here]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub level: Option<LevelWord>,
    /// What to watch with [default: the best that leaves the task as it is; see `plimsoll doctor`]
    #[arg(long, value_enum, value_name = "NAME")]
    pub mechanism: Option<MechanismWord>,
    /// Where the agent of this node listens, which lends its programs to users without privilege
    #[arg(long, value_name = "PATH", default_value = source::notify::agent::SOCKET)]
    pub agent_socket: PathBuf,
    /// Time between two samples, at least 1ms
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// Measure the disk space and files under DIR, however long that takes (repeatable)
    #[arg(long, value_name = "DIR")]
    pub measure_dir: Vec<PathBuf>,
    /// Measure what is mounted below the measured folders too, and tell the space by file system
    #[arg(long)]
    pub follow_mounts: bool,
    /// Tell of FILE, which the task reads, what it was before the task: size, times, owner
    /// (repeatable, one file each)
    #[arg(long, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Tell of FILE, which the task writes, what it was before and is after the task, and warn if
    /// it is missing then (repeatable, one file each)
    #[arg(long, value_name = "FILE")]
    pub outputs: Vec<PathBuf>,
    /// Make no control group of our own
    #[arg(long)]
    pub no_cgroup: bool,
    /// Measure the time that calls on each file take (with --level io)
    #[arg(long)]
    pub times: bool,
    /// Count the system calls of each kind, their errors and the time they take (root, CAP_BPF and
    /// CAP_PERFMON, or an agent that lends)
    #[arg(long)]
    pub syscalls: bool,
}

/// Where the report goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Write the report to PREFIX.json, and keep the running state there meanwhile
    #[arg(long, short, value_name = "PREFIX")]
    pub output: Option<PathBuf>,
    /// Write more beside it: PREFIX.processes.jsonl, PREFIX.series.csv; PREFIX.files.jsonl and
    /// PREFIX.sockets.jsonl are there whenever the level is io
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        requires = "output"
    )]
    pub with: Vec<WithWord>,
    /// Add the report as one line to FILE
    #[arg(long, value_name = "FILE")]
    pub append: Option<PathBuf>,
    /// Add the report to the archive in DIR (plimsoll archive) [default DIR:
    /// $XDG_DATA_HOME/plimsoll/archive, else ~/.local/share/plimsoll/archive]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "")]
    pub archive: Option<OsString>,
    /// The set of the archive that it belongs to: one run of a workflow
    #[arg(long, value_name = "NAME", requires = "archive")]
    pub set: Option<String>,
    /// Write the report in this format too (repeatable; names below) to PATH, `-` for stderr or
    /// fd:N; without PATH to PREFIX.EXT if there is a PREFIX, else (and text always) to stderr.
    /// Without this the text goes to stderr; where --output or --append has the report, only if
    /// that is a terminal
    #[arg(
        long,
        value_name = "NAME[=PATH]",
        value_parser = FormatParser,
        hide_possible_values = true
    )]
    pub format: Vec<AskedFormat>,
    /// What `--format time` prints, as of `time -f`: '%e %M'
    #[arg(long, value_name = "STRING", requires = "format")]
    pub time_format: Option<String>,
    /// Exit as this tool would [default: as below]
    #[arg(
        long,
        value_enum,
        value_name = "TOOL",
        conflicts_with = "limit_exit_code"
    )]
    pub compat: Option<CompatWord>,
    /// No report on stderr
    #[arg(long, short)]
    pub quiet: bool,
    /// Show a status line in the bottom row of the terminal while the task runs, if stderr is one
    #[arg(long)]
    pub live: bool,
    /// Most lines of PREFIX.processes.jsonl, 2 or more; beyond it short processes are folded, sums
    /// stay exact
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(2..))]
    pub max_processes: u64,
    /// Most lines of PREFIX.files.jsonl (with --level io); less busy files beyond it are summed up
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub max_files: u64,
}

/// Limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// End the task when it goes past VALUE (repeatable, comma lists; names below)
    #[arg(long, value_name = "NAME=VALUE")]
    pub limit: Vec<String>,
    /// Read limits from a TOML or JSON file of flat `name = value`; `auto`: what `plimsoll advise`
    /// says, by the history of the category in --archive (a file of that name: ./auto)
    #[arg(long, value_name = "FILE|auto")]
    pub limits: Option<PathBuf>,
    /// No limit of --limits auto goes above: memory=64GiB, wall=2d, disk=1TiB (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = amount)]
    pub max: Vec<(Resource, u64)>,
    /// Run again, N times at most, with the next limit when one of --limits auto ended the task,
    /// which must be able to begin anew
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retry: u32,
    /// Time between SIGTERM and SIGKILL, 0 for none [default: 5s; 0 for memory, where the kernel
    /// keeps the limit of a control group without asking for this]
    #[arg(long, value_name = "TIME")]
    pub grace: Option<String>,
    /// Exit with N, 1 to 255, whichever limit was enforced
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub limit_exit_code: Option<u8>,
    /// Report what would have been exceeded, end nothing
    #[arg(long)]
    pub measure_only: bool,
}

/// What is left at the end.
#[derive(Debug, Args)]
#[command(next_help_heading = "Processes that outlive COMMAND")]
pub struct EndingArgs {
    /// End them when COMMAND ends [default: leave them, and list them]
    #[arg(long, conflicts_with = "wait_descendants")]
    pub kill_descendants: bool,
    /// Wait for them before the report
    #[arg(long)]
    pub wait_descendants: bool,
    /// What becomes of the task if Plimsoll itself is killed
    #[arg(long, value_enum, value_name = "WHAT", default_value = "kill")]
    pub on_monitor_death: DeathWord,
}

/// Names for the report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Names in the report")]
pub struct LabelArgs {
    /// Identity of this run [default: made up, unique]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Category of the task, for statistics
    #[arg(long, value_name = "NAME")]
    pub category: Option<String>,
    /// A label of your own (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<String>,
    /// Which attempt this is
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: u32,
    /// Size of the task's input [default: that of all --inputs, if all are there]
    #[arg(long, value_name = "SIZE")]
    pub inputs_bytes: Option<String>,
}

/// Words for `--level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LevelWord {
    /// Read the kernel's counters now and then, and at the end (also `1`)
    #[value(alias = "1")]
    Query,
    /// Be told of every fork, exec and exit as well (also `2`)
    #[value(alias = "2")]
    Events,
    /// See every file as well (also `3`); without privilege those of dynamic programs, or with
    /// --mechanism ptrace of all
    #[value(alias = "3")]
    Io,
}

/// Words for `--mechanism`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MechanismWord {
    /// Programs in the kernel; needs privilege
    Bpf,
    /// The same, lent by the agent of this node (plimsoll agent --socket)
    Agent,
    /// Reading /proc
    Procfs,
    /// The kernel's process events, /proc and the wait chain
    Connector,
    /// Stops at every fork, exec and exit; changes the task without root: setuid programs lose
    /// their privilege, debuggers and LeakSanitizer fail inside. With --level io at every call on
    /// a file too: slow, and what is left of the task is killed when Plimsoll ends
    Ptrace,
    /// A library in dynamic programs that counts their calls on files (with --level io)
    Preload,
}

/// Words for `--with`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WithWord {
    /// One line a process
    Processes,
    /// One line a file, with --level io (there by itself)
    Files,
    /// The time series of the task
    Series,
    /// The time series of each process
    #[value(name = "series:process")]
    SeriesProcess,
}

/// Words for `--compat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompatWord {
    /// CCTools' resource_monitor: 0 ok, 1 the task failed, 2 a limit, 3 the time, 4 the monitor
    Cctools,
}

/// Words for `--on-monitor-death`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeathWord {
    /// End all its processes
    Kill,
    /// Leave it running
    Leave,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_limit_and_its_status_within_80_columns() {
        let text = after_help();
        for kind in LIMITS {
            assert!(text.matches(kind.name).count() >= 2, "{}", kind.name);
        }
        assert!(text.contains("    153  footprint, files, written"));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
