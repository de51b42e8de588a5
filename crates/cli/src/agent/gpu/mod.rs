//! Graphics processors: what the driver of NVIDIA's tells of devices and of the processes on them.
//!
//! To ask it a library of the driver's is loaded, which opens devices and may hang or crash: a
//! process of the agent does that and nothing else, and a warden ends it when it does not answer.
//! The process that reads puts a byte into a channel at each reading of everyone, and writes the
//! answer as of that instant whenever it comes.

mod driver;
mod message;
mod warden;

use super::node::Node;
use super::{Segments, now, say, warn};
use anyhow::{Result, anyhow};
use message::{Ask, Told};
use record::codec::series::Row;
use record::gpu::GpuMachine;
use record::identity::ProcessId;
use record::metric::{Kind, Metric, Scope};
use record::table::gpu;
use record::unit::{Nanos, Unit};
use source::query::gpu::machine::FIELDS;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use store::Error;
use store::segment::{Instant, Sheet};
use sys::descriptor;
use sys::process::{self, Fork};

/// An answer that did not come within this time is none any more.
const LOST: Nanos = Nanos::from_secs(600);

/// What an agent tells of this.
pub(crate) const METRICS: &[Metric] = &[
    of_agent(
        "agent_gpu_restarts",
        Kind::Counter,
        "times that the process that asks a driver crashed or did not answer",
    ),
    of_agent(
        "agent_gpu_late",
        Kind::Counter,
        "readings without devices, as the one before was not answered or nobody could be asked",
    ),
    of_agent(
        "agent_gpu_left_out",
        Kind::Gauge,
        "devices and processes on them beyond what is kept",
    ),
];

const fn of_agent(name: &'static str, kind: Kind, doc: &'static str) -> Metric {
    Metric {
        name,
        kind,
        unit: Unit::Count,
        scope: Scope::Node,
        origin: "the agent",
        since: "any",
        method: "exact when read",
        doc,
    }
}

/// Whether drivers are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// Where there is one.
    Auto,
    /// In any case.
    On,
    /// Never.
    Off,
}

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) when: When,
    /// A driver that does not answer within this time hangs.
    pub(crate) patience: Nanos,
}

/// A reading that devices belong to.
#[derive(Debug)]
struct Asked {
    when: Instant,
    /// Who was read then, by pid; those who are wanted.
    ids: Vec<ProcessId>,
}

/// The devices, on their way into the dataset.
pub(super) struct Gpus {
    /// The warden, with its pid.
    link: Option<(OwnedFd, u32)>,
    /// Why nobody is asked.
    absent: Option<&'static str>,
    /// What the driver calls a process is not what we call it.
    is_foreign: bool,
    asked: Option<Asked>,
    sheet: Sheet,
    is_new: bool,
    room: Vec<u8>,
    restarts: u64,
    late: u64,
    left_out: u64,
}

impl Gpus {
    /// Starts the warden, if there is a driver to be asked. It ends when what this returns is
    /// dropped.
    ///
    /// # Errors
    /// There can be no other process.
    pub(super) fn start(wish: Wish) -> Result<Self> {
        let absent = match wish.when {
            When::Off => Some("not asked for"),
            When::Auto if !Path::new(driver::DEVICE).exists() => Some("no device"),
            When::Auto | When::On => None,
        };
        let link = match absent {
            Some(_) => None,
            None => Some(start(wish.patience)?),
        };
        Ok(Self {
            room: match &link {
                Some(_) => message::room(),
                None => Vec::new(),
            },
            link,
            absent,
            is_foreign: !process::in_first_pid_namespace(),
            asked: None,
            sheet: Sheet::new(&gpu::TABLE),
            is_new: true,
            restarts: 0,
            late: 0,
            left_out: 0,
        })
    }

    /// Why nobody is asked, if that is so.
    pub(super) const fn absent(&self) -> Option<&'static str> {
        self.absent
    }

    /// Readable when something is told.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.link.as_ref().map(|(channel, _)| channel.as_fd())
    }

    /// Wants what the devices tell now, for the reading that begins.
    pub(super) fn ask(&mut self, when: Instant) {
        let Some((channel, _)) = &self.link else {
            return;
        };
        // An answer that was lost on its way is not waited for without end.
        let is_lost = |asked: &Asked| when.at.since(asked.when.at) > LOST;
        if self.asked.as_ref().is_some_and(|asked| !is_lost(asked)) {
            self.late += 1;
            return;
        }
        let ask: Ask = when.at.0.to_le_bytes();
        let is_said = message::forward(channel.as_fd(), &ask, false).is_ok();
        let ids = Vec::new();
        self.asked = is_said.then_some(Asked { when, ids });
    }

    /// The reading that began at `when` met these, who are wanted.
    pub(super) fn met(
        &mut self,
        when: Instant,
        is_new: bool,
        ids: impl Iterator<Item = ProcessId>,
    ) {
        self.is_new |= is_new;
        if let Some(asked) = self.asked.as_mut().filter(|it| it.when.at == when.at) {
            asked.ids.extend(ids);
            asked.ids.sort_unstable_by_key(|id| id.pid);
        }
    }

    /// What the agent tells of this.
    pub(super) fn rows(&self) -> Vec<(&'static str, i64)> {
        if self.link.is_none() {
            return Vec::new();
        }
        let names = METRICS.iter().map(|metric| metric.name);
        let values = [self.restarts, self.late, self.left_out];
        names
            .zip(values.map(|value| i64::try_from(value).unwrap_or(i64::MAX)))
            .collect()
    }

    /// Takes what was told since the last time, and writes it.
    ///
    /// # Errors
    /// Some of it could not be written.
    pub(super) fn take(
        &mut self,
        (node, writer): (&mut Node, &mut Segments),
        warned: &mut Vec<String>,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        while let Some((channel, _)) = &self.link {
            match message::next(channel.as_fd(), &mut self.room) {
                Ok(None) => break,
                Ok(Some(told)) => match message::read(told) {
                    Ok(Told::Reading { at, machine }) => {
                        result = result.and(self.write((at, &machine), node, writer));
                    }
                    Ok(told) => self.hear(told, warned),
                    Err(error) => warn(warned, &error.context("the devices of NVIDIA")),
                },
                Err(_) => {
                    let why = "who asks the devices of NVIDIA has ended: the agent goes on without";
                    warn(warned, &anyhow!(why));
                    self.end();
                }
            }
        }
        result
    }

    fn hear(&mut self, told: Told, warned: &mut Vec<String>) {
        match told {
            Told::Reading { .. } => {}
            Told::Refused { at } => {
                self.late += 1;
                self.asked.take_if(|asked| asked.when.at == at);
            }
            Told::Way { source, kept } => {
                let foreign = match self.is_foreign {
                    true => ", not the processes on them: it has other pids than we",
                    false => "",
                };
                once(
                    warned,
                    format!("reading devices of NVIDIA by {source}{foreign}"),
                );
                if !kept.is_empty() {
                    warn(warned, &anyhow!("devices of NVIDIA: {kept}"));
                }
            }
            Told::Absent(why) => {
                self.asked = None;
                once(
                    warned,
                    format!("this machine does not tell: devices of NVIDIA ({why})"),
                );
            }
            Told::Ended(why) => {
                self.restarts += 1;
                self.asked = None;
                let what = "who asks the devices of NVIDIA";
                let then = "it is started again (agent_gpu_restarts counts that)";
                warn(warned, &anyhow!("{what} {why}: {then}"));
            }
        }
    }

    /// Writes a reading, as of the instant at which it was asked for.
    fn write(
        &mut self,
        (at, machine): (Nanos, &GpuMachine),
        node: &mut Node,
        writer: &mut Segments,
    ) -> Result<(), Error> {
        let asked = self.asked.take_if(|asked| asked.when.at == at);
        let Some(Asked { when, ids }) = asked else {
            return Ok(());
        };
        self.left_out = machine.left_out;
        let span = now().at.since(when.at);
        let of_devices = machine.devices.iter().flat_map(|device| {
            let told = FIELDS.iter().zip(&device.values);
            told.filter_map(|(field, value)| {
                let value = i64::try_from((*value)?).ok()?;
                Some((field.metric.name, device.instance.as_bytes(), value))
            })
        });
        self.sheet.begin(when, std::mem::take(&mut self.is_new));
        if !self.is_foreign {
            self.write_processes(machine, &ids, writer);
        }
        let processes = self.sheet.end(writer, span);
        // Behind them: to who follows, values without processes mean that nobody is on a device.
        processes.and(node.write_more(when, of_devices, writer, span))
    }

    fn write_processes(&mut self, machine: &GpuMachine, ids: &[ProcessId], writer: &mut Segments) {
        let (mut key, mut values) = (Vec::new(), [0; gpu::COLUMN_COUNT]);
        for device in &machine.devices {
            for process in &device.processes {
                let place = ids.binary_search_by_key(&process.pid, |id| id.pid);
                let Some(id) = place.ok().and_then(|place| ids.get(place)) else {
                    // It came later, or is not wanted.
                    continue;
                };
                gpu::key(*id, &device.instance, &mut key);
                let present = gpu::values(process, &mut values);
                let row = Row {
                    key: &key,
                    present,
                    values: &values,
                };
                self.sheet.row(writer, row);
            }
        }
    }

    fn end(&mut self) {
        if let Some((channel, pid)) = self.link.take() {
            drop(channel);
            // It may have ended long ago.
            let _ = process::wait_end(pid, true);
        }
    }
}

impl Drop for Gpus {
    fn drop(&mut self) {
        self.end();
    }
}

fn start(patience: Nanos) -> Result<(OwnedFd, u32)> {
    let (ours, theirs) = descriptor::channel()?;
    match process::fork()? {
        Fork::Child => {
            drop(ours);
            warden::serve(theirs, patience)
        }
        Fork::Parent(pid) => Ok((ours, pid)),
    }
}

/// Says it, unless that was said.
fn once(said: &mut Vec<String>, text: String) {
    if said.len() < super::WARNINGS_MAX && !said.contains(&text) {
        say(&text);
        said.push(text);
    }
}
