//! From what was seen to the report: how the task ended, what it exceeded, what it used.

use super::cause::exit;
use super::ending::Reason;
use super::eyes::Eyes;
use super::facts::{Facts, in_unit};
use super::hold::{Broken, Hold};
use super::outlived::Outlived;
use super::surroundings::narrow;
use super::unended::Unended;
use crate::cmd::Status;
use crate::cmd::run::RunOptions;
use crate::cmd::statuses::{Compat, cctools};
use crate::view::report as screen;
use crate::view::status::Now;
use record::file::{FileKind, FileLine};
use record::identity::Ending;
use record::limit::Resource;
use record::report::{Claim, Exceeded, Exit, ExitType, Fate, Report, SURVIVORS_MAX, Survivor};
use record::sample::{MainEnd, WaitTotals};
use record::socket::SocketLine;
use record::unit::{Bytes, Nanos, Unit};
use record::value::{Absent, Field, Method, Number};
use reduce::calls::CallSummary;
use reduce::files::FileSummary;
use reduce::live::{Basis, Live, LiveMemory, Reading};
use reduce::settings::End;
use reduce::summary::Summary;
use reduce::tree::Tree;
use sys::process::{self, Whose};

/// Files that the screen shows.
const FILES_SHOWN: usize = 10;

/// How it all ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The end of the main process.
    pub(crate) end: MainEnd,
    /// When the last of the processes was looked at.
    pub(crate) until: Nanos,
    /// The wait chain's totals.
    pub(crate) waited: Option<WaitTotals>,
    /// Processes that live on.
    pub(crate) survivors: Vec<u32>,
    /// Why the tree was ended, if it was.
    pub(crate) reason: Option<Reason>,
    /// Who could not be.
    pub(crate) unended: Unended,
    /// Who had to be after the command.
    pub(crate) outlived: Outlived,
}

/// A report and what the screen and the files show beside it.
pub(crate) struct Assembled {
    /// The report.
    pub(crate) report: Report,
    /// What was reduced, if the task ran.
    pub(crate) summary: Option<Summary>,
    /// The files, if they were asked for.
    pub(crate) files: Option<FileSummary>,
    /// The system calls, if they were asked for.
    pub(crate) calls: Option<CallSummary>,
    /// For the screen.
    pub(crate) extra: screen::Extra,
    /// The exit status of `plimsoll run`.
    pub(crate) status: Status,
}

/// What was seen of the task.
pub(crate) struct Seen {
    /// Its processes.
    pub(crate) tree: Tree,
    /// Its files, if they were asked for.
    pub(crate) files: Option<FileSummary>,
    /// Its system calls, if they were asked for.
    pub(crate) calls: Option<CallSummary>,
}

/// Makes the report of a task that ended.
pub(crate) fn assemble(
    mut facts: Facts,
    seen: Seen,
    hold: &Hold,
    outcome: Outcome,
    options: &RunOptions,
) -> Assembled {
    let Seen { tree, files, calls } = seen;
    let events_lost = tree.events_lost();
    provide_gpus(&mut facts.report, &tree);
    let summary = summarise(&mut facts, tree, hold, &outcome);
    if let Some(saw) = facts.library_saw {
        facts.note(super::files::share_seen(&saw, &summary.usage));
    }
    if facts.launcher_ended {
        facts.note(without_launcher(&summary));
    }
    let mut report = facts.report.clone();
    report.end = facts.real(outcome.end.at);
    report.exceeded = hold
        .broken
        .iter()
        .map(|broken| exceeded(broken, facts.start))
        .collect();
    report.exceeded.extend(found_at_the_end(hold, &summary));
    let enforced = hold.broken.iter().find(|broken| broken.enforced);
    let mut status = status(enforced, outcome.end.ending, options);
    if options.compat == Some(Compat::Cctools) {
        status = as_cctools(&report.exceeded, outcome.end.ending);
    }
    report.exit = exit(&facts, hold, enforced, &outcome, status);
    report.usage = summary.usage.clone();
    report.containers = hold.containers.report();
    report.survivors = survivors(&summary, &outcome, options, facts.start);
    report.gpus = summary.gpus.clone();
    report.footprint.clone_from(&summary.footprint);
    report.monitor = monitor(&facts, &summary, events_lost);
    let mut extra = extra(&facts, &summary);
    if let Some(files) = &files {
        report.file_systems.clone_from(&files.file_systems);
        extra.files = files.lines.iter().take(FILES_SHOWN).cloned().collect();
        extra.files_more = files.without_busiest(FILES_SHOWN);
        extra.sockets = sockets_of(&extra.files, &files.sockets.lines);
    }
    if let Some(calls) = &calls {
        report.system_calls.clone_from(&calls.kinds);
    }
    Assembled {
        report,
        summary: Some(summary),
        files,
        calls,
        extra,
        status,
    }
}

fn summarise(facts: &mut Facts, mut tree: Tree, hold: &Hold, outcome: &Outcome) -> Summary {
    if let Some(reason) = facts.group_absent {
        tree.reason("cgroup_peak", reason);
    } else if !hold.has_memory() {
        tree.reason("cgroup_peak", Absent::Off);
    }
    for metric in ["footprint_peak", "files_peak"] {
        tree.reason(metric, hold.folders.absent());
    }
    if let Some(note) = hold.folders.note(facts.footprint_absent.as_deref()) {
        facts.note(note);
    }
    tree.finish(&End {
        at: outcome.end.at,
        until: outcome.until,
        main: Some(outcome.end),
        waited: outcome.waited,
        survivors: outcome.survivors.clone(),
    })
}

/// How the totals are known where what the launcher had waited for is lost with it.
fn without_launcher(summary: &Summary) -> String {
    let lower = |name: &&str| {
        let value = summary.usage.get(name).and_then(Field::value);
        value.is_some_and(|value| matches!(value.method, Method::LowerBound { .. }))
    };
    let totals = if ["cpu_time", "faults_minor", "bytes_read"].iter().any(lower) {
        "totals are lower bounds"
    } else {
        "totals are sums of what each process used"
    };
    format!("the launcher was ended from outside: {totals}")
}

fn exceeded(broken: &Broken, start: Nanos) -> Exceeded {
    let verdict = &broken.verdict;
    let (limit, unit) = in_unit(&verdict.limit);
    Exceeded {
        resource: verdict.limit.resource.name().to_owned(),
        limit,
        value: measured(verdict.value, unit),
        unit,
        at_ns: Some(verdict.at.since(start)),
        pid: verdict.pid,
        process: verdict.process.clone(),
        enforced: broken.enforced,
        source: broken.source.to_owned(),
    }
}

/// Peaks above a limit that only the end showed: listed, exit status untouched.
fn found_at_the_end(hold: &Hold, summary: &Summary) -> Vec<Exceeded> {
    let known = |resource| {
        hold.broken
            .iter()
            .any(|one| one.verdict.limit.resource == resource)
    };
    let found = hold.limits.check_final(&summary.usage);
    let new = found.into_iter().filter(|late| !known(late.limit.resource));
    new.map(|late| {
        let (limit, unit) = in_unit(&late.limit);
        Exceeded {
            resource: late.limit.resource.name().to_owned(),
            limit,
            value: measured(late.value, unit),
            unit,
            at_ns: late.at_ns,
            pid: None,
            process: None,
            enforced: false,
            source: format!("found at the end: {}", late.source),
        }
    })
    .collect()
}

/// A measured number as reports write it.
fn measured(value: f64, unit: Unit) -> Number {
    match unit {
        Unit::Cores | Unit::Ratio => Number::Real(value),
        _ => Number::Whole(value as u64),
    }
}

fn status(enforced: Option<&Broken>, ending: Ending, options: &RunOptions) -> Status {
    let own = u8::try_from(ending.shell_status()).unwrap_or(u8::MAX);
    let Some(broken) = enforced else { return own };
    let kind = broken.verdict.limit.resource.kind();
    options
        .limit_exit_code
        .or(kind.map(|kind| kind.exit_status))
        .unwrap_or(own)
}

/// The exit status of CCTools' `resource_monitor`: the kind of the end alone, limits that were only
/// measured told too.
fn as_cctools(exceeded: &[Exceeded], ending: Ending) -> Status {
    let wall = Resource::Wall.name();
    if exceeded.iter().any(|one| one.resource == wall) {
        cctools::TIME_EXPIRE
    } else if !exceeded.is_empty() {
        cctools::OVERFLOW
    } else if ending.shell_status() != 0 {
        cctools::TASK_ERROR
    } else {
        0
    }
}

fn monitor(facts: &Facts, summary: &Summary, events_lost: u64) -> record::report::Monitor {
    let own = process::usage(Whose::Own);
    let launcher = facts.launcher;
    let front = super::cost::cpu_of(process::parent());
    let cpu = [
        own.user_ns,
        own.system_ns,
        launcher.user_ns,
        launcher.system_ns,
        front,
    ];
    let mut monitor = facts.report.monitor.clone();
    monitor.cpu_time_ns = Nanos(cpu.iter().sum());
    monitor.memory_peak_bytes = Bytes(own.rss_peak_bytes);
    monitor.events_lost = events_lost;
    monitor.notes.extend(summary.notes.iter().cloned());
    if facts.notes_dropped() > 0 {
        monitor
            .notes
            .push(format!("{} more notes were dropped", facts.notes_dropped()));
    }
    monitor
}

/// Who outlived the command, and what became of each.
fn survivors(
    summary: &Summary,
    outcome: &Outcome,
    options: &RunOptions,
    start: Nanos,
) -> Vec<Survivor> {
    let are_ended = outcome.reason.is_some() || options.stops_calls();
    let alive = summary.survivors.iter().map(|one| Survivor {
        pid: one.pid,
        command: one.command.clone(),
        fate: if outcome.unended.has(one.pid) {
            Fate::Refused
        } else if are_ended {
            Fate::Ended
        } else {
            Fate::LeftRunning
        },
        gone_by_ns: None,
    });
    let is_gone = |pid: u32| !summary.survivors.iter().any(|one| one.pid == pid);
    let gone_by = outcome.until.since(start);
    let ended = outcome.outlived.iter().filter(|(pid, _)| is_gone(*pid));
    let ended = ended.map(|(pid, command)| Survivor {
        pid,
        command: command.to_owned(),
        fate: Fate::Ended,
        gone_by_ns: Some(gone_by),
    });
    alive.chain(ended).take(SURVIVORS_MAX).collect()
}

fn extra(facts: &Facts, summary: &Summary) -> screen::Extra {
    let top = summary.top.iter().map(|one| screen::TopProcess {
        pid: one.pid,
        command: one.command.clone(),
        cpu: one.cpu,
        rss_peak: one.rss_peak,
    });
    screen::Extra {
        top: top.collect(),
        departures: facts.departures.clone(),
        files: Vec::new(),
        sockets: Vec::new(),
        files_more: None,
    }
}

/// Those of `sockets` that are among `files`.
fn sockets_of(files: &[FileLine], sockets: &[SocketLine]) -> Vec<SocketLine> {
    let shown = files.iter().filter(|file| file.kind == FileKind::Socket);
    let numbers: Vec<_> = shown.filter_map(|file| file.inode).collect();
    let sockets = sockets.iter().filter(|it| numbers.contains(&it.inode));
    sockets.cloned().collect()
}

/// The report of a task that still runs, as far as it goes.
pub(crate) fn running_report(now: Nanos, facts: &Facts, eyes: &Eyes, hold: &Hold) -> Report {
    let mut report = facts.report.clone();
    report.end = facts.real(now);
    report.exceeded = hold
        .broken
        .iter()
        .map(|broken| exceeded(broken, facts.start))
        .collect();
    let end = End {
        at: now,
        until: now,
        main: None,
        waited: None,
        survivors: Vec::new(),
    };
    report.usage = eyes.tree.usage(&end);
    provide_gpus(&mut report, &eyes.tree);
    report.gpus = eyes.tree.gpu_reports(now.since(facts.start));
    report.footprint = eyes.tree.footprint_lines(&end);
    report.monitor.events_lost = eyes.tree.events_lost();
    report
}

/// No more devices were provided than a driver shows.
fn provide_gpus(report: &mut Report, tree: &Tree) {
    if let Some((there, source)) = tree.gpu_devices() {
        let devices = Claim::whole(there, Unit::Count, source);
        narrow(&mut report.allocation, "gpus", devices);
    }
}

/// The report of a task that never ran.
pub(crate) fn not_started(facts: Facts, status: Status, cause: &str) -> Assembled {
    let mut report = facts.report.clone();
    report.end = report.start.clone();
    report.exit = Exit {
        kind: ExitType::NotStarted,
        status: Some(i32::from(status)),
        cause: Some(cause.to_owned()),
        ..super::facts::running()
    };
    for metric in reduce::METRICS {
        report
            .usage
            .set(metric.name, Field::absent(Absent::NotApplicable));
    }
    Assembled {
        report,
        summary: None,
        files: None,
        calls: None,
        extra: screen::Extra::default(),
        status,
    }
}

/// Each page once where that is known, else the resident sets, of which nothing is proven.
const fn memory_shown(memory: LiveMemory) -> Bytes {
    match memory.basis {
        Basis::Group | Basis::Pss | Basis::Parts => Bytes(memory.low),
        Basis::RssSum => Bytes(memory.high),
    }
}

/// What the status line shows.
pub(crate) fn status_now(live: &Live, hold: &Hold, start: Nanos) -> Now {
    let number = |reading: &Option<Reading>| reading.as_ref().map(|reading| reading.value as u64);
    Now {
        elapsed: live.at.since(start),
        cores: live.cores.as_ref().map(|reading| reading.value),
        // No process is without: it is too early to tell.
        memory: live.memory.map(memory_shown).filter(|used| used.0 > 0),
        memory_limit: hold
            .limits
            .get(Resource::Memory)
            .map(|limit| Bytes(limit.value)),
        processes: number(&live.processes),
        threads: number(&live.threads),
        read: number(&live.read).map(Bytes),
        written: number(&live.written).map(Bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_line_shows_resident_sets_where_nothing_else_is_known() {
        let memory = |basis| LiveMemory {
            low: 3,
            high: 9,
            basis,
        };
        assert_eq!(memory_shown(memory(Basis::Pss)), Bytes(3));
        assert_eq!(memory_shown(memory(Basis::RssSum)), Bytes(9));
    }
}
