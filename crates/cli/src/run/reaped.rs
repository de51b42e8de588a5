//! What the dead had, while the task runs: the page faults that their parents took over when they
//! waited for them. With it, what died unread long ago is not thought to be there still.

use record::unit::Nanos;
use reduce::era::{Faults, Kin, OfOne};
use reduce::tree::Tree;
use source::follow::procfs;
use source::query::proc_pid_stat::{self, Stat};
use source::root::Root;
use std::path::Path;
use sys::clock::{self, Clock};
use sys::process;

/// Looks take at most this part of the time.
const COST_SHARE: u64 = 200;

/// When to look at the dead.
#[derive(Debug, Default)]
pub(crate) struct Reaped {
    next: Nanos,
}

impl Reaped {
    /// Whether somebody ended since the last look, and the next is due.
    pub(crate) fn is_due(&self, now: Nanos, adopter: u32, tree: &Tree) -> bool {
        // What we wait for ourselves, the launcher above all, is not the task alone.
        now >= self.next && adopter != std::process::id() && tree.has_unwaited()
    }

    /// Looks at those that ended, after `tell` has told what else is to be known by then. All
    /// events until `from` were taken.
    pub(crate) fn look(
        &mut self,
        from: Nanos,
        adopter: u32,
        tree: &mut Tree,
        tell: impl FnOnce(&mut Tree),
    ) {
        let begun = clock::now(Clock::Thread);
        tell(tree);
        if let Some(kin) = tree.kin()
            && let Some(faults) = faults(adopter, kin)
        {
            tree.family(from, Nanos(clock::boot()), faults);
        }
        let cost = clock::now(Clock::Thread).saturating_sub(begun);
        self.next = Nanos(clock::boot()).plus(Nanos(cost.saturating_mul(COST_SHARE)));
    }
}

/// The page faults of the family. `None` if somebody was just being waited for, so that his faults
/// may be in the sum or not.
///
/// Parents are read before their children. So nobody who is found alive, or ended and not waited
/// for, is in what his parent told before.
fn faults(adopter: u32, kin: Kin) -> Option<Faults> {
    let root = Root::default();
    let read = |pid| proc_pid_stat::read(&root, Some(pid), Found::new);
    let there = |(pid, _): &(u32, Nanos)| process::exists(*pid);
    let (dead, gone) = kin.dead.into_iter().partition::<Vec<_>, _>(there);
    let mut faults = Faults {
        of_the_dead: read(adopter).ok()?.children,
        gone,
        ..Faults::default()
    };
    for pid in kin.living {
        let found = read(pid).ok()?;
        faults.of_the_dead = faults.of_the_dead.saturating_add(found.children);
        faults.living.push(OfOne {
            pid,
            own: found.own,
            children: found.children,
        });
    }
    for (pid, start) in dead {
        let found = read(pid).ok()?;
        if Tree::is_another(start, found.start) {
            continue;
        }
        if !found.zombie {
            return None;
        }
        let all = found.own.saturating_add(found.children);
        faults.of_the_dead = faults.of_the_dead.saturating_add(all);
        faults.unwaited.push((pid, start));
    }
    Some(faults)
}

/// Before a pass that begins at `now`: who ended and is there, for its parent to wait for, is owed
/// to nobody yet.
pub(super) fn look_at_missed(now: Nanos, tree: &mut Tree) {
    let unwaited: Vec<u32> = tree
        .missed()
        .filter(|&(pid, start)| {
            let found = procfs::read_process(Path::new("/proc"), pid);
            found.is_some_and(|found| found.zombie && !Tree::is_another(start, found.start))
        })
        .map(|(pid, _)| pid)
        .collect();
    for pid in unwaited {
        tree.is_unwaited(pid, now);
    }
}

/// What `/proc/PID/stat` tells of this.
struct Found {
    start: Nanos,
    zombie: bool,
    own: u64,
    children: u64,
}

impl Found {
    fn new(stat: &Stat<'_>) -> Self {
        Self {
            start: stat.start,
            zombie: stat.state == 'Z',
            own: stat.faults_minor.saturating_add(stat.faults_major),
            children: stat
                .faults_minor_children
                .saturating_add(stat.faults_major_children),
        }
    }
}
