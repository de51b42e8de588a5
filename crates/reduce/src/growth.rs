//! The most memory of its own that a task can have held, from page faults.
//!
//! A page that belongs to no file comes with a page fault of whoever gets it. So between two
//! readings a process held at most what it had at the first one and a page for each fault since;
//! and what processes gained after they were read last, all of them together, is a page for each
//! fault that the totals of the task have and the readings have not. Huge pages come many at one
//! fault: the machine's count of them is added, whoever got them. Left out is what one process
//! gives back while another gains, both within the millisecond of one pass.

use crate::era::{FAULTS_BEFORE, Price, Sweep, Unread};
use crate::held::{Before, Held};
use record::sample::{Counters, Memory, PageSizes};
use record::unit::Nanos;
use whole::LastOfRoot;

mod end;
pub(crate) mod whole;

/// Pages that one fault maps of what is in memory already (`fault_around_bytes`, 64 KiB).
const PAGES_AROUND: u64 = 16;

/// The sweep over the processes of a task.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    sweep: Sweep,
    sizes: Option<PageSizes>,
    /// Faults of the processes that ended, as far as they were read.
    read: u64,
    /// Faults that were read, but count as unread: see [`Held::owes`].
    owed: u64,
    /// Huge pages that the machine has made so far, as last told.
    huge: u64,
    /// The same at the start.
    huge_before: u64,
    /// Those made while a process ended unread, and before that is known.
    huge_unread: u64,
    /// A process ended, or changed its program, unread since they were told: those made by then of
    /// which it may have had none.
    unread: Option<u64>,
    /// Somebody may have got pages at faults that nobody read: else it can only be huge ones.
    faults_unread: bool,
    /// The main process, where its end told nothing of it.
    root: Option<LastOfRoot>,
    /// What a process inherited could not be told.
    lost: bool,
    /// Shared memory was seen in a process, more than this much.
    shared: bool,
    own_shared: u64,
    /// The most that a process held when it was read.
    seen: u64,
    /// The most that one that told its peak held beyond that.
    unseen: u64,
}

impl Growth {
    /// A sweep that begins at `start`; `own_shared`: see [`crate::settings::Settings`].
    pub(crate) fn new(start: Nanos, own_shared: u64) -> Self {
        Self {
            own_shared,
            sweep: Sweep::new(start),
            sizes: None,
            read: 0,
            owed: 0,
            huge: 0,
            huge_before: 0,
            huge_unread: 0,
            unread: None,
            faults_unread: false,
            root: None,
            lost: false,
            shared: false,
            seen: 0,
            unseen: 0,
        }
    }

    /// What pages are here, and how many huge ones the machine has made. Without it there is no
    /// bound.
    pub(crate) fn begin(&mut self, sizes: PageSizes, huge_made: u64) {
        self.sizes = Some(sizes);
        (self.huge, self.huge_before) = (huge_made, huge_made);
    }

    /// The machine has made so many huge pages by now.
    pub(crate) fn huge_pages(&mut self, made: u64) {
        if let Some(before) = self.unread.take() {
            let since = made.saturating_sub(before);
            self.huge_unread = self.huge_unread.saturating_add(since);
        }
        self.huge = made;
    }

    /// What nobody saw of the largest process. Of this it is not known whether it came by faults:
    /// shared memory that was written through a descriptor (memfd, tmpfs) is there before it is
    /// mapped.
    pub(crate) fn unseen(&self, chain: Option<u64>) -> u64 {
        let beyond = chain.unwrap_or(0).saturating_sub(self.seen);
        self.unseen.max(beyond)
    }

    /// A process lives from `at` on.
    pub(crate) fn open(&mut self, at: Nanos) -> Held {
        self.sweep.each(|ceiling| ceiling.open(at));
        Held {
            settled: at,
            huge: self.huge,
            ..Held::default()
        }
    }

    /// It executes a program. A child has what it got since its fork until then; the rest it shares
    /// with its parent.
    pub(crate) fn exec(&mut self, at: Nanos, held: &mut Held) {
        // Or what it was forked from is gone, and its pages were its own until now.
        if held.more || !held.met && held.base(0) > 0 {
            self.part(at, held, held.base(0), 0);
            (held.more, held.vague, held.parted) = (false, false, false);
            return;
        }
        if !held.met {
            // The faults until its first reading bound what it was before as well.
            (held.own, held.vague) = (Some(0), false);
            return;
        }
        let before = Before {
            from: held.settled,
            until: at,
            own: held.own.unwrap_or(0),
            faults: held.faults,
            huge: held.huge,
        };
        let before = Some(before).filter(|before| before.until > before.from);
        if before.is_none() {
            self.sweep.each(|ceiling| ceiling.forget(held.settled));
        }
        self.sweep.each(|ceiling| ceiling.open(at));
        *held = Held {
            settled: at,
            own: Some(0),
            faults: held.faults,
            huge: self.huge,
            owes: held.owes,
            gone: held.gone,
            before,
            ..Held::default()
        };
    }

    /// What it was forked from is gone by `at`, and it still has at most `inherited` of that (see
    /// [`Growth::end`]), of which it had `alone` until then, and what had come there `unread`.
    pub(crate) fn inherit(
        &mut self,
        at: Nanos,
        held: &mut Held,
        (inherited, alone): (u64, u64),
        unread: bool,
    ) {
        self.part(at, held, alone, inherited);
        held.parted = true;
        held.more |= unread;
        held.vague |= unread;
    }

    /// From `at` on it has `own`; before that `base` and what came unread.
    fn part(&mut self, at: Nanos, held: &mut Held, base: u64, own: u64) {
        self.unread_since(held.huge);
        self.faults_unread = true;
        if at > held.settled {
            self.sweep.each(|ceiling| {
                ceiling.open(at);
                ceiling.settle_between(held.settled, at, base, false);
            });
            held.settled = at;
        }
        (held.own, held.huge, held.owes) = (Some(own), self.huge, Some(at));
    }

    /// By `at` others may have pages of it that came since it was read: those faults count as
    /// unread.
    pub(crate) fn bequeath(&mut self, at: Nanos, held: &mut Held) {
        self.unread_since(held.huge);
        held.owes = held.owes.max(Some(at));
    }

    /// What it held before its exec, if it had so many `faults` by some time after it, when huge
    /// pages were `counted`; unknown if nobody knows.
    pub(crate) fn settle_before(&mut self, held: &mut Held, faults: Option<u64>, counted: bool) {
        let Some(before) = held.before.take() else {
            return;
        };
        let most = faults.and_then(|faults| {
            let (own, since) = (before.own, faults.saturating_sub(before.faults));
            self.got(own, since, before.huge)
        });
        let base = most.unwrap_or(before.own);
        let known = most.is_some() && (counted || !self.may_be_huge());
        self.sweep
            .each(|ceiling| ceiling.settle_between(before.from, before.until, base, known));
        if most.is_none() {
            self.unread_since(before.huge);
            self.faults_unread = true;
        } else if !known {
            self.unread_since(self.huge);
        }
    }

    /// It was read in a pass that began at `at`, and had so many faults. `inherited`: see
    /// [`Growth::end`]. Where its memory was not read, it has at most what it had before and what
    /// came since.
    pub(crate) fn read(
        &mut self,
        at: Nanos,
        held: &mut Held,
        faults: Option<u64>,
        memory: &Memory,
        inherited: Option<u64>,
    ) {
        // Of one that is ending its last mark is told still.
        let mark = memory.rss.and(memory.rss_peak).map(|peak| peak.0);
        let faults = faults.unwrap_or(held.faults).max(held.faults);
        let rss = memory.rss.map(|rss| rss.0);
        // Without its mark the split of file and shared memory is an old one.
        let split = mark.is_some() || rss.is_none();
        if split {
            held.resident = held.resident.max(rss.unwrap_or(0));
            self.seen = self.seen.max(held.resident);
        }
        let shared = memory.rss_shmem.map_or(0, |shared| shared.0);
        let own = memory.rss_anon.filter(|_| split);
        let own = own.map(|anon| anon.0.saturating_add(shared));
        self.shared |= shared > self.own_shared;
        self.lost |= inherited.is_none();
        let grown = inherited.and_then(|inherited| self.grown(held, inherited, faults));
        // The first reading may be of what it is about to become: the memory of an exec is there
        // before it is told.
        let capped = held.met && !held.shared;
        let cap = mark.or(rss).filter(|_| capped || grown.is_none());
        let Some(most) = grown.into_iter().chain(cap).min().max(own) else {
            return;
        };
        if at <= held.settled || held.owes_until_after(at) {
            return;
        }
        // Where its memory was not read, it is taken for having all still.
        let gone = grown
            .zip(own)
            .map_or(0, |(all, own)| all.saturating_sub(own));
        self.settle_before(held, Some(faults), true);
        self.faults_unread |= held.more;
        self.keep(held);
        self.sweep.each(|ceiling| {
            ceiling.open(at);
            ceiling.settle_between(held.settled, at, most, !held.more);
        });
        if held.owes.is_some() {
            self.owed = self.owed.saturating_add(faults - held.faults);
        }
        let guessed = held.guessed.saturating_add(faults - held.faults);
        *held = Held {
            settled: at,
            own: own.or(Some(most)),
            high: held.high.max(most),
            resident: held.resident,
            faults,
            guessed: if rss.is_some() { 0 } else { guessed },
            huge: self.huge,
            owes: None,
            parted: false,
            more: held.more && own.is_none(),
            shared: false,
            gone: held.gone.saturating_add(gone),
            vague: held.vague,
            met: held.met || rss.is_some(),
            keeps_until: None,
            before: None,
        };
    }

    /// So much was inherited; without that there is no bound.
    pub(crate) fn known(&mut self, inherited: Option<u64>) -> u64 {
        self.lost |= inherited.is_none();
        inherited.unwrap_or(0)
    }

    fn unread_since(&mut self, made: u64) {
        let made = made.max(self.huge_before);
        self.unread = Some(self.unread.map_or(made, |before| before.min(made)));
    }

    /// Whether faults bound anything here.
    pub(crate) fn counts(&self) -> bool {
        self.sizes.is_some()
    }

    /// So much is unread of the dead: see [`Sweep::cut`].
    pub(crate) fn cut(&mut self, from: Nanos, until: Nanos, unread: Unread) {
        let Some(price) = self.price() else {
            return;
        };
        let looked = self.root.as_mut().map(|root| root.look());
        self.sweep
            .cut((from, until), unread, price, |ceiling, new| {
                if let Some((root, _)) = looked.filter(|(_, again)| new || !again) {
                    root.settle(ceiling, None);
                }
            });
    }

    /// What nobody saw of those who had `faults`, of which `read` were read.
    fn unread(&self, faults: u64, read: u64) -> Unread {
        Unread {
            faults: faults.saturating_sub(read).saturating_add(self.owed),
            huge: self.huge_unread,
        }
    }

    fn price(&self) -> Option<Price> {
        let sizes = self.sizes?;
        let huge = sizes.huge.map_or(0, |huge| huge.0);
        Some(Price {
            fault: self.bytes_a_fault(sizes),
            huge,
            apiece: self.in_the_making().saturating_mul(huge),
            before: FAULTS_BEFORE,
        })
    }

    /// Whether a fault may bring a huge page.
    pub(crate) fn may_be_huge(&self) -> bool {
        self.sizes.is_some_and(|sizes| sizes.huge.is_some())
    }

    /// A huge page is counted before it is resident: one of each process may be on its way, if any
    /// was made at all.
    fn in_the_making(&self) -> u64 {
        u64::from(self.huge > self.huge_before)
    }

    /// A fault on shared memory that is there already maps the pages around it as well.
    fn bytes_a_fault(&self, sizes: PageSizes) -> u64 {
        let pages = if self.shared { PAGES_AROUND } else { 1 };
        sizes.page.0.saturating_mul(pages)
    }

    fn grown(&self, held: &Held, inherited: u64, faults: u64) -> Option<u64> {
        let own = held.own.unwrap_or(inherited);
        self.got(own, faults.saturating_sub(held.faults), held.huge)
    }

    /// The most that can be resident of `mark` bytes after so many `faults` more, when the machine
    /// had made `huge` huge pages before them: each may map the pages around it.
    pub(crate) fn mapped(&self, mark: u64, faults: u64, huge: u64) -> Option<u64> {
        let around = faults.saturating_mul(PAGES_AROUND - 1);
        let around = around.saturating_mul(self.sizes?.page.0);
        let most = self.got(mark, faults, huge)?;
        Some(most.saturating_add(around))
    }

    /// Whether a fault maps many pages of a file that is in memory: not where a page is as large as
    /// what is mapped around it.
    pub(crate) fn maps_around(&self) -> bool {
        const SMALL: u64 = 16 << 10;
        self.sizes.is_some_and(|sizes| sizes.page.0 <= SMALL)
    }

    /// So many faults, a page each.
    pub(crate) fn pages(&self, faults: u64) -> Option<u64> {
        Some(faults.saturating_mul(self.sizes?.page.0))
    }

    /// Huge pages of the machine, as last told.
    pub(crate) fn huge_now(&self) -> u64 {
        self.huge
    }

    /// What a fault can map.
    pub(crate) fn mapping_price(&self) -> Option<Price> {
        let fault = self.sizes?.page.0.saturating_mul(PAGES_AROUND);
        self.price().map(|price| Price { fault, ..price })
    }

    /// What nobody saw of the dead, who had `faults` in all.
    pub(crate) fn unread_of_the_dead(&self, faults: u64) -> Unread {
        self.unread(faults, self.read)
    }

    /// What nobody saw of all, who had `faults`: the dead, and `living` since they were read.
    pub(crate) fn unread_of_all<'a>(
        &self,
        living: impl Iterator<Item = &'a Held>,
        faults: u64,
    ) -> Unread {
        let read = living.fold(self.read, |read, held| read.saturating_add(held.faults));
        self.unread(faults, read)
    }

    /// The most that there can be of `own` bytes after so many `faults`, when the machine had made
    /// `huge` huge pages before them.
    fn got(&self, own: u64, faults: u64, huge: u64) -> Option<u64> {
        let sizes = self.sizes?;
        let pages = faults.saturating_mul(self.bytes_a_fault(sizes));
        let huge = self
            .huge
            .saturating_sub(huge.max(self.huge_before))
            .saturating_add(self.in_the_making())
            .saturating_mul(sizes.huge.map_or(0, |huge| huge.0));
        Some(own.saturating_add(pages).saturating_add(huge))
    }

    /// The most that can have come by `faults`, all that the task had.
    pub(crate) fn most(&self, faults: u64) -> Option<u64> {
        let sizes = self.sizes?;
        let made = self.huge.saturating_sub(self.huge_before);
        let huge = made
            .saturating_add(self.in_the_making())
            .saturating_mul(sizes.huge.map_or(0, |huge| huge.0));
        let pages = faults
            .saturating_add(FAULTS_BEFORE)
            .saturating_mul(self.bytes_a_fault(sizes));
        Some(pages.saturating_add(huge))
    }
}

/// The page faults of these counters.
pub(crate) fn faults(counters: &Counters) -> Option<u64> {
    Some(
        counters
            .faults_minor?
            .saturating_add(counters.faults_major?),
    )
}
