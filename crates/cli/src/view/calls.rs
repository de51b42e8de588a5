//! The system calls of a task, those that took most time.

use super::rows::LABEL_WIDTH;
use super::style::{Role, Style};
use record::call::CallLine;
use record::quantity;
use record::report::Report;

/// Kinds that are shown.
const KINDS_MAX: usize = 10;

/// The table; nothing where calls were not counted.
pub(super) fn table(report: &Report, style: Style, out: &mut String) {
    if report.system_calls.is_empty() {
        return;
    }
    let head = format!(
        "{:>9} {:>9} {:>10} {:>8}  system call",
        "time", "a call", "calls", "failed"
    );
    out.push_str(&style.paint(Role::Label, &format!("{:<LABEL_WIDTH$}", "calls")));
    out.push_str(&style.paint(Role::Aside, &head));
    out.push('\n');
    for line in report.system_calls.iter().take(KINDS_MAX) {
        out.push_str(&row(line));
    }
    let more = report.system_calls.len().saturating_sub(KINDS_MAX);
    if more > 0 {
        let rest = format!("{:LABEL_WIDTH$}and {more} kinds more\n", "");
        out.push_str(&style.paint(Role::Aside, &rest));
    }
}

fn row(line: &CallLine) -> String {
    let counts = &line.counts;
    let mean = counts.time_ns.0.checked_div(counts.calls).unwrap_or(0);
    format!(
        "{:LABEL_WIDTH$}{:>9} {:>9} {:>10} {:>8}  {}\n",
        "",
        quantity::show_time(counts.time_ns.0),
        quantity::show_time(mean),
        counts.calls,
        counts.errors,
        line.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use record::call::CallCounts;
    use record::unit::Nanos;

    #[test]
    fn the_kinds_that_took_most_time_are_a_table() {
        let mut report = sample::small();
        let kind = |number: u64| CallLine {
            name: format!("call_{number}"),
            counts: CallCounts {
                calls: 1000 / number,
                errors: number,
                time_ns: Nanos(5_000_000_000 / number),
            },
        };
        report.system_calls = (1..=12).map(kind).collect();
        let mut text = String::new();
        table(&report, Style::PLAIN, &mut text);
        sample::compare("calls", &text);
    }

    #[test]
    fn without_calls_there_is_no_table() {
        let mut text = String::new();
        table(&sample::small(), Style::PLAIN, &mut text);
        assert_eq!(text, "");
    }
}
