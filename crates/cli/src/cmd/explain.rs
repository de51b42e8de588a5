//! `plimsoll agent explain`: which job a process belongs to, and what says so.

use super::Status;
use super::named_file::{self, Wait};
use crate::view::style::{Style, environment_allows_color};
use crate::view::{context, stderr, stdout};
use anyhow::{Context, Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::context::Chain;
use record::job::JobRecord;
use serde::Serialize;
use source::context::{chain, job, job_group, read, sacct, unfamiliar};
use source::root::Root;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Its name.
pub(super) const NAME: &str = "explain";

/// A longer output of `sacct` is refused.
const SACCT_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, Args)]
struct ExplainArgs {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,
    /// Format of the answer
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    /// What sacct told of the jobs, for what it knows of this one (`-`: stdin)
    #[arg(long, value_name = "FILE")]
    sacct: Option<PathBuf>,
    /// The supplementary groups that Grid Engine gives to jobs (its gid_range)
    #[arg(long, value_name = "FIRST-LAST", value_parser = range)]
    gid_range: Option<RangeInclusive<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The answer for programs.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    pid: u32,
    #[serde(flatten)]
    chain: &'a Chain,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a JobRecord>,
}

pub(super) fn command() -> Command {
    ExplainArgs::augment_args(Command::new(NAME))
        .about("Say which job a process belongs to, and what says so")
        .after_help(
            "The control group is believed first, then the job's daemon and the login; the \
             environment, which its user may write, last. docs/context.md has the call of \
             sacct.\n\n\
             Examples:\n  plimsoll agent explain 4711\n  \
             plimsoll agent explain 4711 --format json --sacct jobs",
        )
}

pub(super) fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ExplainArgs::from_arg_matches(matches)?;
    let root = Root::default();
    let (input, unread) = read::all(&root, args.pid, args.gid_range.clone())
        .map_err(|absent| anyhow!("process {}: {}", args.pid, absent.words()))?;
    let mut chain = chain::resolve(&input);
    chain.unread = unread;
    let mut job = job::record(&chain, &input, &job_group::limits(&input.groups));
    if let (Some(job), Some(file)) = (&mut job, &args.sacct) {
        add_accounting(job, file)?;
    }
    let mut layouts = unfamiliar::Layouts::default();
    for path in chain.unfamiliar.iter().filter(|path| layouts.is_new(path)) {
        stderr::line(&format!(
            "plimsoll agent: warning: {}",
            unfamiliar::warning(path)
        ));
    }
    let text = match args.format {
        FormatWord::Text => {
            let style = Style::of(&std::io::stdout(), environment_allows_color());
            context::text(args.pid, &chain, job.as_ref(), style)
        }
        FormatWord::Json => {
            let answer = Answer {
                pid: args.pid,
                chain: &chain,
                job: job.as_ref(),
            };
            serde_json::to_string_pretty(&answer)? + "\n"
        }
    };
    stdout::write(text.as_bytes())
}

/// What the accounting knows of `job`; a job that it does not have stays as it is.
fn add_accounting(job: &mut JobRecord, file: &Path) -> Result<()> {
    let text = content(file).with_context(|| format!("--sacct {}", file.display()))?;
    let all = sacct::parse(&text);
    if all.bad > 0 {
        stderr::line(&format!(
            "plimsoll agent: warning: {} lines of {} are no jobs of sacct --parsable2",
            all.bad,
            file.display()
        ));
    }
    let is_same = |one: &&JobRecord| {
        let column = |name| one.text(name) == job.text(name);
        column("scheduler") && column("identifier")
    };
    if let Some(found) = all.jobs.iter().find(is_same).cloned() {
        job.merge(found);
    }
    Ok(())
}

/// The text of a file, of a pipe that somebody writes to, or of stdin.
pub(super) fn content(file: &Path) -> Result<String> {
    let bytes = match file == Path::new("-") {
        true => named_file::bytes_in(std::io::stdin().lock(), SACCT_BYTES_MAX)?,
        // How long it asks the scheduler's database is nobody's fault.
        false => named_file::bytes_of_pipe_or_file(file, SACCT_BYTES_MAX, Wait::ForWriter)?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `20000-20100`.
fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let ends = text.split_once('-').and_then(|(first, last)| {
        let ends: (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        (ends.0 <= ends.1).then_some(ends)
    });
    let (first, last) = ends.ok_or("FIRST-LAST, two numbers")?;
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::context::Trust;

    #[test]
    fn a_range_has_two_ends_in_order() {
        assert_eq!(range("20000-20100"), Ok(20000..=20100));
        for bad in ["", "7", "9-7", "a-b", "-1-2"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_accounting_of_this_job_is_added_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jobs");
        std::fs::write(&file, "JobIDRaw|User|JobName\n6|eve|x\n7|bob|y|z\n").unwrap();
        let mut job = JobRecord::default();
        job.tell_text("scheduler", Some("slurm"), "x", Trust::Enforced);
        job.tell_text("identifier", Some("7"), "x", Trust::Enforced);
        job.tell_text("user", Some("mallory"), "SLURM_JOB_USER", Trust::Claimed);
        add_accounting(&mut job, &file).unwrap();
        assert_eq!(
            (job.text("user"), job.text("name")),
            (Some("bob"), Some("y|z"))
        );
        assert!(add_accounting(&mut job, Path::new("/no/such")).is_err());
    }
}
