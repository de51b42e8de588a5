//! Kubernetes: the pod from the path of the control group (`kubepods…/pod<uid>/…`), or from the
//! service variables that every pod has; then the host name is the name of the pod. Requests are
//! not in the environment.

use super::container;
use super::daemon::Daemon;
use super::group_path::{Found, GroupPath};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier};

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "kubernetes",
    tier: Tier::Container,
    words: &["kube"],
    labels: Labels::NONE,
    detect,
    group,
    daemon,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    let uid = all
        .groups
        .iter()
        .find_map(|group| pod_uid(&group.path.to_string_lossy()));
    if uid.is_none() {
        all.text("KUBERNETES_SERVICE_HOST")?;
    }
    let name = all.text("HOSTNAME");
    let id = name.or(uid)?;
    let mut context = Context::of(SCHEDULER.name, id.clone());
    // Set in the pods of an indexed job.
    let index = all.text("JOB_COMPLETION_INDEX");
    context.job.array = index.map(|index| format!("{id}[{index}]"));
    context.nodes = Some(1);
    Some(context)
}

/// `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/…` by systemd, where
/// `_` stands for `-`, or `/kubepods/burstable/pod<uid>/…`.
fn pod_uid(path: &str) -> Option<String> {
    if !path.contains("kubepods") {
        return None;
    }
    path.split('/').find_map(uid)
}

/// The pod's id in a component of the path.
fn uid(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let uid = name.rsplit_once("pod")?.1.replace('_', "-");
    let plausible = uid.len() >= 32 && uid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    plausible.then_some(uid)
}

/// The pod's id stands for its name, which the path does not tell; the container is the part.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    path.parts()
        .any(|part| part.contains("kubepods"))
        .then_some(())?;
    let (at, uid) = path
        .parts()
        .enumerate()
        .find_map(|(at, part)| Some((at, uid(part)?)))?;
    Some(Found {
        stand_in: Some(uid),
        step: path.parts().skip(at + 1).find_map(container::id),
        depth: at + 1,
        ..Found::default()
    })
}

/// No daemon is an ancestor for sure.
fn daemon(_: &Daemon) -> Option<Found> {
    None
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
    use super::super::surroundings::recorded::detect as recorded;
    use super::*;

    const UID: &str = "0b7ba1c5-0f0e-4c6f-9d2e-3c1c3a1f9b11";

    #[test]
    fn the_pod_is_in_the_path_of_the_group() {
        let systemd = format!(
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{}.slice/x\n",
            UID.replace('-', "_")
        );
        let plain = format!("4:memory:/kubepods/burstable/pod{UID}/0123\n");
        for groups in [systemd, plain] {
            let context = recorded(detect, &[], &[], &groups).unwrap();
            assert_eq!(context.job.id.as_deref(), Some(UID));
        }
    }

    #[test]
    fn in_its_own_namespace_the_environment_tells() {
        let environment = [
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("HOSTNAME", "train-0-x7x2p"),
            ("JOB_COMPLETION_INDEX", "0"),
        ];
        let context = recorded(detect, &environment, &[], "0::/\n").unwrap();
        assert_eq!(context.job.id.as_deref(), Some("train-0-x7x2p"));
        assert_eq!(context.job.array.as_deref(), Some("train-0-x7x2p[0]"));
        assert!(recorded(detect, &[("HOSTNAME", "x")], &[], "0::/\n").is_none());
    }

    #[test]
    fn the_container_is_the_part_of_the_pod() {
        let id = "5".repeat(64);
        let systemd = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/\
             cri-containerd-{id}.scope",
            UID.replace('-', "_")
        );
        assert_eq!(found(group, &systemd), told("-", UID, &id, 3));
        let plain = format!("/kubepods/besteffort/pod{UID}/{id}");
        assert_eq!(found(group, &plain), told("-", UID, &id, 3));
        assert_eq!(found(group, "/kubepods/besteffort"), None);
        assert_eq!(found(group, &format!("/other/pod{UID}")), None);
        assert_eq!(daemon(&of_root(b"containerd-shim\0")), None);
    }
}
