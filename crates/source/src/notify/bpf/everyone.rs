//! Everyone who is on this node or is born there, followed in the kernel to their ends.

use super::groups::Groups;
use super::parts::Parts;
use super::task::{cannot, counters, peaks};
use crate::error::Error;
use crate::everyone::{Happened, Program};
use crate::root::Root;
use record::identity::{Ending, ProcessId};
use record::table::exit::Exit;
use record::unit::Nanos;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use sys::bpf::{GroupNumbers, RawEvent, Run, TaskPrograms};
use sys::edge::Edge;

/// How often to read: the ring, a MiB for two processors, holds what some fifteen hundred processes
/// tell from birth to end. Once half of it is full we are woken before that.
const PERIOD: Nanos = Nanos::from_millis(200);
/// The final CPU time of a process is waited for no longer than this.
const FINAL_WITHIN: Nanos = Nanos::from_secs(1);
/// Processes whose final CPU time is waited for, at most.
const WAITING_MAX: usize = 1 << 16;
/// Its number.
const SIGKILL: u8 = 9;
/// After so many readings that found nothing the next event wakes us.
const QUIET_MAX: u32 = 2;

/// What was told of processes of which more is to come.
#[derive(Debug)]
struct Told {
    /// Ended, with their CPU time not final yet.
    waiting: HashMap<ProcessId, (Exit, GroupNumbers)>,
    groups: Groups,
    parts: Parts,
}

/// Everyone, followed by a copy of the in-kernel programs that ends with this process.
#[derive(Debug)]
pub struct Everyone {
    run: Run,
    /// We were woken, as half of the ring is full.
    edge: Edge,
    told: Told,
    /// When an end by SIGKILL woke us last.
    killed_at: Nanos,
    /// Readings in a row that found nothing.
    quiet: u32,
}

impl Everyone {
    /// Loads the programs.
    ///
    /// # Errors
    /// Where this user or this kernel cannot have them, in words that say what is missing.
    pub fn open() -> Result<Self, Error> {
        let mut groups = Groups::open(&Root::default());
        let run = TaskPrograms::follow_everyone(groups.controllers()).map_err(cannot)?;
        // Those that were made since.
        groups.look_again();
        let edge = Edge::of(run.fd()).map_err(cannot)?;
        run.watch();
        Ok(Self {
            run,
            edge,
            told: Told {
                waiting: HashMap::new(),
                groups,
                parts: Parts::default(),
            },
            killed_at: Nanos(0),
            quiet: 0,
        })
    }

    /// When to read next; nothing while an event wakes us.
    pub fn period(&self) -> Option<Nanos> {
        (!self.is_asleep()).then_some(PERIOD)
    }

    /// What to wait on, for no longer than the period.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(match self.is_asleep() {
            true => self.run.fd(),
            false => self.edge.as_fd(),
        })
    }

    fn is_asleep(&self) -> bool {
        self.quiet >= QUIET_MAX
    }

    /// Looks for control groups that are not known, if one was told.
    pub fn refresh(&mut self) {
        self.told.groups.refresh();
    }

    /// Tells what happened since the last call, 16 MiB of it at most.
    pub fn read(&mut self, tell: &mut dyn FnMut(Happened<'_>)) {
        let told = &mut self.told;
        let (mut is_quiet, mut is_killed) = (true, false);
        let is_woken = self.edge.take();
        self.run.drain(&mut |event| {
            is_quiet = false;
            told.take(event, &mut |happened| {
                is_killed |= matches!(happened, Happened::Killed(..));
                tell(happened);
            });
        });
        let now = Nanos(sys::clock::boot());
        if is_woken && is_killed {
            self.killed_at = now;
        }
        // One that kills its children all day wakes us no more often than the period.
        match now.since(self.killed_at) < PERIOD {
            true => self.run.watch(),
            false => self.run.watch_kills(),
        }
        let (waiting, groups) = (&mut told.waiting, &mut told.groups);
        let is_full = waiting.len() > WAITING_MAX;
        waiting.retain(|_, (exit, numbers)| {
            let stays = !is_full && now.since(exit.at) < FINAL_WITHIN;
            if !stays {
                tell(Happened::Ended(exit, groups.chain(*numbers)));
            }
            stays
        });
        self.quiet = if is_quiet && self.told.waiting.is_empty() {
            self.quiet.saturating_add(1)
        } else {
            0
        };
        if self.is_asleep() {
            self.run.sleep();
        }
    }
}

impl Told {
    fn take(&mut self, event: RawEvent<'_>, tell: &mut dyn FnMut(Happened<'_>)) {
        match event {
            RawEvent::Fork {
                pid,
                parent,
                start_ns,
                ..
            } => tell(Happened::Born {
                pid,
                parent,
                start: Nanos(start_ns),
            }),
            RawEvent::Exec { .. } => self.became(event, tell),
            RawEvent::Arguments {
                pid,
                start_ns,
                at,
                text,
            } => {
                let id = ProcessId::new(pid, Nanos(start_ns));
                self.parts
                    .more(id, usize::try_from(at).unwrap_or(usize::MAX), text);
            }
            RawEvent::Exit { groups, .. } => {
                if let Some(exit) = exit_of(event) {
                    if exit.ending == Ending::Signal(SIGKILL) {
                        tell(Happened::Killed(exit.id, self.groups.chain(groups)));
                    }
                    self.parts.end(exit.id);
                    self.waiting.insert(exit.id, (exit, groups));
                }
            }
            RawEvent::Final {
                pid,
                start_ns,
                cpu_ns,
            } => {
                let id = ProcessId::new(pid, Nanos(start_ns));
                if let Some((mut exit, groups)) = self.waiting.remove(&id) {
                    exit.own.cpu = exit.own.cpu.max(Some(Nanos(cpu_ns)));
                    tell(Happened::Ended(&exit, self.groups.chain(groups)));
                }
            }
            RawEvent::Group {
                number,
                hierarchy,
                path,
            } => self.groups.made(hierarchy, number, path),
            RawEvent::Lost { count, .. } => tell(Happened::Lost(count)),
        }
    }

    /// A process became another program.
    fn became(&mut self, event: RawEvent<'_>, tell: &mut dyn FnMut(Happened<'_>)) {
        let RawEvent::Exec {
            at_ns,
            pid,
            start_ns,
            command,
            truncated,
            full_bytes,
            path,
            groups,
            ..
        } = event
        else {
            return;
        };
        let id = ProcessId::new(pid, Nanos(start_ns));
        let whole = truncated.then(|| self.parts.whole(id, command));
        let command = whole.as_deref().unwrap_or(command);
        let program = Program {
            id,
            at: Nanos(at_ns),
            command,
            is_cut: command.len() as u64 != u64::from(full_bytes),
            comm: Some(short_name(path)),
            path,
        };
        tell(Happened::Became(program, self.groups.chain(groups)));
    }
}

/// Of a short name the kernel keeps so much.
const COMM_BYTES: usize = 15;

/// What the kernel calls a program that is at this path.
fn short_name(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name.get(..COMM_BYTES).unwrap_or(name)
}

/// The record of an end; its CPU time is not final yet.
fn exit_of(event: RawEvent<'_>) -> Option<Exit> {
    let RawEvent::Exit {
        at_ns,
        pid,
        start_ns,
        wait_status,
        own,
        rss_peak,
        vm_peak_bytes,
        anon_bytes,
        parent,
        uid,
        comm,
        ..
    } = event
    else {
        return None;
    };
    Some(Exit {
        id: ProcessId::new(pid, Nanos(start_ns)),
        at: Nanos(at_ns),
        parent,
        uid: Some(uid),
        comm: Some(comm.to_vec()),
        ending: Ending::from_wait_status(wait_status),
        own: counters(&own),
        cpu_least: None,
        peaks: peaks(rss_peak, vm_peak_bytes, anon_bytes),
    })
}
