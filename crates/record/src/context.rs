//! Which job a process belongs to, and what says so: the chain of evidence.

use crate::value::Absent;
use serde::{Deserialize, Serialize};

/// How far a piece of evidence may be believed, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The kernel keeps it and only root may change it: a control group outside of the places that
    /// users are given, a login id.
    Enforced,
    /// It is so now, by processes of root: a job's daemon is an ancestor. Lost when that ends.
    Observed,
    /// The user may write what it says: an environment variable.
    Claimed,
}

impl Trust {
    /// As JSON has it.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Enforced => "enforced",
            Trust::Observed => "observed",
            Trust::Claimed => "claimed",
        }
    }
}

/// What a piece of evidence is, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The path of a control group.
    Cgroup,
    /// The command line of an ancestor, or of the daemon that holds the job's control group.
    Daemon,
    /// A supplementary group id that the scheduler gave.
    Group,
    /// The login that it descends from.
    Login,
    /// Environment variables.
    Environment,
}

impl Kind {
    /// As JSON has it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Cgroup => "cgroup",
            Kind::Daemon => "daemon",
            Kind::Group => "group",
            Kind::Login => "login",
            Kind::Environment => "environment",
        }
    }
}

/// One thing that says which job a process belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is.
    pub kind: Kind,
    /// How far it may be believed.
    pub trust: Trust,
    /// The text itself: a path, a command line, variables.
    pub value: String,
    /// Where that was read.
    pub source: String,
    /// Who gave the job its name; absent where it says nothing about jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// The job that it names, as people type it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What stands for the job where its id is not told: a slot, a pod, a session's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// The part of the job: a step, an array task, a container of a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Evidence against what is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// `scheduler`, `identifier` or `subidentifier`.
    pub what: String,
    /// What is believed.
    pub believed: String,
    /// What the other evidence says.
    pub denied: String,
    /// Where that was read.
    pub source: String,
    /// How far that could have been believed.
    pub trust: Trust,
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The file.
    pub source: String,
    /// Why.
    pub absent: Absent,
}

/// Which job a process belongs to: what is believed, and everything that says something about it,
/// the most trusted first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Chain {
    /// The job, or what stands for one.
    pub identifier: Option<String>,
    /// The part of it.
    pub subidentifier: Option<String>,
    /// Who gave the job its name: `slurm`, `pbs`, ..., `container`, `systemd`, `login`.
    pub scheduler: Option<String>,
    /// How far the identifier may be believed; absent if there is none.
    pub trust: Option<Trust>,
    /// All evidence.
    pub evidence: Vec<Evidence>,
    /// Evidence against it.
    pub conflicts: Vec<Conflict>,
    /// Evidence that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// Paths of control groups that look like a scheduler's and are in no layout that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfamiliar: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_json() {
        for trust in [Trust::Enforced, Trust::Observed, Trust::Claimed] {
            let json = serde_json::to_string(&trust).unwrap();
            assert_eq!(json, format!("\"{}\"", trust.name()));
        }
        let kinds = [
            Kind::Cgroup,
            Kind::Daemon,
            Kind::Group,
            Kind::Login,
            Kind::Environment,
        ];
        for kind in kinds {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
        }
        assert!(Trust::Enforced < Trust::Observed && Trust::Observed < Trust::Claimed);
    }
}
