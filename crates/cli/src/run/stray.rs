//! Processes of the task that left its control group: a container that its program put into a group
//! of its own, a session or scope that systemd made. They are still descendants, but the kernel no
//! longer charges them to the group, nor holds them to its limit.

use record::unit::Nanos;
use source::follow::procfs;
use source::query::proc_pid_cgroup::{self, Membership};
use source::root::Root;
use std::ffi::OsString;
use std::path::Path;
use sys::cgroup::Group;

/// The time between two looks at who is in the group.
const PERIOD: Nanos = Nanos::from_millis(50);
/// The same while no process begins, ends or executes a program: who moves others does that
/// seldom without.
const PERIOD_STILL: Nanos = Nanos::from_millis(250);
/// Most processes that are looked at one by one in a look.
const SUSPECTS_MAX: usize = 16;

/// Looks for strays now and then.
#[derive(Debug, Default)]
pub(crate) struct StrayWatch {
    looked: Option<Nanos>,
    /// Whether processes may have changed since.
    may_differ: bool,
    found: bool,
}

impl StrayWatch {
    /// Whether any process was found outside so far.
    pub(crate) const fn found(&self) -> bool {
        self.found
    }

    /// Looks, if it is time, which of `pids` is not in `group`: where it is instead. `may_differ`:
    /// processes may have begun, ended or executed programs since the last pass.
    pub(crate) fn look(
        &mut self,
        (now, may_differ): (Nanos, bool),
        group: &Group,
        pids: &[u32],
    ) -> Option<String> {
        self.may_differ |= may_differ;
        let period = if self.may_differ {
            PERIOD
        } else {
            PERIOD_STILL
        };
        let looked = *self.looked.get_or_insert(now);
        if self.found || now < looked.plus(period) {
            return None;
        }
        (self.looked, self.may_differ) = (Some(now), false);
        // Without memory nothing is held by the group, and nobody has to be in it.
        let inside = group.charged().ok()?;
        let name = group.parts().first()?.dir.path().file_name()?.to_owned();
        let suspects = pids.iter().filter(|pid| inside.binary_search(pid).is_err());
        let place = suspects
            .take(SUSPECTS_MAX)
            .find_map(|pid| outside(*pid, &name))?;
        self.found = true;
        Some(place)
    }
}

/// The group of `pid`, if that is none below ours. One that was born after the list was read is
/// inside; one that ends may be anywhere.
fn outside(pid: u32, ours: &OsString) -> Option<String> {
    let root = Root::default();
    let groups = proc_pid_cgroup::read(&root, Some(pid)).ok()?;
    let alive = procfs::read_process(Path::new("/proc"), pid)?;
    let ends = alive.zombie || alive.exiting;
    let v1 = |group: &&Membership| group.controllers.iter().any(|name| name == "memory");
    let charged = groups.iter().find(v1);
    let charged = charged.or_else(|| groups.iter().find(|group| group.is_v2()))?;
    (!ends && !charged.is_below(ours)).then(|| charged.path.display().to_string())
}
