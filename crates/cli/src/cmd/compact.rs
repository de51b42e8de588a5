//! `plimsoll compact`: a dataset's live segments to sorted Parquet.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stderr;
use anyhow::{Context, Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity::{self, show_bytes};
use record::unit::{Bytes, Nanos, Unit};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use store::compact::{Keep, Merge, Options, Removed, Step, Summary, compact, retain};
use store::disk::RealDisk;
use sys::clock::{self, Clock};
use sys::heap;

/// The verb.
pub const VERB: Verb = Verb {
    name: "compact",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// What of a dataset is kept.
#[derive(Debug, Args)]
pub(super) struct KeepArgs {
    /// Give up hours that ended longer ago than this, such as 90d
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep: Option<Nanos>,
    /// Give up the oldest hours until the others take no more than this, such as 20GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    keep_bytes: Option<Bytes>,
}

impl KeepArgs {
    /// Nothing if everything is kept.
    pub(super) fn keep(&self) -> Option<Keep> {
        let (age, bytes) = (self.keep, self.keep_bytes);
        (age.is_some() || bytes.is_some()).then_some(Keep { age, bytes })
    }
}

fn time(text: &str) -> Result<Nanos> {
    let parsed = quantity::parse(text, Unit::Nanoseconds);
    parsed.map(Nanos).map_err(|error| anyhow!("{error}"))
}

fn size(text: &str) -> Result<Bytes> {
    let parsed = quantity::parse(text, Unit::Bytes);
    parsed.map(Bytes).map_err(|error| anyhow!("{error}"))
}

#[derive(Debug, Args)]
struct CompactArgs {
    /// The folder of the dataset
    dataset: PathBuf,
    #[command(flatten)]
    keep: KeepArgs,
    /// Make the files of an hour one where a table has so many of them; 0 for never
    #[arg(long, value_name = "FILES", default_value_t = 2)]
    merge: usize,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

fn command() -> Command {
    CompactArgs::augment_args(Command::new("compact"))
        .about("Turn what an agent recorded into sorted Parquet files")
        .after_help(
            "Segments that an agent is writing are left alone. It can be ended at any time and run \
             again. The folders of several nodes can be copied into one: compacting that makes one \
             file of each hour, in which each row is once.\n\nExamples:\n  plimsoll compact \
             /var/lib/plimsoll\n  plimsoll compact /var/lib/plimsoll --keep 90d --keep-bytes 20GiB",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = CompactArgs::from_arg_matches(matches)?;
    let shows = !args.quiet && std::io::stderr().is_terminal();
    let now = Nanos(clock::now(Clock::Real));
    let options = Options {
        merge: (args.merge > 0).then_some(Merge {
            files: args.merge,
            now,
        }),
        ..Options::default()
    };
    refuse_others(&args.dataset)?;
    let mut told = 0;
    let summary = compact(&RealDisk, &args.dataset, options, &mut |step| match step {
        Step::Done(sum) if shows && sum.rows_in + sum.rows_merged >= told + PROGRESS_ROWS => {
            told = sum.rows_in + sum.rows_merged;
            stderr::line(&format!(
                "{} segments, {} rows, {} files merged ...",
                sum.segments, told, sum.files_merged
            ));
        }
        Step::Done(_) => {}
        Step::Freed => heap::trim(),
        Step::Unread(error) => stderr::line(&format!("plimsoll: warning: {}", unread(error))),
    });
    let of = || format!("dataset {}", args.dataset.display());
    let summary = summary.with_context(of)?;
    let mut told = lines(&summary);
    if let Some(keep) = args.keep.keep() {
        let removed = retain(&RealDisk, &args.dataset, keep, now).with_context(of)?;
        told.push(line_of(&removed));
    }
    if !args.quiet {
        told.iter().for_each(|line| stderr::line(line));
    }
    Ok(0)
}

/// A folder of somebody else stays as it is. One that is missing or hidden is told by who opens it.
fn refuse_others(folder: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    let names = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name());
    let is_ours = |name: OsString| {
        let name = name.to_string_lossy();
        name == "live" || name == "compact.journal" || name.starts_with("kind=")
    };
    match names.into_iter().any(is_ours) {
        true => Ok(()),
        false => Err(anyhow!(
            "{} is no dataset: it has neither `live` nor `kind=...`, which `plimsoll agent \
             --dataset` writes",
            folder.display()
        )),
    }
}

/// A file that could not be read, why, and what was done with it.
pub(crate) fn unread(error: &store::Error) -> String {
    let cause = std::error::Error::source(error);
    let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
    let done = match error {
        store::Error::Damaged { rows: 0, .. } => "; none of its rows could be read".to_owned(),
        store::Error::Damaged { rows, .. } => {
            format!("; {rows} rows behind the damage were read")
        }
        _ => "; it stays as it is".to_owned(),
    };
    format!("{error}{cause}{done}")
}

/// What was given up.
pub(crate) fn line_of(removed: &Removed) -> String {
    format!(
        "{} hours given up ({} files, {}), {} left",
        removed.hours,
        removed.files,
        show_bytes(removed.bytes.0),
        show_bytes(removed.left.0)
    )
}

/// Progress is told after so many rows.
const PROGRESS_ROWS: u64 = 1_000_000;

/// What a compaction did.
pub(crate) fn lines(sum: &Summary) -> Vec<String> {
    let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    let mut lines = vec![format!(
        "{} segments ({}): {} rows in, {:.0} % of them changed; {} rows out in {} files ({}, {:.1} \
         bytes a row)",
        sum.segments,
        show_bytes(sum.bytes_in),
        sum.rows_in,
        share(sum.rows_changed, sum.rows_in),
        sum.rows_out,
        sum.files,
        show_bytes(sum.bytes_out),
        sum.bytes_out as f64 / sum.rows_out.max(1) as f64,
    )];
    if sum.files_merged > 0 {
        lines.push(format!(
            "{} files of the same hours became {} ({} rows)",
            sum.files_merged, sum.files_of_merges, sum.rows_merged
        ));
    }
    let mut also = |count: u64, words: &str| {
        if count > 0 {
            lines.push(format!("{count} {words}"));
        }
    };
    also(sum.busy, "segments are being written and were left alone");
    also(sum.duplicates, "rows were there twice");
    also(sum.rows_lost, "rows could not be kept by their writers");
    also(
        sum.bytes_bad,
        "bytes were damaged: their segments are copied to the folder `bad`",
    );
    also(sum.frames_unread, "frames could not be read");
    also(
        sum.files_later,
        "files were not merged: a later version wrote at least one of their hour",
    );
    also(
        sum.files_unread,
        "files could not be read and stay as they are",
    );
    also(
        sum.bytes_torn,
        "bytes at the ends of segments are torn or damaged: frames that are not there whole",
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_with_a_file_is_said() {
        let damaged = |rows| {
            unread(&store::Error::Damaged {
                path: "live/a".into(),
                copy: "bad/a".into(),
                rows,
            })
        };
        let copied = "the beginning of live/a is damaged: bad/a is a copy of it";
        assert_eq!(
            damaged(0),
            format!("{copied}; none of its rows could be read")
        );
        assert_eq!(
            damaged(7),
            format!("{copied}; 7 rows behind the damage were read")
        );
        let path = "live/b".into();
        let later = unread(&store::Error::Later { path });
        assert_eq!(later, "live/b is of a later version; it stays as it is");
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || refuse_others(folder.path()).map_err(|error| error.to_string());
        assert!(refused().unwrap_err().contains("is no dataset"));
        std::fs::write(folder.path().join("kinds"), "").unwrap();
        assert!(refused().is_err());
        std::fs::create_dir(folder.path().join("kind=sample")).unwrap();
        assert_eq!(refused(), Ok(()));
        assert!(refuse_others(&folder.path().join("none")).is_ok());
    }
}
