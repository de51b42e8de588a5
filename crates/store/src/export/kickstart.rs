//! The invocation record of Pegasus' kickstart, version 3.0: an item of a YAML list.
//!
//! Always valid YAML: every text is a double-quoted scalar, written by the rules of JSON and
//! YAML's for what JSON leaves open. What is absent is left out. Labels of the task named
//! `transformation`, `derivation`, `resource`, `wf-label` and `wf-stamp` are the members of that
//! name.

use super::quantities::{kib, seconds, whole};
use super::{Details, Format, Holds, Record, TaskOutput, Wants};
use crate::Error;
use record::file::FileKind;
use record::named::{FileState, Look, NamedFile};
use record::report::{Process, Report, Usage};
use record::unit::Nanos;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;

/// The format.
pub const FORMAT: Format = Format {
    name: "kickstart",
    extension: "kickstart.yml",
    doc: "record of Pegasus' kickstart, YAML",
    holds: Holds::Many,
    wants: Wants::Processes,
    encode,
};

const VERSION: &str = "3.0";

/// Members that only the user knows: labels of the task.
const TOLD: &[&str] = &[
    "transformation",
    "derivation",
    "resource",
    "wf-label",
    "wf-stamp",
];

/// A block of `inblock` and `outblock`, and of `blocks`.
const BLOCK_BYTES: u64 = 512;

/// Members of `files` that are no named files.
const OWN_FILES: &[&str] = &["stdin", "stdout", "stderr", "metadata"];

/// Most bytes of a key, with room for a number; and those of a character that is escaped.
const KEY_BYTES_MAX: usize = 1000;
const ESCAPE_BYTES: usize = 6;

/// The error of a file that did not answer: ETIMEDOUT.
const NO_ANSWER: i32 = 110;

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let Record {
        report, details, ..
    } = record;
    let mut out = Yaml::default();
    out.text.push_str("- invocation: True\n");
    out.depth = 1;
    out.raw("version", Some(VERSION));
    out.raw("start", instant(&report.start));
    out.raw("duration", thousandths(seconds(report, "wall_time")));
    for name in TOLD {
        let value = report.task.labels.get(*name);
        out.text(name, value.map(String::as_str));
    }
    out.text("hostname", Some(&report.host.name));
    let main = main_process(record.processes);
    out.raw("pid", main.map(|process| process.pid));
    out.raw("uid", Some(report.task.uid));
    out.text("user", Some(&report.task.user));
    main_job(report, record.processes, main, &mut out);
    job_ids(report, &mut out);
    out.text("cwd", Some(&report.task.cwd));
    if !details.kickstart_brief {
        machine(report, details, &mut out);
    }
    files(report, details, &mut out);
    if let Some(environment) = &details.environment {
        out.open("environment");
        let mut names = HashSet::new();
        for (name, value) in environment {
            let name = unique(&key(name), &mut names);
            out.line(&format!("{}: {}", quoted(&name), quoted(value)));
        }
        out.close("environment", "{}");
    }
    limits(report, &mut out);
    Ok(out.text.into_bytes())
}

/// A block of YAML mappings.
#[derive(Debug, Default)]
struct Yaml {
    text: String,
    depth: usize,
}

impl Yaml {
    fn line(&mut self, text: &str) {
        let indent = 2 * self.depth;
        self.text.push_str(&format!("{:indent$}{text}\n", ""));
    }

    /// A number or a plain word.
    fn raw(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.line(&format!("{name}: {value}"));
        }
    }

    /// A text of any characters.
    fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.line(&format!("{name}: {}", quoted(value)));
        }
    }

    fn open(&mut self, name: &str) {
        self.line(&format!("{name}:"));
        self.depth += 1;
    }

    /// Ends a mapping or list; one without members is `empty`.
    fn close(&mut self, name: &str, empty: &str) {
        self.depth -= 1;
        let opened = format!("{:indent$}{name}:\n", "", indent = 2 * self.depth);
        if self.text.ends_with(&opened) {
            self.text.truncate(self.text.len() - opened.len());
            self.line(&format!("{name}: {empty}"));
        }
    }
}

/// A double-quoted scalar. YAML takes no control characters, nor some others, as they are.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Line and paragraph separators, the byte order mark, what is no character, and what
            // an old reader takes for the half of a pair.
            '\0'..='\x1f'
            | '\x7f'..='\u{a0}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// RFC 3339 in UTC with milliseconds and an offset, as kickstart has it.
fn instant(text: &str) -> Option<String> {
    let cut = text.len().checked_sub("000Z".len())?;
    text.get(..cut).map(|text| format!("{text}+00:00"))
}

/// As kickstart has the times of files: without parts of a second.
fn to_the_second(text: &str) -> Option<String> {
    let (text, _) = text.split_once('.')?;
    Some(format!("{text}+00:00"))
}

fn thousandths(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{value:.3}"))
}

/// The first process, which has a line whatever is folded: the earliest whose parent has none.
fn main_process(processes: &[Process]) -> Option<&Process> {
    let known = |ppid: Option<u32>| processes.iter().any(|one| Some(one.pid) == ppid);
    let earliest = processes.iter().map(|process| process.start_ns).min()?;
    let mut first = processes.iter().filter(|one| one.start_ns == earliest);
    let any = first.clone().next();
    first.find(|one| !known(one.ppid)).or(any)
}

fn main_job(report: &Report, processes: &[Process], main: Option<&Process>, out: &mut Yaml) {
    out.open("mainjob");
    out.raw("start", instant(&report.start));
    out.raw("duration", thousandths(seconds(report, "wall_time")));
    out.raw("pid", main.map(|process| process.pid));
    out.open("usage");
    out.raw("utime", thousandths(seconds(report, "cpu_user")));
    out.raw("stime", thousandths(seconds(report, "cpu_system")));
    out.raw("maxrss", kib(report, "rss_peak_process"));
    out.raw("minflt", whole(report, "faults_minor"));
    out.raw("majflt", whole(report, "faults_major"));
    // getrusage(2): Linux maintains neither these, nor msgsnd, msgrcv, nsignals below.
    out.raw("nswap", Some(0));
    let blocks = |metric| whole(report, metric).map(|bytes| bytes / BLOCK_BYTES);
    out.raw("inblock", blocks("disk_read"));
    out.raw("outblock", blocks("disk_written"));
    for name in ["msgsnd", "msgrcv", "nsignals"] {
        out.raw(name, Some(0));
    }
    out.raw("nvcsw", whole(report, "switches_voluntary"));
    out.raw("nivcsw", whole(report, "switches_involuntary"));
    out.close("usage", "{}");
    status(report, out);
    out.open("argument_vector");
    for word in report.task.command.iter().skip(1) {
        out.line(&format!("- {}", quoted(word)));
    }
    out.close("argument_vector", "[]");
    if let Some(program) = report.task.command.first() {
        out.open("executable");
        out.text("file_name", Some(program));
        out.close("executable", "{}");
    }
    out.open("procs");
    let mut seen = HashMap::new();
    for process in processes {
        let uses = seen.entry(process.pid).or_insert(0_u32);
        *uses += 1;
        // A pid that came again is another key: YAML has each once.
        let key = match uses {
            1 => process.pid.to_string(),
            again => format!("\"{}-{again}\"", process.pid),
        };
        process_line(&key, process, report, out);
    }
    out.close("procs", "{}");
    out.close("mainjob", "{}");
}

fn status(report: &Report, out: &mut Yaml) {
    let exit = &report.exit;
    out.open("status");
    match (exit.signal, exit.code) {
        (Some(signal), _) => {
            out.raw("raw", Some(signal));
            out.raw("signalled_signal", Some(signal));
            // Their spelling, which their readers look for.
            out.text("singalled_name", Some(&signal_name(signal)));
        }
        (None, Some(code)) => {
            out.raw("raw", Some(code << 8));
            out.raw("regular_exitcode", Some(code));
        }
        (None, None) => {
            out.raw("raw", Some(-1));
            let why = exit.cause.as_deref();
            out.text("failure_error", Some(why.unwrap_or("unknown")));
        }
    }
    out.close("status", "{}");
}

/// What strsignal(3) says of the signals that end a process.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "Hangup",
        2 => "Interrupt",
        3 => "Quit",
        4 => "Illegal instruction",
        5 => "Trace/breakpoint trap",
        6 => "Aborted",
        7 => "Bus error",
        8 => "Floating point exception",
        9 => "Killed",
        10 => "User defined signal 1",
        11 => "Segmentation fault",
        12 => "User defined signal 2",
        13 => "Broken pipe",
        14 => "Alarm clock",
        15 => "Terminated",
        16 => "Stack fault",
        24 => "CPU time limit exceeded",
        25 => "File size limit exceeded",
        26 => "Virtual timer expired",
        27 => "Profiling timer expired",
        29 => "I/O possible",
        30 => "Power failure",
        31 => "Bad system call",
        34..=64 => return format!("Real-time signal {}", signal - 34),
        _ => return format!("Unknown signal {signal}"),
    };
    name.to_owned()
}

fn process_line(key: &str, process: &Process, report: &Report, out: &mut Yaml) {
    let usage = &process.usage;
    let count = |metric| get(usage, metric);
    let time = |metric| thousandths(count(metric).map(|ns| ns as f64 / 1e9));
    let size = |metric| count(metric).map(|bytes| bytes.div_ceil(1024));
    out.open(key);
    out.raw("ppid", process.ppid);
    out.raw("pid", Some(process.pid));
    out.text("exe", process.command.first().map(String::as_str));
    out.raw("start", since_1970(report, Some(process.start_ns)));
    out.raw("stop", since_1970(report, process.end_ns));
    out.raw("utime", time("cpu_user"));
    out.raw("stime", time("cpu_system"));
    out.raw("iowait", time("io_wait"));
    out.raw("maxthreads", count("threads_peak"));
    out.raw("vmpeak", size("virtual_peak"));
    out.raw("rsspeak", size("rss_peak"));
    out.raw("rchar", count("bytes_read"));
    out.raw("wchar", count("bytes_written"));
    out.raw("rbytes", count("disk_read"));
    out.raw("wbytes", count("disk_written"));
    out.raw("syscr", count("reads"));
    out.raw("syscw", count("writes"));
    out.text("cmd", Some(&process.command.join(" ")));
    out.close(key, "{}");
}

fn get(usage: &Usage, metric: &str) -> Option<u64> {
    usage.get(metric)?.whole()
}

/// Seconds since 1970 with microseconds.
fn since_1970(report: &Report, at: Option<Nanos>) -> Option<String> {
    let ns = super::quantities::start_ns(report)?.checked_add(at?.0)?;
    let micros = ns % 1_000_000_000 / 1000;
    Some(format!("{}.{micros:06}", ns / 1_000_000_000))
}

fn job_ids(report: &Report, out: &mut Yaml) {
    let job = &report.task.job;
    let (Some(scheduler), Some(id)) = (job.scheduler.as_deref(), job.id.as_deref()) else {
        return;
    };
    out.open("jobids");
    match scheduler {
        "htcondor" => out.text("condor", Some(id)),
        other => {
            let kind = if other == "gridengine" { "sge" } else { other };
            out.text("lrmtype", Some(kind));
            out.text("lrm", Some(id));
        }
    }
    out.close("jobids", "{}");
}

fn machine(report: &Report, details: &Details, out: &mut Yaml) {
    let host = &report.host;
    out.open("machine");
    out.raw("page-size", details.page_bytes);
    out.text("uname_system", Some("linux"));
    out.text("uname_nodename", Some(&host.name));
    out.text("uname_release", Some(&host.kernel));
    out.text("uname_machine", host.architecture.as_deref());
    // In KiB, as their program writes it.
    let known = |number: u64| Some(number).filter(|number| *number > 0);
    out.raw("ram_total", known(host.memory_bytes / 1024));
    out.raw("cpu_count", known(host.cpus));
    out.text("cpu_model", host.cpu_model.as_deref());
    out.close("machine", "{}");
}

fn files(report: &Report, details: &Details, out: &mut Yaml) {
    if report.inputs.is_empty() && report.outputs.is_empty() && details.outputs.is_empty() {
        return;
    }
    // Who reads the record looks for outputs by their names, and for those of the task's own.
    let mut names: HashSet<String> = OWN_FILES.iter().map(|name| (*name).to_owned()).collect();
    let keys = |files: &[NamedFile], names: &mut HashSet<String>| -> Vec<String> {
        let names = files.iter().map(|file| unique(&key(&file.name), names));
        names.collect()
    };
    let outputs = keys(&report.outputs, &mut names);
    let inputs = keys(&report.inputs, &mut names);
    out.open("files");
    for (key, file) in inputs.iter().zip(&report.inputs) {
        named_file(key, file, Some(&file.before), false, out);
    }
    for (key, file) in outputs.iter().zip(&report.outputs) {
        named_file(key, file, file.after.as_ref(), true, out);
    }
    for output in &details.outputs {
        task_output(output, out);
    }
    out.close("files", "{}");
}

/// A key of YAML has at most 1024 characters, escapes included: of a longer name the end.
fn key(name: &str) -> String {
    if quoted(name).len() <= KEY_BYTES_MAX {
        return name.to_owned();
    }
    let skipped = name
        .chars()
        .count()
        .saturating_sub(KEY_BYTES_MAX / ESCAPE_BYTES);
    name.chars().skip(skipped).collect()
}

/// `name`, with a number behind it if another one has it: YAML has each key once.
fn unique(name: &str, names: &mut HashSet<String>) -> String {
    let mut key = name.to_owned();
    let mut uses = 1;
    while !names.insert(key.clone()) {
        uses += 1;
        key = format!("{name}-{uses}");
    }
    key
}

/// A file that was named, as a look told of it; none of an output whose task was not started.
fn named_file(key: &str, file: &NamedFile, look: Option<&Look>, output: bool, out: &mut Yaml) {
    let key = quoted(key);
    out.open(&key);
    if let Some(look) = look.filter(|look| look.state.is_none()) {
        out.raw("error", Some(look.errno.unwrap_or(NO_ANSWER)));
    }
    out.text("lfn", Some(&file.name));
    out.text("file_name", Some(&file.path));
    if let Some(state) = look.and_then(|look| look.state.as_ref()) {
        file_state(state, out);
        out.raw("output", output.then_some("True"));
    }
    out.close(&key, "{}");
}

fn file_state(state: &FileState, out: &mut Yaml) {
    let kind = match state.kind {
        FileKind::Directory => "4",
        FileKind::Fifo => "1",
        FileKind::Socket => "14",
        FileKind::CharacterDevice | FileKind::Terminal => "2",
        FileKind::BlockDevice => "6",
        _ => "10",
    };
    out.raw("mode", Some(format!("0o{kind}{}", state.mode)));
    out.raw("size", Some(state.size_bytes.0));
    out.raw("inode", Some(state.inode));
    out.raw("nlink", Some(state.links));
    out.raw("blksize", Some(state.block_bytes.0));
    out.raw("blocks", Some(state.allocated_bytes.0 / BLOCK_BYTES));
    for (name, at) in [
        ("mtime", &state.mtime),
        ("atime", &state.atime),
        ("ctime", &state.ctime),
    ] {
        out.raw(name, at.as_deref().and_then(to_the_second));
    }
    out.raw("uid", Some(state.uid));
    out.text("user", state.user.as_deref());
    out.raw("gid", Some(state.gid));
    out.text("group", state.group.as_deref());
}

fn task_output(output: &TaskOutput, out: &mut Yaml) {
    out.open(output.name);
    out.text("file_name", output.file_name.as_deref());
    out.raw("size", output.size_bytes);
    if let Some(data) = &output.data {
        out.raw("data_truncated", Some(output.truncated));
        out.text("data", Some(data));
    }
    out.close(output.name, "{}");
}

/// The limits of the task, not those of getrlimit(2), which Plimsoll leaves as they are.
fn limits(report: &Report, out: &mut Yaml) {
    if report.limits.is_empty() {
        return;
    }
    out.open("limits");
    for set in &report.limits {
        let name = format!("plimsoll_{}", set.resource);
        out.raw(&name, Some(set.limit.as_f64()));
    }
    out.close("limits", "{}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_quoted_text_early() {
        assert_eq!(
            quoted("a: \"b\" \\ # - \n\u{7}\u{85}\u{2028}\u{feff}é😀"),
            r#""a: \"b\" \\ # - \n\u0007\u0085\u2028\ufeffé😀""#
        );
    }

    #[test]
    fn keys_are_short_and_each_is_there_once() {
        let mut names = HashSet::from(["stdout".to_owned()]);
        assert_eq!(unique("stdout", &mut names), "stdout-2");
        assert_eq!(unique("stdout", &mut names), "stdout-3");
        assert_eq!(unique("a", &mut names), "a");
        for long in ["\u{7}/".repeat(2000), "d/".repeat(600)] {
            let key = key(&long);
            assert!(quoted(&key).len() <= KEY_BYTES_MAX && long.ends_with(&key));
        }
        assert_eq!(key("a b"), "a b");
    }

    #[test]
    fn what_has_no_members_is_empty_and_not_null() {
        let mut out = Yaml::default();
        out.open("a");
        out.open("b");
        out.close("b", "[]");
        out.close("a", "{}");
        out.open("c");
        out.close("c", "{}");
        assert_eq!(out.text, "a:\n  b: []\nc: {}\n");
    }
}
