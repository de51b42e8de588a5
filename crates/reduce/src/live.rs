//! The state of a task while it runs: for limits, the status line and the running report.

use crate::pass::{Biggest, Pass};
use crate::series::Row;
use crate::settings::SeriesKind;
use crate::tree::Tree;
use record::limit::Resource;
use record::sample::GroupSample;
use record::unit::Nanos;

/// What a value of memory rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Anonymous + shared memory of the task's own control group.
    Group,
    /// Proportional set sizes of the last pass.
    Pss,
    /// Anonymous and shared memory of each program or of one process, where the proportional set
    /// sizes may not be read.
    Parts,
    /// Sum of resident sets: shared pages count in each process, file pages too.
    RssSum,
}

/// Memory in use now, each page once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveMemory {
    /// The truth is this or more.
    pub low: u64,
    /// The truth is this or less.
    pub high: u64,
    /// What the two rest on.
    pub basis: Basis,
}

/// A process that holds most of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

/// One reading and the process with the largest part in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The number in the base unit of its resource; cores in cores.
    pub value: f64,
    /// Who holds most of it, if one can be named.
    pub holder: Option<Holder>,
}

/// The state of a task at one instant. What was not read is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Live {
    /// When, on the clock of the records.
    pub at: Nanos,
    /// When the passes behind it began; none before the first.
    pub sampled_at: Option<Nanos>,
    /// Elapsed time.
    pub wall: Option<Reading>,
    /// CPU time so far.
    pub cpu: Option<Reading>,
    /// Cores kept busy over the last second.
    pub cores: Option<Reading>,
    /// The span over which `cores` was had covers a second.
    pub cores_settled: bool,
    /// Memory now.
    pub memory: Option<LiveMemory>,
    /// The process with the largest resident set.
    pub largest: Option<Holder>,
    /// Sum of resident sets.
    pub rss: Option<Reading>,
    /// Sum of address spaces.
    pub virtual_size: Option<Reading>,
    /// Swap in use.
    pub swap: Option<Reading>,
    /// Processes alive; its holder is the one that made most of them.
    pub processes: Option<Reading>,
    /// Threads alive.
    pub threads: Option<Reading>,
    /// Bytes through read-like calls.
    pub read: Option<Reading>,
    /// Bytes through write-like calls.
    pub written: Option<Reading>,
    /// Disk space of the measured directories.
    pub footprint: Option<Reading>,
    /// Files in the measured directories.
    pub files: Option<Reading>,
}

impl Live {
    /// The reading of a resource; memory by its lower bound.
    pub fn get(&self, resource: Resource) -> Option<Reading> {
        match resource {
            Resource::Wall => self.wall.clone(),
            Resource::Cpu => self.cpu.clone(),
            Resource::Cores => self.cores.clone(),
            Resource::Memory => self.memory.map(|memory| Reading {
                value: memory.low as f64,
                holder: self.largest.clone(),
            }),
            Resource::Rss => self.rss.clone(),
            Resource::Virtual => self.virtual_size.clone(),
            Resource::Swap => self.swap.clone(),
            Resource::Processes => self.processes.clone(),
            Resource::Threads => self.threads.clone(),
            Resource::Footprint => self.footprint.clone(),
            Resource::Files => self.files.clone(),
            Resource::Read => self.read.clone(),
            Resource::Written => self.written.clone(),
        }
    }
}

impl Tree {
    /// The largest process that SIGKILL ended in the second before `at`, as far as events told.
    pub fn killed(&self, at: Nanos) -> Option<Holder> {
        let recent = at.since(self.killed.0) <= crate::window::SECOND;
        holder(&self.killed.1).filter(|_| recent)
    }

    /// Whether events told of a process that SIGKILL ended.
    pub fn has_killed(&self) -> bool {
        self.killed.1.who.is_some()
    }

    /// The largest process that was not told to have ended and is none of `alive`.
    pub fn largest_but(&self, alive: &[u32]) -> Option<Holder> {
        let mut largest = Biggest::default();
        for (pid, life) in &self.living {
            if !alive.contains(pid) {
                largest.raise(Some(life.rss_peak().unwrap_or(0)), life);
            }
        }
        holder(&largest)
    }

    /// The state at `at`, from the last pass, the last group sample and the last counts.
    pub fn live(&self, at: Nanos) -> Live {
        let wall = at.since(self.start);
        let none = Pass::default();
        let pass = self.pass.as_ref().unwrap_or(&none);
        // Who is not traced is in no count of the tracer's.
        let counts = self.counts.filter(|_| !self.untraced);
        let counts = counts.unwrap_or_default();
        let told = self.settings.mechanism.tells_tree();
        let alive = told.then_some(self.living.len() as u64);
        let alive = counts.processes_alive.or(alive).or(Some(pass.processes));
        let threads = counts.threads_alive.or(pass.threads);
        let swap = self.whole_group().and_then(|g| g.swap).map(|b| b.0);
        let swap = swap.or(pass.swap);
        let group_cpu = self.group.and_then(|g| g.cpu);
        let cpu = self.seen.cpu.max(group_cpu).map(|n| n.0);
        Live {
            at,
            sampled_at: self.pass.as_ref().map(|pass| pass.at),
            wall: reading(Some(wall.0), None),
            cpu: reading(cpu, self.holder(&pass.most_cpu)),
            cores: self.window.now().map(|value| Reading {
                value,
                holder: self.holder(&pass.most_cpu),
            }),
            cores_settled: wall >= crate::window::SECOND,
            memory: self.live_memory(),
            largest: self.holder(&pass.most_rss),
            rss: reading(pass.rss, self.holder(&pass.most_rss)),
            virtual_size: reading(pass.virtual_size, self.holder(&pass.most_virtual)),
            swap: reading(swap, self.holder(&pass.most_swap)),
            processes: reading(alive, holder(&self.most_forking())),
            threads: reading(threads, self.holder(&pass.most_threads)),
            read: reading(
                self.seen.bytes_read.map(|b| b.0),
                self.holder(&pass.most_read),
            ),
            written: reading(
                self.seen.bytes_written.map(|b| b.0),
                self.holder(&pass.most_written),
            ),
            footprint: reading(self.footprint.now.map(|now| now.0.0), None),
            files: reading(self.footprint.now.map(|now| now.1), None),
        }
    }

    /// Who holds most, by its present command line: it may have become another program since.
    fn holder(&self, biggest: &Biggest) -> Option<Holder> {
        let holder = holder(biggest)?;
        let command = self.command(holder.pid).filter(|line| !line.is_empty());
        Some(Holder {
            command: command.unwrap_or(holder.command),
            ..holder
        })
    }

    /// Who of the living made most processes. A pass cannot tell: it may read a parent before the
    /// children it did not know of, and the parent may fork on after it.
    fn most_forking(&self) -> Biggest {
        let mut most = Biggest::default();
        for life in self
            .living
            .values()
            .filter(|life| life.children > 0 && !life.zombie)
        {
            most.raise(Some(life.children), life);
        }
        most
    }

    /// What the task's own group holds, if that is all of the task.
    pub(crate) fn whole_group(&self) -> Option<GroupSample> {
        self.group.filter(|_| !self.group_left)
    }

    fn live_memory(&self) -> Option<LiveMemory> {
        if let Some(group) = self.whole_group().and_then(|g| g.unreclaimable) {
            return Some(LiveMemory {
                low: group.0,
                high: group.0,
                basis: Basis::Group,
            });
        }
        let pass = self.pass.as_ref()?;
        let parts = self.parts(pass).unwrap_or(0);
        match pass.pss {
            Some(pss) => Some(LiveMemory {
                low: pss.max(parts),
                high: pss.saturating_add(pass.rss_without_pss),
                basis: Basis::Pss,
            }),
            None => pass.rss.map(|rss| LiveMemory {
                low: parts,
                high: rss,
                basis: match parts {
                    0 => Basis::RssSum,
                    _ => Basis::Parts,
                },
            }),
        }
    }

    /// At least so much was there in `pass`, if shares could not be read.
    fn parts(&self, pass: &Pass) -> Option<u64> {
        let one = pass.unreclaimable_process;
        let one = one.map(|own| own.saturating_sub(self.settings.own_shared.0));
        let images = pass.of_images.filter(|_| self.knows_tree());
        one.max(images).filter(|_| pass.pss_denied)
    }

    /// Adds the state to the time series.
    pub(crate) fn record(&mut self, at: Nanos) {
        let since = at.since(self.start);
        match self.settings.keep_series {
            SeriesKind::Off => {}
            SeriesKind::Task => {
                let row = self.task_row(at);
                self.series.push(since, vec![row]);
            }
            SeriesKind::Process => {
                let rows = self.process_rows(at);
                self.series.push(since, rows);
            }
        }
    }

    fn task_row(&self, at: Nanos) -> Row {
        let live = self.live(at);
        let value = |reading: Option<Reading>| reading.map(|r| r.value);
        let disk = |bytes: Option<record::unit::Bytes>| bytes.map(|b| b.0 as f64);
        let memory = live.memory.filter(|m| m.basis != Basis::RssSum);
        Row {
            process: None,
            values: vec![
                value(live.cpu),
                value(live.cores),
                value(live.rss),
                memory.map(|m| m.low as f64),
                value(live.virtual_size),
                value(live.swap),
                value(live.processes),
                value(live.threads),
                value(live.read),
                value(live.written),
                disk(self.seen.disk_read),
                disk(self.seen.disk_written),
                value(live.footprint),
                value(live.files),
            ],
        }
    }

    fn process_rows(&self, at: Nanos) -> Vec<Row> {
        let mut rows = Vec::new();
        for life in self.living.values() {
            let Some(last) = life.last.as_ref().filter(|last| last.at == at) else {
                continue;
            };
            let bytes = |b: Option<record::unit::Bytes>| b.map(|b| b.0 as f64);
            rows.push(Row {
                process: Some((life.pid, crate::life::line(&life.command))),
                values: vec![
                    last.own.cpu.map(|n| n.0 as f64),
                    bytes(last.memory.rss),
                    bytes(last.memory.virtual_size),
                    bytes(last.memory.swap),
                    life.threads_seen.map(|n| n as f64),
                    bytes(last.own.bytes_read),
                    bytes(last.own.bytes_written),
                ],
            });
        }
        rows.sort_by_key(|row| row.process.as_ref().map(|p| p.0));
        rows
    }
}

fn holder(biggest: &Biggest) -> Option<Holder> {
    biggest.who.as_ref().map(|(pid, command)| Holder {
        pid: *pid,
        command: crate::life::line(command),
    })
}

fn reading(value: Option<u64>, holder: Option<Holder>) -> Option<Reading> {
    value.map(|value| Reading {
        value: value as f64,
        holder,
    })
}
