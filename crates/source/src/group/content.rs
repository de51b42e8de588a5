//! The control group files that are read, and what each tells: pure functions from text to
//! [`GroupSample`].

use record::metric::{Kind, Metric, Scope};
use record::sample::GroupSample;
use record::unit::{Bytes, Nanos, Unit};
use sys::cgroup::Controller;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// v1 `memory.stat`: `total_rss` (anonymous memory, huge pages included), `total_shmem`,
    /// `total_swap`, in bytes.
    StatV1,
    /// v2 `memory.stat`: `anon`, `shmem`, in bytes.
    StatV2,
    /// One number: bytes charged now.
    Current,
    /// One number: most bytes charged so far.
    Peak,
    /// One number: bytes of swap.
    Swap,
    /// One number: most bytes of swap so far.
    SwapPeak,
    /// `oom_kill` of v1 `memory.oom_control` or v2 `memory.events`.
    OomKills,
    /// v1 `cpuacct.usage`: nanoseconds.
    CpuV1,
    /// v1 `cpu.stat` of the `cpu` controller: `nr_throttled`, `throttled_time` in nanoseconds.
    ThrottledV1,
    /// v2 `cpu.stat`: `usage_usec`, and with the `cpu` controller `nr_throttled`, `throttled_usec`.
    CpuV2,
    /// v2 `io.stat`: `rbytes` and `wbytes` of each device.
    IoV2,
}

impl Content {
    /// Whether it tells memory without the page cache.
    pub(crate) const fn tells_memory(self) -> bool {
        matches!(self, Content::StatV1 | Content::StatV2)
    }

    /// Whether it tells what a whole life came to: the most memory, the CPU time.
    pub(crate) const fn tells_life(self) -> bool {
        matches!(self, Content::Peak | Content::CpuV1 | Content::CpuV2)
    }
}

/// A file of a group in the hierarchy of a v1 controller, or of v2 (`None`).
pub(crate) struct GroupFile {
    pub(crate) controller: Option<Controller>,
    pub(crate) name: &'static str,
    pub(crate) content: Content,
}

/// Every file that is read.
pub(crate) const FILES: &[GroupFile] = &[
    file(Some(Controller::Memory), "memory.stat", Content::StatV1),
    file(
        Some(Controller::Memory),
        "memory.usage_in_bytes",
        Content::Current,
    ),
    file(
        Some(Controller::Memory),
        "memory.max_usage_in_bytes",
        Content::Peak,
    ),
    file(
        Some(Controller::Memory),
        "memory.oom_control",
        Content::OomKills,
    ),
    file(Some(Controller::CpuAcct), "cpuacct.usage", Content::CpuV1),
    file(Some(Controller::Cpu), "cpu.stat", Content::ThrottledV1),
    file(None, "memory.stat", Content::StatV2),
    file(None, "memory.current", Content::Current),
    file(None, "memory.peak", Content::Peak),
    file(None, "memory.swap.current", Content::Swap),
    file(None, "memory.swap.peak", Content::SwapPeak),
    file(None, "memory.events", Content::OomKills),
    file(None, "cpu.stat", Content::CpuV2),
];

/// What is read beside them of a container's group, whose processes are not looked at one by one.
pub(crate) const CONTAINER_FILES: &[GroupFile] = &[file(None, "io.stat", Content::IoV2)];

const fn file(controller: Option<Controller>, name: &'static str, content: Content) -> GroupFile {
    GroupFile {
        controller,
        name,
        content,
    }
}

/// Adds what `text` tells to `sample`; a line that cannot be read tells nothing.
pub(crate) fn fold(content: Content, text: &str, sample: &mut GroupSample) {
    let bytes = || text.trim().parse().ok().map(Bytes);
    match content {
        Content::StatV1 => {
            sample.shared = value_of(text, "total_shmem").map(Bytes);
            sample.unreclaimable = sum(value_of(text, "total_rss"), sample.shared);
            sample.swap = value_of(text, "total_swap").map(Bytes);
        }
        Content::StatV2 => {
            sample.shared = value_of(text, "shmem").map(Bytes);
            sample.unreclaimable = sum(value_of(text, "anon"), sample.shared);
        }
        Content::Current => sample.current = bytes(),
        Content::Peak => sample.peak = bytes(),
        Content::Swap => sample.swap = bytes(),
        Content::SwapPeak => sample.swap_peak = bytes(),
        Content::OomKills => sample.oom_kills = value_of(text, "oom_kill"),
        Content::CpuV1 => sample.cpu = text.trim().parse().ok().map(Nanos),
        Content::ThrottledV1 => {
            sample.throttled = value_of(text, "nr_throttled");
            sample.throttled_time = value_of(text, "throttled_time").map(Nanos);
        }
        Content::CpuV2 => fold_cpu_v2(text, sample),
        Content::IoV2 => {
            sample.disk_read = sum_of(text, "rbytes=");
            sample.disk_written = sum_of(text, "wbytes=");
        }
    }
}

/// What the v1 hierarchies told before stays where v2 has nothing better.
fn fold_cpu_v2(text: &str, sample: &mut GroupSample) {
    let micros = |key| value_of(text, key).map(Nanos::from_micros);
    sample.cpu = micros("usage_usec").or(sample.cpu);
    sample.throttled = value_of(text, "nr_throttled").or(sample.throttled);
    sample.throttled_time = micros("throttled_usec").or(sample.throttled_time);
}

fn sum(one: Option<u64>, other: Option<Bytes>) -> Option<Bytes> {
    Some(Bytes(one?).plus(other?))
}

/// The numbers behind `key` on all lines together: a group that did nothing has no lines.
fn sum_of(text: &str, key: &str) -> Option<Bytes> {
    let words = text.split_ascii_whitespace();
    let numbers = words.filter_map(|word| word.strip_prefix(key));
    let mut sum = 0u64;
    for number in numbers {
        sum = sum.checked_add(number.parse().ok()?)?;
    }
    Some(Bytes(sum))
}

/// The number on the line that starts with the word `key`.
pub(crate) fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let number = line.strip_prefix(key)?.strip_prefix(' ')?;
        number.trim().parse().ok()
    })
}

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    origin: &'static str,
    doc: &'static str,
) -> Metric {
    Metric {
        name,
        kind,
        unit,
        scope: Scope::Cgroup,
        origin,
        since: "any",
        method: "exact at the instant of reading",
        doc,
    }
}

/// What a group tells. The kernel gathers `memory.stat` from its CPUs in batches: it may lag by
/// up to 64 pages a CPU.
pub const METRICS: &[Metric] = &[
    metric(
        "cgroup_unreclaimable",
        Kind::Gauge,
        Unit::Bytes,
        "v1 memory.stat total_rss + total_shmem; v2 memory.stat anon + shmem",
        "anonymous and shared memory, each page once: what must be provided",
    ),
    metric(
        "cgroup_current",
        Kind::Gauge,
        Unit::Bytes,
        "v1 memory.usage_in_bytes; v2 memory.current",
        "memory charged to the group, page cache and kernel memory included",
    ),
    Metric {
        since: "v1 any; v2 5.19",
        ..metric(
            "cgroup_peak",
            Kind::Gauge,
            Unit::Bytes,
            "v1 memory.max_usage_in_bytes; v2 memory.peak",
            "highest charge so far, page cache and kernel memory included",
        )
    },
    metric(
        "cgroup_swap",
        Kind::Gauge,
        Unit::Bytes,
        "v1 memory.stat total_swap; v2 memory.swap.current",
        "swap in use",
    ),
    Metric {
        since: "v2 6.5",
        ..metric(
            "cgroup_swap_peak",
            Kind::Gauge,
            Unit::Bytes,
            "v2 memory.swap.peak",
            "most swap in use so far",
        )
    },
    metric(
        "cgroup_cpu",
        Kind::Counter,
        Unit::Nanoseconds,
        "v1 cpuacct.usage; v2 cpu.stat usage_usec",
        "CPU time of everything that ran in the group",
    ),
    metric(
        "cgroup_disk_read",
        Kind::Counter,
        Unit::Bytes,
        "v2 io.stat rbytes, containers alone",
        "bytes read from storage",
    ),
    metric(
        "cgroup_disk_written",
        Kind::Counter,
        Unit::Bytes,
        "v2 io.stat wbytes, containers alone",
        "bytes written to storage",
    ),
    metric(
        "cgroup_oom_kills",
        Kind::Counter,
        Unit::Count,
        "v1 memory.oom_control oom_kill (this group alone); v2 memory.events oom_kill",
        "processes ended by the kernel for want of memory",
    ),
    metric(
        "cgroup_throttled",
        Kind::Counter,
        Unit::Count,
        "cpu.stat nr_throttled",
        "periods in which a CPU quota held the group back",
    ),
    metric(
        "cgroup_throttled_time",
        Kind::Counter,
        Unit::Nanoseconds,
        "v1 cpu.stat throttled_time; v2 cpu.stat throttled_usec",
        "time that a CPU quota held the group back, summed over CPUs",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_must_match_whole_and_hold_a_number() {
        let text = "anon_thp 5\nanon -1\nanon 99999999999999999999\nanon 7\n";
        assert_eq!(value_of(text, "anon"), Some(7));
        assert_eq!(value_of(text, "ano"), None);
        assert_eq!(value_of("", "anon"), None);
    }

    #[test]
    fn io_is_the_sum_over_devices() {
        let mut sample = GroupSample::default();
        let text = "8:0 rbytes=5 wbytes=0 rios=1 wios=0\n8:16 rbytes=7 wbytes=3 rios=1\n";
        fold(Content::IoV2, text, &mut sample);
        assert_eq!(sample.disk_read, Some(Bytes(12)));
        assert_eq!(sample.disk_written, Some(Bytes(3)));
        fold(Content::IoV2, "8:0 rbytes=-1 wbytes=x\n", &mut sample);
        assert_eq!((sample.disk_read, sample.disk_written), (None, None));
    }

    #[test]
    fn half_of_a_sum_is_no_sum() {
        let mut sample = GroupSample::default();
        fold(Content::StatV1, "total_rss 5\n", &mut sample);
        assert_eq!(sample.unreclaimable, None);
        fold(
            Content::StatV2,
            "anon 18446744073709551615\nshmem 9\n",
            &mut sample,
        );
        assert_eq!(sample.unreclaimable, Some(Bytes(u64::MAX)));
    }

    #[test]
    fn v2_without_its_cpu_controller_leaves_the_throttling_of_v1() {
        let mut sample = GroupSample::default();
        fold(
            Content::ThrottledV1,
            "nr_throttled 3\nthrottled_time 4\n",
            &mut sample,
        );
        fold(Content::CpuV2, "usage_usec 2\nuser_usec 1\n", &mut sample);
        assert_eq!(sample.throttled, Some(3));
        assert_eq!(sample.throttled_time, Some(Nanos(4)));
        assert_eq!(sample.cpu, Some(Nanos(2000)));
    }
}
