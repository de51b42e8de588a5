//! What our own processes cost.

/// CPU time of the main thread of `pid` so far, nanoseconds, from `/proc/PID/schedstat`; 0 if it
/// cannot be read, as a process that is gone costs nothing more.
pub(crate) fn cpu_of(pid: u32) -> u64 {
    std::fs::read_to_string(format!("/proc/{pid}/schedstat"))
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn our_own_cost_is_above_nothing() {
        assert!(super::cpu_of(std::process::id()) > 0);
        assert_eq!(super::cpu_of(u32::MAX), 0);
    }
}
