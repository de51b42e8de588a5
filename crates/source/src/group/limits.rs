//! What the groups above us allow: the smallest memory limit, the smallest CPU quota, the CPUs.

use super::content::value_of;
use record::report::Claim;
use record::unit::Unit;
use record::value::Number;
use std::path::Path;
use sys::cgroup::{ControlDir, Controller, Place, Places};

/// A v1 limit above this is none: the kernel writes the largest number of whole pages.
const V1_UNLIMITED: u64 = 1 << 62;

/// The nearest limits above us. `None` is "no limit that we can see".
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NearestLimits {
    /// The smallest memory limit, in bytes.
    pub memory: Option<Claim>,
    /// The smallest CPU quota, in cores.
    pub cores_quota: Option<Claim>,
    /// How many CPUs our group may use.
    pub cores_cpuset: Option<Claim>,
}

/// Walks up from the groups that we started in. Each claim names the file that it was read from.
pub fn nearest_limits(places: &Places) -> NearestLimits {
    let v2 = places.v2.as_ref();
    let v1 = |controller| places.v1(controller);
    let memory = [
        v2.and_then(|place| smallest(place, "memory.max", memory_v2)),
        v1(Controller::Memory)
            .and_then(|place| smallest(place, "memory.limit_in_bytes", memory_v1)),
        v1(Controller::Memory).and_then(hierarchical),
    ];
    let quota = [
        v2.and_then(|place| smallest(place, "cpu.max", quota_v2)),
        v1(Controller::Cpu).and_then(|place| smallest(place, "cpu.cfs_quota_us", quota_v1)),
    ];
    let cpus = [
        v2.and_then(|place| first(place, "cpuset.cpus.effective")),
        v1(Controller::CpuSet).and_then(|place| first(place, "cpuset.effective_cpus")),
        v1(Controller::CpuSet).and_then(|place| first(place, "cpuset.cpus")),
    ];
    NearestLimits {
        memory: least(memory),
        cores_quota: least(quota),
        cores_cpuset: least(cpus),
    }
}

/// The first of the smallest: of equal levels the nearest one.
fn least(claims: impl IntoIterator<Item = Option<Claim>>) -> Option<Claim> {
    let smaller = |a: &Claim, b: &Claim| a.value.as_f64().total_cmp(&b.value.as_f64());
    claims.into_iter().flatten().min_by(smaller)
}

/// The smallest value of `file` in our group and those above.
fn smallest(
    place: &Place,
    file: &str,
    parse: fn(&ControlDir, &str) -> Option<(Number, Unit)>,
) -> Option<Claim> {
    least(place.upwards().map(|dir| {
        // The top has no such file, and a level that we may not read has no limit that we can see.
        let text = dir.read(file).ok()?;
        let (value, unit) = parse(&dir, &text)?;
        Some(claim(value, unit, dir.path(), file))
    }))
}

fn claim(value: Number, unit: Unit, dir: &Path, file: &str) -> Claim {
    Claim {
        value,
        unit,
        source: dir.join(file).display().to_string(),
    }
}

fn memory_v2(_: &ControlDir, text: &str) -> Option<(Number, Unit)> {
    let limit = text.trim().parse().ok()?;
    Some((Number::Whole(limit), Unit::Bytes))
}

fn memory_v1(_: &ControlDir, text: &str) -> Option<(Number, Unit)> {
    let limit = text
        .trim()
        .parse()
        .ok()
        .filter(|limit| *limit < V1_UNLIMITED)?;
    Some((Number::Whole(limit), Unit::Bytes))
}

/// v1 tells the smallest limit of all levels, those outside of a container included.
fn hierarchical(place: &Place) -> Option<Claim> {
    let text = place.dir.read("memory.stat").ok()?;
    let key = "hierarchical_memory_limit";
    let limit = value_of(&text, key).filter(|limit| *limit < V1_UNLIMITED)?;
    let mut claim = claim(
        Number::Whole(limit),
        Unit::Bytes,
        place.dir.path(),
        "memory.stat",
    );
    claim.source = format!("{} {key}", claim.source);
    Some(claim)
}

/// `max 100000` or `50000 100000`: microseconds of CPU a period of microseconds.
fn quota_v2(_: &ControlDir, text: &str) -> Option<(Number, Unit)> {
    let (quota, period) = text.trim().split_once(' ')?;
    cores(quota.parse().ok()?, period.parse().ok()?)
}

/// -1 is "no quota"; the period stands in a file beside it.
fn quota_v1(dir: &ControlDir, text: &str) -> Option<(Number, Unit)> {
    let quota = text.trim().parse().ok()?;
    let period = dir.read("cpu.cfs_period_us").ok()?;
    cores(quota, period.trim().parse().ok()?)
}

fn cores(quota: u64, period: u64) -> Option<(Number, Unit)> {
    let real = quota as f64 / period as f64;
    (quota > 0 && period > 0).then_some((Number::Real(real), Unit::Cores))
}

/// The nearest group that tells its CPUs; an empty list is one that inherits.
fn first(place: &Place, file: &str) -> Option<Claim> {
    place.upwards().find_map(|dir| {
        let count = count_cpus(dir.read(file).ok()?.trim())?;
        Some(claim(Number::Whole(count), Unit::Cores, dir.path(), file))
    })
}

/// How many CPUs `0-3,7` names.
fn count_cpus(list: &str) -> Option<u64> {
    let mut count = 0u64;
    for range in list.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u64, u64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        count = count.checked_add(high.checked_sub(low)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A tree of groups: `job/step` below a top, with the files given.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("plimsoll-limits-{name}-{}", std::process::id());
            let top = std::env::temp_dir().join(name);
            fs::create_dir_all(top.join("job/step")).unwrap();
            for (file, text) in files {
                fs::write(top.join(file), text).unwrap();
            }
            Self(top)
        }

        fn place(&self) -> Place {
            Place {
                dir: ControlDir::new(self.0.join("job/step")),
                top: self.0.clone(),
            }
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn value(claim: &Option<Claim>) -> Option<f64> {
        claim.as_ref().map(|claim| claim.value.as_f64())
    }

    #[test]
    fn the_smallest_v2_limit_wins_wherever_it_is() {
        let tree = Tree::new(
            "v2",
            &[
                ("job/memory.max", "1073741824\n"),
                ("job/step/memory.max", "max\n"),
                ("job/cpu.max", "150000 100000\n"),
                ("job/step/cpu.max", "max 100000\n"),
                ("job/cpuset.cpus.effective", "0-3,8\n"),
            ],
        );
        let limits = nearest_limits(&Places {
            v2: Some(tree.place()),
            v1: Vec::new(),
        });
        assert_eq!(value(&limits.memory), Some(1_073_741_824.0));
        assert!(limits.memory.unwrap().source.ends_with("/job/memory.max"));
        assert_eq!(value(&limits.cores_quota), Some(1.5));
        assert_eq!(value(&limits.cores_cpuset), Some(5.0));
    }

    #[test]
    fn v1_unlimited_is_no_limit_and_hidden_levels_count() {
        let tree = Tree::new(
            "v1",
            &[
                ("job/step/memory.limit_in_bytes", "9223372036854771712\n"),
                (
                    "job/step/memory.stat",
                    "rss 1\nhierarchical_memory_limit 4096\n",
                ),
                ("job/cpu.cfs_quota_us", "-1\n"),
                ("job/step/cpu.cfs_quota_us", "50000\n"),
                ("job/step/cpu.cfs_period_us", "100000\n"),
                ("job/step/cpuset.cpus", "\n"),
                ("job/cpuset.cpus", "2\n"),
            ],
        );
        let all = [Controller::Memory, Controller::Cpu, Controller::CpuSet];
        let limits = nearest_limits(&Places {
            v2: None,
            v1: all.map(|which| (which, tree.place())).to_vec(),
        });
        assert_eq!(value(&limits.memory), Some(4096.0));
        assert_eq!(value(&limits.cores_quota), Some(0.5));
        assert_eq!(value(&limits.cores_cpuset), Some(1.0));
    }

    #[test]
    fn no_groups_and_nonsense_are_no_limits() {
        assert_eq!(nearest_limits(&Places::default()), NearestLimits::default());
        for bad in ["", "-", "3-1", "0-18446744073709551615", "a,b", "1,,2"] {
            assert_eq!(count_cpus(bad), None, "{bad}");
        }
        assert_eq!(cores(5, 0), None);
    }
}
