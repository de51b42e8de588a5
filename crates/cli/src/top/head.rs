//! The lines on the machine, above the tables.

use super::columns::{percent, size};
use super::disks::{self, Busy};
use crate::live::machine::Machine;
use crate::live::people::People;
use crate::view::style::printable;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use record::timestamp::rfc3339;

/// What is said beside the values.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    pub(super) host: String,
    /// Where the readings come from.
    pub(super) by: String,
    /// Processes of which there are rows, and those of them that are shown.
    pub(super) living: usize,
    pub(super) shown: usize,
}

/// What they are made of.
pub(super) const METRICS: &[&str] = &[
    "node_running",
    "node_blocked",
    "node_load_1m",
    "node_load_5m",
    "node_load_15m",
    "node_cpu_user",
    "node_cpu_nice",
    "node_cpu_system",
    "node_cpu_irq",
    "node_cpu_softirq",
    "node_cpu_steal",
    "node_cpu_idle",
    "node_cpu_iowait",
    "node_memory",
    "node_memory_available",
    "node_memory_free",
    "node_swap",
    "node_swap_free",
    "pressure_some_10s",
    "pressure_full_10s",
    "disk_busy",
    "disk_read",
    "disk_written",
    "nfs_read",
    "nfs_read_direct",
    "nfs_written",
    "nfs_written_direct",
    "lustre_bytes",
    "interface_received",
    "interface_sent",
    "file_system_size",
    "file_system_free",
];

/// Columns of a bar on a line of 80.
const BAR: usize = 18;
/// Of the names in front.
const LABEL: usize = 9;
/// Of each kind, on lines of at least so many columns.
const NAMED: [(usize, usize); 3] = [(160, 4), (120, 3), (0, 2)];

/// The CPU time of the machine by what it went into, and the letter of its part of the bar.
const CPU: [(&[&str], char); 3] = [
    (&["node_cpu_user", "node_cpu_nice"], '|'),
    (
        &["node_cpu_system", "node_cpu_irq", "node_cpu_softirq"],
        '#',
    ),
    (&["node_cpu_steal"], 's'),
];

pub(super) fn label() -> Style {
    Style::new().fg(Color::Cyan)
}

/// The lines, on so many columns; only what is told.
pub(super) fn lines(people: &People, about: &About, width: usize) -> Vec<Line<'static>> {
    let machine = &people.machine;
    let mut lines = vec![first(people, about)];
    lines.push(cpu(machine, width));
    lines.extend(memory(machine, width));
    lines.extend(pressure(machine));
    let named = NAMED.iter().find(|(from, _)| width >= *from);
    let named = named.map_or(1, |(_, count)| *count);
    let several = |name: &'static str, all: &[Busy], words| {
        let texts: Vec<String> = all.iter().take(named).map(|one| one.text(words)).collect();
        row(name, printable(&texts.join("   ")))
    };
    let disks = disks::disks(machine);
    // Their line stays, so that nothing jumps where there is nothing to do.
    if machine.parts("disk_busy").next().is_some() {
        lines.push(match disks.is_empty() {
            true => row("disks", "idle".to_owned()),
            false => several("disks", &disks, ("read", "written")),
        });
    }
    lines.extend(mounts(machine, named));
    if width >= 120 && machine.parts("interface_received").next().is_some() {
        let interfaces = disks::interfaces(machine);
        lines.push(match interfaces.is_empty() {
            true => row("network", "idle".to_owned()),
            false => several("network", &interfaces, ("received", "sent")),
        });
    }
    lines
}

/// The line without its last pieces where it is too long: half a word says nothing.
pub(super) fn fitting(mut line: Line<'static>, width: usize) -> Line<'static> {
    while line.width() > width {
        let Some(last) = line.spans.last_mut() else {
            break;
        };
        let text = last.content.trim_end();
        let between = [", ", "  "]
            .iter()
            .filter_map(|between| text.rfind(between));
        let Some(end) = between.max() else { break };
        last.content = text.get(..end).unwrap_or_default().to_owned().into();
    }
    line
}

fn row(name: &'static str, text: String) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{name:<LABEL$}"), label()),
        Span::raw(text),
    ])
}

/// `n17  2026-11-20 13:05:07Z  312 processes, 2 running  load 0.5 0.4 0.3  by agent`.
fn first(people: &People, about: &About) -> Line<'static> {
    let value = |name: &str| people.machine.value(name, "");
    let time = rfc3339(people.time_ns);
    let time = time.get(..19).unwrap_or(&time).replace('T', " ");
    let mut pieces = vec![format!("{time}Z")];
    let are = match about.living {
        1 => "1 process".to_owned(),
        living => format!("{living} processes"),
    };
    let mut counts = vec![match about.shown == about.living {
        true => are,
        false => format!("{} of {are}", about.shown),
    }];
    counts.extend(value("node_running").map(|count| format!("{count} running")));
    let blocked = value("node_blocked").filter(|count| *count > 0);
    counts.extend(blocked.map(|count| format!("{count} blocked")));
    pieces.push(counts.join(", "));
    let load = ["node_load_1m", "node_load_5m", "node_load_15m"].map(value);
    if let [Some(one), Some(five), Some(fifteen)] = load {
        let all = [one, five, fifteen].map(|it| format!("{:.2}", it as f64 / 1e6));
        pieces.push(format!("load {}", all.join(" ")));
    }
    pieces.push(about.by.clone());
    Line::from(vec![
        Span::styled(printable(&about.host), Style::new().bold()),
        Span::raw(format!("  {}", pieces.join("  "))),
    ])
}

/// CPUs of the machine, by the rows of each.
pub(super) fn cpus(machine: &Machine) -> Option<usize> {
    let count = machine
        .parts("node_cpu_user")
        .filter(|part| !part.is_empty())
        .count();
    (count > 0).then_some(count)
}

fn cpu(machine: &Machine, width: usize) -> Line<'static> {
    let share = |names: &[&str]| {
        let known: Vec<f64> = names
            .iter()
            .filter_map(|name| machine.share(name, ""))
            .collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>())
    };
    let idle = ["node_cpu_idle", "node_cpu_iowait"];
    let parts = CPU.map(|(names, letter)| (share(names), letter));
    let busy: f64 = parts.iter().filter_map(|(share, _)| *share).sum();
    let (Some(idle), Some([user, ..])) = (share(&idle), Some(parts.map(|part| part.0))) else {
        return row("CPU", "no rate yet".to_owned());
    };
    let all = (busy + idle).max(f64::MIN_POSITIVE);
    let pieces = parts.map(|(share, letter)| (share.unwrap_or(0.0) / all, letter));
    let cores = cpus(machine).map_or(String::new(), |count| {
        let busy = busy / all * count as f64;
        format!("  {busy:.2} of {count} CPUs")
    });
    let of = |share: Option<f64>| percent(share.map(|it| it / all));
    let [_, system, steal] = parts.map(|part| part.0);
    let mut words = format!(
        "{:>6} %{cores}, user {}, system {}",
        percent(Some(busy / all)),
        of(user),
        of(system)
    );
    if steal.is_some_and(|share| share > 0.0) {
        words += &format!(", stolen {}", of(steal));
    }
    let waiting = share(&["node_cpu_iowait"]).filter(|share| share / all > 0.0005);
    if waiting.is_some() {
        words += &format!(", idle for I/O {}", of(waiting));
    }
    bar("CPU", &pieces, words, width)
}

fn memory(machine: &Machine, width: usize) -> Option<Line<'static>> {
    let value = |name: &str| machine.value(name, "");
    let (all, free) = (value("node_memory")?, value("node_memory_available")?);
    let whole = (all as f64).max(1.0);
    let used = all.saturating_sub(free);
    let unused = value("node_memory_free").unwrap_or(free);
    let cache = free.saturating_sub(unused).max(0);
    let pieces = [(used as f64 / whole, '|'), (cache as f64 / whole, '.')];
    let mut words = format!(
        "{:>6} %  {} of {} used, cache {}",
        percent(Some(used as f64 / whole)),
        size(Some(used)),
        size(Some(all)),
        size(Some(cache))
    );
    if let (Some(swap), Some(free)) = (
        value("node_swap").filter(|it| *it > 0),
        value("node_swap_free"),
    ) {
        let used = swap.saturating_sub(free);
        words += &format!(", swap {} of {}", size(Some(used)), size(Some(swap)));
    }
    Some(bar("memory", &pieces, words, width))
}

/// `name [||||##....    ] words`.
fn bar(name: &'static str, pieces: &[(f64, char)], words: String, width: usize) -> Line<'static> {
    let room = (width * BAR / 80).clamp(8, 50);
    let mut text = String::new();
    let mut until = 0.0;
    for (share, letter) in pieces {
        until += share.clamp(0.0, 1.0);
        let end = ((until * room as f64).round() as usize).min(room);
        let more = end.saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n(*letter, more));
    }
    let filled = text.chars().count();
    Line::from(vec![
        Span::styled(format!("{name:<LABEL$}"), label()),
        Span::raw("["),
        Span::styled(text, Style::new().bold()),
        Span::raw(format!("{:>1$}", "]", room - filled + 1)),
        Span::raw(words),
    ])
}

/// How long somebody waited for each resource, in parts of the last 10 s.
fn pressure(machine: &Machine) -> Option<Line<'static>> {
    let told = ["cpu", "memory", "io"].map(|resource| {
        let some = machine.value("pressure_some_10s", resource)?;
        let text = format!("{resource} {:.1} %", some as f64 / 1e4);
        let full = machine
            .value("pressure_full_10s", resource)
            .filter(|full| *full > 0);
        Some(full.map_or(text.clone(), |full| {
            format!("{text} (all {:.1} %)", full as f64 / 1e4)
        }))
    });
    let texts: Vec<String> = told.into_iter().flatten().collect();
    let line = || {
        row(
            "pressure",
            format!("{}   of the last 10 s", texts.join("   ")),
        )
    };
    (!texts.is_empty()).then(line)
}

/// Mounts of other machines, then the fullest of this one.
fn mounts(machine: &Machine, named: usize) -> Option<Line<'static>> {
    let remote = disks::mounts(machine);
    let remote = remote
        .iter()
        .take(named)
        .map(|one| one.text(("read", "written")));
    let fullest = disks::fullest(machine);
    let full = fullest
        .iter()
        .take(named)
        .map(|(mount, share)| format!("{mount} {:.0} % full", share * 100.0));
    let texts: Vec<String> = remote.chain(full).collect();
    (!texts.is_empty()).then(|| row("mounts", printable(&texts.join("   "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_ends_with_a_whole_piece() {
        let line = || {
            row(
                "CPU",
                "34.1 %  0.68 of 2 CPUs, user 24.6, system 9.5".to_owned(),
            )
        };
        let cut = |width| fitting(line(), width).to_string();
        assert_eq!(cut(60), line().to_string());
        assert_eq!(cut(53), "CPU      34.1 %  0.68 of 2 CPUs, user 24.6");
        assert_eq!(cut(30), "CPU      34.1 %");
        assert_eq!(cut(5), "CPU      34.1 %", "the screen ends it");
    }
}
