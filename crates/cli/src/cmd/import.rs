//! `plimsoll agent import`: what a scheduler's accounting tells of jobs, as rows of a dataset.

use super::explain::content;
use super::{STATUS_FAILURE, Status};
use crate::agent::owner;
use crate::view::stderr;
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::codec::cells::take_row;
use record::job::{JobRecord, JobValue};
use record::table::job;
use record::unit::Nanos;
use source::context::sacct;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::compact::Known;
use store::disk::{Disk, RealDisk};
use store::segment::{self, Instant, Origin, Writer};
use sys::clock;
use sys::confine::{self, Files, Forbidden, Rules};

/// Its name.
pub(super) const NAME: &str = "import";

/// In the place of a boot: who told.
const SACCT: &str = "sacct";
const HOUR_NS: i64 = 3_600_000_000_000;
/// Jobs without a time that are named.
const NAMED_MAX: usize = 8;
/// A frame has so many bytes of rows, about, where they are of one instant.
const FRAME_BYTES: usize = 256 << 10;

#[derive(Debug, Args)]
struct ImportArgs {
    /// The folder of the dataset; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// What sacct told of the jobs (`-`: stdin)
    #[arg(long, value_name = "FILE")]
    sacct: PathBuf,
    /// What the rows have as their host
    #[arg(long, value_name = "NAME", default_value = "slurm")]
    cluster: String,
}

/// A row on its way.
struct Row {
    at_ns: i64,
    bytes: Vec<u8>,
}

/// What was done.
#[derive(Debug, Default)]
struct Summary {
    written: usize,
    known: usize,
    /// Jobs without a time: how many, and the first of them.
    timeless: usize,
    timeless_first: Vec<String>,
}

pub(super) fn command() -> Command {
    ImportArgs::augment_args(Command::new(NAME))
        .about("Add what Slurm's accounting tells of jobs to a dataset")
        .after_help(
            "A job is a row of the table `job` at its end, or at what came last of its start and \
             its submission. What is there already is not written again. docs/context.md has the \
             call of sacct.\n\nExample:\n  SLURM_TIME_FORMAT=%s sacct --allusers --parsable2 \
             --format=JobID,JobIDRaw,...,JobName |\n    plimsoll agent import --dataset \
             /var/lib/plimsoll --sacct -",
        )
}

pub(super) fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ImportArgs::from_arg_matches(matches)?;
    let file = args.sacct.display();
    let text = content(&args.sacct).with_context(|| format!("--sacct {file}"))?;
    let told = sacct::parse(&text);
    for (line, why) in &told.rejects {
        say(&format!("warning: {file}: line {line} {why}"));
    }
    let of = || format!("dataset {}", args.dataset.display());
    RealDisk.make_folder(&args.dataset).with_context(of)?;
    hold(&args.dataset)?;
    let done = import(&args.dataset, &args.cluster, &told.jobs).with_context(of)?;
    for job in &done.timeless_first {
        say(&format!(
            "warning: {file}: job {job} has no time in seconds (SLURM_TIME_FORMAT=%s)"
        ));
    }
    let rejected = told.bad + done.timeless as u64;
    say(&format!(
        "{} jobs of {file}: {} rows written, {} were there, {rejected} lines rejected; {} lines of \
         steps",
        told.jobs.len(),
        done.written,
        done.known,
        told.steps
    ));
    let has_nothing = rejected > 0 && done.written + done.known == 0;
    Ok(if has_nothing { STATUS_FAILURE } else { 0 })
}

fn say(text: &str) {
    stderr::line(&format!("plimsoll agent import: {text}"));
}

/// Becomes the owner of the dataset, where root brings the rows, and may use nothing else.
fn hold(dataset: &Path) -> Result<()> {
    let whole = std::fs::canonicalize(dataset)?;
    let held = confine::confine(&Rules {
        user: owner(&whole)?,
        keep: &[],
        files: Some(Files {
            written: &[&whole],
            read: &[],
        }),
        forbidden: &[
            Forbidden::Processes,
            Forbidden::Sockets,
            Forbidden::Machine,
            Forbidden::Programs,
        ],
    });
    if let Err(error) = held {
        say(&format!("warning: keeps privileges: {error}"));
    }
    Ok(())
}

fn import(dataset: &Path, cluster: &str, jobs: &[JobRecord]) -> Result<Summary> {
    let mut done = Summary::default();
    let mut rows = Vec::new();
    for job in jobs {
        let Some(at_ns) = instant(job) else {
            done.timeless += 1;
            if done.timeless_first.len() < NAMED_MAX {
                let name = job.text("identifier").unwrap_or_default();
                done.timeless_first.push(name.to_owned());
            }
            continue;
        };
        let mut bytes = Vec::new();
        job::put_told(&mut bytes, job);
        rows.push(Row { at_ns, bytes });
    }
    rows.sort_by_key(|row| row.at_ns);
    let hours: BTreeSet<i64> = rows
        .iter()
        .map(|row| row.at_ns.div_euclid(HOUR_NS))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    let origin = Origin::of_writer(cluster, SACCT, std::process::id(), version);
    let mut known = Known::of(dataset, &job::TABLE, &origin, &hours)?;
    let before = rows.len();
    rows.retain(|row| {
        let cells = take_row(&mut row.bytes.as_slice());
        cells.is_ok_and(|cells| known.add(row.at_ns, &cells))
    });
    (done.written, done.known) = (rows.len(), before - rows.len());
    write(dataset, origin, &rows)?;
    Ok(done)
}

/// When what is told of a job came to be so: its end, its start or its submission, since 1970.
fn instant(job: &JobRecord) -> Option<i64> {
    let time = |column: &&str| match job.fact(column)?.value {
        JobValue::Int(value) => Some(value).filter(|value| *value > 0),
        JobValue::Text(_) => None,
    };
    ["ended", "started", "submitted"].iter().find_map(time)
}

/// Writes rows, which are in the order of time, as a writer of no boot: both clocks are that of the
/// day.
fn write(dataset: &Path, origin: Origin, rows: &[Row]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut writer = Writer::new(RealDisk, dataset, origin, segment::Options::default())?;
    for of_instant in rows.chunk_by(|one, next| one.at_ns == next.at_ns) {
        let mut left = of_instant;
        while let Some(first) = left.first() {
            let (mut payload, mut count) = (Vec::new(), 0u32);
            for row in left {
                payload.extend_from_slice(&row.bytes);
                count += 1;
                if payload.len() >= FRAME_BYTES {
                    break;
                }
            }
            let when = Instant {
                at: Nanos(first.at_ns.cast_unsigned()),
                ..Instant::default()
            };
            writer.begin(Nanos(clock::boot()))?;
            writer.frame((job::TABLE.id, false), (0, 0), when, (&payload, count))?;
            left = left.get(count as usize..).unwrap_or_default();
        }
    }
    Ok(writer.close()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::context::Trust;

    fn job(id: &str, times: &[(&str, u64)]) -> JobRecord {
        let mut job = JobRecord::default();
        job.tell_text("scheduler", Some("slurm"), SACCT, Trust::Enforced);
        job.tell_text("identifier", Some(id), SACCT, Trust::Enforced);
        for (column, time) in times {
            job.tell_int(column, Some(*time), SACCT, Trust::Enforced);
        }
        job
    }

    #[test]
    fn what_was_brought_is_not_brought_again_and_what_is_new_is() {
        let folder = tempfile::tempdir().unwrap();
        let counts = |jobs: &[JobRecord]| {
            let done = import(folder.path(), "c", jobs).unwrap();
            (done.written, done.known, done.timeless)
        };
        let running = job("7", &[("submitted", 5), ("started", 9)]);
        let odd = job("\u{fffd}8", &[("submitted", 5)]);
        let all = [running.clone(), odd, job("9", &[])];
        assert_eq!(counts(&all), (2, 0, 1));
        assert_eq!(counts(&all), (0, 2, 1), "in a live segment");
        // A child that another test forked beside this one keeps locks of its files for a while.
        let compacted = |rows: u64| {
            (0..500).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                let options = store::compact::Options::default();
                let done = store::compact::compact(&RealDisk, folder.path(), options, &mut |_| {});
                done.is_ok_and(|done| done.rows_out == rows)
            })
        };
        assert!(compacted(2));
        assert_eq!(counts(&all), (0, 2, 1), "in a Parquet file");
        assert!(compacted(0));
        let over = job("7", &[("submitted", 5), ("started", 9), ("ended", 11)]);
        assert_eq!(counts(&[running.clone(), over, running]), (1, 2, 0));
        let other = import(folder.path(), "other", &all).unwrap();
        assert_eq!(other.written, 2, "of another cluster");
    }
}
