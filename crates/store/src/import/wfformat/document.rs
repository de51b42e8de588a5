//! A document as its pieces are told: tasks, files, machines.

use super::KB;
use crate::attempt::host_class;
use crate::import::amount::{Bad, SECOND};
use crate::import::intake::TEXT_MAX;
use crate::import::walk::{Scalar, Visit};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// A task, as it is specified or as it was executed.
#[derive(Debug, Default)]
pub(super) struct Task {
    /// Its place among the specified.
    pub(super) number: u64,
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    pub(super) category: Option<String>,
    pub(super) parents: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) input_size: Option<u64>,
    /// How it ran, for those that did.
    pub(super) run: Option<Box<Run>>,
    pub(super) bad: Option<Box<str>>,
}

/// How a task ran.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) runtime: Option<u64>,
    pub(super) executed_at: Option<String>,
    pub(super) program: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) cores: Option<f64>,
    pub(super) busy: Option<f64>,
    pub(super) read: Option<u64>,
    pub(super) written: Option<u64>,
    /// In KB, but for Pegasus.
    pub(super) read_kb: Option<u64>,
    pub(super) written_kb: Option<u64>,
    pub(super) memory: Option<u64>,
    pub(super) machine: Option<String>,
}

/// A file of a task in an early version, or one that is specified.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) id: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) is_input: bool,
}

#[derive(Debug, Default)]
pub(super) struct Machine {
    pub(super) name: Option<String>,
    pub(super) vendor: Option<String>,
    pub(super) mhz: Option<String>,
    pub(super) cpus: Option<u64>,
}

/// What was read of a document.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) name: Option<String>,
    pub(super) created: Option<String>,
    pub(super) executed: Option<String>,
    /// Kickstart's bytes were put into members of KB as they were.
    pub(super) is_pegasus: bool,
    /// By what others call them.
    pub(super) specified: HashMap<String, Task>,
    pub(super) ran: Vec<Task>,
    /// Entries of lists of tasks that are none, and why.
    pub(super) broken: Vec<(String, &'static str)>,
    /// Whether tasks were executed where they are specified, in one list.
    pub(super) is_early: bool,
    pub(super) sizes: HashMap<String, u64>,
    pub(super) machines: HashMap<String, Option<String>>,
    pub(super) task: Task,
    pub(super) file: File,
    pub(super) machine: Machine,
    /// Bytes since something was told.
    pub(super) since: Rc<Cell<u64>>,
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
                    Some("") => {
                        let entry = value.text().unwrap_or_default();
                        let entry = entry.chars().take(TEXT_MAX).collect();
                        self.broken.push((entry, "is no task"));
                    }
                    Some(member) => self.of_task(member.trim_start_matches('/'), value),
                    None => self.beside(path, value),
                }
            }
        }
    }

    fn end(&mut self, path: &str) {
        self.since.set(0);
        match path {
            SPECIFIED => {
                let mut task = std::mem::take(&mut self.task);
                task.number = self.specified.len() as u64;
                match task.key().cloned() {
                    Some(key) if self.specified.contains_key(&key) => {
                        self.broken.push((key, "specified before"));
                    }
                    Some(key) => {
                        self.specified.insert(key, task);
                    }
                    None => self.broken.push((String::new(), "no id and no name")),
                }
            }
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
        let done = match member {
            "files/-/link" => {
                self.file.is_input = value.text().as_deref() == Some("input");
                Ok(())
            }
            "files/-/size" | "files/-/sizeInBytes" => {
                value.amount(1).map(|size| self.file.size = size)
            }
            member => self.task.take(member, value),
        };
        if let Err(Bad(why)) = done {
            let value: String = value.text().unwrap_or_default().chars().take(40).collect();
            let bad = &mut self.task.bad;
            bad.get_or_insert_with(|| format!("{member}: `{value}` {why}").into());
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
    fn take(&mut self, member: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        match member {
            "name" => self.name = value.text(),
            "id" => self.id = value.text(),
            "category" => self.category = value.text(),
            "parents/-" => self.parents.extend(value.text()),
            "inputFiles/-" => self.inputs.extend(value.text()),
            member if RUN_MEMBERS.contains(&member) => {
                self.run.get_or_insert_default().take(member, value)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What other tasks call it.
    pub(super) fn key(&self) -> Option<&String> {
        self.id.as_ref().or(self.name.as_ref())
    }
}

const RUN_MEMBERS: &[&str] = &[
    "runtime",
    "runtimeInSeconds",
    "executedAt",
    "command/program",
    "command/arguments/-",
    "arguments/-",
    "cores",
    "coreCount",
    "avgCPU",
    "readBytes",
    "writtenBytes",
    "bytesRead",
    "bytesWritten",
    "memoryInBytes",
    "memory",
    "machine",
    "machines/-",
];

impl Run {
    fn take(&mut self, member: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        match member {
            "runtime" | "runtimeInSeconds" => self.runtime = value.amount(SECOND)?,
            "executedAt" => self.executed_at = value.text(),
            "command/program" => self.program = value.text(),
            "command/arguments/-" | "arguments/-" => self.arguments.extend(value.text()),
            "cores" | "coreCount" => self.cores = value.real()?,
            "avgCPU" => self.busy = value.real()?.map(|percent| percent / 100.0),
            "readBytes" => self.read = value.amount(1)?,
            "writtenBytes" => self.written = value.amount(1)?,
            "bytesRead" => self.read_kb = value.amount(1)?,
            "bytesWritten" => self.written_kb = value.amount(1)?,
            "memoryInBytes" => self.memory = value.amount(1)?,
            "memory" => self.memory = self.memory.or(value.amount(KB)?),
            _ => {
                // Of several machines none is the one where it ran.
                self.machine = match self.machine {
                    None => value.text(),
                    Some(_) => Some(String::new()),
                };
            }
        }
        Ok(())
    }
}
