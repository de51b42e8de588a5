//! `plimsoll run` itself: its limits.

use super::words::{size, time};
use super::{Ask, Target};
use record::limit::LIMITS;
use record::unit::Unit;

/// Its row of the table of targets.
pub(super) const TARGET: Target = Target {
    name: "plimsoll",
    place: "on the command line",
    write,
};

fn write(asks: &[Ask]) -> Vec<String> {
    let limits: Vec<_> = asks.iter().filter_map(limit).collect();
    match limits.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "plimsoll run --limit {} -- COMMAND",
            limits.join(",")
        )],
    }
}

fn limit(ask: &Ask) -> Option<String> {
    // As a limit it would end whoever is a little above it once.
    if ask.resource == "cores" && !ask.is_retry {
        return None;
    }
    let kind = LIMITS.iter().find(|kind| kind.name == ask.resource)?;
    let value = match kind.unit {
        Unit::Bytes => size(ask.amount, "GiB", "MiB"),
        Unit::Nanoseconds => time(ask.amount, ["h", "m", "s"]),
        _ => ask.amount.to_string(),
    };
    Some(format!("{}={value}", kind.name))
}
