//! What a kernel file is to the rest of the program: its name, its metrics, and its parser as text
//! for the fixtures.

use record::metric::{Kind, Metric, Scope};
use record::unit::Unit;

/// One kernel file that is read, a row of [`super::SOURCES`].
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The name of its module and of its folder of fixtures.
    pub name: &'static str,
    /// The kernel file, with upper case where it varies.
    pub file: &'static str,
    /// The metrics that it yields; empty for facts.
    pub metrics: &'static [Metric],
    /// What its parser makes of a content, as text to compare with.
    pub digest: fn(&[u8]) -> String,
}

/// A metric of one process, exact, that any supported kernel has.
pub(crate) const fn of_process(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    origin: &'static str,
    doc: &'static str,
) -> Metric {
    metric(name, kind, unit, Scope::Process, origin, doc)
}

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    scope: Scope,
    origin: &'static str,
    doc: &'static str,
) -> Metric {
    let (since, method) = ("any", "exact when read");
    Metric {
        name,
        kind,
        unit,
        scope,
        origin,
        since,
        method,
        doc,
    }
}
