//! systemd: the unit from the path of the control group, and `INVOCATION_ID`. A login session is no
//! job.

use super::daemon::Daemon;
use super::group_path::{self, Found, GroupPath};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier};

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "systemd",
    tier: Tier::Unit,
    words: &[],
    labels: Labels::NONE,
    detect,
    group,
    daemon,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    let invocation = all.text("INVOCATION_ID");
    let unit = all
        .groups
        .iter()
        .filter(|group| {
            group.is_v2() || group.controllers.iter().any(|name| name == "name=systemd")
        })
        .find_map(|group| unit(&group.path.to_string_lossy(), invocation.is_some()))?;
    let mut context = Context::of(SCHEDULER.name, unit);
    context.job.step = invocation;
    context.nodes = Some(1);
    Some(context)
}

/// The innermost service or scope, if it is a job: one that `systemd-run` made, or a service of the
/// system that this process was started by. Sessions, terminals of a desktop and the user's manager
/// are none.
fn unit(path: &str, invoked: bool) -> Option<String> {
    let unit = path
        .split('/')
        .rev()
        .find(|part| part.ends_with(".service") || part.ends_with(".scope"))?;
    let service = invoked && path.starts_with("/system.slice/") && unit.ends_with(".service");
    (unit.starts_with("run-") || service).then(|| unit.to_owned())
}

/// The unit of the system that it is in: the first service or scope below slices.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    path.is_roots().then_some(())?;
    let at = path.below_slices()?;
    let unit = path.part(at)?;
    let is_unit = unit.ends_with(".service") || unit.ends_with(".scope");
    Some(Found {
        stand_in: Some(group_path::name(unit).filter(|_| is_unit)?),
        depth: at + 1,
        ..Found::default()
    })
}

/// Everybody descends from it.
fn daemon(_: &Daemon) -> Option<Found> {
    None
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
    use super::super::surroundings::recorded::detect as recorded;
    use super::*;

    #[test]
    fn a_service_and_a_scope_are_jobs_and_a_session_is_none() {
        let invoked = [("INVOCATION_ID", "0123456789abcdef")];
        let id = |environment: &[(&str, &str)], groups: &str| {
            recorded(detect, environment, &[], groups).and_then(|context| context.job.id)
        };
        let service = "0::/system.slice/nightly.service\n";
        assert_eq!(id(&invoked, service).as_deref(), Some("nightly.service"));
        assert_eq!(id(&[], service), None, "inherited by a login, say");
        let scope = "1:name=systemd:/user.slice/user@1000.service/app.slice/run-r1.scope\n";
        assert_eq!(id(&[], scope).as_deref(), Some("run-r1.scope"));
        for none in [
            "0::/user.slice/user-0.slice/session-2.scope\n",
            "0::/user.slice/user@1000.service/app.slice/terminal.service\n",
            "0::/init.scope\n",
            "4:memory:/system.slice/x.service\n",
        ] {
            assert_eq!(id(&invoked, none), None, "{none}");
        }
    }

    #[test]
    fn every_unit_of_the_system_stands_for_its_processes() {
        let at = |path| found(group, path);
        let getty = "/system.slice/system-getty.slice/getty@tty1.service";
        assert_eq!(at(getty), told("-", "getty@tty1.service", "-", 3));
        assert_eq!(at("/init.scope"), told("-", "init.scope", "-", 1));
        let inner = "/system.slice/nightly.service/worker.service";
        assert_eq!(at(inner), told("-", "nightly.service", "-", 2));
        let users = "/user.slice/user-1000.slice/user@1000.service/app.slice/x.service";
        assert_eq!(at(users), None);
        assert_eq!(at("/system.slice"), None);
        assert_eq!(daemon(&of_root(b"/sbin/init\0")), None);
    }
}
