//! The text report of one task: one screen that goes to stderr after the task ended.

use super::amount::Marks;
use super::calls;
use super::containers;
use super::files;
use super::gpu;
use super::headline::{Departure, headline, is_failure};
use super::limits;
use super::named;
use super::network;
use super::rows::{LABEL_WIDTH, Row};
use super::shorten::{shorten, tell_apart};
use super::space;
use super::style::{Role, Style, cut, printable};
use record::file::{FileLine, OtherFiles};
use record::quantity;
use record::report::serde_free::Scalar;
use record::report::{Evidence, ExitType, Fate, Report};
use record::socket::SocketLine;
use record::unit::{Bytes, Nanos};
use record::value::{Absent, Field};

/// At most this many processes are shown.
const TOP_MAX: usize = 5;

/// At most this many survivors are named.
const SURVIVORS_MAX: usize = 4;

/// From when on the time that they lived on is told.
const LIVED_ON_SHOWN: Nanos = Nanos::from_millis(100);

/// At most this many notes are shown; the JSON report holds all.
const NOTES_MAX: usize = 6;

/// One of the processes that used most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopProcess {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// CPU time, if known.
    pub cpu: Option<Nanos>,
    /// Highest resident set, if known.
    pub rss_peak: Option<Bytes>,
}

/// What the screen shows beside the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra {
    /// The processes that used most, in the order to show.
    pub top: Vec<TopProcess>,
    /// The programs through which work left the tree.
    pub departures: Vec<Departure>,
    /// The busiest files, at level io.
    pub files: Vec<FileLine>,
    /// What is known of the sockets among them.
    pub sockets: Vec<SocketLine>,
    /// The sum of all others, if there are any.
    pub files_more: Option<OtherFiles>,
}

/// The whole text, lines ended.
pub fn text(report: &Report, extra: &Extra, style: Style) -> String {
    let mut marks = Marks::default();
    let mut out = first_line(report, extra, style, &mut marks);
    for row in rows(report, style, &mut marks) {
        row.render(style, &mut out);
    }
    if report.exit.kind != ExitType::NotStarted {
        top(extra, style, &mut out);
        files::table(report, extra, style, &mut out);
        calls::table(report, style, &mut out);
    }
    for row in last_rows(report, marks) {
        row.render(style, &mut out);
    }
    out
}

fn first_line(report: &Report, extra: &Extra, style: Style, marks: &mut Marks) -> String {
    let line = headline(report, &extra.departures, marks);
    let role = if is_failure(&report.exit) {
        Role::Failure
    } else {
        Role::Headline
    };
    let (end, rest) = line.split_once("; ").unwrap_or((&line, ""));
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("; {rest}")
    };
    format!(
        "{}{}\n",
        style.paint(role, end),
        style.paint(Role::Headline, &rest)
    )
}

fn rows(report: &Report, style: Style, marks: &mut Marks) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.push(Row::text(
        "command",
        command_line(&report.task.command, style),
    ));
    if report.exit.kind == ExitType::NotStarted {
        return rows;
    }
    // A broken limit has the first line and a row of its own; that names a signal too.
    let limit = report.exceeded.iter().any(|one| one.enforced);
    let bare = |cause: &str| cause.starts_with("killed by signal") && cause.ends_with(')');
    let told = |cause: &&String| limit || bare(cause);
    if let Some(cause) = report.exit.cause.as_ref().filter(|cause| !told(cause)) {
        rows.push(Row::text("cause", printable(cause)));
    }
    let evidence = report.exit.evidence.iter().map(evidence).collect();
    rows.extend(Row::pieces("evidence", evidence));
    rows.extend(limits::rows(report, marks));
    rows.extend(cpu(report, marks));
    rows.extend(memory(report, marks));
    rows.extend(counts(report, marks));
    rows.extend(space::rows(report, marks));
    rows.extend(network::row(report, marks));
    rows.extend(gpu::rows(report, marks));
    rows.extend(containers::rows(report, marks));
    rows.extend(named::rows(report));
    rows.extend(survivors(report));
    rows
}

fn evidence(one: &Evidence) -> String {
    let value = match &one.value {
        Scalar::Whole(number) => number.to_string(),
        Scalar::Text(text) => text.clone(),
    };
    printable(&format!(
        "{} {value} ({})",
        one.kind.replace('_', " "),
        one.source
    ))
}

fn command_line(words: &[String], style: Style) -> String {
    // Long scripts on a command line would fill the screen.
    const WIDTH: usize = 130;
    let text = printable(&words.join(" "));
    if style.terminal {
        // Which would wrap a word that is wider than the row.
        let row = style.width.saturating_sub(LABEL_WIDTH);
        return cut(&shorten(&text, row), row);
    }
    cut(&text, WIDTH)
}

/// A value of the report, with words around it where it is there: `{}` stands for the value. Of one
/// thing the words are those of one: `1 call`. At least nothing is not worth a word.
fn piece(report: &Report, marks: &mut Marks, name: &str, words: &str) -> Option<String> {
    let value = report.usage.get(name).and_then(Field::value)?;
    let at_least = matches!(value.method, record::value::Method::LowerBound { .. });
    if at_least && value.value.as_f64() == 0.0 {
        return None;
    }
    let one = value.value.as_f64() == 1.0;
    let words = words.strip_suffix('s').filter(|_| one).unwrap_or(words);
    Some(words.replacen("{}", &marks.show(value), 1))
}

/// A row of the values that are there.
fn row_of(
    report: &Report,
    marks: &mut Marks,
    label: &'static str,
    parts: &[(&str, &str)],
) -> Option<Row> {
    let pieces = parts
        .iter()
        .filter_map(|(name, words)| piece(report, marks, name, words));
    Row::pieces(label, pieces.collect())
}

fn cpu(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let used = [
        ("cpu_time", "{}"),
        ("cpu_user", "user {}"),
        ("cpu_system", "system {}"),
        ("cores_peak", "best second {} cores"),
    ];
    let waited = [("cpu_wait", "{} for a CPU"), ("io_wait", "{} for the disk")];
    let rows = [
        row_of(report, marks, "CPU time", &used),
        row_of(report, marks, "waited", &waited),
    ];
    rows.into_iter().flatten().collect()
}

fn memory(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let mut first = Vec::new();
    if let Some(peak) = report.usage.get("memory_peak").and_then(Field::value) {
        let at = peak.at_ns.map_or(String::new(), |at| {
            format!(" at {}", quantity::show_time(at.0))
        });
        first.push(format!(
            "{} each page once{at}{}",
            marks.show(peak),
            at_most(peak)
        ));
    }
    if !agree(report, &["memory_peak", "cgroup_peak"]) {
        first.extend(piece(report, marks, "cgroup_peak", "{} with page cache"));
    }
    if report.usage.get("swap_peak").and_then(Field::whole) != Some(0) {
        first.extend(piece(report, marks, "swap_peak", "{} swapped"));
    }
    let mut rows: Vec<Row> = Row::pieces("memory", first).into_iter().collect();
    if !agree(report, &["memory_peak", "rss_peak", "rss_peak_process"]) {
        let sets = [
            ("rss_peak", "resident sets {} (shared pages in each)"),
            ("rss_peak_process", "largest {}"),
        ];
        let label = if rows.is_empty() { "memory" } else { "" };
        rows.extend(row_of(report, marks, label, &sets));
    }
    rows
}

fn at_most(peak: &record::value::Value) -> String {
    match peak.method {
        record::value::Method::LowerBound { upper: Some(upper) } => {
            format!(" (at most {})", quantity::show_bytes(upper))
        }
        _ => String::new(),
    }
}

/// Whether these sizes are all known and one number for people: within 2 % or 1 MiB.
fn agree(report: &Report, names: &[&str]) -> bool {
    let known: Vec<u64> = names
        .iter()
        .filter_map(|name| report.usage.get(name)?.whole())
        .collect();
    let (Some(low), Some(high)) = (known.iter().min(), known.iter().max()) else {
        return false;
    };
    known.len() == names.len() && high - low <= (high / 50).max(1 << 20)
}

fn counts(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let tables: &[(&'static str, &[(&str, &str)])] = &[
        (
            "processes",
            &[
                ("processes_total", "{} in all"),
                ("processes_peak", "{} at once"),
                ("threads_peak", "threads {} at once"),
            ],
        ),
        (
            "read",
            &[
                ("bytes_read", "{}"),
                ("reads", "{} calls"),
                ("disk_read", "{} from disk"),
            ],
        ),
        (
            "written",
            &[
                ("bytes_written", "{}"),
                ("writes", "{} calls"),
                ("disk_written", "{} to disk"),
            ],
        ),
        (
            "faults",
            &[
                ("faults_minor", "{} minor"),
                ("faults_major", "{} major"),
                ("switches_voluntary", "switches {} voluntary"),
                ("switches_involuntary", "{} forced"),
            ],
        ),
        (
            "disk space",
            &[("footprint_peak", "{}"), ("files_peak", "{} files")],
        ),
    ];
    tables
        .iter()
        .filter_map(|(label, parts)| row_of(report, marks, label, parts))
        .collect()
}

fn survivors(report: &Report) -> Option<Row> {
    let count = report.survivors.len();
    let shown = report.survivors.iter().take(SURVIVORS_MAX);
    let mut pieces: Vec<String> = shown
        .map(|one| {
            let piece = format!("{} {}", one.pid, cut(&printable(&one.command), 40));
            piece.trim_end().to_owned()
        })
        .collect();
    if count > SURVIVORS_MAX {
        pieces.push(format!("{} more", count - SURVIVORS_MAX));
    }
    let fates = report.survivors.iter().map(|one| one.fate);
    let refused = fates.clone().find(|fate| *fate == Fate::Refused);
    if let Some(last) = pieces.last_mut()
        && let Some(fate) = refused.or(fates.clone().next())
    {
        last.push_str(match fate {
            Fate::LeftRunning => ": left running",
            Fate::Ended => ": ended by Plimsoll",
            Fate::Refused => ": another user's, could not be ended",
        });
        last.push_str(&lived_on(report));
    }
    Row::pieces("survivors", pieces)
}

/// How long after the command the last of those that we ended was gone, if one had to wait for it.
fn lived_on(report: &Report) -> String {
    let gone = report.survivors.iter().filter_map(|one| one.gone_by_ns);
    let wall = report.usage.get("wall_time").and_then(Field::whole);
    let after = gone
        .max()
        .zip(wall)
        .map(|(gone, wall)| gone.0.saturating_sub(wall));
    match after {
        Some(after) if after >= LIVED_ON_SHOWN.0 => {
            format!(", within {}", quantity::show_time(after))
        }
        _ => String::new(),
    }
}

/// The processes that used most; one alone says nothing that the rest does not.
fn top(extra: &Extra, style: Style, out: &mut String) {
    if extra.top.len() < 2 {
        return;
    }
    let head = format!("{:>9} {:>9} {:>8}  command", "CPU time", "peak rss", "pid");
    out.push_str(&style.paint(Role::Label, &format!("{:<LABEL_WIDTH$}", "top")));
    out.push_str(&style.paint(Role::Aside, &head));
    out.push('\n');
    for one in extra.top.iter().take(TOP_MAX) {
        let cpu = one
            .cpu
            .map_or("?".to_owned(), |cpu| quantity::show_time(cpu.0));
        let rss = one
            .rss_peak
            .map_or("?".to_owned(), |rss| quantity::show_bytes(rss.0));
        let left = format!("{:LABEL_WIDTH$}{cpu:>9} {rss:>9} {:>8}  ", "", one.pid);
        let width = style.width.saturating_sub(left.chars().count());
        // It ended before its command line was read.
        let command = if one.command.is_empty() {
            "(gone)".to_owned()
        } else {
            let others = extra.top.iter().filter(|other| other.pid != one.pid);
            let others: Vec<_> = others.map(|other| printable(&other.command)).collect();
            tell_apart(&printable(&one.command), &others, width)
        };
        out.push_str(&left);
        out.push_str(&cut(&command, width));
        out.push('\n');
    }
}

fn last_rows(report: &Report, marks: Marks) -> Vec<Row> {
    let mut rows = Vec::new();
    let notes = &report.monitor.notes;
    rows.extend(
        notes
            .iter()
            .take(NOTES_MAX)
            .map(|note| Row::text("note", printable(note))),
    );
    if notes.len() > NOTES_MAX {
        rows.push(Row::text(
            "",
            format!("{} more notes in the report", notes.len() - NOTES_MAX),
        ));
    }
    if report.exit.kind == ExitType::NotStarted {
        return rows;
    }
    rows.extend(absent(report));
    rows.push(Row {
        aside: true,
        ..Row::text("watched", watched(report))
    });
    rows.extend(marks.legend().map(|legend| Row {
        aside: true,
        ..Row::text("marks", legend)
    }));
    rows
}

/// The values that should be there and are not, by reason.
fn absent(report: &Report) -> Option<Row> {
    let reasons = [Absent::NoPermission, Absent::NoKernelSupport, Absent::Gone];
    let words = reasons.iter().filter_map(|reason| {
        let missing =
            |field: &Field| matches!(field, Field::Missing { absent } if absent == reason);
        let mut names: Vec<_> = report
            .usage
            .0
            .iter()
            .filter(|(_, field)| missing(field))
            .map(|(name, _)| absent_name(name))
            .collect();
        names.dedup();
        (!names.is_empty()).then(|| format!("{} ({})", names.join(", "), reason.words()))
    });
    let text = words.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then(|| Row {
        aside: true,
        ..Row::text("absent", text)
    })
}

/// What a missing value is called: the three parts of the resident sets go by one name.
fn absent_name(name: &str) -> String {
    match name {
        "rss_peak_anon" | "rss_peak_file" | "rss_peak_shmem" => "parts of rss peak".to_owned(),
        _ => printable(&name.replace('_', " ")),
    }
}

fn watched(report: &Report) -> String {
    let monitor = &report.monitor;
    let lost = match monitor.events_lost {
        0 => String::new(),
        1 => "; 1 event lost".to_owned(),
        count => format!("; {count} events lost"),
    };
    format!(
        "level {} by {}, every {}; cost {} CPU, {}{lost}",
        printable(&monitor.level),
        printable(&monitor.mechanism),
        quantity::show_time(monitor.interval_ns.0),
        quantity::show_time(monitor.cpu_time_ns.0),
        quantity::show_bytes(monitor.memory_peak_bytes.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use record::report::Survivor;
    use record::unit::Unit;
    use record::value::{Method, Number, Value};

    fn top(pid: u32, seconds: u64, mib: u64, command: &str) -> TopProcess {
        TopProcess {
            pid,
            command: command.to_owned(),
            cpu: Some(Nanos::from_secs(seconds)),
            rss_peak: Some(Bytes::from_mib(mib)),
        }
    }

    #[test]
    fn the_command_is_one_row_of_a_terminal() {
        let mut report = sample::build();
        report.task.command = vec!["/opt/bin/run".into(), "a/".repeat(80), "--end".into()];
        for width in [40, 60, 120] {
            let style = Style {
                width,
                terminal: true,
                ..Style::PLAIN
            };
            let screen = text(&report, &Extra::default(), style);
            let mut lines = screen.lines().skip(1);
            let row = lines.next().unwrap();
            assert!(row.starts_with("command     run a/"), "{screen}");
            assert!(row.chars().count() <= width, "{screen}");
            assert!(!lines.next().unwrap().starts_with(' '), "{screen}");
        }
    }

    /// The rows below are of one terminal's width; the line that people look for says everything.
    #[test]
    fn the_first_line_is_whole_in_a_narrow_terminal() {
        let mut broken = sample::build();
        sample::break_limit(&mut broken);
        for report in [sample::build(), broken] {
            let first = |style| {
                let screen = text(&report, &Extra::default(), style);
                screen.lines().next().map(str::to_owned)
            };
            let narrow = Style {
                width: 40,
                terminal: true,
                ..Style::PLAIN
            };
            assert_eq!(first(narrow), first(Style::PLAIN));
        }
    }

    #[test]
    fn the_screen_of_a_build() {
        let extra = Extra {
            top: vec![
                top(
                    4242,
                    62,
                    812,
                    "cc1plus -quiet -O2 src/very/long/path/to/a/translation_unit.cpp",
                ),
                top(4250, 31, 640, "ld \u{1b}[2J"),
                TopProcess {
                    pid: 4111,
                    command: "make".into(),
                    cpu: None,
                    rss_peak: None,
                },
                top(4260, 0, 1, ""),
            ],
            ..Extra::default()
        };
        let mut report = sample::build();
        report.survivors = vec![Survivor {
            pid: 4300,
            command: "sccache --server".to_owned(),
            fate: Fate::LeftRunning,
            gone_by_ns: None,
        }];
        sample::compare("build", &text(&report, &extra, Style::PLAIN));
    }

    #[test]
    fn the_screen_of_a_broken_limit() {
        let mut report = sample::build();
        sample::break_limit(&mut report);
        let extra = Extra {
            departures: vec![Departure {
                program: "ssh".to_owned(),
                elsewhere: true,
            }],
            ..Extra::default()
        };
        let survivors = (1..=6).map(|pid| Survivor {
            pid,
            command: format!("worker {pid}"),
            fate: Fate::Ended,
            gone_by_ns: None,
        });
        report.survivors = survivors.collect();
        sample::compare("limit", &text(&report, &extra, Style::PLAIN));
    }

    #[test]
    fn the_screen_of_a_small_task_is_small() {
        sample::compare(
            "small",
            &text(&sample::small(), &Extra::default(), Style::PLAIN),
        );
    }

    #[test]
    fn a_task_that_never_started_has_no_usage() {
        let mut report = sample::small();
        report.exit.kind = ExitType::NotStarted;
        report.exit.status = Some(127);
        report.exit.cause = Some("nosuch: command not found".to_owned());
        report.monitor.notes = vec!["look at PATH".to_owned()];
        assert_eq!(
            text(&report, &Extra::default(), Style::PLAIN),
            "not started: nosuch: command not found (exit 127)\n\
             command     true\nnote        look at PATH\n"
        );
    }

    #[test]
    fn one_of_a_thing_is_said_as_one_and_at_least_nothing_is_not_said() {
        let mut report = sample::small();
        let value = |number, method| {
            Field::Present(Value::new(Number::Whole(number), Unit::Count, method, "x"))
        };
        let lower = Method::LowerBound { upper: None };
        report.usage.set("reads", value(1, Method::Exact));
        report.usage.set("writes", value(2, Method::Exact));
        report.usage.set("files_peak", value(1, lower));
        let words = |name, words| piece(&report, &mut Marks::default(), name, words);
        assert_eq!(words("reads", "{} calls").unwrap(), "1 call");
        assert_eq!(words("writes", "{} calls").unwrap(), "2 calls");
        assert_eq!(words("files_peak", "{} files").unwrap(), ">= 1 file");
        report.usage.set("cpu_wait", value(0, lower));
        let mut marks = Marks::default();
        assert_eq!(piece(&report, &mut marks, "cpu_wait", "{} for a CPU"), None);
        assert_eq!(marks, Marks::default());
    }

    #[test]
    fn the_parts_of_a_missing_peak_go_by_one_name() {
        let mut report = sample::small();
        for name in ["rss_peak_anon", "rss_peak_file", "rss_peak_shmem"] {
            report.usage.set(name, Field::absent(Absent::Gone));
        }
        let row = absent(&report).unwrap().body;
        assert_eq!(row.matches("rss peak").count(), 1, "{row}");
    }

    #[test]
    fn colour_changes_nothing_but_the_colour() {
        let style = Style {
            color: true,
            ..Style::PLAIN
        };
        let colored = text(&sample::build(), &Extra::default(), style);
        let mut plain = String::new();
        for part in colored.split('\u{1b}') {
            plain.push_str(
                part.split_once('m')
                    .filter(|_| part.starts_with('['))
                    .map_or(part, |p| p.1),
            );
        }
        assert_eq!(
            plain,
            text(&sample::build(), &Extra::default(), Style::PLAIN)
        );
    }
}
