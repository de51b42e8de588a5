//! Containers: docker, podman, containerd and CRI-O by the path of the control group, Apptainer,
//! Singularity and Shifter by their variables. A container is no scheduler: it adds its id and
//! image to whatever job it is part of.

use super::daemon::Daemon;
use super::group_path::{Found, GroupPath};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier};

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "container",
    tier: Tier::Container,
    words: &[],
    labels: Labels::NONE,
    detect,
    group,
    daemon,
};

/// Variables that hold the image.
const IMAGES: &[&str] = &[
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
    "SHIFTER_IMAGEREQUEST",
    "CHARLIECLOUD_IMAGE",
];

/// What the names of a runtime's groups begin with.
const PREFIXES: &[&str] = &["docker-", "libpod-", "crio-", "cri-containerd-", "nerdctl-"];

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    let container = all
        .groups
        .iter()
        .find_map(|group| container_id(&group.path.to_string_lossy()));
    let image = IMAGES
        .iter()
        .find_map(|name| all.text(name))
        .or_else(|| podman_image(all));
    if container.is_none() && image.is_none() {
        return None;
    }
    Some(Context {
        image,
        container,
        ..Context::default()
    })
}

/// 64 hexadecimal digits, alone or after a runtime's prefix: `docker-<id>.scope`, `/docker/<id>`,
/// `libpod-<id>`.
pub(crate) fn container_id(path: &str) -> Option<String> {
    path.split('/').rev().find_map(id)
}

/// The id in a component of the path.
pub(super) fn id(part: &str) -> Option<String> {
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let id = PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    let plausible = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    plausible.then(|| id.to_owned())
}

/// podman writes `image="…"` into /run/.containerenv, for some containers.
fn podman_image(all: &Surroundings<'_>) -> Option<String> {
    (all.text("container")? == "podman").then_some(())?;
    let content = (all.file)(std::path::Path::new("/run/.containerenv"))?;
    let text = String::from_utf8_lossy(&content).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("image="))?;
    let image = line.trim_matches('"');
    (!image.is_empty()).then(|| image.to_owned())
}

/// The container's id, of the innermost one, stands for it.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    let last = path
        .parts()
        .enumerate()
        .filter_map(|(at, part)| Some((at, id(part)?)))
        .last();
    let (at, id) = last?;
    Some(Found {
        stand_in: Some(id),
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

    const ID: &str = "3f4e0c2b9a8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f";

    #[test]
    fn ids_are_in_the_path_of_the_group() {
        for group in [
            format!("0::/system.slice/docker-{ID}.scope\n"),
            format!("4:memory:/docker/{ID}\n"),
            format!("0::/machine.slice/libpod-{ID}.scope/container\n"),
            format!("0::/default/{ID}\n"),
        ] {
            let context = recorded(detect, &[], &[], &group).unwrap();
            assert_eq!(context.container.as_deref(), Some(ID), "{group}");
            assert_eq!(context.job.scheduler, None);
        }
        assert!(recorded(detect, &[], &[], "0::/user.slice\n").is_none());
    }

    #[test]
    fn podman_tells_its_image() {
        let files = [(
            "/run/.containerenv",
            "engine=\"podman-4.3\"\nimage=\"docker.io/library/debian:12\"\n",
        )];
        let context = recorded(detect, &[("container", "podman")], &files, "").unwrap();
        assert_eq!(
            context.image.as_deref(),
            Some("docker.io/library/debian:12")
        );
    }

    #[test]
    fn the_innermost_container_stands_for_its_processes() {
        let (outer, inner) = ("a".repeat(64), "b".repeat(64));
        let path = format!("/docker/{outer}/system.slice/docker-{inner}.scope/x");
        assert_eq!(found(group, &path), told("-", &inner, "-", 4));
        assert_eq!(found(group, "/docker/short"), None);
        assert_eq!(daemon(&of_root(b"conmon\0")), None);
    }
}
