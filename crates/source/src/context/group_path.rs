//! The path of a control group, taken apart, and what a scheduler finds in it.

use std::borrow::Cow;
use std::path::{Component, Path};

/// Components that are looked at; the kernel's paths have 4096 bytes at most.
const PARTS_MAX: usize = 256;
/// A name of a job or of a part of one that is longer is none.
const NAME_BYTES_MAX: usize = 256;
/// Below it users make groups of their own, by any name.
const USERS: &str = "user.slice";

/// A path of a control group as its components. Bytes that are no UTF-8 are replaced: what has some
/// is no name that a scheduler gave.
#[derive(Debug)]
pub struct GroupPath<'a> {
    parts: Vec<Cow<'a, str>>,
    is_outside: bool,
}

/// What a scheduler is told by: whose a process is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The job's id as people type it.
    pub job: Option<String>,
    /// What stands for it where the id is not told.
    pub stand_in: Option<String>,
    /// The part of the job.
    pub step: Option<String>,
    /// Components of the path up to the job's own group; 0 where it has none.
    pub depth: usize,
}

impl Found {
    /// One of its processes, of no job that is told.
    pub(super) fn unnamed() -> Option<Self> {
        Some(Self::default())
    }
}

impl<'a> GroupPath<'a> {
    /// Takes `path` apart.
    pub fn new(path: &'a Path) -> Self {
        let named = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        Self {
            parts: named.take(PARTS_MAX).collect(),
            is_outside: path.components().any(|part| part == Component::ParentDir),
        }
    }

    /// The component at `index`, 0 below the top.
    pub fn part(&self, index: usize) -> Option<&str> {
        self.parts.get(index).map(Cow::as_ref)
    }

    /// All of them.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(Cow::as_ref)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether it is the top.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a user may have made it.
    pub fn is_users(&self) -> bool {
        self.part(0) == Some(USERS)
    }

    /// Whether it lies outside of our cgroup namespace: then we do not see where it begins, and it
    /// may be in a user's.
    pub fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// Whether only root can have made it.
    pub fn is_roots(&self) -> bool {
        !self.is_users() && !self.is_outside
    }

    /// The place of the first component that is no slice of systemd.
    pub(super) fn below_slices(&self) -> Option<usize> {
        self.parts.iter().position(|part| !part.ends_with(".slice"))
    }

    /// Whether it is one of these units of the system, or a group below one.
    pub(super) fn is_in_unit(&self, units: &[&str]) -> bool {
        let unit = self.below_slices().and_then(|index| self.part(index));
        unit.is_some_and(|unit| units.contains(&unit))
    }

    /// The last component of slices whose name is longer than that of the slice `name`, without it:
    /// `pbs-7.server` of `/pbs.slice/pbs-7.server.slice` is `7.server` (`\x2d` stands for `-`).
    pub(super) fn in_slice(&self, name: &str) -> Option<(usize, String)> {
        let (top, inner) = (self.part(0)?, self.part(1)?);
        (top.strip_suffix(".slice")? == name).then_some(())?;
        let inner = inner.strip_suffix(".slice")?;
        let own = inner.strip_prefix(name)?.strip_prefix('-')?;
        Some((2, own.replace("\\x2d", "-")))
    }
}

/// `text` if it is a number, of few digits.
pub(super) fn digits(text: &str) -> Option<&str> {
    let is = !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
    is.then_some(text)
}

/// `text` as the name of a job or a part of one: not empty, not long, of visible ASCII letters.
pub(super) fn name(text: &str) -> Option<String> {
    let is = !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    is.then(|| text.to_owned())
}

#[cfg(test)]
pub(super) mod recorded {
    //! Paths written down in a test.

    use super::*;

    /// What `find` says of `path`: job, stand-in, step, depth.
    pub(in crate::context) fn found(
        find: fn(&GroupPath<'_>) -> Option<Found>,
        path: &str,
    ) -> Option<(String, String, String, usize)> {
        let found = find(&GroupPath::new(Path::new(path)))?;
        let text = |name: Option<String>| name.unwrap_or_else(|| "-".to_owned());
        Some((
            text(found.job),
            text(found.stand_in),
            text(found.step),
            found.depth,
        ))
    }

    /// The same, as it is compared with.
    pub(in crate::context) fn told(
        job: &str,
        stand_in: &str,
        step: &str,
        depth: usize,
    ) -> Option<(String, String, String, usize)> {
        Some((job.to_owned(), stand_in.to_owned(), step.to_owned(), depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_users_and_outside_are_not_roots() {
        let is_roots = |path: &str| GroupPath::new(Path::new(path)).is_roots();
        assert!(is_roots("/system.slice/slurmstepd.scope/job_5"));
        assert!(is_roots("/"));
        assert!(!is_roots(
            "/user.slice/user-1000.slice/user@1000.service/job_5"
        ));
        assert!(!is_roots("/../slurm/uid_0/job_5"));
    }

    #[test]
    fn names_are_short_and_visible() {
        assert_eq!(
            name("1234[7].pbs1.site"),
            Some("1234[7].pbs1.site".to_owned())
        );
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for none in ["", "a b", "\u{fffd}", "a\n", &long] {
            assert_eq!(name(none), None, "{none:?}");
        }
        assert_eq!(digits("007"), Some("007"));
        for none in ["", "7a", "-7", "111111111111111111111"] {
            assert_eq!(digits(none), None, "{none}");
        }
    }

    #[test]
    fn a_slice_within_a_slice_has_a_name_of_its_own() {
        let own = |path: &str| GroupPath::new(Path::new(path)).in_slice("pbs");
        let found = own("/pbs.slice/pbs-7.a\\x2db.slice/x");
        assert_eq!(found, Some((2, "7.a-b".to_owned())));
        assert_eq!(own("/pbs.slice/other-7.slice"), None);
        assert_eq!(own("/system.slice/pbs-7.slice"), None);
    }
}
