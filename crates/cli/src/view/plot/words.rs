//! What stands above the panels: whose job it was, where and when, and what of it is known.

use crate::view::style::printable;
use query::job::Facts;
use query::plot::Plot;
use record::quantity::show_time;
use record::timestamp::rfc3339;

/// So many hosts are named.
const HOSTS_NAMED: usize = 3;

/// `Job 7: train (eva)`.
pub(super) fn title(name: &str, plot: &Plot) -> String {
    let facts = plot.facts.as_ref();
    let of = |get: fn(&Facts) -> &Option<String>| {
        let value = facts.and_then(|facts| get(facts).as_deref());
        value.map(printable).filter(|value| !value.is_empty())
    };
    let called = of(|facts| &facts.job_name).map(|called| format!(": {called}"));
    let user = of(|facts| &facts.job_user).map(|user| format!(" ({user})"));
    format!(
        "Job {}{}{}",
        printable(name),
        called.unwrap_or_default(),
        user.unwrap_or_default()
    )
}

/// Where and when.
pub(super) fn place(plot: &Plot) -> String {
    let named: Vec<_> = plot
        .hosts
        .iter()
        .take(HOSTS_NAMED)
        .map(|host| printable(host))
        .collect();
    let named = named.join(", ");
    let hosts = match plot.hosts.len() {
        0 | 1 => format!("on {named}"),
        count if count <= HOSTS_NAMED => format!("on {count} hosts, {named}"),
        count => format!("on {count} hosts, {named} and others"),
    };
    let took = show_time(u64::try_from(plot.to - plot.from).unwrap_or(0));
    let goes_on = if plot.goes_on { ", goes on" } else { "" };
    format!(
        "{hosts}; {} to {} UTC, {took}{goes_on}",
        instant(plot.from),
        instant(plot.to)
    )
}

/// `2026-11-20 13:05:00`.
fn instant(at: i64) -> String {
    let text = rfc3339(u64::try_from(at).unwrap_or(0));
    text.chars().take(19).collect::<String>().replace('T', " ")
}

/// Of whom, and how it is known.
pub(super) fn provenance(plot: &Plot) -> String {
    let met = plot.lines.len() as u64;
    let processes = match plot.processes {
        1 => "1 process".to_owned(),
        count if count == met => format!("{count} processes"),
        count => format!("{count} processes, {met} of them lived at a reading"),
    };
    let time = |ns: i64| show_time(u64::try_from(ns).unwrap_or(0));
    let readings = match (plot.thinned_ns, plot.period_ns) {
        (Some(slot), _) => format!("one reading in {} is drawn", time(slot)),
        (None, Some(period)) => format!("read every {}", time(period)),
        (None, None) => "read".to_owned(),
    };
    format!(
        "{processes}, {readings}: memory was sampled then, CPU and I/O were counted in between; \
         a shared page counts in each resident set"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_says_what_it_is_of() {
        let mut plot = Plot {
            facts: Some(Facts {
                job_user: Some("eva".to_owned()),
                job_name: Some("train\u{1b}".to_owned()),
                ..Facts::default()
            }),
            hosts: vec!["n1".to_owned()],
            processes: 3,
            from: 1_795_179_540_000_000_000,
            to: 1_795_179_659_000_000_000,
            goes_on: true,
            period_ns: Some(1_000_000_000),
            ..Plot::default()
        };
        assert_eq!(title("7", &plot), "Job 7: train? (eva)");
        assert_eq!(
            place(&plot),
            "on n1; 2026-11-20 12:59:00 to 2026-11-20 13:00:59 UTC, 1m59s, goes on"
        );
        let told = provenance(&plot);
        let front = "3 processes, 0 of them lived at a reading, read every 1.00 s: ";
        assert!(told.starts_with(front), "{told}");
        plot.hosts = (1..6).map(|n| format!("n{n}")).collect();
        assert!(place(&plot).starts_with("on 5 hosts, n1, n2, n3 and others; "));
    }
}
