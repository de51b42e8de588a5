//! Formats of a report: one file each.
//!
//! The first ones are ours, the others are those that schedulers and workflow systems read;
//! docs/formats.md tells each field and where its number comes from.

pub mod cctools;
pub mod cctools_series;
pub mod classad;
pub mod files;
pub mod json;
pub mod jsonl;
pub mod kickstart;
pub mod nextflow_trace;
pub mod openmetrics;
pub mod otlp_json;
pub mod processes;
pub mod quantities;
pub mod runexec;
pub mod series;
pub mod snakemake_benchmark;
pub mod sockets;
pub mod syscalls;
pub mod time;
pub mod wfformat;

use crate::Error;
use record::report::{Process, Report};
use reduce::series::Series;

/// What a format is written from.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The report.
    pub report: &'a Report,
    /// The process table, for formats that want it.
    pub processes: &'a [Process],
    /// The time series of the task, for formats that want it.
    pub series: Option<&'a Series>,
    /// What no report has.
    pub details: &'a Details,
}

/// What single formats tell beyond the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// Size of a page in bytes, if known.
    pub page_bytes: Option<u64>,
    /// `dynamic`, `static` or `#!`: what kind of file the program is, if known.
    pub executable: Option<&'static str>,
    /// The format string of `time`; its long form without one.
    pub time_format: Option<String>,
    /// Whether `time` is silent about a status that is not 0.
    pub time_quiet: bool,
    /// Whether `kickstart` leaves out the machine.
    pub kickstart_brief: bool,
    /// The environment of the command, where `kickstart` was asked for it.
    pub environment: Option<Vec<(String, String)>>,
    /// The outputs of the task that `kickstart` shows.
    pub outputs: Vec<TaskOutput>,
}

/// An output of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOutput {
    /// `stdout` or `stderr`.
    pub name: &'static str,
    /// The file it went to, if that has a name.
    pub file_name: Option<String>,
    /// How long it is, if that is known.
    pub size_bytes: Option<u64>,
    /// The end of it, if it is to be shown.
    pub data: Option<String>,
    /// Whether something came before `data`.
    pub truncated: bool,
}

/// What a file of a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// One task: the next one replaces it.
    One,
    /// Tasks one after the other: each is added at the end.
    Many,
}

/// What a format needs beside the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// Nothing.
    Report,
    /// The process table.
    Processes,
    /// The time series of the task.
    Series,
}

/// One format of a report.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The end of a file's name.
    pub extension: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
    /// What a file of it holds.
    pub holds: Holds,
    /// What it needs.
    pub wants: Wants,
    /// Encodes a task, line ends included.
    pub encode: fn(&Record<'_>) -> Result<Vec<u8>, Error>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// Every format of a report, in the order of the help.
pub const FORMATS: &[&Format] = &[
    &json::FORMAT,
    &jsonl::FORMAT,
    &nextflow_trace::FORMAT,
    &snakemake_benchmark::FORMAT,
    &time::FORMAT,
    &cctools::FORMAT,
    &cctools_series::FORMAT,
    &kickstart::FORMAT,
    &runexec::FORMAT,
    &openmetrics::FORMAT,
    &classad::FORMAT,
    &wfformat::FORMAT,
    &otlp_json::FORMAT,
];

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
