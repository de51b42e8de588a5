//! Arithmetic on [`Counters`]: every field by the same rule, and a table that names the fields.

use record::sample::Counters;
use record::unit::{Bytes, Nanos, Unit};

/// One field of [`Counters`] as a plain number.
pub(crate) struct CounterField {
    /// The task metric that it feeds.
    pub(crate) metric: &'static str,
    /// Its base unit.
    pub(crate) unit: Unit,
    /// Reads it.
    pub(crate) get: fn(&Counters) -> Option<u64>,
    /// Writes it.
    pub(crate) set: fn(&mut Counters, Option<u64>),
}

macro_rules! nanos {
    ($metric:literal, $field:ident) => {
        CounterField {
            metric: $metric,
            unit: Unit::Nanoseconds,
            get: |c| c.$field.map(|n| n.0),
            set: |c, v| c.$field = v.map(Nanos),
        }
    };
}
macro_rules! bytes {
    ($metric:literal, $field:ident) => {
        CounterField {
            metric: $metric,
            unit: Unit::Bytes,
            get: |c| c.$field.map(|n| n.0),
            set: |c, v| c.$field = v.map(Bytes),
        }
    };
}
macro_rules! count {
    ($metric:literal, $field:ident) => {
        CounterField {
            metric: $metric,
            unit: Unit::Count,
            get: |c| c.$field,
            set: |c, v| c.$field = v,
        }
    };
}

/// How many rows [`FIELDS`] has.
pub(crate) const FIELD_COUNT: usize = 15;

/// Every counter that becomes a metric of the task, in the order of the report.
pub(crate) const FIELDS: [CounterField; FIELD_COUNT] = [
    nanos!("cpu_time", cpu),
    nanos!("cpu_user", cpu_user),
    nanos!("cpu_system", cpu_system),
    nanos!("cpu_wait", cpu_wait),
    nanos!("io_wait", io_wait),
    bytes!("bytes_read", bytes_read),
    bytes!("bytes_written", bytes_written),
    count!("reads", reads),
    count!("writes", writes),
    bytes!("disk_read", disk_read),
    bytes!("disk_written", disk_written),
    count!("faults_minor", faults_minor),
    count!("faults_major", faults_major),
    count!("switches_voluntary", switches_voluntary),
    count!("switches_involuntary", switches_involuntary),
];

/// The row of [`FIELDS`] for `metric`.
pub(crate) fn field(metric: &str) -> Option<&'static CounterField> {
    FIELDS.iter().find(|field| field.metric == metric)
}

/// Adds `b` to `a`; a field that only one of them has keeps its number.
pub(crate) fn add(a: &mut Counters, b: &Counters) {
    each(a, b, |x, y| match (x, y) {
        (Some(x), Some(y)) => Some(x.saturating_add(y)),
        (x, y) => x.or(y),
    });
}

/// Raises every field of `a` to that of `b` where `b` is larger.
pub(crate) fn raise(a: &mut Counters, b: &Counters) {
    each(a, b, |x, y| match (x, y) {
        (Some(x), Some(y)) => Some(x.max(y)),
        (x, y) => x.or(y),
    });
}

/// `a`, with the fields that it lacks taken from `b`.
pub(crate) fn or(a: &Counters, b: &Counters) -> Counters {
    let mut both = *a;
    each(&mut both, b, |x, y| x.or(y));
    both
}

/// `c` with its CPU time filled in from user + system if it has only those.
pub(crate) fn with_cpu(c: &Counters) -> Counters {
    let mut full = *c;
    if full.cpu.is_none()
        && let (Some(user), Some(system)) = (c.cpu_user, c.cpu_system)
    {
        full.cpu = Some(user.plus(system));
    }
    full
}

/// User and system time scaled so that their sum is `total`: the kernel splits by clock ticks, of
/// which a short process may have seen none. Without any tick it is user time, as in `getrusage`.
pub(crate) fn split(total: Nanos, user: Nanos, system: Nanos) -> (Nanos, Nanos) {
    let ticks = u128::from(user.0) + u128::from(system.0);
    let part = (u128::from(total.0) * u128::from(system.0)).checked_div(ticks);
    // Never above the total, which is 64 bits wide.
    let system = Nanos(part.and_then(|p| u64::try_from(p).ok()).unwrap_or(0));
    (total.since(system), system)
}

fn each(a: &mut Counters, b: &Counters, rule: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) {
    for field in &FIELDS {
        let value = rule((field.get)(a), (field.get)(b));
        (field.set)(a, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(cpu: Option<u64>, reads: Option<u64>) -> Counters {
        Counters {
            cpu: cpu.map(Nanos),
            reads,
            ..Counters::default()
        }
    }

    #[test]
    fn unknown_fields_stay_unknown_and_known_ones_add_up() {
        let mut a = counters(Some(5), None);
        add(&mut a, &counters(Some(7), None));
        assert_eq!(a, counters(Some(12), None));
        add(&mut a, &counters(None, Some(3)));
        assert_eq!(a, counters(Some(12), Some(3)));
        raise(&mut a, &counters(Some(10), Some(9)));
        assert_eq!(a, counters(Some(12), Some(9)));
    }

    #[test]
    fn cpu_is_user_and_system_where_the_kernel_gives_only_those() {
        let rusage = Counters {
            cpu_user: Some(Nanos(3)),
            cpu_system: Some(Nanos(4)),
            ..Counters::default()
        };
        assert_eq!(with_cpu(&rusage).cpu, Some(Nanos(7)));
        assert_eq!(with_cpu(&counters(Some(5), None)).cpu, Some(Nanos(5)));
    }

    #[test]
    fn the_split_adds_up_to_the_total_and_keeps_its_ratio() {
        let split = |t, u, s| super::split(Nanos(t), Nanos(u), Nanos(s));
        assert_eq!(split(1000, 10, 30), (Nanos(250), Nanos(750)));
        assert_eq!(split(1001, 10, 20), (Nanos(334), Nanos(667)));
        assert_eq!(split(7, 0, 0), (Nanos(7), Nanos(0)));
        let most = u64::MAX;
        assert_eq!(split(most, 0, most), (Nanos(0), Nanos(most)));
    }

    #[test]
    fn every_field_has_its_own_place() {
        for (index, field) in FIELDS.iter().enumerate() {
            let mut c = Counters::default();
            (field.set)(&mut c, Some(index as u64 + 1));
            let seen: Vec<_> = FIELDS.iter().filter_map(|f| (f.get)(&c)).collect();
            assert_eq!(seen, [index as u64 + 1], "{}", field.metric);
        }
    }
}
