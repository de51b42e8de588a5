//! A login: the user's slice and session of systemd-logind, or what the kernel's audit wrote down
//! at the login. A login is no job, and stands for one where there is none.

use super::daemon::Daemon;
use super::group_path::{self, Found, GroupPath, digits};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier};

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "login",
    tier: Tier::Unit,
    words: &[],
    labels: Labels::NONE,
    detect,
    group,
    daemon,
};

/// No variable tells of a login what others would believe.
fn detect(_: &Surroundings<'_>) -> Option<Context> {
    None
}

/// `/user.slice/user-U.slice/session-S.scope`, or the user's own manager `user@U.service`; what is
/// below is named by the user.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    path.is_users().then_some(())?;
    let user = path.part(1)?.strip_suffix(".slice")?;
    digits(user.strip_prefix("user-")?)?;
    let part = path
        .part(2)
        .and_then(|part| match part.strip_suffix(".scope") {
            Some(session) => session.starts_with("session-").then_some(session),
            None => part.starts_with("user@").then_some(part),
        });
    Some(Found {
        stand_in: Some(user.to_owned()),
        step: part.and_then(group_path::name),
        depth: 2,
        ..Found::default()
    })
}

/// A daemon that people log in by.
fn daemon(daemon: &Daemon) -> Option<Found> {
    let programs = ["sshd", "sshd-session", "login", "in.rlogind", "in.rshd"];
    programs
        .contains(&daemon.program().as_ref())
        .then(Found::default)
}

/// What the audit of the kernel says of the login: its user and its session.
pub(super) fn audited(user: Option<u32>, session: Option<u32>) -> Option<Found> {
    Some(Found {
        stand_in: Some(format!("user-{}", user?)),
        step: session.map(|session| format!("session-{session}")),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
    use super::*;

    #[test]
    fn sessions_are_named_as_logind_and_audit_name_them() {
        let at = |path| found(group, path);
        let session = at("/user.slice/user-1000.slice/session-3.scope");
        assert_eq!(session, told("-", "user-1000", "session-3", 2));
        let same = audited(Some(1000), Some(3)).unwrap();
        assert_eq!(same.stand_in.as_deref(), Some("user-1000"));
        assert_eq!(same.step.as_deref(), Some("session-3"));
        let own = "/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_5";
        assert_eq!(at(own), told("-", "user-1000", "user@1000.service", 2));
        assert_eq!(
            at("/user.slice/user-1000.slice"),
            told("-", "user-1000", "-", 2)
        );
        for none in [
            "/user.slice",
            "/user.slice/user-x.slice",
            "/system.slice/sshd.service",
        ] {
            assert_eq!(at(none), None, "{none}");
        }
        assert_eq!(audited(None, Some(3)), None);
        assert!(daemon(&of_root(b"sshd: alice [priv]\0")).is_some());
        assert!(daemon(&of_root(b"sshdx\0")).is_none());
    }
}
