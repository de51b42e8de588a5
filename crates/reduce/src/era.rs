//! Eras: the dead of one are not there in the next.
//!
//! The faults that nobody read say what processes may have held unseen, but not when: of a task
//! that lasts they soon are far more than was ever there at once. Where it becomes known what the
//! dead had by some instant, an era ends: what was unseen before counts before it, and only the
//! rest after it.

use crate::ceiling::Ceiling;
use crate::life::Life;
use crate::peak::MemoryPeak;
use crate::settings::End;
use crate::tree::Tree;
use crate::unwaited::Claim;
use record::sample::Memory;
use record::unit::Nanos;

/// Faults of a process on its way to its first program, which no total of the task may have.
pub(crate) const FAULTS_BEFORE: u64 = 64;

/// The dead that are remembered until somebody has waited for them; with more there are no more
/// eras.
const DEAD_MAX: usize = 4096;

/// What processes may have got unseen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Page faults.
    pub(crate) faults: u64,
    /// Huge pages.
    pub(crate) huge: u64,
}

impl Unread {
    fn beyond(self, base: Self) -> Self {
        Self {
            faults: self.faults.saturating_sub(base.faults),
            huge: self.huge.saturating_sub(base.huge),
        }
    }
}

/// The most that each may be, bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Price {
    pub(crate) fault: u64,
    pub(crate) huge: u64,
    /// More for each process: huge pages that are counted and not resident yet.
    pub(crate) apiece: u64,
    /// Faults more that no total may have.
    pub(crate) before: u64,
}

impl Price {
    /// Where all faults were told: the huge pages that were counted before they were there have
    /// been added to each process.
    pub(crate) const fn of_huge_pages(self) -> Self {
        Self {
            apiece: 0,
            before: 0,
            ..self
        }
    }

    fn of(self, unread: Unread) -> u64 {
        let faults = unread.faults.saturating_add(self.before);
        let huge = unread.huge.saturating_mul(self.huge);
        faults.saturating_mul(self.fault).saturating_add(huge)
    }
}

/// What the dead had at a look at them.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The look began and ended.
    from: Nanos,
    until: Nanos,
    unread: Unread,
}

/// The sweep that is cut into eras.
#[derive(Debug, Clone)]
struct Eras {
    ceiling: Ceiling,
    /// Of processes that were dead before all that is not settled yet.
    base: Unread,
    /// What becomes the base at the next look, if nobody was born and died unseen during this one.
    mark: Option<Mark>,
    /// What a fault was taken for.
    fault: u64,
}

/// A sweep over the task as a whole, and one over its eras once there are any.
#[derive(Debug, Clone)]
pub(crate) struct Sweep {
    whole: Ceiling,
    eras: Option<Eras>,
}

impl Sweep {
    /// An empty sweep that begins at `start`.
    pub(crate) fn new(start: Nanos) -> Self {
        Self {
            whole: Ceiling::new(start),
            eras: None,
        }
    }

    /// As the methods of [`Ceiling`], for both.
    pub(crate) fn each(&mut self, mut step: impl FnMut(&mut Ceiling)) {
        step(&mut self.whole);
        if let Some(eras) = &mut self.eras {
            step(&mut eras.ceiling);
        }
    }

    /// A process that was never read ended at `at`.
    pub(crate) fn ended_unseen(&mut self, at: Nanos) {
        if let Some(eras) = &mut self.eras {
            // What the look found of it counts in the next era too.
            eras.mark = eras.mark.filter(|mark| at < mark.from || at > mark.until);
        }
    }

    /// A look that began at `from` and ended at `until` found all who were dead by `from`, and
    /// nobody who ended later and was known to live: unread of them was `unread`. `settle` settles
    /// in the eras who of the dead is not settled yet; it is told whether they begin only now.
    pub(crate) fn cut(
        &mut self,
        (from, until): (Nanos, Nanos),
        unread: Unread,
        price: Price,
        settle: impl FnOnce(&mut Ceiling, bool),
    ) {
        let known = self.eras.take().filter(|eras| eras.fault == price.fault);
        let new = known.is_none();
        let mut eras = known.unwrap_or_else(|| Eras {
            ceiling: self.whole.clone(),
            base: Unread::default(),
            mark: None,
            fault: price.fault,
        });
        settle(&mut eras.ceiling, new);
        if let Some(mark) = eras.mark {
            eras.base = mark.unread;
        }
        let pool = price.of(unread.beyond(eras.base));
        eras.ceiling.end_era(from, pool, price.apiece);
        eras.mark = Some(Mark {
            from,
            until,
            unread,
        });
        self.eras = Some(eras);
    }

    /// The sweep over the task as a whole.
    pub(crate) const fn whole(&mut self) -> &mut Ceiling {
        &mut self.whole
    }

    /// The bound, if all that is unread is `unread`, of which the sweep over the whole lacks only
    /// `of_whole`, and at most `largest` was held by one process. `over`: everybody's end was told
    /// by now.
    pub(crate) fn bound(
        &self,
        of_whole: (Unread, Price),
        (unread, price): (Unread, Price),
        largest: Option<u64>,
        over: bool,
    ) -> Option<u64> {
        let within = |ceiling: &Ceiling, unread, price: Price| {
            ceiling.bound_within(price.of(unread), price.apiece, largest)
        };
        let whole = within(&self.whole, of_whole.0, of_whole.1);
        let eras = self.eras.as_ref();
        let eras = eras.filter(|eras| eras.fault == price.fault);
        let eras = eras.and_then(|eras| {
            let base = eras.mark.filter(|_| over).map(|mark| mark.unread);
            within(
                &eras.ceiling,
                unread.beyond(base.unwrap_or(eras.base)),
                price,
            )
        });
        whole.into_iter().chain(eras).min()
    }
}

/// One of them.
#[derive(Debug, Clone, Copy)]
struct Mourned {
    pid: u32,
    start: Nanos,
    claim: Option<Claim>,
}

/// Ended processes for which nobody may have waited yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dead {
    listed: Vec<Mourned>,
    too_many: bool,
    /// Some of them ended since the last look.
    news: bool,
}

impl Dead {
    fn push(&mut self, one: Mourned) {
        self.too_many |= self.listed.len() >= DEAD_MAX;
        if !self.too_many {
            self.listed.push(one);
        }
        self.news = true;
    }
}

/// The processes whose faults together are those of the dead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kin {
    /// Those that live, parents before their children: they have the faults of those they waited
    /// for.
    pub living: Vec<u32>,
    /// Those that ended and may not have been waited for, and when each began.
    pub dead: Vec<(u32, Nanos)>,
}

/// Their page faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// Of each that lives.
    pub living: Vec<OfOne>,
    /// Of all who were dead when the look began, and of nobody else in [`Kin::living`].
    pub of_the_dead: u64,
    /// The dead that may still not have been waited for.
    pub unwaited: Vec<(u32, Nanos)>,
    /// Those that were gone before anybody was read.
    pub gone: Vec<(u32, Nanos)>,
}

/// Those of a process that lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfOne {
    /// Its id.
    pub pid: u32,
    /// Its own.
    pub own: u64,
    /// Those of the children that it waited for, and of theirs.
    pub children: u64,
}

impl Tree {
    /// Someone ended who told nothing of it.
    pub(crate) fn mourn(&mut self, at: Nanos, life: &Life) {
        let mechanism = self.settings.mechanism;
        if mechanism.tells_tree() && !mechanism.tells_finals() && self.growth.counts() {
            let claim = self.claim(at, life);
            self.dead_unwaited.push(Mourned {
                pid: life.pid,
                start: life.start,
                claim,
            });
        }
    }

    /// Whether somebody ended unread since the last look at the dead.
    pub fn has_unwaited(&self) -> bool {
        self.dead_unwaited.news && !self.dead_unwaited.too_many
    }

    /// Whose faults to look at so that an era can end; `None` if the family is not known well
    /// enough.
    pub fn kin(&self) -> Option<Kin> {
        let mut living = Vec::with_capacity(self.living.len());
        for life in self.living.values() {
            // Without its fork it is not known to be younger than its parent.
            if !life.announced && life.pid != self.root {
                return None;
            }
            living.push((life.start, life.pid));
        }
        living.sort_unstable();
        let dead = self.dead_unwaited.listed.iter();
        Some(Kin {
            living: living.into_iter().map(|(_, pid)| pid).collect(),
            dead: dead.map(|one| (one.pid, one.start)).collect(),
        })
    }

    /// Whether the process of [`Kin::dead`] that began at `start` is another than the one of the
    /// same id that began at `found`: its id was given away, so somebody has waited for it.
    pub fn is_another(start: Nanos, found: Nanos) -> bool {
        crate::course::later(found, start)
    }

    /// A look at the faults of the family, which began at `from`, after all events until then were
    /// taken, and ended at `until`.
    pub fn family(&mut self, from: Nanos, until: Nanos, faults: Faults) {
        self.bury_all(&faults);
        for OfOne { pid, own, .. } in faults.living {
            let Some(life) = self.living.get_mut(&pid) else {
                continue;
            };
            self.growth.settle_before(&mut life.held, Some(own), true);
            if life.held.is_told_by(own) {
                let unread = Memory::default();
                self.resident
                    .read(from, &mut life.resident, None, Some(own), &self.growth);
                self.growth
                    .read(from, &mut life.held, Some(own), &unread, Some(0));
            }
        }
        // What the dead had of the living is told by a reading of these.
        let unknown = |life: &Life| life.pid != self.root && !life.is_known();
        let vague = self.living.values().any(|life| life.held.is_vague());
        let unclear = |life: &Life| life.held.owes() || vague && unknown(life);
        if self.living.values().any(|life| unclear(life)) {
            return;
        }
        self.dead_unwaited.news = false;
        let unread = self.growth.unread_of_the_dead(faults.of_the_dead);
        let owes = self.living.values().any(|life| life.resident.owes());
        if let Some(price) = self.growth.mapping_price().filter(|_| !owes) {
            self.resident.cut(from, until, unread, price);
        }
        self.growth.cut(from, until, unread);
    }

    /// Who is gone was waited for, or passed the wait chain by.
    fn bury_all(&mut self, faults: &Faults) {
        let mut listed = std::mem::take(&mut self.dead_unwaited.listed);
        let among = |some: &[(u32, Nanos)], one: &Mourned| some.contains(&(one.pid, one.start));
        let gone = listed.iter().filter(|one| among(&faults.gone, one));
        for claim in gone.filter_map(|one| one.claim) {
            self.owe_to_parent(&claim);
        }
        listed.retain(|one| among(&faults.unwaited, one));
        self.dead_unwaited.listed = listed;
        for one in &faults.living {
            self.took_over(one.pid, one.children);
        }
    }

    /// The most memory of its own that the task can have held by `end`, by page faults alone;
    /// `None` where they tell nothing.
    pub fn at_most(&self, end: &End) -> Option<u64> {
        MemoryPeak::new(self, end).own_upper()
    }
}
