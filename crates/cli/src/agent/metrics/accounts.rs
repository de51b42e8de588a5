//! Where use is filed: jobs with series of their own, the rest, and what is in no job.
//!
//! All that was spent is in exactly one counter, and no counter goes back: a job's own counts what
//! it spent since it is shown, `rest` what jobs spent while they were not, `ended` takes over the
//! counters of whatever is shown no more.

use super::sums::{CPU, Sums};
use record::unit::Nanos;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Jobs and other places that are remembered, at most; what is spent beyond is in the rest.
const ACCOUNTS_MAX: usize = 1 << 14;
/// Identifiers of no job that have series of their own, at most; the others have one together.
const OUTSIDE_MAX: usize = 64;
/// A job that has ended stays so long, and so does what else has no processes any more.
const GRACE: Nanos = Nanos::from_secs(300);
/// An identifier that was not told to be a job within so long, and a reading more, is none: its
/// environment is asked for at leisure.
pub(super) const UNKNOWN: Nanos = Nanos::from_secs(10);
/// What was spent in a reading counts by a fifth less with each that follows.
const LATELY: (u64, u64) = (4, 5);
/// The longest text of a label, bytes.
const LABEL_BYTES_MAX: usize = 256;

/// The places that are always there.
const OUTSIDE: u64 = 0;
const REST: u64 = 1;

/// What is known of a job, as label values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) labels: Vec<(&'static str, String)>,
    /// When the first of its processes started, since boot.
    pub(super) first_start: Option<Nanos>,
}

/// What a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nobody knows yet; since when.
    Undecided(Option<Nanos>),
    Job {
        is_shown: bool,
    },
    Outside,
    /// In no job and beyond what has series: all is with those that have no identifier.
    Beyond,
}

#[derive(Debug)]
struct Account {
    name: Option<String>,
    kind: Kind,
    /// What was spent that is in no series yet.
    fresh: Sums,
    /// What its series tell.
    own: Sums,
    /// CPU time that is in other series than its own.
    before: u64,
    lately: u64,
    /// CPU time since the last reading was over.
    spent: u64,
    now: Now,
    gone_since: Option<Nanos>,
    told: Option<Told>,
}

/// What is there now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Now {
    pub(super) processes: u64,
    pub(super) threads: Option<u64>,
    pub(super) rss: Option<u64>,
    /// Device memory of its processes, and the parts of devices that they kept busy, millionths.
    pub(super) gpu_memory: Option<u64>,
    pub(super) gpu_busy: Option<u64>,
}

/// What a process has now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gauges {
    pub(super) threads: Option<i64>,
    pub(super) rss: Option<i64>,
    pub(super) gpu_memory: Option<i64>,
    pub(super) gpu_busy: Option<i64>,
}

/// A line of the page.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// `job`, `rest`, `ended` or `outside`.
    pub(super) kind: &'static str,
    pub(super) name: Option<&'a str>,
    pub(super) sums: Sums,
    /// Nothing for what is only counters.
    pub(super) now: Option<Now>,
    /// Of jobs: CPU time before it was shown, and what is known of it.
    pub(super) before: Option<u64>,
    pub(super) told: Option<&'a Told>,
}

/// All places.
#[derive(Debug)]
pub(super) struct Accounts {
    by_name: HashMap<Vec<u8>, u64>,
    all: HashMap<u64, Account>,
    next: u64,
    shown_max: usize,
    outside: Option<Vec<u8>>,
    rest: Sums,
    ended: Sums,
}

impl Account {
    fn new(name: Option<String>, kind: Kind) -> Self {
        Self {
            name,
            kind,
            fresh: Sums::default(),
            own: Sums::default(),
            before: 0,
            lately: 0,
            spent: 0,
            now: Now::default(),
            gone_since: None,
            told: None,
        }
    }

    fn is_shown(&self) -> bool {
        self.kind == Kind::Job { is_shown: true }
    }

    /// What it is at the end of a reading.
    fn decided(&self, at: Nanos, is_full: bool) -> Kind {
        match self.kind {
            Kind::Undecided(_) | Kind::Outside | Kind::Beyond if self.told.is_some() => {
                Kind::Job { is_shown: false }
            }
            Kind::Undecided(None) => Kind::Undecided(Some(at)),
            Kind::Undecided(Some(since)) if at.since(since) < UNKNOWN => self.kind,
            Kind::Undecided(_) if is_full => Kind::Beyond,
            Kind::Undecided(_) => Kind::Outside,
            known => known,
        }
    }

    fn is_there(&self) -> bool {
        self.now.processes > 0
    }
}

impl Accounts {
    pub(super) fn new(shown_max: usize, outside: Option<&str>) -> Self {
        Self {
            by_name: HashMap::new(),
            all: HashMap::from([(OUTSIDE, Account::new(None, Kind::Outside))]),
            next: REST + 1,
            shown_max,
            outside: outside.map(|text| text.as_bytes().to_vec()),
            rest: Sums::default(),
            ended: Sums::default(),
        }
    }

    /// The place of an identifier.
    pub(super) fn of(&mut self, identifier: Option<&[u8]>) -> u64 {
        let Some(identifier) = identifier else {
            return OUTSIDE;
        };
        if let Some(known) = self.by_name.get(identifier) {
            return *known;
        }
        if self.all.len() >= ACCOUNTS_MAX {
            return REST;
        }
        let kind = match self.outside.as_deref() == Some(identifier) {
            true => Kind::Outside,
            false => Kind::Undecided(None),
        };
        let id = self.next;
        self.next += 1;
        self.by_name.insert(identifier.to_vec(), id);
        self.all
            .insert(id, Account::new(Some(label(identifier)), kind));
        id
    }

    pub(super) fn job(&mut self, identifier: &[u8], told: Told) {
        if self.outside.as_deref() == Some(identifier) {
            return;
        }
        let id = self.of(Some(identifier));
        if let Some(account) = self.all.get_mut(&id) {
            account.told = Some(told);
        }
    }

    pub(super) fn spend(&mut self, id: u64, more: &Sums) {
        let id = self.place(id);
        match self.all.get_mut(&id) {
            None => self.rest.add(more),
            Some(account) => {
                account.spent += more.get(CPU).unwrap_or(0);
                let is_open = account.kind == Kind::Outside || account.is_shown();
                match is_open {
                    true => account.own.add(more),
                    false => account.fresh.add(more),
                }
            }
        }
    }

    /// So much of what was spent elsewhere belongs there by rights.
    pub(super) fn had(&mut self, id: u64, cpu: u64) {
        if let Some(account) = self.all.get_mut(&id) {
            account.before += cpu;
        }
    }

    fn place(&self, id: u64) -> u64 {
        match self.all.get(&id).map(|one| one.kind) {
            Some(Kind::Beyond) => OUTSIDE,
            _ => id,
        }
    }

    pub(super) fn clear_gauges(&mut self) {
        for account in self.all.values_mut() {
            account.now = Now::default();
        }
    }

    pub(super) fn gauge(&mut self, id: u64, of: Gauges) {
        // Where it is told, and where it is there.
        let place = self.place(id);
        if place != id
            && let Some(account) = self.all.get_mut(&id)
        {
            account.now.processes += 1;
        }
        if let Some(account) = self.all.get_mut(&place) {
            account.now.processes += 1;
            add(&mut account.now.threads, of.threads);
            add(&mut account.now.rss, of.rss);
            add(&mut account.now.gpu_memory, of.gpu_memory);
            add(&mut account.now.gpu_busy, of.gpu_busy);
        }
    }

    /// A reading is over: decides what is a job, and which have series.
    pub(super) fn settle(&mut self, at: Nanos) {
        let outsiders = self.all.values().filter(|one| one.kind == Kind::Outside);
        let mut outsiders = outsiders.count();
        let mut beyond = Sums::default();
        for (id, account) in &mut self.all {
            let (part, whole) = LATELY;
            account.lately = account.lately / whole * part + account.spent;
            account.spent = 0;
            let was_outside = account.kind == Kind::Outside;
            account.kind = account.decided(at, outsiders > OUTSIDE_MAX);
            if was_outside && account.kind != Kind::Outside {
                // It is a job after all: what it spent so far stays where that is.
                let own = std::mem::take(&mut account.own);
                account.before += own.get(CPU).unwrap_or(0);
                self.ended.add(&own);
            }
            if matches!(account.kind, Kind::Outside | Kind::Beyond) {
                let fresh = std::mem::take(&mut account.fresh);
                match account.kind {
                    Kind::Outside => account.own.add(&fresh),
                    _ => beyond.add(&fresh),
                }
            }
            outsiders += usize::from(account.kind == Kind::Outside && !was_outside);
            account.gone_since = match *id == OUTSIDE || account.is_there() {
                true => None,
                false => account.gone_since.or(Some(at)),
            };
        }
        self.spend(OUTSIDE, &beyond);
        self.show();
        for account in self.all.values_mut() {
            if account.kind == (Kind::Job { is_shown: false }) {
                account.before += account.fresh.get(CPU).unwrap_or(0);
                self.rest.add(&std::mem::take(&mut account.fresh));
            }
        }
        self.forget(at);
    }

    /// Gives free series to those who spent most lately.
    fn show(&mut self) {
        let shown = self
            .all
            .values()
            .filter(|one| one.is_shown() && one.is_there());
        let free = self.shown_max.saturating_sub(shown.count());
        let mut waiting: Vec<(u64, u64)> = self
            .all
            .iter()
            .filter(|(_, one)| one.kind == (Kind::Job { is_shown: false }))
            // A job that is over already is shown if nobody else is waiting.
            .filter(|(_, one)| one.is_there() || one.before == 0)
            .map(|(id, one)| (one.lately, *id))
            .collect();
        waiting.sort_unstable_by_key(|(lately, id)| (std::cmp::Reverse(*lately), *id));
        for (_, id) in waiting.into_iter().take(free) {
            if let Some(account) = self.all.get_mut(&id) {
                account.kind = Kind::Job { is_shown: true };
                account.own.add(&std::mem::take(&mut account.fresh));
            }
        }
    }

    /// Lets go of jobs that ended long ago, and of more of them than are shown of others.
    fn forget(&mut self, at: Nanos) {
        let mut gone: Vec<(Nanos, u64)> = self
            .all
            .iter()
            .filter_map(|(id, one)| Some((one.gone_since.filter(|_| one.is_shown())?, *id)))
            .collect();
        gone.sort_unstable_by_key(|(since, id)| std::cmp::Reverse((*since, *id)));
        let mut over: Vec<u64> = gone
            .into_iter()
            .skip(self.shown_max)
            .map(|(_, id)| id)
            .collect();
        let is_late = |since: Nanos| at.since(since) >= GRACE;
        let late = self
            .all
            .iter()
            .filter(|(_, one)| one.gone_since.is_some_and(is_late));
        over.extend(late.map(|(id, _)| *id));
        for id in over {
            if let Some(account) = self.all.remove(&id) {
                self.ended.add(&account.own);
                self.by_name.retain(|_, place| *place != id);
            }
        }
    }

    /// CPU time that is in no series yet.
    pub(super) fn held_cpu(&self) -> u64 {
        let fresh = self.all.values().map(|one| one.fresh.get(CPU).unwrap_or(0));
        fresh.sum()
    }

    /// Jobs that have processes, and how many of them have series.
    pub(super) fn jobs(&self) -> (u64, u64) {
        let is_job = |one: &&Account| matches!(one.kind, Kind::Job { .. }) && one.is_there();
        let jobs = || self.all.values().filter(is_job);
        let shown = jobs().filter(|one| one.is_shown());
        (jobs().count() as u64, shown.count() as u64)
    }

    /// The lines of the page, in an order that stays.
    pub(super) fn lines(&self) -> Vec<Line<'_>> {
        let mut rest = Now::default();
        let mut lines = Vec::new();
        let mut ids: Vec<_> = self.all.keys().copied().collect();
        ids.sort_unstable();
        for account in ids.iter().filter_map(|id| self.all.get(id)) {
            let is_job = match account.kind {
                Kind::Undecided(_) | Kind::Beyond => continue,
                Kind::Job { is_shown: false } => {
                    rest.processes += account.now.processes;
                    add(&mut rest.threads, signed(account.now.threads));
                    add(&mut rest.rss, signed(account.now.rss));
                    add(&mut rest.gpu_memory, signed(account.now.gpu_memory));
                    add(&mut rest.gpu_busy, signed(account.now.gpu_busy));
                    continue;
                }
                Kind::Job { is_shown: true } => true,
                Kind::Outside => false,
            };
            lines.push(Line {
                kind: if is_job { "job" } else { "outside" },
                name: account.name.as_deref(),
                sums: account.own,
                now: Some(account.now),
                before: is_job.then_some(account.before),
                told: account.told.as_ref().filter(|_| is_job),
            });
        }
        for (kind, sums, now) in [("rest", self.rest, Some(rest)), ("ended", self.ended, None)] {
            lines.push(Line {
                kind,
                name: None,
                sums,
                now,
                before: None,
                told: None,
            });
        }
        lines
    }
}

fn signed(value: Option<u64>) -> Option<i64> {
    value.and_then(|value| i64::try_from(value).ok())
}

fn add(sum: &mut Option<u64>, more: Option<i64>) {
    if let Some(more) = more.and_then(|more| u64::try_from(more).ok()) {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// A text as a label's value: what is no UTF-8 replaced, and no longer than that; then with a hash
/// of the whole, so that others that look the same are told apart.
pub(super) fn label(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut end = LABEL_BYTES_MAX.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text.get(..end).unwrap_or_default();
    if cut.as_bytes() == bytes {
        return text.into_owned();
    }
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    format!("{cut}~{:016x}", hash.finish())
}
