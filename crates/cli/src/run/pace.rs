//! When to look at the limits again: before a task that grows as fast as it can would be far past
//! one. Pure.

use record::limit::{Limit, Resource};
use record::unit::Nanos;
use reduce::live::Live;

/// A limit is looked at no more often than this.
const LOOK_MIN: Nanos = Nanos::from_millis(5);
/// The fastest that memory is thought to fill, bytes a second.
const MEMORY_PER_SECOND: f64 = 8.0 * 1024.0 * 1024.0 * 1024.0;
/// The fastest that data is thought to flow, bytes a second.
const DATA_PER_SECOND: f64 = 16.0 * 1024.0 * 1024.0 * 1024.0;
/// Between two looks at a limit on things that come and go at once (processes, threads).
const COUNT_LOOK: Nanos = Nanos::from_millis(50);

/// When the limits want the next look, after `live` was seen.
pub(crate) fn next_look(limits: &[Limit], live: &Live, cpus: u64, interval: Nanos) -> Nanos {
    let waits = limits.iter().map(|limit| wait(limit, live, cpus, interval));
    live.at.plus(waits.min().unwrap_or(interval))
}

fn wait(limit: &Limit, live: &Live, cpus: u64, interval: Nanos) -> Nanos {
    let value = live
        .get(limit.resource)
        .map_or(0.0, |reading| reading.value);
    let room = (limit.value as f64 - value).max(0.0);
    let seconds = match limit.resource {
        // Past it, nothing more comes of looking: the grace has its own clock.
        Resource::Wall if value > limit.value as f64 => return interval,
        Resource::Wall => return Nanos(room as u64).max(Nanos(1)),
        Resource::Cpu => room / 1e9 / cpus.max(1) as f64,
        Resource::Memory => memory_room(limit, live) / MEMORY_PER_SECOND,
        Resource::Rss | Resource::Virtual | Resource::Swap => room / MEMORY_PER_SECOND,
        Resource::Read | Resource::Written => room / DATA_PER_SECOND,
        Resource::Footprint | Resource::Files => return interval.min(Nanos::from_millis(250)),
        Resource::Processes | Resource::Threads => return COUNT_LOOK.min(interval),
        Resource::Cores => return interval.min(Nanos::from_millis(200)),
    };
    Nanos((seconds * 1e9) as u64).clamp(LOOK_MIN, interval.max(LOOK_MIN))
}

/// What the upper bound of memory leaves; the lower one where the upper is above the limit already.
fn memory_room(limit: &Limit, live: &Live) -> f64 {
    let Some(memory) = live.memory else {
        return 0.0;
    };
    let used = if memory.high > limit.value {
        memory.low
    } else {
        memory.high
    };
    limit.value.saturating_sub(used) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use reduce::live::{Basis, LiveMemory, Reading};

    fn live() -> Live {
        Live {
            at: Nanos::from_secs(10),
            wall: Some(Reading {
                value: 9e9,
                holder: None,
            }),
            cpu: Some(Reading {
                value: 1e9,
                holder: None,
            }),
            memory: Some(LiveMemory {
                low: 1 << 30,
                high: 1 << 30,
                basis: Basis::RssSum,
            }),
            ..Live::default()
        }
    }

    fn at(resource: Resource, value: u64) -> Nanos {
        let limit = Limit { resource, value };
        next_look(&[limit], &live(), 2, Nanos::from_secs(1)).since(Nanos::from_secs(10))
    }

    #[test]
    fn a_look_comes_before_the_room_is_used_up() {
        assert_eq!(at(Resource::Wall, 12_000_000_000), Nanos::from_secs(3));
        // A limit that is broken already does not keep the monitor awake until the task is dead.
        assert_eq!(at(Resource::Wall, 8_000_000_000), Nanos::from_secs(1));
        assert_eq!(at(Resource::Cpu, 2_000_000_000), Nanos::from_millis(500));
        assert_eq!(at(Resource::Memory, 3 << 30), Nanos::from_millis(250));
        assert_eq!(at(Resource::Memory, 1 << 30), LOOK_MIN);
        assert_eq!(at(Resource::Memory, 1 << 40), Nanos::from_secs(1));
    }

    #[test]
    fn the_nearest_limit_decides() {
        let limits = [
            Limit {
                resource: Resource::Cpu,
                value: 100_000_000_000,
            },
            Limit {
                resource: Resource::Processes,
                value: 4,
            },
        ];
        let next = next_look(&limits, &live(), 2, Nanos::from_secs(1));
        assert_eq!(next.since(live().at), COUNT_LOOK);
    }
}
