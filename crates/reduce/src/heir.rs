//! Processes that run without a program of their own: what they have of those they were forked
//! from.

use crate::life::Life;
use crate::tree::Tree;
use record::unit::Nanos;
use std::ops::Deref;

/// Forks without a program between a process and one whose memory is known.
const GENERATIONS_MAX: usize = 8;

/// Who stands between a process and one whose memory is known, that one included. It takes no
/// memory of its own: it is asked for at every exec.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    pids: [u32; GENERATIONS_MAX],
    len: usize,
}

impl Line {
    fn push(&mut self, pid: u32) {
        if let Some(place) = self.pids.get_mut(self.len) {
            *place = pid;
            self.len += 1;
        }
    }
}

impl Deref for Line {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        self.pids.get(..self.len).unwrap_or_default()
    }
}

impl Tree {
    /// At most what a process has of those it was forked from, as far as that counts and is told:
    /// with its first program, or once it was read, it has what it has.
    pub(crate) fn inherited(&self, life: &Life) -> Option<u64> {
        if life.space_of.is_some() {
            // All of it is that one's.
            return Some(0);
        }
        let line = self.ancestors(life)?;
        let Some(source) = line.last().and_then(|pid| self.living.get(pid)) else {
            return Some(0);
        };
        // Whom the source itself forked.
        let first = line
            .iter()
            .rev()
            .nth(1)
            .and_then(|pid| self.living.get(pid));
        let start = first.map_or(life.start, |first| first.start);
        match source.is_known() {
            true => source.held.legacy(start),
            // The launcher, of which the first process is a child, is small.
            false => Some(0).filter(|_| source.pid == self.root),
        }
    }

    /// Whether it may have more of them than is told.
    pub(crate) fn is_vague_heir(&self, life: &Life) -> bool {
        let line = self.ancestors(life).unwrap_or_default();
        let source = line.last().and_then(|pid| self.living.get(pid));
        source.is_some_and(|source| source.held.is_vague())
    }

    /// As [`Tree::inherited`], of a living process; puts down in it that it may have more.
    pub(crate) fn inherits(&mut self, pid: u32) -> Option<u64> {
        let life = self.living.get(&pid)?;
        if life.is_known() {
            return Some(0);
        }
        let (inherited, vague) = (self.inherited(life), self.is_vague_heir(life));
        if let Some(life) = self.living.get_mut(&pid).filter(|_| vague) {
            life.held.is_more();
        }
        inherited
    }

    /// It is about to be read at `at`: it may keep pages that nobody read where they came from, and
    /// who was forked from it may have got them, while it has them no longer.
    pub(crate) fn passes_on(&mut self, at: Nanos, pid: u32) {
        let Some(life) = self.living.get(&pid).filter(|life| !life.is_known()) else {
            return;
        };
        let (line, start, children) = (self.ancestors(life), life.start, life.children);
        let known = |line: &Line| !self.is_unread_since(start, line);
        let unread = !line.as_ref().is_some_and(known);
        let Some(life) = self.living.get_mut(&pid).filter(|_| unread) else {
            return;
        };
        life.held.keeps_until = Some(at);
        if children > 0 {
            life.held.is_vague_to_heirs();
            self.owe(at, &line.unwrap_or_default(), start);
        }
    }

    /// Whether somebody of `line` was not read since `start`.
    fn is_unread_since(&self, start: Nanos, line: &[u32]) -> bool {
        let mut line = line.iter().filter_map(|pid| self.living.get(pid));
        line.any(|life| !life.held.is_known_since(start))
    }

    /// Those whose pages it may have: its parent and so on, up to one of which it is known what it
    /// has. `None` if one of them is not there any more.
    fn ancestors(&self, life: &Life) -> Option<Line> {
        let mut found = Line::default();
        let mut heir = life;
        while heir.pid != self.root && !heir.is_known() && found.len() < GENERATIONS_MAX {
            heir = self.living.get(&heir.space_of.or(heir.parent)?)?;
            found.push(heir.pid);
        }
        Some(found)
    }

    /// `heir` ended at `at`, and nobody read it: those whose pages it may have had are read later.
    pub(crate) fn bequeath(&mut self, at: Nanos, heir: &Life) {
        let line = self.ancestors(heir).unwrap_or_default();
        self.owe(at, &line, heir.start);
    }

    /// What came to those of `line` since they were read, somebody else may have by `at` who was
    /// forked from them at `start`. Whether there can be any.
    fn owe(&mut self, at: Nanos, line: &[u32], start: Nanos) -> bool {
        let mut any = false;
        for pid in line {
            if let Some(life) = self.living.get_mut(pid)
                && !life.held.is_known_since(start)
            {
                self.growth.bequeath(at, &mut life.held);
                any = true;
            }
        }
        any
    }

    /// The process gives up what it has at `at`, by an exec or its end: those who were forked from
    /// it and have no program of their own keep what they got.
    pub(crate) fn leave_heirs(&mut self, at: Nanos, pid: u32) {
        if self.living.get(&pid).is_none_or(|life| life.heirs == 0) {
            return;
        }
        let mut heirs = Vec::new();
        for life in self.living.values() {
            let line = self.ancestors(life).unwrap_or_default();
            if line.contains(&pid) {
                heirs.push((life.pid, life.start, line));
            }
        }
        for (heir, start, line) in heirs {
            let unread = self.owe(at, &line, start);
            let inherited = self.inherits(heir);
            let inherited = self.growth.known(inherited);
            let alone = self
                .living
                .get(&heir)
                .map(|life| self.alone(life, inherited));
            if let Some((life, alone)) = self.living.get_mut(&heir).zip(alone) {
                let had = (inherited, alone);
                self.growth.inherit(at, &mut life.held, had, unread);
            }
        }
    }

    /// It executes its first program: what it had of others until then, and they not any more, is
    /// its own.
    pub(crate) fn gives_back(&mut self, at: Nanos, pid: u32) {
        let Some(life) = self.living.get(&pid).filter(|life| !life.is_known()) else {
            return;
        };
        let (inherited, vague) = (self.inherited(life), self.is_vague_heir(life));
        let inherited = self.growth.known(inherited);
        let Some(life) = self.living.get(&pid) else {
            return;
        };
        let alone = self.alone(life, inherited);
        let line = self.ancestors(life).unwrap_or_default();
        let unread = self.is_unread_since(life.start, &line);
        let Some(life) = self.living.get_mut(&pid) else {
            return;
        };
        life.held.keeps_until = Some(at).filter(|_| unread);
        if vague || alone > 0 {
            life.held.was_alone_with(alone);
        }
    }

    /// At most what it has of the `inherited` that nobody of those has any more.
    fn alone(&self, life: &Life, inherited: u64) -> u64 {
        let line = self.ancestors(life).unwrap_or_default();
        let source = line.last().and_then(|pid| self.living.get(pid));
        let gone = source
            .zip(life.of)
            .filter(|(source, of)| source.pid == of.0);
        let gone = gone.map(|(source, of)| source.held.gone.saturating_sub(of.1));
        gone.unwrap_or(inherited).min(inherited)
    }

    /// What it has is known from now on, or it ends: it is nobody's heir any more.
    pub(crate) fn lives_by_itself(&mut self, pid: u32) {
        let heir = self.living.get_mut(&pid).filter(|life| life.is_heir);
        let Some(heir) = heir else {
            return;
        };
        heir.is_heir = false;
        let start = heir.start;
        let parent = heir.parent.and_then(|pid| self.living.get_mut(&pid));
        // Another may have the number of a parent that has ended.
        if let Some(parent) = parent.filter(|parent| parent.start <= start) {
            parent.heirs = parent.heirs.saturating_sub(1);
            parent.held.shared = true;
        }
    }

    /// It has no pages of those it was forked from.
    pub(crate) fn is_nobodys_heir(&mut self, pid: u32) {
        let heir = self.living.get_mut(&pid).filter(|life| life.is_heir);
        let Some(heir) = heir else {
            return;
        };
        heir.is_heir = false;
        let parent = heir.parent.and_then(|pid| self.living.get_mut(&pid));
        if let Some(parent) = parent {
            parent.heirs = parent.heirs.saturating_sub(1);
        }
    }

    /// It was forked from `parent`.
    pub(crate) fn is_heir_of(&mut self, pid: u32, parent: Option<u32>) {
        let parent = parent.and_then(|pid| self.living.get_mut(&pid));
        let Some(parent) = parent.filter(|parent| parent.pid != pid) else {
            return;
        };
        parent.heirs += 1;
        let of = parent.is_known().then_some((parent.pid, parent.held.gone));
        if let Some(life) = self.living.get_mut(&pid) {
            (life.is_heir, life.of) = (true, of);
        }
    }
}
