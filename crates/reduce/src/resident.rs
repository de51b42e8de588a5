//! The highest that the sum of resident sets can have been: shared pages count in each process.
//!
//! A process that ended unread had at most what the largest one ever had, and at most what it had
//! when it was read and what its page faults can have mapped since. The first is known of each, the
//! second of all together; the lower of the two sums holds.

use crate::ceiling::Ceiling;
use crate::era::{Price, Sweep, Unread};
use crate::growth::Growth;
use record::event::Former;
use record::unit::Nanos;

/// What was seen of the resident set of one process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Up to when the two ceilings know what it held.
    settled: Nanos,
    settled_by_faults: Nanos,
    /// Its high-water mark, bytes, and its faults and the machine's huge pages by then; nothing
    /// until it was read, or began as a program.
    mark: Option<(u64, u64, u64)>,
    /// Its faults when it began as this program, as far as they were told.
    faults: u64,
    /// Its mark was read, of this program.
    met: bool,
    /// Some of its faults until the next reading are of the program before.
    owes: bool,
}

/// The main process between its last reading and its end. What it had then is not known before its
/// faults are, which the launcher tells.
#[derive(Debug, Clone, Copy)]
struct LastOfRoot {
    seen: Seen,
    until: Nanos,
}

/// What is known of it all at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// The largest process, if it was one of those that nobody read.
    pub(crate) largest: Option<u64>,
    /// The faults of the main process.
    pub(crate) faults_of_root: Option<u64>,
    /// What nobody saw of all.
    pub(crate) unread: Option<Unread>,
    /// Whether everybody's end was told.
    pub(crate) over: bool,
}

/// The sum of resident sets from above.
#[derive(Debug, Clone)]
pub(crate) struct Resident {
    ceiling: Ceiling,
    by_faults: Sweep,
    /// Somebody had pages, unread, that did not come by faults which count as unread.
    beyond_faults: bool,
    /// Faults that were read, but count as unread: see [`Seen::owes`].
    owed: u64,
    last: Option<LastOfRoot>,
}

impl Resident {
    /// Begins at `start`.
    pub(crate) fn new(start: Nanos) -> Self {
        Self {
            ceiling: Ceiling::new(start),
            by_faults: Sweep::new(start),
            beyond_faults: false,
            owed: 0,
            last: None,
        }
    }

    /// A process lives from `at` on.
    pub(crate) fn open(&mut self, at: Nanos) -> Seen {
        self.ceiling.open(at);
        self.by_faults.each(|ceiling| ceiling.open(at));
        Seen {
            settled: at,
            settled_by_faults: at,
            ..Seen::default()
        }
    }

    /// It executes its first program, after so many `faults` if that is known. Until then it
    /// borrows the pages of its parent.
    pub(crate) fn begin(
        &mut self,
        at: Nanos,
        seen: &mut Seen,
        faults: Option<u64>,
        growth: &Growth,
    ) {
        self.ceiling.forget(seen.settled);
        self.ceiling.open(at);
        seen.settled = at;
        // What it borrowed did not come by faults.
        seen.faults = faults.unwrap_or(0);
        seen.mark = Some((0, seen.faults, growth.huge_now()));
        seen.met = false;
    }

    /// It has another memory than before, of which nobody saw the end; what it was, `former` may
    /// tell.
    pub(crate) fn renew(
        &mut self,
        at: Nanos,
        seen: &mut Seen,
        former: Option<Former>,
        growth: &Growth,
    ) {
        let (past, (base, faults, _)) = (*seen, seen.mark.unwrap_or_default());
        *seen = self.open(at);
        let most = former.map(|former| {
            // Huge pages made since they were told are not in it yet.
            let grown = past.grown(former.faults, growth);
            let grown = grown.filter(|_| !growth.may_be_huge());
            grown.map_or(former.rss_most.0, |grown| grown.min(former.rss_most.0))
        });
        let known = most.is_some();
        self.ceiling
            .settle_between(past.settled, at, most.unwrap_or(0), known);
        let from = past.settled_by_faults;
        self.by_faults
            .each(|one| one.settle_between(from, at, most.unwrap_or(base), known));
        self.beyond_faults |= past.mark.is_none() && !known;
        seen.faults = former.map_or(faults, |former| former.faults);
        seen.mark = Some((0, seen.faults, growth.huge_now()));
        seen.owes = !known;
    }

    /// It was read in a pass that began at `at`: its high-water mark, or its faults alone.
    pub(crate) fn read(
        &mut self,
        at: Nanos,
        seen: &mut Seen,
        mark: Option<u64>,
        faults: Option<u64>,
        growth: &Growth,
    ) {
        // The memory of an exec is there before it is told: a first reading may be of the next
        // program, which cannot have had all those faults.
        let before = seen.mark.map_or(0, |mark| mark.1);
        let since = faults.map(|faults| faults.saturating_sub(seen.faults));
        let pages = since.and_then(|faults| growth.pages(faults));
        let of_another = !seen.met && pages > mark;
        if let Some(mark) = mark
            && at > seen.settled
        {
            if of_another {
                self.ceiling.open(at);
                self.ceiling.settle_between(seen.settled, at, 0, false);
            } else {
                self.ceiling.settle_until(seen.settled, at, mark);
            }
            seen.settled = at;
        }
        let grown = faults.and_then(|faults| seen.grown(faults, growth));
        let most = match of_another {
            true => mark.max(grown),
            false => mark.or(grown),
        };
        if let Some(most) = most
            && at > seen.settled_by_faults
        {
            seen.met |= mark.is_some();
            if std::mem::take(&mut seen.owes) {
                let owed = faults.unwrap_or(before).saturating_sub(before);
                self.owed = self.owed.saturating_add(owed);
            }
            let from = seen.settled_by_faults;
            self.by_faults
                .each(|ceiling| ceiling.settle_until(from, at, most));
            seen.settled_by_faults = at;
            seen.mark = Some((most, faults.unwrap_or(0), growth.huge_now()));
        } else if faults.is_some() {
            self.beyond_faults |= most.is_none();
        }
    }

    /// It ended at `at`; `mark` and `faults` are its own last word, as far as they are told.
    pub(crate) fn end(
        &mut self,
        at: Nanos,
        seen: &Seen,
        (mark, faults): (Option<u64>, Option<u64>),
        is_root: bool,
        growth: &Growth,
    ) {
        if let Some((_, before, _)) = seen.mark.filter(|_| seen.owes) {
            let owed = faults.unwrap_or(before).saturating_sub(before);
            self.owed = self.owed.saturating_add(owed);
        }
        if mark.is_none() && is_root && at > seen.settled {
            self.ceiling.open(at);
            let (seen, until) = (*seen, at);
            self.last = Some(LastOfRoot { seen, until });
        } else {
            self.ceiling.settle(seen.settled, mark);
        }
        let from = seen.settled_by_faults;
        // They count as read.
        let grown = faults.and_then(|faults| seen.grown(faults, growth));
        match (mark.or(grown), seen.mark) {
            (Some(most), _) if mark.is_some() || !growth.may_be_huge() => {
                self.by_faults.each(|one| one.settle(from, Some(most)));
            }
            // Huge pages made since they were told are not in it yet.
            (Some(grown), _) => self.by_faults.each(|one| one.settle_above(from, grown)),
            (None, Some((base, _, _))) => self.by_faults.each(|one| one.settle_above(from, base)),
            (None, None) => {
                self.by_faults.each(|one| one.settle(from, Some(0)));
                self.beyond_faults = true;
            }
        }
    }

    /// It ended after so many `faults`, and what it had another has still, whose mark tells it.
    pub(crate) fn end_shared(&mut self, seen: &Seen, faults: Option<u64>) {
        self.ceiling.settle(seen.settled, Some(0));
        let from = seen.settled_by_faults;
        self.by_faults.each(|one| one.settle(from, Some(0)));
        // What came by its faults the other has.
        self.owed = self.owed.saturating_add(faults.unwrap_or(0));
    }

    /// What another had that is gone by `at` it has alone from now on.
    pub(crate) fn take_over(&mut self, at: Nanos, seen: &mut Seen) {
        self.ceiling.forget(seen.settled);
        let from = seen.settled_by_faults;
        self.by_faults.each(|one| one.forget(from));
        *seen = self.open(at);
    }

    fn with_owed(&self, unread: Unread) -> Unread {
        Unread {
            faults: unread.faults.saturating_add(self.owed),
            ..unread
        }
    }

    /// As [`Sweep::ended_unseen`].
    pub(crate) fn ended_unseen(&mut self, at: Nanos) {
        self.by_faults.ended_unseen(at);
    }

    /// As [`Sweep::cut`].
    pub(crate) fn cut(&mut self, from: Nanos, until: Nanos, unread: Unread, price: Price) {
        self.by_faults
            .cut((from, until), self.with_owed(unread), price, |_, _| {});
    }

    /// The bound, if of `unsettled` nothing more is known.
    pub(crate) fn bound<'a>(
        &self,
        unsettled: impl Iterator<Item = &'a Seen>,
        known: Known,
        growth: &Growth,
    ) -> Option<u64> {
        let mut all = self.clone();
        for seen in unsettled {
            all.end(Nanos(0), seen, (None, None), false, growth);
        }
        if let Some(LastOfRoot { seen, until }) = self.last {
            let grown = known
                .faults_of_root
                .and_then(|faults| seen.grown(faults, growth));
            let most = grown.map(|most| most.min(known.largest.unwrap_or(most)));
            let base = most.unwrap_or(0);
            all.ceiling
                .settle_between(seen.settled, until, base, most.is_some());
            all.ceiling.forget(until);
        }
        let by_largest = all.ceiling.bound(known.largest);
        let by_faults = known.unread.zip(growth.mapping_price());
        let by_faults = by_faults.filter(|_| !all.beyond_faults);
        let by_faults = by_faults.and_then(|(unread, price)| {
            let unread = all.with_owed(unread);
            let unread = (unread, price);
            all.by_faults
                .bound(unread, unread, known.largest, known.over)
        });
        by_largest.into_iter().chain(by_faults).min()
    }
}

impl Seen {
    /// Whether its faults until its next reading may be of the program before.
    pub(crate) fn owes(&self) -> bool {
        self.owes
    }

    /// The most that it can have had when it had so many faults.
    fn grown(&self, faults: u64, growth: &Growth) -> Option<u64> {
        let (mark, before, huge) = self.mark?;
        growth.mapped(mark, faults.saturating_sub(before), huge)
    }
}
