//! How a process is set up, as columns of `process`: its terminal, how it is scheduled, its limits
//! and its signals. All of it is in `/proc/PID/stat` and `/proc/PID/status`, for everybody.

use record::codec::cells::Cell;
use source::query::proc_pid_stat::Setup;
use source::query::proc_pid_status::Status;

/// What comes and goes while a process does what it always does. These are told with every row, but
/// that they are others is no reason for one.
pub(super) const PASSING: [&str; 4] = ["tpgid", "priority", "signals_pending", "signals_blocked"];

/// The columns with their values.
pub(super) fn cells<'a>(
    setup: &'a Setup,
    status: &'a Status,
) -> [(&'static str, Option<Cell<'a>>); 13] {
    let int = |value: Option<i64>| value.map(Cell::Int);
    let size = |bytes: u64| i64::try_from(bytes).ok().map(Cell::Int);
    let mask = |mask: Option<u64>| mask.map(|mask| Cell::Int(mask.cast_signed()));
    let policy = setup.policy.as_deref();
    let cpus = status.cpus_allowed.as_deref();
    [
        ("tty", int(setup.tty)),
        ("tpgid", int(setup.tpgid)),
        ("priority", int(setup.priority)),
        ("nice", int(setup.nice)),
        ("policy", policy.map(|name| Cell::Text(name.as_bytes()))),
        ("rt_priority", int(setup.rt_priority)),
        ("rss_limit", setup.rss_limit.and_then(|limit| size(limit.0))),
        ("signals_pending", mask(pending(status))),
        ("signals_blocked", mask(status.signals_blocked)),
        ("signals_ignored", mask(status.signals_ignored)),
        ("signals_caught", mask(status.signals_caught)),
        ("cpus_allowed", cpus.map(Cell::Text)),
        ("text_size", status.text_size.and_then(|text| size(text.0))),
    ]
}

/// Those that any thread may take, and those that wait for the main one.
fn pending(status: &Status) -> Option<u64> {
    let (any, main) = (status.signals_pending, status.signals_pending_thread);
    any.zip(main).map(|(any, main)| any | main)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::table::process::TABLE;

    #[test]
    fn masks_keep_their_bits_and_all_that_is_absent_has_no_value() {
        let status = Status {
            signals_pending: Some(1 << 63),
            signals_pending_thread: Some(1),
            signals_caught: Some(u64::MAX),
            ..Status::default()
        };
        let setup = Setup::default();
        let cells = cells(&setup, &status);
        let of = |name| cells.iter().find(|cell| cell.0 == name).unwrap().1.clone();
        assert_eq!(of("signals_pending"), Some(Cell::Int(i64::MIN + 1)));
        assert_eq!(of("signals_caught"), Some(Cell::Int(-1)));
        let values = cells.iter().filter(|cell| cell.1.is_some());
        assert_eq!(values.count(), 2);
    }

    #[test]
    fn each_of_them_is_a_column() {
        let is_column = |name: &str| TABLE.columns.iter().any(|column| column.name == name);
        let (setup, status) = (Setup::default(), Status::default());
        assert!(cells(&setup, &status).iter().all(|cell| is_column(cell.0)));
        assert!(PASSING.into_iter().all(is_column));
    }
}
