//! What the last reading of everyone tells: who lives, who they are, the machine, the jobs; and
//! what has come since, row by row.
//!
//! It takes the rows of the segments. Readings of young jobs in between are taken in, too, but a
//! reading is one of everyone.

use super::devices::Devices;
use super::log::{Entry, Log, Of};
use super::machine::Machine;
use record::codec::cells::{Cell, put_row};
use record::codec::frame::Header;
use record::codec::key::put_int;
use record::codec::series::{Revision, Row};
use record::table::{Table, exit, gpu, job, node, process, sample};
use rustc_hash::FxHashMap;
use std::os::linux::fs::MetadataExt;
use store::segment::Take;

/// A process by pid and start, as keys of series have them.
pub(super) type Key = [u8; 16];

/// Processes, jobs and values of the machine that are remembered, at most.
const PROCESSES_MAX: usize = 1 << 17;
const JOBS_MAX: usize = 1 << 14;
/// After so many readings without it a process is forgotten: rows of its end may be late.
const READINGS_KEPT: u64 = 3;

/// What is known of a process.
#[derive(Debug, Default)]
pub(super) struct Person {
    pub(super) key: Key,
    pub(super) of: Of,
    /// Who has it to himself by its ids.
    own: Option<u32>,
    /// Who it is, and what it has executed since, as rows.
    pub(super) row: Option<Box<[u8]>>,
    pub(super) exec: Option<Box<[u8]>>,
    pub(super) present: u128,
    pub(super) values: Box<[i64]>,
    pub(super) revision: Option<Revision>,
    seen: u64,
}

/// What is known of a job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) of: Of,
    pub(super) row: Box<[u8]>,
}

/// Columns by their place in a row.
#[derive(Debug)]
struct Places {
    process: [Option<u8>; 6],
    exit: [Option<u8>; 2],
    job: [Option<u8>; 4],
}

/// All of it.
#[derive(Debug)]
pub(super) struct Picture {
    places: Places,
    /// The user whose process has this pid, as `/proc` has it.
    owner: fn(i64) -> Option<u32>,
    known: FxHashMap<Key, usize>,
    persons: Vec<Person>,
    free: Vec<usize>,
    /// Who is met by the reading that is being taken, and when that is.
    arriving: Vec<usize>,
    arriving_at: u64,
    /// Who was met by the last one, in its order.
    order: Vec<usize>,
    pub(super) machine: Machine,
    pub(super) devices: Devices,
    jobs: FxHashMap<Box<[u8]>, Job>,
    pub(super) log: Log,
    revisions: u64,
    /// How many were settled.
    settled: u64,
    /// How many readings there were.
    pub(super) readings: u64,
    is_open: bool,
    /// The last reading, once there is one.
    pub(super) last: Option<Header>,
}

impl Picture {
    /// Empty; `owner` tells whose a process is by `/proc`.
    pub(super) fn new(owner: fn(i64) -> Option<u32>) -> Self {
        let place = |table: &Table, name: &str| {
            let mut all = table.key.iter().chain(table.columns);
            let place = all.position(|column| column.name == name)?;
            u8::try_from(place).ok()
        };
        let of_process = ["uid", "euid", "gid", "egid", "identifier", "exec_ns"];
        let of_job = ["scheduler", "identifier", "uid", "present"];
        Self {
            places: Places {
                process: of_process.map(|name| place(&process::TABLE, name)),
                exit: ["uid", "identifier"].map(|name| place(&exit::TABLE, name)),
                job: of_job.map(|name| place(&job::TABLE, name)),
            },
            owner,
            known: FxHashMap::default(),
            persons: Vec::new(),
            free: Vec::new(),
            arriving: Vec::new(),
            arriving_at: 0,
            order: Vec::new(),
            machine: Machine::default(),
            devices: Devices::default(),
            jobs: FxHashMap::default(),
            log: Log::default(),
            revisions: 0,
            settled: 0,
            readings: 0,
            is_open: false,
            last: None,
        }
    }

    /// Who lives, in the order of the last reading.
    pub(super) fn living(&self) -> impl Iterator<Item = &Person> {
        let all = self.order.iter();
        all.filter_map(|place| self.persons.get(*place))
    }

    /// Who is known by this key.
    pub(super) fn known(&self, key: &Key) -> Option<&Person> {
        self.persons.get(*self.known.get(key)?)
    }

    /// The jobs that have processes here.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// Asks `/proc` whose the processes of these users are: who may not be looked into is root's
    /// there, and that may change.
    pub(super) fn look(&mut self, users: &[u32]) {
        for person in &mut self.persons {
            let own = person.own.filter(|own| users.contains(own));
            person.of.own = own.filter(|own| {
                let told = person.of.key.and_then(|key| (self.owner)(pid(&key)));
                told.is_none_or(|told| told == *own)
            });
        }
    }

    /// All that was written is taken, and these users will ask: whether there was a reading of
    /// everyone.
    pub(super) fn settle(&mut self, users: &[u32]) -> bool {
        self.look(users);
        let (known, persons) = (&self.known, &self.persons);
        self.log.settle(|of| {
            let person = of.key.and_then(|key| persons.get(*known.get(&key)?));
            if let Some(person) = person {
                of.uid = of.uid.or(person.of.uid);
                of.own = of.own.or(person.of.own);
                if of.identifier.is_none() {
                    of.identifier.clone_from(&person.of.identifier);
                }
            }
        });
        if !std::mem::take(&mut self.is_open) {
            return false;
        }
        if let Some(last) = &self.last {
            self.machine.settle(last.at_ns);
            self.devices.settle(last.at_ns);
        }
        self.settled += 1;
        let settled = self.settled;
        for place in &self.order {
            if let Some(person) = self.persons.get_mut(*place) {
                person.seen = settled;
            }
        }
        let (persons, free) = (&mut self.persons, &mut self.free);
        self.known.retain(|_, place| {
            let Some(person) = persons.get_mut(*place) else {
                return false;
            };
            let stays = settled < person.seen + READINGS_KEPT;
            if !stays {
                *person = Person::default();
                free.push(*place);
            }
            stays
        });
        true
    }

    /// The process of this key; nothing if there are too many.
    fn person(&mut self, key: Key) -> Option<(usize, &mut Person)> {
        let place = match self.known.get(&key) {
            Some(place) => *place,
            None if self.known.len() >= PROCESSES_MAX => return None,
            None => {
                let place = self.free.pop().unwrap_or(self.persons.len());
                if place == self.persons.len() {
                    self.persons.push(Person::default());
                }
                self.known.insert(key, place);
                let seen = self.settled;
                if let Some(person) = self.persons.get_mut(place) {
                    let of = Of {
                        key: Some(key),
                        ..Of::default()
                    };
                    *person = Person {
                        key,
                        of,
                        seen,
                        ..Person::default()
                    };
                }
                place
            }
        };
        self.persons.get_mut(place).map(|person| (place, person))
    }

    fn sample(&mut self, header: &Header, row: Row<'_>, changed: bool) {
        let Ok(key) = Key::try_from(row.key) else {
            return;
        };
        if header.at_ns != self.arriving_at {
            self.arriving.clear();
            self.arriving_at = header.at_ns;
        }
        self.revisions += 1;
        let revision = Revision::new(self.revisions);
        let Some((place, person)) = self.person(key) else {
            return;
        };
        if changed || person.values.len() != row.values.len() {
            person.present = row.present;
            person.revision = revision;
            match person.values.len() == row.values.len() {
                true => person.values.copy_from_slice(row.values),
                false => person.values = row.values.into(),
            }
        }
        self.arriving.push(place);
    }

    /// The rows of the machine are those of a reading of everyone, behind its samples. Those of
    /// devices come later.
    fn value(&mut self, header: &Header, row: Row<'_>) {
        if self.last.is_none_or(|last| header.at_ns > last.at_ns) {
            self.is_open = true;
            self.readings += 1;
            self.last = Some(*header);
            match self.arriving_at == header.at_ns {
                true => self.order.clone_from(&self.arriving),
                false => self.order.clear(),
            }
        }
        if let Some(value) = row.values.first() {
            self.machine.row(row.key, *value, header.at_ns);
            self.devices.value(row.key, header.at_ns);
        }
    }

    fn identify(&mut self, key: Key, row: &[(u8, Cell<'_>)], bytes: &[u8]) -> Of {
        let [uid, euid, gid, egid, identifier, exec_ns] = self.places.process;
        let is_exec = int(row, exec_ns).is_some();
        let ids = [uid, euid, gid, egid].map(|place| int(row, place));
        let identifier = text(row, identifier).map(Box::from);
        let own = own(ids);
        self.revisions += 1;
        let revision = Revision::new(self.revisions);
        let Some((_, person)) = self.person(key) else {
            return Of::default();
        };
        if is_exec {
            // It may be another user's from now on; the next row tells.
            person.exec = Some(bytes.into());
        } else {
            person.row = Some(bytes.into());
            person.exec = None;
            (person.of.uid, person.own) = (ids.first().copied().flatten(), own);
            person.revision = revision;
        }
        if identifier.is_some() || !is_exec {
            person.of.identifier = identifier;
        }
        match is_exec {
            true => Of {
                key: Some(key),
                ..Of::default()
            },
            false => person.of.clone(),
        }
    }

    fn end(&mut self, key: Key, row: &[(u8, Cell<'_>)]) -> Of {
        let [uid, identifier] = self.places.exit;
        let uid = int(row, uid);
        let identifier: Option<Box<[u8]>> = text(row, identifier).map(Box::from);
        let Some((_, person)) = self.person(key) else {
            return Of::default();
        };
        if person.row.is_none() {
            // Nobody has looked at it: its real user is all that is known.
            person.of.uid = uid;
            person.own = uid.and_then(|uid| u32::try_from(uid).ok());
        }
        let mut of = person.of.clone();
        of.identifier = identifier.or(of.identifier);
        of
    }

    fn job(&mut self, row: &[(u8, Cell<'_>)], bytes: &[u8]) -> Of {
        let [scheduler, identifier, uid, present] = self.places.job;
        let name = text(row, identifier).unwrap_or_default();
        let key = [text(row, scheduler).unwrap_or_default(), b"\0", name].concat();
        let of = Of {
            uid: int(row, uid),
            identifier: Some(name.into()),
            ..Of::default()
        };
        if int(row, present) != Some(1) {
            self.jobs.remove(key.as_slice());
        } else if self.jobs.len() < JOBS_MAX || self.jobs.contains_key(key.as_slice()) {
            let row = bytes.into();
            self.jobs.insert(
                key.into(),
                Job {
                    of: of.clone(),
                    row,
                },
            );
        }
        of
    }
}

impl Take for Picture {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, changed: bool) {
        if table.id == sample::TABLE.id {
            self.sample(header, row, changed);
        } else if table.id == node::TABLE.id {
            self.value(header, row);
        } else if table.id == gpu::TABLE.id {
            self.devices.row(row, header.at_ns);
        }
    }

    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        let mut bytes = Vec::new();
        put_row(&mut bytes, row.iter().cloned());
        let of = if table.id == job::TABLE.id {
            self.job(row, &bytes)
        } else if let Some(key) = key(row) {
            match table.id {
                id if id == process::TABLE.id => self.identify(key, row, &bytes),
                id if id == exit::TABLE.id => self.end(key, row),
                _ => return,
            }
        } else {
            return;
        };
        self.log.push(Entry {
            table,
            at: (header.at_ns, header.real_offset_ns),
            of,
            row: bytes.into(),
        });
    }
}

/// Whose the files of a process are in `/proc`: root's where it may not be looked into (its folder
/// is its user's all the same). Nothing if it is gone, or hidden from us.
pub(super) fn pid_owner(pid: i64) -> Option<u32> {
    let there = std::fs::metadata(format!("/proc/{pid}/stat")).ok()?;
    Some(there.st_uid())
}

/// Who has a process to himself by its ids: no other user's privilege, no other group's.
fn own(ids: [Option<i64>; 4]) -> Option<u32> {
    let [uid, euid, gid, egid] = ids;
    let is_own = uid == euid && gid.is_some() && gid == egid;
    u32::try_from(uid?).ok().filter(|_| is_own)
}

/// The pid of a key.
pub(super) fn pid(key: &Key) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    let flipped = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
    flipped ^ i64::MIN
}

fn key(row: &[(u8, Cell<'_>)]) -> Option<Key> {
    let mut key = Vec::with_capacity(size_of::<Key>());
    put_int(&mut key, int(row, Some(0))?);
    put_int(&mut key, int(row, Some(1))?);
    Key::try_from(key).ok()
}

fn int(row: &[(u8, Cell<'_>)], place: Option<u8>) -> Option<i64> {
    match found(row, place)? {
        Cell::Int(value) => Some(*value),
        _ => None,
    }
}

fn text<'a>(row: &'a [(u8, Cell<'_>)], place: Option<u8>) -> Option<&'a [u8]> {
    match found(row, place)? {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

fn found<'a, 'b>(row: &'a [(u8, Cell<'b>)], place: Option<u8>) -> Option<&'a Cell<'b>> {
    let found = row.iter().find(|(column, _)| Some(*column) == place);
    found.map(|(_, cell)| cell)
}
