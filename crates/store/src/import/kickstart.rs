//! Records of Pegasus' kickstart: YAML (version 3), items of a list that are appended one by one;
//! or XML (version 2), one document behind the other. A record that is broken takes no other with
//! it.

use super::amount::{Bad, KIB, SECOND};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, end_of, set};
use super::lines::{LINE_MAX, Line, Lines};
use super::walk::{Scalar, Visit};
use super::{Format, instant, xml, yaml};
use crate::attempt::host_class;
use crate::category::{category_of_command, program_of_command};
use record::attempt::{Attempt, End};
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "kickstart",
    doc: "records of Pegasus' kickstart, YAML or XML",
    detects,
    read,
};

/// Bytes of one record.
const RECORD_MAX: usize = 64 << 20;

/// A block of `inblock` and `outblock`.
const BLOCK: u64 = 512;

/// Members of `files` that are no inputs.
const OWN_FILES: &[&str] = &[
    "stdin",
    "stdout",
    "stderr",
    "metadata",
    "kickstart",
    "logfile",
];

/// Which of the two a file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Yaml,
    Xml,
}

fn detects(look: &Look<'_>) -> bool {
    let text = look.text;
    text.starts_with("- invocation:")
        || text.contains("\n- invocation:")
        || text.contains("<invocation ")
}

/// The lines of a record.
#[derive(Debug, Default)]
struct Record {
    line: u64,
    text: Vec<u8>,
    is_large: bool,
    /// Whether its last line has an end.
    is_ended: bool,
}

impl Record {
    fn begin(line: Line<'_>) -> Self {
        let mut record = Self {
            line: line.number,
            ..Self::default()
        };
        record.add(line);
        record
    }

    fn add(&mut self, line: Line<'_>) {
        let is_large = !line.is_whole || self.text.len() + line.bytes.len() > RECORD_MAX;
        self.is_large |= is_large;
        self.is_ended = line.is_ended;
        if !is_large {
            self.text.extend_from_slice(line.bytes);
            self.text.push(b'\n');
        }
    }
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let mut lines = Lines::new(input);
    let mut records: Option<Records> = None;
    while let Some(line) = lines.next()? {
        let blank = line.bytes.trim_ascii();
        if records.is_none() && blank.is_empty() {
            continue;
        }
        let records = records.get_or_insert_with(|| Records {
            language: match blank.first() {
                Some(b'<') => Language::Xml,
                _ => Language::Yaml,
            },
            record: None,
            between: Between::Nothing,
        });
        records.take(intake, line)?;
    }
    match records {
        Some(mut records) => {
            records.end(intake)?;
            intake.over(true)
        }
        None => Ok(()),
    }
}

/// What stands where there is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    /// Lines that belong to nothing, told once.
    Stray,
    /// Another part of a file of Pegasus: what it checked and transferred, and where.
    Part {
        is_told: bool,
    },
}

/// The records of a file.
struct Records {
    language: Language,
    record: Option<Record>,
    between: Between,
}

impl Records {
    fn take(&mut self, intake: &mut Intake<'_, '_>, line: Line<'_>) -> Result<(), Halt> {
        let is_part = matches!(self.between, Between::Part { .. });
        let begins = match self.language {
            Language::Yaml if is_part => line.bytes.starts_with(b"- invocation"),
            Language::Yaml => line.bytes.starts_with(b"- "),
            Language::Xml => has(line.bytes, b"<invocation"),
        };
        if begins {
            self.end(intake)?;
            self.between = Between::Nothing;
            self.record = Some(Record::begin(line));
        } else if self.language == Language::Yaml && is_mark(line.bytes) {
            self.end(intake)?;
            self.between = match has(line.bytes, PART) {
                true => Between::Part { is_told: false },
                false => Between::Nothing,
            };
        } else if let Some(record) = &mut self.record {
            record.add(line);
        } else {
            self.aside(intake, line)?;
        }
        if self.language == Language::Xml && has(line.bytes, b"</invocation>") {
            self.end(intake)?;
        }
        Ok(())
    }

    /// A line in no record.
    fn aside(&mut self, intake: &mut Intake<'_, '_>, line: Line<'_>) -> Result<(), Halt> {
        let blank = line.bytes.trim_ascii();
        if blank.is_empty() || is_passed_over(blank, self.language) {
            return Ok(());
        }
        match self.between {
            Between::Stray | Between::Part { is_told: true } => {}
            Between::Part { is_told: false } => {
                self.between = Between::Part { is_told: true };
                intake.met();
                intake.joined();
            }
            Between::Nothing => {
                self.between = Between::Stray;
                intake.met();
                intake.reject(Place::Line(line.number), line.bytes, "is in no record")?;
            }
        }
        Ok(())
    }

    fn end(&mut self, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
        match self.record.take() {
            Some(record) => finish(intake, &record, self.language),
            None => Ok(()),
        }
    }
}

/// In front of each part of a file of Pegasus.
const PART: &[u8] = b"pegasus-multipart";

/// The ends of a document of YAML.
fn is_mark(line: &[u8]) -> bool {
    line.starts_with(b"---") || line.starts_with(b"...")
}

/// What may stand between records.
fn is_passed_over(line: &[u8], language: Language) -> bool {
    let first: &[&[u8]] = match language {
        Language::Yaml => &[b"#", b"%"],
        Language::Xml => &[b"<?", b"<!"],
    };
    first.iter().any(|first| line.starts_with(first))
}

fn has(line: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(line, word).is_some()
}

/// What a record tells, from either language.
#[derive(Debug, Default)]
struct Draft {
    attempt: Attempt,
    is_record: bool,
    /// Whether it tells of a main job, and how that ended.
    has_main: bool,
    has_status: bool,
    /// Of the whole record, where its main job tells none.
    duration: Option<u64>,
    cpu: Option<u64>,
    program: Option<String>,
    arguments: Vec<String>,
    model: Option<String>,
    /// As the machine calls itself, where its address has no name.
    node: Option<String>,
    cpus: Option<u64>,
    label: Option<String>,
    stamp: Option<String>,
    pid: Option<String>,
    start: Option<String>,
    utc_offset_seconds: i32,
    file_size: Option<u64>,
    is_output: bool,
    bad: Option<String>,
}

impl Visit for Draft {
    fn scalar(&mut self, path: &str, value: &Scalar<'_>) {
        let path = path.strip_prefix("-/").unwrap_or(path);
        let path = path.strip_prefix("invocation").unwrap_or(path);
        let path = path.trim_start_matches(['/', '@']);
        self.is_record |= ["", "version", "transformation"].contains(&path);
        self.meet(path);
        if let Err(Bad(why)) = self.take(path, value) {
            let value: String = value.text().unwrap_or_default().chars().take(40).collect();
            self.bad
                .get_or_insert_with(|| format!("{path}: `{value}` {why}"));
        }
    }

    /// A file that was named ends: the inputs add up.
    fn end(&mut self, path: &str) {
        self.meet(path.strip_prefix("-/").unwrap_or(path));
        let name = path.strip_prefix("-/files/");
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            let size = self.file_size.take();
            let is_output = std::mem::take(&mut self.is_output);
            if let Some(size) = size.filter(|_| !is_output && !OWN_FILES.contains(&name)) {
                let sum = self.attempt.input_size.unwrap_or(0);
                self.attempt.input_size = Some(sum.saturating_add(size));
            }
        }
    }
}

impl Draft {
    fn meet(&mut self, path: &str) {
        self.has_main |= path.starts_with("mainjob");
        self.has_status |= path.starts_with("mainjob/status");
    }

    /// Whether it is told how long the task ran and how it ended.
    fn is_told(&self) -> bool {
        let attempt = &self.attempt;
        let is_over = attempt.exit_code.is_some() || attempt.signal.is_some();
        attempt.used.get("wall").is_some() && is_over
    }

    fn take(&mut self, path: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        let attempt = &mut self.attempt;
        match path {
            "start" => self.start = value.text(),
            "mainjob/start" | "mainjob@start" => {
                if let Some(text) = value.text() {
                    attempt.began = Some(instant::date(&text, self.utc_offset_seconds)?);
                }
            }
            "duration" => self.duration = value.amount(SECOND)?,
            "mainjob/duration" | "mainjob@duration" => {
                set(&mut attempt.used, "wall", value.amount(SECOND)?);
            }
            "transformation" => attempt.category = value.text().unwrap_or_default(),
            "derivation" => attempt.task = value.text(),
            "wf-label" => self.label = value.text(),
            "wf-stamp" => self.stamp = value.text(),
            "hostname" => attempt.host = value.text(),
            "user" => attempt.user = value.text(),
            "pid" => self.pid = value.text(),
            "jobids/condor" | "jobids/lrm" | "jobids@condor" | "jobids@lrm" => {
                attempt.job = value.text();
            }
            "machine/cpu_model" | "machine/cpu_name" | "machine/linux/cpu"
            | "machine/darwin/cpu" => self.model = value.text(),
            "machine/uname_nodename" | "machine/uname@nodename" => self.node = value.text(),
            "machine/cpu_count" | "machine/linux/cpu@count" | "machine/darwin/cpu@count" => {
                self.cpus = value.amount(1)?;
            }
            path => return self.take_main(path, value),
        }
        Ok(())
    }

    /// What is told of the main job and of files.
    fn take_main(&mut self, path: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        if let Some((_, member)) = path
            .strip_prefix("files/")
            .and_then(|path| path.split_once('/'))
        {
            match member {
                "size" => self.file_size = value.amount(1)?,
                "output" => self.is_output = *value == Scalar::Truth(true),
                _ => {}
            }
            return Ok(());
        }
        let Some(path) = path.strip_prefix("mainjob/") else {
            return Ok(());
        };
        let attempt = &mut self.attempt;
        let used = &mut attempt.used;
        match path {
            "usage/utime" | "usage/stime" | "usage@utime" | "usage@stime" => {
                if let Some(time) = value.amount(SECOND)? {
                    self.cpu = Some(self.cpu.unwrap_or(0).saturating_add(time));
                }
            }
            "usage/maxrss" | "usage@maxrss" => set(used, "rss", value.amount(KIB)?),
            "usage/inblock" | "usage@inblock" => set(used, "disk_read", value.amount(BLOCK)?),
            "usage/outblock" | "usage@outblock" => {
                set(used, "disk_written", value.amount(BLOCK)?);
            }
            "status/regular_exitcode" | "status/regular@exitcode" => {
                attempt.exit_code = value.code()?;
            }
            "status/signalled_signal" | "status/signalled@signal" => {
                attempt.signal = value.code()?;
            }
            "status/failure_error" | "status/error" | "status/failure" => {
                attempt.cause = value.text();
            }
            "executable/file_name" | "statcall/file@name" => self.program = value.text(),
            "argument_vector/-" | "argument-vector/arg" => {
                self.arguments.push(value.text().unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }
}

fn finish(intake: &mut Intake<'_, '_>, record: &Record, language: Language) -> Result<(), Halt> {
    intake.met();
    let place = Place::Line(record.line);
    if record.is_large {
        let why = format!("longer than {RECORD_MAX} bytes, or a line of it than {LINE_MAX}");
        return intake.reject(place, &record.text, why);
    }
    // Each line that is written has an end; of one that was cut off a number may be less.
    if language == Language::Yaml && !record.is_ended {
        return intake.reject(place, &record.text, "has no end of line: it is cut off");
    }
    let text = String::from_utf8_lossy(&record.text);
    let mut draft = Draft {
        utc_offset_seconds: intake.options().utc_offset_seconds,
        ..Draft::default()
    };
    let done = match language {
        Language::Yaml => yaml::walk(&text, &mut draft),
        Language::Xml => xml::walk(&text, &mut draft),
    };
    // Where what the task wrote, or the files of its processes, is no YAML, all that an attempt has
    // stands in front of that.
    let broken = done.err().filter(|_| !draft.is_told());
    let why = draft.bad.take().or(broken);
    if let Some(why) = why {
        return intake.reject(place, &record.text, why);
    }
    if !draft.is_record {
        return intake.reject(place, &record.text, "no record of an invocation");
    }
    // What a task used stands in front of how it ended, which is always there.
    if language == Language::Yaml && draft.has_main && !draft.has_status {
        let why = "its mainjob has no status: it is cut off";
        return intake.reject(place, &record.text, why);
    }
    draft.hand_on(intake, place, &record.text)
}

impl Draft {
    fn hand_on(self, intake: &mut Intake<'_, '_>, place: Place, text: &[u8]) -> Result<(), Halt> {
        let Self {
            mut attempt,
            duration,
            cpu,
            program,
            arguments,
            model,
            node,
            cpus,
            label,
            stamp,
            pid,
            start,
            utc_offset_seconds,
            ..
        } = self;
        if attempt.used.get("wall").is_none() {
            set(&mut attempt.used, "wall", duration);
        }
        set(&mut attempt.used, "cpu", cpu);
        if attempt.began.is_none() {
            let date = |text: &String| instant::date(text, utc_offset_seconds).ok();
            attempt.began = start.as_ref().and_then(date);
        }
        attempt.host = attempt.host.or(node);
        attempt.command = program.into_iter().chain(arguments).collect();
        attempt.tool = program_of_command(&attempt.command);
        if attempt.category.is_empty() {
            attempt.category = category_of_command(&attempt.command, None);
        }
        attempt.host_class = host_class(model.as_deref(), cpus);
        attempt.set = match (label, stamp) {
            (Some(label), Some(stamp)) => Some(format!("{label} {stamp}")),
            (label, stamp) => label.or(stamp),
        };
        attempt.end = match attempt.cause {
            Some(_) if attempt.exit_code.is_none() => End::Failed,
            _ => end_of(attempt.exit_code, attempt.signal),
        };
        let identity = intake.identity();
        let is_known = attempt.host.is_some() && pid.is_some() && start.is_some();
        if !is_known {
            return intake.attempt(attempt, identity.with(text));
        }
        let identity = identity
            .maybe(attempt.host.as_deref())
            .maybe(pid.as_deref())
            .maybe(start.as_deref())
            .maybe(attempt.task.as_deref());
        intake.attempt_once(attempt, identity, place, text)
    }
}
