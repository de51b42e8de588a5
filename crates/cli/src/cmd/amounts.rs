//! Amounts of what advice is on, as people write them: `memory=64GiB`.

use anyhow::{Result, anyhow, bail};
use record::limit::Resource;
use record::quantity;
use record::unit::Unit;

/// `NAME=VALUE` in the unit of the resource.
pub(super) fn amount(text: &str) -> Result<(Resource, u64)> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| anyhow!("an amount is NAME=VALUE: memory=8GiB"))?;
    let (resource, unit) = match name {
        "memory" => (Resource::Memory, Unit::Bytes),
        "disk" => (Resource::Footprint, Unit::Bytes),
        "wall" => (Resource::Wall, Unit::Nanoseconds),
        "cores" => (Resource::Cores, Unit::Cores),
        _ => bail!("advice is on memory, disk, wall and cores, not on `{name}`"),
    };
    Ok((resource, quantity::parse(value, unit)?))
}

/// The last that was said of a resource.
#[cfg(feature = "archive")]
pub(crate) fn last_of(amounts: &[(Resource, u64)], resource: Resource) -> Option<u64> {
    let found = amounts.iter().rev().find(|(one, _)| *one == resource);
    found.map(|(_, value)| *value)
}
