//! Which job a process belongs to, as `plimsoll agent explain` shows it.

use super::style::{Role, Style, printable};
use record::context::{Chain, Conflict, Evidence, Trust, Unread};
use record::job::{JobFact, JobRecord, JobValue};
use record::quantity::{show_bytes, show_time};
use record::table::{Column, job};
use std::fmt::Write;

/// The chain of `pid` and what is known of its job.
pub fn text(pid: u32, chain: &Chain, job: Option<&JobRecord>, style: Style) -> String {
    let mut text = format!("process {pid}: {}\n", headline(chain));
    section(
        &mut text,
        style,
        "evidence",
        chain.evidence.iter().map(evidence),
    );
    section(
        &mut text,
        style,
        "against it",
        chain.conflicts.iter().map(conflict),
    );
    section(
        &mut text,
        style,
        "not read",
        chain.unread.iter().map(unread),
    );
    let facts = job.into_iter().flat_map(JobRecord::facts);
    section(
        &mut text,
        style,
        "the job",
        facts.map(|(column, it)| fact(column, it)),
    );
    text
}

fn section(text: &mut String, style: Style, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", style.paint(Role::Label, title));
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    }
}

fn headline(chain: &Chain) -> String {
    let (Some(scheduler), Some(identifier), Some(trust)) =
        (&chain.scheduler, &chain.identifier, chain.trust)
    else {
        return "nothing says which job it belongs to".to_owned();
    };
    let part = chain.subidentifier.as_ref();
    let part = part.map_or_else(String::new, |part| format!(", {}", printable(part)));
    let identifier = printable(identifier);
    format!(
        "{scheduler} {identifier}{part} ({}: {})",
        trust.name(),
        words(trust)
    )
}

const fn words(trust: Trust) -> &'static str {
    match trust {
        Trust::Enforced => "the kernel keeps it, only root may change it",
        Trust::Observed => "by processes of root that run now",
        Trust::Claimed => "by what the user may write",
    }
}

fn evidence(one: &Evidence) -> String {
    let names = [&one.scheduler, &one.job, &one.stand_in, &one.step];
    let told: Vec<_> = names
        .into_iter()
        .flatten()
        .map(|name| printable(name))
        .collect();
    let told = match told.is_empty() {
        true => "no job".to_owned(),
        false => told.join(" "),
    };
    format!(
        "{:<12}{:<9} {told}: {} ({})",
        one.kind.name(),
        one.trust.name(),
        printable(&one.value),
        printable(&one.source)
    )
}

fn conflict(one: &Conflict) -> String {
    format!(
        "{}: {}, not {} ({}, {})",
        one.what,
        printable(&one.believed),
        printable(&one.denied),
        printable(&one.source),
        one.trust.name()
    )
}

fn unread(one: &Unread) -> String {
    format!("{}: {}", one.source, one.absent.words())
}

fn fact(column: &str, fact: &JobFact) -> String {
    let value = match &fact.value {
        JobValue::Text(text) => printable(text),
        JobValue::Int(number) => amount(column, *number),
    };
    let (source, trust) = (printable(&fact.source), fact.trust.name());
    format!("{column:<18}{value} ({source}, {trust})")
}

/// A number in the unit of its column; an instant stays a number.
fn amount(column: &str, number: i64) -> String {
    let is = |one: &&Column| one.name == column;
    let unit = job::TABLE
        .columns
        .iter()
        .find(is)
        .map_or("", |one| one.unit);
    match (unit, u64::try_from(number)) {
        ("bytes", Ok(bytes)) => show_bytes(bytes),
        ("ns", Ok(ns)) if column == "time_limit" => show_time(ns),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::context::Kind;
    use record::value::Absent;

    #[test]
    fn people_see_what_is_believed_and_what_speaks_against_it() {
        let chain = Chain {
            identifier: Some("5".to_owned()),
            subidentifier: Some("batch".to_owned()),
            scheduler: Some("slurm".to_owned()),
            trust: Some(Trust::Enforced),
            evidence: vec![Evidence {
                kind: Kind::Cgroup,
                trust: Trust::Enforced,
                value: "/slurm/uid_0/job_5\u{1b}[2J".to_owned(),
                source: "/proc/9/cgroup v2".to_owned(),
                scheduler: Some("slurm".to_owned()),
                job: Some("5".to_owned()),
                stand_in: None,
                step: Some("batch".to_owned()),
            }],
            conflicts: vec![Conflict {
                what: "identifier".to_owned(),
                believed: "5".to_owned(),
                denied: "6".to_owned(),
                source: "/proc/9/environ".to_owned(),
                trust: Trust::Claimed,
            }],
            unread: vec![Unread {
                source: "/proc/8/status".to_owned(),
                absent: Absent::NoPermission,
            }],
            unfamiliar: Vec::new(),
        };
        let mut job = JobRecord::default();
        job.tell_int(
            "memory_limit",
            Some(300 << 20),
            "memory.max",
            Trust::Enforced,
        );
        job.tell_text(
            "account",
            Some("physics"),
            "SLURM_JOB_ACCOUNT",
            Trust::Claimed,
        );
        let text = text(9, &chain, Some(&job), Style::PLAIN);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "process 9: slurm 5, batch (enforced: the kernel keeps it, only root may change it)"
        );
        assert!(lines[2].contains("cgroup      enforced  slurm 5 batch: /slurm/uid_0/job_5"));
        assert!(!text.contains('\u{1b}'));
        for line in [
            "  identifier: 5, not 6 (/proc/9/environ, claimed)",
            "  /proc/8/status: this user may not read it",
            "  memory_limit      300 MiB (memory.max, enforced)",
            "  account           physics (SLURM_JOB_ACCOUNT, claimed)",
        ] {
            assert!(lines.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn nothing_known_is_said_in_words() {
        let text = text(9, &Chain::default(), None, Style::PLAIN);
        assert_eq!(text, "process 9: nothing says which job it belongs to\n");
    }
}
