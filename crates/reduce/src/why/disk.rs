//! A file system without room, as far as a report tells.

use super::case::words;
use super::verdict::{Certainty, Told, Verdict};
use super::{Case, Cause};
use record::file::FileSystemLine;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "disk_full",
    description: "a file system had no room",
    end: Some(end),
    beside: Some(beside),
};

const KIND: &str = "disk_full";

/// System calls that fail where there is no room: those that move bytes, whose errors are told with
/// the files at level io.
const WRITING: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "copy_file_range",
    "sendfile",
];

/// And others.
const RESERVING: &[&str] = &["fallocate", "ftruncate", "fsync", "fdatasync"];

const ADVICE: &str = "Look how full that file system is and what quota there is (`df -h`, \
                      `df -i`, `quota`), and read what the task wrote to standard error.";

fn end(case: &Case<'_>) -> Option<Verdict> {
    if case.ended_well() {
        return None;
    }
    let systems = without_room(case);
    let (on, what) = match (systems.as_slice(), case.evidence(KIND).next()) {
        ([], Some(first)) => (format!("a file system ({})", words(first)), String::new()),
        ([], None) => return None,
        (found, _) => (places(found), format!("{} for that, and ", failures(found))),
    };
    let sentence = format!(
        "The task likely ended for want of room on {on}: {what}the command {}{}; whether for \
         that is not told.",
        case.ending(),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all(case.told(KIND))
        .told_all(told_writes(&systems))
        .told_all([case.told_exit()]);
    Some(verdict.advise(ADVICE))
}

/// What failed beside something else.
fn beside(case: &Case<'_>) -> Option<Verdict> {
    let systems = without_room(case);
    if systems.is_empty() {
        return unknown(case);
    }
    let whole = match case.ended_well() {
        true => "; it ended well all the same, and what it wrote may not be whole",
        false => "",
    };
    let sentence = format!(
        "There was no room on {} for all that the task wrote: {} for that{whole}.",
        places(&systems),
        failures(&systems)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence);
    Some(verdict.told_all(told_writes(&systems)).advise(ADVICE))
}

/// File systems on which writes failed for want of room.
fn without_room<'a>(case: &Case<'a>) -> Vec<&'a FileSystemLine> {
    let systems = case.report.file_systems.iter();
    systems.filter(|line| line.counts.no_space > 0).collect()
}

fn places(systems: &[&FileSystemLine]) -> String {
    match systems {
        [one] => place(one),
        several => format!("{} file systems", several.len()),
    }
}

fn failures(systems: &[&FileSystemLine]) -> String {
    match systems.iter().map(|line| line.counts.no_space).sum() {
        1 => "a write failed".to_owned(),
        all => format!("{all} writes failed"),
    }
}

fn told_writes(systems: &[&FileSystemLine]) -> Vec<Told> {
    let told = systems.iter().map(|line| Told {
        what: "writes without room".to_owned(),
        value: format!("{} on {}", line.counts.no_space, place(line)),
        source: "file_systems: ENOSPC or EDQUOT".to_owned(),
    });
    told.collect()
}

/// Calls failed; which error they had is not in the report.
fn unknown(case: &Case<'_>) -> Option<Verdict> {
    if case.ended_well() || case.exit().code.is_none() {
        return None;
    }
    // Where files are told, the errors of what moves bytes are: there was room.
    let is_told = !case.report.file_systems.is_empty();
    let is_of_room = |name: &str| RESERVING.contains(&name) || !is_told && WRITING.contains(&name);
    let calls = case.report.system_calls.iter();
    let calls = calls.filter(|line| line.counts.errors > 0);
    let calls: Vec<_> = calls.filter(|line| is_of_room(&line.name)).collect();
    if calls.is_empty() {
        return None;
    }
    let told = calls.iter().map(|line| Told {
        what: format!("{} that failed", line.name),
        value: format!("{} of {}", line.counts.errors, line.counts.calls),
        source: "system_calls".to_owned(),
    });
    let sentence = "Calls that need room on a file system failed: the report does not have their \
                    errors, of which a full file system or a quota is one.";
    let verdict = Verdict::new(CAUSE.name, Certainty::Unknown, sentence.to_owned());
    Some(verdict.told_all(told).advise(ADVICE))
}

fn place(line: &FileSystemLine) -> String {
    let kind = line.kind.as_deref().unwrap_or("file system");
    match &line.mount {
        Some(mount) => format!("{mount} ({kind})"),
        None => format!("{kind} {}", line.device),
    }
}
