//! Instances of WfCommons in WfFormat: 1.5, where a task is specified in one place and its
//! execution told in another, and 1.0 to 1.4, where both are together. A document is read piece by
//! piece; of each task only what an attempt has is held until the end, for what tells the machines
//! and the files may stand behind the tasks.

use super::Format;
use super::amount::{self, Bad, SECOND};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, set};
use super::walk::{Path, Scalar, Visit, Walk};
use crate::Error;
use crate::attempt::host_class;
use crate::category::{category_of_command, program_of_command, without_number};
use record::attempt::{Amount, Attempt, End, Known};
use record::value::Number;
use serde::de::DeserializeSeed;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    doc: "instances of WfCommons, WfFormat 1.0 to 1.5",
    detects,
    read,
};

const NAME: &str = "wfformat";

/// Bytes of one document.
const DOCUMENT_MAX: u64 = 2 << 30;

/// Bytes of one text, number or name in it.
const TOKEN_MAX: u64 = 16 << 20;

/// KB of the versions before 1.4.
const KB: u64 = 1000;

fn detects(look: &Look<'_>) -> bool {
    let text = look.text;
    let of_workflow = text.contains("\"workflow\"");
    text.starts_with('{')
        && (text.contains("\"schemaVersion\"")
            || look.name.ends_with(".wfformat.json")
            || of_workflow && text.contains("\"tasks\""))
}

/// A task, as it is specified or as it was executed.
#[derive(Debug, Default)]
struct Task {
    name: Option<String>,
    id: Option<String>,
    category: Option<String>,
    parents: Vec<String>,
    inputs: Vec<String>,
    input_size: Option<u64>,
    runtime: Option<u64>,
    executed_at: Option<String>,
    program: Option<String>,
    arguments: Vec<String>,
    cores: Option<f64>,
    busy: Option<f64>,
    read: Option<u64>,
    written: Option<u64>,
    memory: Option<u64>,
    machine: Option<String>,
    bad: Option<String>,
}

/// A file of a task in an early version, or one that is specified.
#[derive(Debug, Default)]
struct File {
    id: Option<String>,
    size: Option<u64>,
    is_input: bool,
}

#[derive(Debug, Default)]
struct Machine {
    name: Option<String>,
    vendor: Option<String>,
    mhz: Option<String>,
    cpus: Option<u64>,
}

/// What was read of a document.
#[derive(Debug, Default)]
struct Document {
    name: Option<String>,
    created: Option<String>,
    executed: Option<String>,
    /// Kickstart's bytes were put into members of KB as they were.
    is_pegasus: bool,
    specified: Vec<Task>,
    ran: Vec<Task>,
    /// Whether tasks were executed where they are specified, in one list.
    is_early: bool,
    sizes: HashMap<String, u64>,
    machines: HashMap<String, Option<String>>,
    task: Task,
    file: File,
    machine: Machine,
    /// Bytes since something was told.
    since: Rc<Cell<u64>>,
}

const SPECIFIED: &str = "workflow/specification/tasks/-";
const RAN: &str = "workflow/execution/tasks/-";
const EARLY: &[&str] = &["workflow/tasks/-", "workflow/jobs/-"];

impl Visit for Document {
    fn scalar(&mut self, path: &str, value: &Scalar<'_>) {
        self.since.set(0);
        match path {
            "name" => self.name = value.text(),
            "createdAt" => self.created = value.text(),
            "workflow/executedAt" | "workflow/execution/executedAt" => {
                self.executed = value.text();
            }
            "wms/name" | "runtimeSystem/name" => {
                let name = value.text().unwrap_or_default();
                self.is_pegasus = name.to_ascii_lowercase().contains("pegasus");
            }
            path => {
                let tasks = [SPECIFIED, RAN].iter().chain(EARLY);
                let member = tasks.filter_map(|tasks| path.strip_prefix(tasks)).next();
                match member {
                    Some(member) => self.of_task(member.trim_start_matches('/'), value),
                    None => self.beside(path, value),
                }
            }
        }
    }

    fn end(&mut self, path: &str) {
        self.since.set(0);
        match path {
            SPECIFIED => self.specified.push(std::mem::take(&mut self.task)),
            RAN => self.ran.push(std::mem::take(&mut self.task)),
            "workflow/specification/files/-" => {
                let File { id, size, .. } = std::mem::take(&mut self.file);
                if let (Some(id), Some(size)) = (id, size) {
                    self.sizes.insert(id, size);
                }
            }
            "workflow/machines/-" | "workflow/execution/machines/-" => self.machine_ends(),
            path if EARLY.contains(&path) => {
                self.is_early = true;
                self.ran.push(std::mem::take(&mut self.task));
            }
            path if EARLY.iter().any(|tasks| is_below(path, tasks, "/files/-")) => {
                let File { size, is_input, .. } = std::mem::take(&mut self.file);
                if let Some(size) = size.filter(|_| is_input) {
                    let sum = self.task.input_size.unwrap_or(0);
                    self.task.input_size = Some(sum.saturating_add(size));
                }
            }
            _ => {}
        }
    }
}

fn is_below(path: &str, folder: &str, rest: &str) -> bool {
    path.strip_prefix(folder) == Some(rest)
}

impl Document {
    fn of_task(&mut self, member: &str, value: &Scalar<'_>) {
        let kb = if self.is_pegasus { 1 } else { KB };
        let done = match member {
            "files/-/link" => {
                self.file.is_input = value.text().as_deref() == Some("input");
                Ok(())
            }
            "files/-/size" | "files/-/sizeInBytes" => {
                value.amount(1).map(|size| self.file.size = size)
            }
            member => self.task.take(member, value, kb),
        };
        if let Err(Bad(why)) = done {
            let value: String = value.text().unwrap_or_default().chars().take(40).collect();
            let bad = &mut self.task.bad;
            bad.get_or_insert_with(|| format!("{member}: `{value}` {why}"));
        }
    }

    /// Files and machines: what is wrong there is as if it were not told.
    fn beside(&mut self, path: &str, value: &Scalar<'_>) {
        match path {
            "workflow/specification/files/-/id" => self.file.id = value.text(),
            "workflow/specification/files/-/sizeInBytes" => {
                self.file.size = value.amount(1).ok().flatten();
            }
            path => {
                let machines = ["workflow/machines/-/", "workflow/execution/machines/-/"];
                let member = machines
                    .iter()
                    .find_map(|machines| path.strip_prefix(machines));
                match member {
                    Some("nodeName") => self.machine.name = value.text(),
                    Some("cpu/vendor") => self.machine.vendor = value.text(),
                    Some("cpu/speed" | "cpu/speedInMHz") => self.machine.mhz = value.text(),
                    Some("cpu/count" | "cpu/coreCount") => {
                        self.machine.cpus = value.amount(1).ok().flatten();
                    }
                    _ => {}
                }
            }
        }
    }

    fn machine_ends(&mut self) {
        let Machine {
            name,
            vendor,
            mhz,
            cpus,
        } = std::mem::take(&mut self.machine);
        // The model is not told: who made it and how fast it is are what is known of it.
        let model = vendor.zip(mhz);
        let model = model.map(|(vendor, mhz)| format!("{vendor} {mhz} MHz"));
        if let Some(name) = name {
            self.machines
                .insert(name, host_class(model.as_deref(), cpus));
        }
    }
}

impl Task {
    fn take(&mut self, member: &str, value: &Scalar<'_>, kb: u64) -> Result<(), Bad> {
        match member {
            "name" => self.name = value.text(),
            "id" => self.id = value.text(),
            "category" => self.category = value.text(),
            "parents/-" => self.parents.extend(value.text()),
            "inputFiles/-" => self.inputs.extend(value.text()),
            "runtime" | "runtimeInSeconds" => self.runtime = value.amount(SECOND)?,
            "executedAt" => self.executed_at = value.text(),
            "command/program" => self.program = value.text(),
            "command/arguments/-" | "arguments/-" => self.arguments.extend(value.text()),
            "cores" | "coreCount" => self.cores = value.real()?,
            "avgCPU" => self.busy = value.real()?.map(|percent| percent / 100.0),
            "readBytes" => self.read = value.amount(1)?,
            "writtenBytes" => self.written = value.amount(1)?,
            "bytesRead" => self.read = self.read.or(value.amount(kb)?),
            "bytesWritten" => self.written = self.written.or(value.amount(kb)?),
            "memoryInBytes" => self.memory = value.amount(1)?,
            "memory" => self.memory = self.memory.or(value.amount(KB)?),
            "machine" | "machines/-" => {
                // Of several machines none is the one where it ran.
                self.machine = match self.machine {
                    None => value.text(),
                    Some(_) => Some(String::new()),
                };
            }
            _ => {}
        }
        Ok(())
    }

    fn key(&self) -> Option<&String> {
        self.id.as_ref().or(self.name.as_ref())
    }
}

/// Ends what is too large, as an error of the input.
struct Bounded<'r> {
    input: &'r mut dyn BufRead,
    total: u64,
    since: Rc<Cell<u64>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // In pieces, so that what is told in between is seen.
        let piece = buffer.len().min(1 << 16);
        let count = self
            .input
            .read(buffer.get_mut(..piece).unwrap_or_default())?;
        self.total += count as u64;
        self.since.set(self.since.get() + count as u64);
        match () {
            () if self.total > DOCUMENT_MAX => Err(io::Error::other("the document is too large")),
            () if self.since.get() > TOKEN_MAX => Err(io::Error::other("a text is too large")),
            () => Ok(count),
        }
    }
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    skip_mark(input)?;
    if input.fill_buf()?.is_empty() {
        return Ok(());
    }
    let mut document = Document::default();
    let bounded = Bounded {
        input,
        total: 0,
        since: Rc::clone(&document.since),
    };
    let mut deserializer =
        serde_json::Deserializer::from_reader(io::BufReader::with_capacity(1 << 16, bounded));
    let mut path = Path::default();
    let walk = Walk {
        path: &mut path,
        visit: &mut document,
    };
    let done = walk.deserialize(&mut deserializer);
    let done = done.and_then(|()| deserializer.end());
    let is_empty = document.ran.is_empty() && document.specified.is_empty();
    match done {
        Ok(()) if is_empty => Err(Halt::Failed(Error::NotOfFormat {
            format: NAME,
            why: "no tasks in it".to_owned(),
        })),
        Ok(()) => document.hand_on(intake),
        Err(error) => {
            let line = u64::try_from(error.line()).unwrap_or(u64::MAX);
            let why = format!("the document is broken: {error}");
            // What came before is whole.
            document.hand_on(intake)?;
            intake.met();
            intake.reject(Place::Line(line), b"", why)?;
            match error.is_io() {
                true => failed(error.into()),
                false => Ok(()),
            }
        }
    }
}

/// What was only too large ends in what was told already.
fn failed(error: io::Error) -> Result<(), Halt> {
    let halt = Halt::from(error);
    match &halt {
        Halt::Failed(Error::Import { source }) if source.kind() == io::ErrorKind::Other => Ok(()),
        _ => Err(halt),
    }
}

fn skip_mark(input: &mut dyn BufRead) -> Result<(), Halt> {
    if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    Ok(())
}

impl Document {
    fn hand_on(&mut self, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
        let specified = std::mem::take(&mut self.specified);
        let mut order = Vec::with_capacity(specified.len());
        let mut by_key: HashMap<String, Task> = HashMap::new();
        for task in specified {
            let key = task.key().cloned().unwrap_or_default();
            order.push(key.clone());
            by_key.insert(key, task);
        }
        let ran = std::mem::take(&mut self.ran);
        let names = Names::of(&ran, self.is_early);
        for task in ran {
            let place = Place::Record(intake.met());
            let shown = task.key().cloned().unwrap_or_default();
            let specified = task.key().and_then(|key| by_key.remove(key));
            match self.attempt(task, specified, &names) {
                Ok((attempt, executed_at)) => {
                    let identity = intake
                        .identity()
                        .maybe(self.name.as_deref())
                        .maybe(self.created.as_deref().or(self.executed.as_deref()))
                        .maybe(attempt.task.as_deref())
                        .maybe(executed_at.as_deref());
                    intake.attempt(attempt, identity)?;
                }
                Err(why) => intake.reject(place, shown.as_bytes(), why)?,
            }
        }
        for key in order {
            if by_key.remove(&key).is_some() {
                let place = Place::Record(intake.met());
                intake.reject(place, key.as_bytes(), "it was not executed")?;
            }
        }
        Ok(())
    }

    /// A task as it ran, with what else is known of it; and when it did, as it was told.
    fn attempt(
        &self,
        ran: Task,
        specified: Option<Task>,
        names: &Names,
    ) -> Result<(Attempt, Option<String>), String> {
        let specified = specified.unwrap_or_default();
        if let Some(why) = ran.bad.or(specified.bad) {
            return Err(why);
        }
        let (name, id) = (ran.name.or(specified.name), ran.id.or(specified.id));
        let key = match self.is_early {
            true => name.clone().or_else(|| id.clone()),
            false => id.clone().or_else(|| name.clone()),
        };
        let key = key.ok_or("no id and no name")?;
        let began = ran.executed_at.as_deref().map(|text| {
            super::instant::date(text, 0).map_err(|Bad(why)| format!("executedAt: `{text}` {why}"))
        });
        let mut attempt = Attempt {
            set: self.name.clone(),
            command: ran.program.into_iter().chain(ran.arguments).collect(),
            began: began.transpose()?,
            // WfFormat has no other tasks than those that were done.
            end: End::Done,
            ..Attempt::default()
        };
        attempt.tool = program_of_command(&attempt.command);
        let category = ran.category.or(specified.category);
        let category = category.or_else(|| Some(without_number(name.as_deref()?).to_owned()));
        attempt.category = category.unwrap_or_else(|| category_of_command(&attempt.command, None));
        attempt.description = name.filter(|name| *name != attempt.category);
        let parents = ran.parents.into_iter().chain(specified.parents);
        attempt.parents = parents.map(|parent| names.key(parent)).collect();
        attempt.task = Some(key);
        attempt.input_size = ran.input_size.or_else(|| self.sum(&specified.inputs));
        if let Some(machine) = ran.machine.filter(|machine| !machine.is_empty()) {
            attempt.host_class = self.machines.get(&machine).cloned().flatten();
            attempt.host = Some(machine);
        }
        let used = &mut attempt.used;
        for (name, value) in [
            ("wall", ran.runtime),
            ("rss", ran.memory),
            ("read", ran.read),
            ("written", ran.written),
        ] {
            set(used, name, value);
        }
        if let Some(busy) = ran.busy {
            let cpu = ran
                .runtime
                .and_then(|wall| amount::scaled(busy, wall as f64).ok());
            set(used, "cpu", cpu);
            used.set("cores", real(busy));
        }
        if let Some(cores) = ran.cores {
            attempt.requested.set("cores", real(cores));
        }
        Ok((attempt, ran.executed_at))
    }

    /// The size of the inputs; none if one has none.
    fn sum(&self, inputs: &[String]) -> Option<u64> {
        let mut sum: Option<u64> = None;
        for input in inputs {
            let size = self.sizes.get(input)?;
            sum = Some(sum.unwrap_or(0).saturating_add(*size));
        }
        sum
    }
}

fn real(value: f64) -> Amount {
    Amount {
        value: Number::Real(value),
        known: Known::Claimed,
    }
}

/// In early versions tasks have names and ids, and parents are told by either.
#[derive(Debug, Default)]
struct Names {
    names: HashSet<String>,
    by_id: HashMap<String, String>,
}

impl Names {
    fn of(tasks: &[Task], is_early: bool) -> Self {
        let mut all = Self::default();
        for task in tasks.iter().filter(|_| is_early) {
            all.names.extend(task.name.clone());
            if let (Some(id), Some(name)) = (&task.id, &task.name) {
                all.by_id.insert(id.clone(), name.clone());
            }
        }
        all
    }

    fn key(&self, parent: String) -> String {
        match self.names.contains(&parent) {
            true => parent,
            false => self.by_id.get(&parent).cloned().unwrap_or(parent),
        }
    }
}
