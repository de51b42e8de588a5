//! The status line of `--live`: one line, rewritten in place.

use super::amount::{cores, percent};
use super::style::cut;
use record::quantity;
use record::unit::{Bytes, Nanos};

/// A running task at one instant; what is not known is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Now {
    /// Time since the start.
    pub elapsed: Nanos,
    /// CPU time over time, since the line before.
    pub cores: Option<f64>,
    /// Memory in use now: each page once where known, else the resident sets.
    pub memory: Option<Bytes>,
    /// The memory that may be used.
    pub memory_limit: Option<Bytes>,
    /// Processes alive.
    pub processes: Option<u64>,
    /// Threads alive.
    pub threads: Option<u64>,
    /// Bytes read since the start.
    pub read: Option<Bytes>,
    /// Bytes written since the start.
    pub written: Option<Bytes>,
}

/// The line, at most `width` columns, without its end: the rightmost values go first.
pub fn status_line(now: &Now, width: usize) -> String {
    let pieces = [
        Some(format!("plimsoll {}", quantity::show_time(now.elapsed.0))),
        now.cores.map(|busy| format!("{} cores", cores(busy))),
        now.memory.map(|used| memory(used, now.memory_limit)),
        now.processes
            .map(|count| plural(count, "process", "processes")),
        now.threads.map(|count| plural(count, "thread", "threads")),
        now.read
            .map(|bytes| format!("read {}", quantity::show_bytes(bytes.0))),
        now.written
            .map(|bytes| format!("written {}", quantity::show_bytes(bytes.0))),
    ];
    let mut line = String::new();
    for piece in pieces.into_iter().flatten() {
        let gap = if line.is_empty() { 0 } else { 3 };
        if gap > 0 && line.chars().count() + gap + piece.chars().count() > width {
            break;
        }
        line.push_str(&" ".repeat(gap));
        line.push_str(&piece);
    }
    cut(&line, width)
}

fn memory(used: Bytes, limit: Option<Bytes>) -> String {
    let share = match limit {
        Some(limit) if limit.0 > 0 => {
            let share = percent(used.0 as f64 / limit.0 as f64);
            format!(" of {} ({share})", quantity::show_bytes(limit.0))
        }
        _ => String::new(),
    };
    format!("memory {}{share}", quantity::show_bytes(used.0))
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_never_wider_than_the_terminal() {
        let now = Now {
            elapsed: Nanos::from_secs(123),
            cores: Some(3.1),
            memory: Some(Bytes::from_mib(3482)),
            memory_limit: Some(Bytes::from_mib(8192)),
            processes: Some(17),
            threads: Some(1),
            read: Some(Bytes(5 << 30)),
            written: None,
        };
        assert_eq!(
            status_line(&now, 120),
            "plimsoll 2m03s   3.1 cores   memory 3.4 GiB of 8 GiB (43 %)   17 processes   \
             1 thread   read 5 GiB"
        );
        for width in 0..120 {
            assert!(status_line(&now, width).chars().count() <= width);
        }
        assert_eq!(status_line(&now, 30), "plimsoll 2m03s   3.1 cores");
        assert_eq!(status_line(&Now::default(), 80), "plimsoll 0 us");
    }
}
