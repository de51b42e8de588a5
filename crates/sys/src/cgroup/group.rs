//! The group of one task: made, filled, read by path, removed.

use super::control::ControlDir;
use super::delegate::HandDown;
use super::error::Error;
use super::owner::{self, Owner};
use super::places::{Controller, Place, Places};
use super::sweep;
use std::fs::File;

/// The part of a group that lies in one hierarchy.
#[derive(Debug)]
pub struct Part {
    /// The v1 controller of the hierarchy, or `None` for v2.
    pub controller: Option<Controller>,
    /// The group's folder.
    pub dir: ControlDir,
    pub(crate) parent: ControlDir,
    /// Held as long as the owner lives; says "not dead" to those who sweep.
    _lock: Option<File>,
}

impl Part {
    pub(crate) fn make(
        controller: Option<Controller>,
        place: &Place,
        name: &str,
    ) -> Result<Self, Error> {
        let dir = place.dir.child(name);
        dir.create()?;
        let part = |lock| Self {
            controller,
            dir: dir.clone(),
            parent: place.dir.clone(),
            _lock: lock,
        };
        let made = owner::lock(&dir).map(part);
        let checked = made.and_then(|part| part.prepare().map(|()| part));
        // An empty folder that could not be prepared is of no use to anyone.
        checked.inspect_err(|_| drop(dir.remove()))
    }

    /// Refuses a v2 group that takes no processes; makes an old v1 memory group count what is below
    /// it.
    fn prepare(&self) -> Result<(), Error> {
        match self.controller {
            None if self.dir.read("cgroup.type")?.trim() != "domain" => {
                Err(Error::NoKernelSupport {
                    path: self.dir.path().join("cgroup.type"),
                    what: "the group that we started in is threaded",
                })
            }
            Some(Controller::Memory) => match self.dir.read("memory.use_hierarchy") {
                Ok(text) if text.trim() == "0" => self.dir.write("memory.use_hierarchy", "1"),
                _ => Ok(()), // since 5.11 it is always so
            },
            _ => Ok(()),
        }
    }

    /// Whether this part has the memory controller.
    pub(crate) fn has_memory(&self) -> bool {
        match self.controller {
            Some(controller) => controller == Controller::Memory,
            None => self.dir.has("memory.max"),
        }
    }
}

/// The group of one task.
#[derive(Debug)]
pub struct Group {
    pub(crate) parts: Vec<Part>,
    memory_refusal: Option<Error>,
    hand_down: Option<HandDown>,
    removed: bool,
}

impl Group {
    /// Makes a new, empty group below the one that we started in. `hint` tells several groups of
    /// one monitor apart; `ours` are Plimsoll's own processes, the only ones that may be moved to
    /// make room for the memory controller of v2.
    ///
    /// The group may lack the memory controller: see [`Group::memory_refusal`]. It then still gives
    /// kill, freeze and CPU time.
    ///
    /// # Errors
    /// The reason why there is no group at all: mostly `NoPermission`.
    pub fn make(places: &Places, hint: &str, ours: &[u32]) -> Result<Self, Error> {
        let name = Owner::current()?.name(hint);
        let mut group = Self {
            parts: Vec::new(),
            memory_refusal: None,
            hand_down: None,
            removed: false,
        };
        let memory = places.v1(Controller::Memory);
        if let Some(place) = memory {
            group.try_part(Some(Controller::Memory), place, &name);
        }
        if let Some(place) = &places.v2 {
            if memory.is_none() {
                match HandDown::memory(&place.dir, &format!("{name}-self"), ours) {
                    Ok(done) => group.hand_down = Some(done),
                    Err(e) => group.refuse(e),
                }
            }
            group.try_part(None, place, &name);
        }
        group.add_v1_parts(places, &name);
        if group.parts.is_empty() {
            let nothing = Error::NotMounted("no hierarchy that could hold a group is mounted");
            return Err(group.memory_refusal.take().unwrap_or(nothing));
        }
        if group.memory_part().is_none() {
            group.refuse(Error::NotMounted("the memory controller is not mounted"));
        }
        Ok(group)
    }

    /// A group of these parts, one of which was handed the memory controller.
    pub(crate) fn of_parts(parts: Vec<Part>, hand_down: HandDown) -> Self {
        Self {
            parts,
            memory_refusal: None,
            hand_down: Some(hand_down),
            removed: false,
        }
    }

    /// The v1 hierarchies that make up for what v2 does not give here: a group that can be frozen,
    /// so that a kill cannot be outrun, and its CPU time. Not where `cpuacct` shares its hierarchy
    /// with `cpu`: a group there would change how the task is scheduled.
    fn add_v1_parts(&mut self, places: &Places, name: &str) {
        let v2_has = |group: &Self, file| {
            let mut v2 = group.parts.iter().filter(|part| part.controller.is_none());
            v2.any(|part| part.dir.has(file))
        };
        let holds = v2_has(self, "cgroup.kill") || v2_has(self, "cgroup.freeze");
        let freezer = places.v1(Controller::Freezer).filter(|_| !holds);
        let shared = places.v1(Controller::CpuAcct) == places.v1(Controller::Cpu);
        let counts = v2_has(self, "cpu.stat") || shared;
        let cpuacct = places.v1(Controller::CpuAcct).filter(|_| !counts);
        if let Some(place) = freezer {
            self.try_part(Some(Controller::Freezer), place, name);
        }
        if let Some(place) = cpuacct {
            self.try_part(Some(Controller::CpuAcct), place, name);
        }
    }

    fn try_part(&mut self, controller: Option<Controller>, place: &Place, name: &str) {
        match Part::make(controller, place, name) {
            Ok(part) => self.parts.push(part),
            Err(e) => self.refuse(e),
        }
    }

    /// Keeps the first refusal: it is the memory controller's.
    fn refuse(&mut self, error: Error) {
        self.memory_refusal.get_or_insert(error);
    }

    /// Its folders, one a hierarchy.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(crate) fn memory_part(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.has_memory())
    }

    /// Why the group has no memory controller; `None` if it has one.
    pub fn memory_refusal(&self) -> Option<&Error> {
        match self.memory_part() {
            Some(_) => None,
            None => self.memory_refusal.as_ref(),
        }
    }

    /// Moves process `pid` in; what it starts from then on is in the group too. Call it while the
    /// process waits for its exec.
    ///
    /// # Errors
    /// `Gone` if the process ended. After an error the process may be in some of the hierarchies;
    /// [`Group::remove`] brings it back.
    pub fn add(&self, pid: u32) -> Result<(), Error> {
        self.parts.iter().try_for_each(|part| part.dir.add(pid))
    }

    /// The processes in the group and in groups below it, zombies out, sorted.
    ///
    /// # Errors
    /// As the kernel says; a group below that vanishes meanwhile is no error.
    pub fn pids(&self) -> Result<Vec<u32>, Error> {
        let mut all = Vec::new();
        for part in &self.parts {
            all.extend(members(&part.dir)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// The processes whose memory is charged to the group and to groups below it, sorted: one that
    /// moved elsewhere in that hierarchy is not among them.
    ///
    /// # Errors
    /// Why there is no memory controller, or as the kernel says.
    pub fn charged(&self) -> Result<Vec<u32>, Error> {
        let part = self.memory_part().ok_or_else(|| self.no_memory())?;
        let mut pids = members(&part.dir)?;
        pids.sort_unstable();
        Ok(pids)
    }

    /// Removes the group. Processes still in it move to the group that we started in, free of the
    /// limit. Returns how many did.
    ///
    /// # Errors
    /// As the kernel says; "busy" if a group made by somebody else below ours is in use, or a
    /// process lives that may use it: the limit is lifted then, and a later sweep removes the rest.
    pub fn remove(&mut self) -> Result<usize, Error> {
        self.removed = true;
        let mut moved = 0;
        let mut first_error = None;
        for part in &self.parts {
            if part.dir.remove().is_ok() {
                continue;
            }
            if let Some(hand_down) = self.hand_down.as_ref().filter(|done| done.closed_parent()) {
                hand_down.undo();
            }
            match sweep::release(part.controller, &part.dir, &part.parent) {
                Ok(count) => moved = count.max(moved),
                Err(e) => drop(first_error.get_or_insert(e)),
            }
        }
        if let Some(hand_down) = self.hand_down.take() {
            hand_down.undo();
        }
        first_error.map_or(Ok(moved), Err)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.removed {
            // Nobody is left to be told; a later run sweeps what stays.
            let _ = self.remove();
        }
    }
}

/// The processes in `dir` and below it.
pub(crate) fn members(dir: &ControlDir) -> Result<Vec<u32>, Error> {
    let mut pids = dir.pids()?;
    for child in dir.children() {
        for inner in child.subtree() {
            match inner.pids() {
                Ok(more) => pids.extend(more),
                Err(Error::Gone { .. } | Error::NoKernelSupport { .. }) => {} // removed meanwhile
                Err(e) => return Err(e),
            }
        }
    }
    Ok(pids)
}
