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

/// System calls that fail where there is no room.
const WRITING: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "fallocate",
    "ftruncate",
    "fsync",
    "fdatasync",
    "copy_file_range",
    "sendfile",
];

const ADVICE: &str = "Look how full that file system is and what quota there is (`df -h`, \
                      `df -i`, `quota`), and read what the task wrote to standard error.";

fn end(case: &Case<'_>) -> Option<Verdict> {
    if case.ended_well() {
        return None;
    }
    let first = case.evidence(KIND).next()?;
    let sentence = format!(
        "The task likely ended for want of room on a file system ({}): the command {}{}; whether \
         for that is not told.",
        words(first),
        case.ending(),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all(case.told(KIND))
        .told_all([case.told_exit()]);
    Some(verdict.advise(ADVICE))
}

/// Calls failed; which error they had is not in a report.
fn beside(case: &Case<'_>) -> Option<Verdict> {
    if case.ended_well() || case.exit().code.is_none() {
        return None;
    }
    let systems = case.report.file_systems.iter();
    let failed: Vec<_> = systems.filter(|line| line.counts.failed > 0).collect();
    let calls = case.report.system_calls.iter();
    let calls = calls.filter(|line| line.counts.errors > 0);
    let calls: Vec<_> = calls
        .filter(|line| WRITING.contains(&line.name.as_str()))
        .collect();
    if failed.is_empty() && calls.is_empty() {
        return None;
    }
    let told_systems = failed.iter().map(|line| Told {
        what: "reads and writes that failed".to_owned(),
        value: format!("{} on {}", line.counts.failed, place(line)),
        source: "file_systems".to_owned(),
    });
    let told_calls = calls.iter().map(|line| Told {
        what: format!("{} that failed", line.name),
        value: format!("{} of {}", line.counts.errors, line.counts.calls),
        source: "system_calls".to_owned(),
    });
    let whose = match failed.as_slice() {
        [] => "Calls that write failed".to_owned(),
        [one] => format!("Reads or writes on {} failed", place(one)),
        _ => "Reads or writes failed on several file systems".to_owned(),
    };
    let sentence = format!(
        "{whose}: a report does not have their errors, of which a full file system or a quota is \
         one."
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Unknown, sentence)
        .told_all(told_systems)
        .told_all(told_calls);
    Some(verdict.advise(ADVICE))
}

fn place(line: &FileSystemLine) -> String {
    let kind = line.kind.as_deref().unwrap_or("file system");
    match &line.mount {
        Some(mount) => format!("{mount} ({kind})"),
        None => format!("{kind} {}", line.device),
    }
}
