//! What one process held of its own memory, as far as it was read.

use record::unit::Nanos;

/// Faults of a process by which it is taken for larger without its memory being read.
const GUESSED_MAX: u64 = 64;

/// What a process held of its own when it was read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// Up to when the ceiling knows what it held.
    pub(crate) settled: Nanos,
    /// Its own pages then, bytes; nothing until it was read.
    pub(crate) own: Option<u64>,
    /// The most that it ever held of its own, as far as it was read.
    pub(crate) high: u64,
    /// The largest resident set that was read.
    pub(crate) resident: u64,
    /// Its faults so far, at least.
    pub(crate) faults: u64,
    /// Those of them that came since its memory was read.
    pub(crate) guessed: u64,
    /// Huge pages of the machine by then.
    pub(crate) huge: u64,
    /// Some of the faults until the first reading that began no sooner than this are of pages that
    /// it has no longer then: a child that had ended unread by now had them.
    pub(crate) owes: Option<Nanos>,
    /// It may have more than `own`: pages of one that it was forked from, which nobody read before
    /// that one was gone.
    pub(crate) more: bool,
    /// What came to it before it was `settled` is not read: `own` is what it kept of another that
    /// is gone.
    pub(crate) parted: bool,
    /// It once had, as this program.
    pub(crate) vague: bool,
    /// Somebody was forked from it since it was read: its mark does not hold what that one kept of
    /// what it has replaced since.
    pub(crate) shared: bool,
    /// Pages that it gave up or replaced so far, at most, bytes: who was forked from it may have
    /// them still.
    pub(crate) gone: u64,
    /// The resident set was read, of this program.
    pub(crate) met: bool,
    /// Until then it may have kept pages of those it was forked from, whom nobody had read since.
    pub(crate) keeps_until: Option<Nanos>,
    /// What it held before its last exec is not settled yet.
    pub(crate) before: Option<Before>,
}

/// A process as another program, or before its first one: what it held then becomes known by its
/// faults at the next reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
    /// Its own pages at `from`, bytes, and its faults and the machine's huge pages by then.
    pub(crate) own: u64,
    pub(crate) faults: u64,
    pub(crate) huge: u64,
}

impl Held {
    /// Whether so many faults by now say what it has well enough: it was read, or executed a
    /// program, and little came since. Of one that gets pages and gives them back they say too
    /// much.
    pub(crate) fn is_told_by(&self, faults: u64) -> bool {
        let since = faults.saturating_sub(self.faults);
        self.own.is_some() && self.guessed.saturating_add(since) <= GUESSED_MAX
    }

    /// Whether its faults until its next reading may be of pages that others have, or others'
    /// faults of pages that it has.
    pub(crate) fn owes(&self) -> bool {
        self.owes.is_some() || self.more
    }

    /// Whether a reading that began at `at` came too early to tell what it owes: later somebody
    /// else may have got more of its pages.
    pub(crate) fn owes_until_after(&self, at: Nanos) -> bool {
        self.owes.is_some_and(|until| at < until)
    }

    /// Whether it was read since `at`, or began as a program.
    pub(crate) fn is_known_since(&self, at: Nanos) -> bool {
        self.own.is_some() && !self.parted && self.settled >= at
    }

    /// It was `alone` with so much of what it was forked with when it executes its first program.
    pub(crate) fn was_alone_with(&mut self, alone: u64) {
        (self.own, self.more) = (Some(alone), true);
    }

    /// Whether it may once have had more than was told.
    pub(crate) fn is_vague(&self) -> bool {
        self.vague
    }

    /// Whether nobody ever read its faults.
    pub(crate) fn is_unseen(&self) -> bool {
        self.faults == 0
    }

    /// What it may hold still, where `inherited` is what it had of its parent before it was read.
    pub(crate) fn base(&self, inherited: u64) -> u64 {
        self.own.unwrap_or(inherited)
    }

    /// Whether it is told what it has, without what it was forked from.
    pub(crate) fn is_known(&self) -> bool {
        self.own.is_some()
    }

    /// The most that a child forked at `at` may have got of its pages, but for what it may have
    /// more and what came unread; nothing while that is not known.
    pub(crate) fn legacy(&self, at: Nanos) -> Option<u64> {
        let later = self.settled < at;
        self.own
            .map(|own| if later { own } else { own.max(self.high) })
    }

    /// The most that a child may have got of its pages; nothing while that is not known.
    pub(crate) fn heritage(&self) -> Option<u64> {
        self.own
            .map(|own| own.max(self.high))
            .filter(|_| !self.vague)
    }

    /// Its children may have more of its pages than it was read to have had.
    pub(crate) fn is_vague_to_heirs(&mut self) {
        self.vague = true;
    }

    /// It was forked from one that had more than was told.
    pub(crate) fn is_more(&mut self) {
        (self.more, self.vague) = (true, true);
    }
}
