//! What `run` chooses on this ground.

use super::Finding;
use serde::Serialize;

/// What every program in the kernel that counts a task stands on.
const BPF_EVENTS: &[&str] = &["BTF", "BPF tp_btf", "BPF task storage", "BPF ring buffer"];

/// What the walk over all processes in the kernel stands on, one of these.
const BPF_WALKS: &[&str] = &["BPF open-coded iterator", "BPF task iterator"];

/// What exact totals without privilege stand on.
const WAIT_CHAIN: &[&str] = &["wait4", "getrusage", "child subreaper"];

/// The choices of `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The level without `--level`: `events` or `query`.
    pub level: &'static str,
    /// The mechanism of that level; `None` if there are totals at most.
    pub mechanism: Option<&'static str>,
    /// The mechanism of `--level query`; `None` if nothing can be sampled.
    pub query: Option<&'static str>,
    /// The mechanism of `--level events`; `None` where only ptrace, asked for by name, could.
    pub events: Option<&'static str>,
    /// Whether totals of CPU, I/O and faults are exact.
    pub exact_totals: bool,
    /// What holds a memory limit.
    pub memory_limit: &'static str,
}

/// What `run` chooses after these findings.
pub fn choose(findings: &[Finding]) -> Choice {
    let works = |name: &str| {
        findings
            .iter()
            .any(|one| one.probe.name == name && one.outcome.is_usable())
    };
    choose_by(works, cfg!(feature = "bpf"))
}

/// `with_bpf`: whether this build holds the programs for the kernel.
fn choose_by(works: impl Fn(&str) -> bool, with_bpf: bool) -> Choice {
    let bpf = with_bpf && BPF_EVENTS.iter().all(|name| works(name));
    let chain = WAIT_CHAIN.iter().all(|name| works(name));
    let walk = bpf && BPF_WALKS.iter().any(|name| works(name));
    let events = match (bpf, chain && works("proc connector")) {
        (true, _) => Some("bpf"),
        (false, true) => Some("connector"),
        (false, false) => None,
    };
    let query = if walk {
        Some("bpf")
    } else {
        works("procfs").then_some("procfs")
    };
    Choice {
        level: if events.is_some() { "events" } else { "query" },
        mechanism: events.or(query),
        query,
        events,
        exact_totals: bpf || chain,
        memory_limit: memory_limit(works),
    }
}

fn memory_limit(works: impl Fn(&str) -> bool) -> &'static str {
    if works("memory controller") {
        "control group: hard, by the kernel"
    } else if works("/proc/PID/smaps_rollup") {
        "samples of resident sets, checked by proportional sets"
    } else {
        "samples of resident sets"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_that_works_is_chosen() {
        let all = choose_by(|_| true, true);
        assert_eq!(
            (all.level, all.mechanism, all.query),
            ("events", Some("bpf"), Some("bpf"))
        );
        let user = choose_by(
            |name| !name.starts_with("BPF") && name != "memory controller",
            true,
        );
        assert_eq!(
            (user.level, user.mechanism, user.query),
            ("events", Some("connector"), Some("procfs"))
        );
        assert!(user.exact_totals && user.memory_limit.contains("proportional"));
        let poor = choose_by(|name| WAIT_CHAIN.contains(&name), true);
        assert_eq!(
            (poor.level, poor.mechanism, poor.events),
            ("query", None, None)
        );
        assert!(poor.exact_totals);
        assert!(!choose_by(|_| false, true).exact_totals);
        let no_storage = choose_by(|name| name != "BPF task storage", true);
        assert_eq!(no_storage.mechanism, Some("connector"));
        assert_eq!(choose_by(|_| true, false).mechanism, Some("connector"));
    }

    #[test]
    fn every_name_that_decides_is_a_probe() {
        let known: Vec<_> = super::super::PROBES
            .iter()
            .flat_map(|(_, list)| *list)
            .map(|one| one.name)
            .collect();
        let others = [
            "proc connector",
            "memory controller",
            "/proc/PID/smaps_rollup",
        ];
        for name in [BPF_EVENTS, BPF_WALKS, WAIT_CHAIN, &others].concat() {
            assert!(known.contains(&name), "{name}");
        }
    }
}
