//! One job as the agent of this machine tells it now.

use super::live_devices::Devices;
use crate::live::client::{Client, Next, See};
use crate::live::wire::{Mark, SERVED, Who, Wish};
use anyhow::{Context, Result, bail};
use query::job::{Facts, Host, Job, Process};
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::{Part, parts};
use record::codec::series::Row;
use record::sample::GroupSample;
use record::table::{Table, gpu, job, node, process, sample};
use record::unit::{Bytes, Nanos};
use serde_json::{Map, Value};
use source::context::job_group;
use source::query::proc_pid_cgroup;
use source::root::Root;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;
use store::segment::Take;
use sys::descriptor::{self, Waiting};

/// So long an agent may take until its first reading is there.
const PATIENCE: Nanos = Nanos::from_secs(30);
/// The processes that lived longest are shown, so many.
const LONGEST: usize = 10;

/// A job has these names elsewhere than in the table.
const RENAMED: [(&str, &str); 3] = [
    ("user", "job_user"),
    ("partition", "queue"),
    ("name", "job_name"),
];

/// Rows of one reading.
#[derive(Default)]
struct Seen {
    job: String,
    facts: Option<Map<String, Value>>,
    /// By pid and start: values by column.
    processes: BTreeMap<(i64, i64), BTreeMap<&'static str, i64>>,
    commands: BTreeMap<(i64, i64), String>,
    devices: Devices,
}

/// What the agent at `socket` tells of a job; nothing if it has no process here.
///
/// # Errors
/// None answers there, or what it tells cannot be read.
pub(crate) fn of(socket: &Path, is_named: bool, name: &str) -> Result<Option<Job>> {
    let mut client = Client::connect(socket, is_named)?;
    client.ask(&Wish {
        tables: SERVED.to_vec(),
        who: vec![Who::Job(name.to_owned())],
        period: Nanos(0),
    })?;
    let mut seen = Seen {
        job: name.to_owned(),
        ..Seen::default()
    };
    let (_, header) = reading(&mut client, &mut seen)?;
    if seen.processes.is_empty() {
        return Ok(None);
    }
    let origin = client
        .origin()
        .context("the agent does not say who it is")?;
    let names = (origin.host.as_str(), origin.boot_id.as_str());
    Ok(Some(seen.told(names, &header)))
}

/// Waits for one.
fn reading(client: &mut Client, seen: &mut Seen) -> Result<(Mark, Header)> {
    loop {
        match client.next(seen)? {
            Next::Reading(mark, header) => return Ok((mark, header)),
            Next::End => bail!("the agent has ended, or has ended this connection"),
            Next::Nothing => {}
        }
        let waiting = [Waiting {
            fd: Some(client.as_fd()),
            exceptional: false,
        }];
        let ready = descriptor::poll(&waiting, Some(PATIENCE.0)).context("waiting")?;
        if ready != [true] {
            bail!("the agent had no reading within 30 s: it reads seldom");
        }
    }
}

impl Seen {
    fn told(self, (host, boot): (&str, &str), header: &Header) -> Job {
        let at_ns = i64::try_from(header.at_ns).unwrap_or(i64::MAX);
        let first = self
            .processes
            .keys()
            .map(|key| key.1)
            .min()
            .unwrap_or(at_ns);
        let pid = self.processes.keys().map(|key| key.0).next().unwrap_or(0);
        let group = group(pid);
        let sum = |of: &[&str]| self.sum(of);
        let largest = |of: &str| self.values(of).max();
        let count = i64::try_from(self.processes.len()).unwrap_or(i64::MAX);
        let bytes = |value: Option<Bytes>| value.and_then(|it| i64::try_from(it.0).ok());
        let whole = group.cpu.and_then(|cpu| i64::try_from(cpu.0).ok());
        let facts: Option<Facts> = self
            .facts
            .as_ref()
            .and_then(|facts| serde_json::from_value(facts.clone().into()).ok());
        // What the agent of this machine tells is of this machine.
        let had = |of: fn(&Facts) -> Option<i64>| facts.as_ref().and_then(of);
        let host = Host {
            cpus_had: had(Facts::cpus),
            memory_had: had(|facts| facts.memory().or(facts.memory_limit)),
            gpus_had: had(Facts::gpus),
            cgroup_cpu_time: whole,
            host: host.to_owned(),
            boot_id: boot.to_owned(),
            processes: count,
            began_ns: Some(first.saturating_add(header.real_offset_ns)),
            elapsed: at_ns.saturating_sub(first),
            // Its group has those who ended, else whoever waited for them does.
            cpu_time: whole.or_else(|| sum(&["tree_cpu_user", "tree_cpu_system"])),
            cpu_wait: sum(&["cpu_wait"]),
            bytes_read: sum(&["tree_bytes_read"]),
            bytes_written: sum(&["tree_bytes_written"]),
            disk_read: bytes(group.disk_read).or_else(|| sum(&["tree_disk_read"])),
            disk_written: bytes(group.disk_written).or_else(|| sum(&["tree_disk_written"])),
            faults_major: sum(&["tree_faults_major"]),
            rss_peak_process: largest("rss_peak"),
            rss_peak: sum(&["rss"]),
            memory_peak: sum(&["rss_anon", "rss_shmem"]),
            swap_peak: sum(&["swap"]),
            processes_peak: Some(count),
            threads_peak: sum(&["threads"]),
            cgroup_peak: bytes(group.peak),
            ..Host::default()
        };
        Job {
            longest: self.longest(&host.host, at_ns),
            gpus: self.devices.used(&host.host),
            gpus_told: Some(self.devices.told()),
            facts,
            hosts: vec![host],
            killed: None,
            is_live: true,
        }
    }

    fn values(&self, column: &str) -> impl Iterator<Item = i64> {
        self.processes
            .values()
            .filter_map(move |row| row.get(column).copied())
    }

    /// Of all processes that tell it; nothing if none does.
    fn sum(&self, columns: &[&str]) -> Option<i64> {
        let told: Vec<i64> = columns.iter().flat_map(|it| self.values(it)).collect();
        (!told.is_empty()).then(|| {
            told.iter()
                .fold(0, |all, one| i64::saturating_add(all, *one))
        })
    }

    fn longest(&self, host: &str, at_ns: i64) -> Vec<Process> {
        let mut all: Vec<_> = self.processes.iter().collect();
        all.sort_by_key(|(key, _)| (key.1, key.0));
        let process = |(key, row): (&(i64, i64), &BTreeMap<&str, i64>)| {
            let command = self.commands.get(key).cloned();
            Process {
                host: host.to_owned(),
                pid: key.0,
                start_ns: key.1,
                program: command.clone().unwrap_or_default(),
                wall_time: at_ns.saturating_sub(key.1),
                cpu_time: row.get("cpu_time").copied(),
                rss_peak: row.get("rss_peak").copied(),
                command,
                ..Process::default()
            }
        };
        all.into_iter().take(LONGEST).map(process).collect()
    }
}

/// What the control group of its job uses, where there is one that we may read.
fn group(pid: i64) -> GroupSample {
    let pid = u32::try_from(pid).ok();
    let groups = proc_pid_cgroup::read(&Root::default(), pid).unwrap_or_default();
    job_group::usage(&groups).unwrap_or_default()
}

impl See for Seen {
    fn show(&mut self, _: bool) {}
}

impl Take for Seen {
    fn series(&mut self, table: &'static Table, _: &Header, row: Row<'_>, _: bool) {
        match table.id {
            id if id == sample::TABLE.id => {}
            id if id == gpu::TABLE.id => return self.devices.of_process(row),
            id if id == node::TABLE.id => return self.devices.of_machine(row.key),
            _ => return,
        }
        let key = parts(table.key, row.key).unwrap_or_default();
        let [Part::Int(pid), Part::Int(start)] = key.as_slice() else {
            return;
        };
        let values = table.columns.iter().zip(row.values).enumerate();
        let told = values.filter(|(place, _)| row.present >> place & 1 == 1);
        let told = told.map(|(_, (column, value))| (column.name, *value));
        self.processes.insert((*pid, *start), told.collect());
    }

    fn cells(&mut self, table: &'static Table, _: &Header, row: &[(u8, Cell<'_>)]) {
        let names: Vec<&str> = table
            .key
            .iter()
            .chain(table.columns)
            .map(|it| it.name)
            .collect();
        let cell = |name: &str| {
            let place = names.iter().position(|it| *it == name)?;
            row.iter()
                .find(|(it, _)| usize::from(*it) == place)
                .map(|(_, cell)| cell)
        };
        if table.id == process::TABLE.id {
            if let (Some(Cell::Int(pid)), Some(Cell::Int(start))) = (cell("pid"), cell("start_ns"))
                && let Some(command) = command(cell("command"), cell("comm"))
            {
                self.commands.insert((*pid, *start), command);
            }
        } else if table.id == job::TABLE.id
            && cell("identifier") == Some(&Cell::Text(self.job.as_bytes()))
        {
            let values = row.iter().filter_map(|(place, cell)| {
                let name = names.get(usize::from(*place))?;
                let renamed = RENAMED.iter().find(|(it, _)| it == name);
                let name = renamed.map_or(*name, |(_, other)| other);
                let value = match cell {
                    Cell::Int(value) => Value::from(*value),
                    Cell::Text(text) => Value::from(String::from_utf8_lossy(text)),
                    Cell::List(_) => return None,
                };
                Some((name.to_owned(), value))
            });
            self.facts = Some(values.collect());
        }
    }
}

/// The arguments with blanks between them, else the short name.
fn command(words: Option<&Cell<'_>>, comm: Option<&Cell<'_>>) -> Option<String> {
    match (words, comm) {
        (Some(Cell::List(words)), _) if !words.is_empty() => {
            Some(String::from_utf8_lossy(&words.join(&b' ')).into_owned())
        }
        (_, Some(Cell::Text(comm))) => Some(format!("[{}]", String::from_utf8_lossy(comm))),
        _ => None,
    }
}
