//! `plimsoll compact`: a dataset's live segments to sorted Parquet.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::view::stderr;
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity::show_bytes;
use std::io::IsTerminal;
use std::path::PathBuf;
use store::compact::{Options, Summary, compact};
use store::disk::RealDisk;

/// The verb.
pub const VERB: Verb = Verb {
    name: "compact",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

#[derive(Debug, Args)]
struct CompactArgs {
    /// The folder of the dataset
    dataset: PathBuf,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

fn command() -> Command {
    CompactArgs::augment_args(Command::new("compact"))
        .about("Turn what an agent recorded into sorted Parquet files")
        .after_help(
            "Segments that an agent is writing are left alone. It can be ended at any time and run \
             again.\n\nExample:\n  plimsoll compact /var/lib/plimsoll",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = CompactArgs::from_arg_matches(matches)?;
    let shows = !args.quiet && std::io::stderr().is_terminal();
    let mut told = 0;
    let summary = compact(
        &RealDisk,
        &args.dataset,
        Options::default(),
        &mut |_, sum| {
            if shows && sum.rows_in >= told + PROGRESS_ROWS {
                told = sum.rows_in;
                stderr::line(&format!(
                    "{} segments, {} rows ...",
                    sum.segments, sum.rows_in
                ));
            }
        },
    );
    let summary = summary.with_context(|| format!("dataset {}", args.dataset.display()))?;
    if !args.quiet {
        lines(&summary).iter().for_each(|line| stderr::line(line));
    }
    Ok(0)
}

/// Progress is told after so many rows.
const PROGRESS_ROWS: u64 = 1_000_000;

fn lines(sum: &Summary) -> Vec<String> {
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
        sum.bytes_torn,
        "bytes are beginnings of frames that were never finished",
    );
    lines
}
