//! The declaration of a metric: one `const METRICS` table beside each source; documents and help
//! are made from it.

use crate::unit::Unit;

/// Whether a metric goes up only, both ways, or happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Goes both ways; a peak of it is a gauge too.
    Gauge,
    /// Only grows, from a start that its record names.
    Counter,
    /// Something that happened.
    Event,
}

/// What a metric is measured of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole machine.
    Node,
    /// A control group.
    Cgroup,
    /// A task: a command and all its descendants.
    Task,
    /// One process, all its threads.
    Process,
    /// One thread.
    Thread,
}

/// One metric, declared once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name in every output: `<what>_<qualifier>`.
    pub name: &'static str,
    /// Gauge, counter or event.
    pub kind: Kind,
    /// Its base unit.
    pub unit: Unit,
    /// What it is measured of.
    pub scope: Scope,
    /// Kernel file and field, or syscall, that it comes from.
    pub origin: &'static str,
    /// The first kernel that has it, or "any".
    pub since: &'static str,
    /// How it is had, best case first.
    pub method: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
}
