//! Devices of NVIDIA among what the machine tells: those of which it is told who is on them.

use record::codec::key::{Part, parts};
use record::table::node;

/// Metrics of devices begin so, and the names that the driver of NVIDIA's gives them.
const METRICS: &[u8] = b"gpu_device_";
const NAMES: &[u8] = b"GPU-";

/// The name of the one of which the row of `node` with this key tells, if it tells of one.
pub(crate) fn name(key: &[u8]) -> Option<Vec<u8>> {
    if !key.starts_with(METRICS) {
        return None;
    }
    match parts(node::TABLE.key, key).ok()?.pop()? {
        Part::Text(name) if name.starts_with(NAMES) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_others_and_what_is_none_have_no_name() {
        let of = |metric: &str, instance: &str| {
            let mut key = Vec::new();
            node::key(metric, instance.as_bytes(), &mut key);
            name(&key).map(|name| String::from_utf8(name).unwrap())
        };
        let part = "GPU-1 MIG-1-0";
        assert_eq!(of("gpu_device_memory", part).as_deref(), Some(part));
        assert_eq!(of("gpu_device_busy", "card0"), None);
        assert_eq!(of("node_memory", "GPU-1"), None);
        assert_eq!(name(b"gpu_device_busy"), None);
    }
}
