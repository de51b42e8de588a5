//! What `run` chooses on this ground.

use super::Finding;
use serde::Serialize;

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
    /// The mechanism of `--level io`; `None` if there is none.
    pub io: Option<&'static str>,
    /// Whether totals of CPU, I/O and faults are exact.
    pub exact_totals: bool,
    /// How peaks of memory are known.
    pub memory_peaks: &'static str,
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
    choose_by(works)
}

fn choose_by(works: impl Fn(&str) -> bool) -> Choice {
    let bpf = works("BPF programs of run");
    let chain = WAIT_CHAIN.iter().all(|name| works(name));
    let agent = works("programs of an agent");
    let events = match (bpf, chain && works("proc connector")) {
        (true, _) => Some("bpf"),
        _ if agent => Some("agent"),
        (false, true) if works("taskstats exit listener") => Some("taskstats"),
        (false, true) => Some("connector"),
        (false, false) => None,
    };
    let query = works("procfs").then_some("procfs");
    Choice {
        level: if events.is_some() { "events" } else { "query" },
        mechanism: events.or(query),
        query,
        events,
        io: if works("BPF programs for files") {
            Some("bpf")
        } else if agent {
            Some("agent")
        } else {
            works("preload").then_some("preload")
        },
        exact_totals: bpf || agent || chain,
        memory_peaks: memory_peaks(events),
        memory_limit: memory_limit(works),
    }
}

fn memory_peaks(events: Option<&str>) -> &'static str {
    match events {
        Some("bpf" | "agent" | "taskstats") => "exact, or within narrow bounds",
        Some(_) => {
            "exact, or within bounds: wide ones where several processes end before they are read \
             (--mechanism ptrace reads each at its end)"
        }
        None => "sampled",
    }
}

fn memory_limit(works: impl Fn(&str) -> bool) -> &'static str {
    if works("memory controller") || works("systemd user scope") {
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
        let all = choose_by(|_| true);
        assert_eq!(
            (all.level, all.mechanism, all.query),
            ("events", Some("bpf"), Some("procfs"))
        );
        let lent = choose_by(|name| !name.starts_with("BPF"));
        assert_eq!((lent.events, lent.io), (Some("agent"), Some("agent")));
        let alone = |name: &str| !name.starts_with("BPF") && name != "programs of an agent";
        let old = choose_by(alone);
        assert_eq!((old.events, old.io), (Some("taskstats"), Some("preload")));
        let roots = [
            "memory controller",
            "systemd user scope",
            "taskstats exit listener",
        ];
        let user = choose_by(|name| alone(name) && !roots.contains(&name));
        assert_eq!((user.level, user.mechanism), ("events", Some("connector")));
        assert!(user.memory_peaks.contains("ptrace") && !all.memory_peaks.contains("ptrace"));
        assert!(user.exact_totals && user.memory_limit.contains("proportional"));
        let poor = choose_by(|name| WAIT_CHAIN.contains(&name));
        assert_eq!(
            (poor.level, poor.mechanism, poor.events),
            ("query", None, None)
        );
        assert!(poor.exact_totals);
        assert!(!choose_by(|_| false).exact_totals);
    }

    #[test]
    fn every_name_that_decides_is_a_probe() {
        let known: Vec<_> = super::super::PROBES
            .iter()
            .flat_map(|(_, list)| *list)
            .map(|one| one.name)
            .collect();
        let others = [
            "BPF programs of run",
            "BPF programs for files",
            "programs of an agent",
            "preload",
            "procfs",
            "proc connector",
            "taskstats exit listener",
            "memory controller",
            "systemd user scope",
            "/proc/PID/smaps_rollup",
        ];
        for name in [WAIT_CHAIN, &others].concat() {
            assert!(known.contains(&name), "{name}");
        }
    }
}
