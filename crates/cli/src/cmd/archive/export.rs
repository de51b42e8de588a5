//! `plimsoll archive export`: attempts for others.

use super::filter::FilterArgs;
use super::{Part, PlaceArgs, Status, work};
use crate::archive::place;
use crate::archive::private::Veil;
use crate::archive::rows::{self, Form, Writing};
use crate::archive::work::Work;
use crate::view::stderr;
use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::attempt::Attempt;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use store::archive::{Archive, ParquetFile, Tasks, Texts};
use store::whole_file::WholeFile;

pub(super) const PART: Part = Part {
    name: "export",
    command,
    call,
};

#[derive(Debug, Args)]
struct ExportArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// What is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "jsonl")]
    format: Word,
    /// Write it to this file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Put digests in the place of users, hosts, paths, arguments, names and labels: the same for
    /// the same word, within this export alone
    #[arg(long)]
    private: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    /// One JSON object a line
    Jsonl,
    /// Comma separated, with a heading
    Csv,
    /// Parquet, with the columns of the archive's own files
    Parquet,
    /// WfFormat 1.5 of WfCommons, of one set: its tasks, their order, how each was done
    Wfformat,
}

fn command() -> Command {
    ExportArgs::augment_args(Command::new(PART.name))
        .about("Write attempts as JSON lines, CSV or Parquet; a set as WfFormat")
        .after_help(
            "Examples:\n  plimsoll archive export --format parquet --output tasks.parquet\n  \
             plimsoll archive export --set 'run 3' --private > for-others.jsonl\n  \
             plimsoll archive export --set 'run 3' --format wfformat -o run3.json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ExportArgs::from_arg_matches(matches)?;
    if args.output.is_none() && args.format == Word::Parquet && std::io::stdout().is_terminal() {
        bail!("--format parquet is nothing for a terminal: --output FILE, or a pipe");
    }
    if args.format == Word::Wfformat && args.filter.filter().set.is_none() {
        bail!("--format wfformat is of one set: --set NAME");
    }
    work(args.quiet, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let output = args.output.as_deref().map(WholeFile::create).transpose()?;
        let (whole, out): (_, Box<dyn Write + Send>) = match output {
            None => (None, Box::new(std::io::stdout())),
            Some((whole, file)) => (Some(whole), Box::new(file)),
        };
        let count = match write(&args, &archive, work, out) {
            // Who was reading has enough.
            Err(error) if is_closed(&error) => return Ok(0),
            written => written?,
        };
        whole.map(|whole| whole.keep(true)).transpose()?;
        work.clear();
        super::list::damaged(&archive)?;
        if !args.quiet {
            let word = if count == 1 { "attempt" } else { "attempts" };
            stderr::line(&format!("{count} {word}"));
        }
        Ok(0)
    })
}

fn write(
    args: &ExportArgs,
    archive: &Archive,
    work: &Work,
    out: Box<dyn Write + Send>,
) -> Result<u64> {
    let veil = args.private.then(Veil::secret).transpose()?;
    let mut failed = None;
    let mut count = 0;
    let mut give = |push: &mut dyn FnMut(Attempt) -> Result<()>| {
        let heed = |rows| work.heed(&|| format!("{rows} attempts written"));
        rows::each(archive, &args.filter.filter(), &heed, &mut |mut attempt| {
            if let Some(veil) = &veil {
                veil.hide(&mut attempt);
            }
            count += 1;
            Ok(match push(attempt) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            })
        })
        .map_err(anyhow::Error::from)
    };
    match args.format {
        Word::Wfformat => {
            let mut tasks = Tasks::default();
            give(&mut |attempt| Ok(tasks.push(attempt)?))?;
            workflow(&tasks, out, args.quiet)?;
        }
        Word::Parquet => {
            let mut file = ParquetFile::begin(out)?;
            give(&mut |attempt| Ok(file.push(attempt, Texts::default())?))?;
            file.end()?;
        }
        word => {
            let form = if word == Word::Csv {
                Form::Csv
            } else {
                Form::Jsonl
            };
            let mut out = BufWriter::new(out);
            let mut writing = Writing::begin(&mut out, form)?;
            give(&mut |attempt| writing.push(&attempt))?;
            writing.end()?;
            out.flush()?;
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(count),
    }
}

/// Writes a set, and says what of it WfFormat does not take.
fn workflow(tasks: &Tasks, out: Box<dyn Write + Send>, is_quiet: bool) -> Result<()> {
    if tasks.attempts() == 0 {
        bail!("no attempts: a workflow has one task at least");
    }
    let instance = store::archive::wfformat(tasks, env!("CARGO_PKG_VERSION"))?;
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &instance.document).context("the workflow")?;
    out.write_all(b"\n")?;
    out.flush()?;
    let notes = [
        (
            instance.attempts_left_out > 0,
            format!(
                "{} attempts left out: of each task the last that was done is written",
                instance.attempts_left_out
            ),
        ),
        (
            instance.not_executed > 0,
            format!(
                "{} of {} tasks without an execution: not done, or it is not known how long \
                 they took",
                instance.not_executed, instance.tasks
            ),
        ),
        (
            instance.parents_left_out > 0,
            format!(
                "{} parents left out: no task of the set has their name",
                instance.parents_left_out
            ),
        ),
        (
            instance.without_instant,
            "no executions at all: WfFormat wants to know when, and no attempt tells it".to_owned(),
        ),
    ];
    for (_, note) in notes.iter().filter(|(holds, _)| *holds && !is_quiet) {
        stderr::line(&format!("plimsoll archive: note: {note}"));
    }
    Ok(())
}

fn is_closed(error: &anyhow::Error) -> bool {
    let io = error
        .chain()
        .find_map(|cause| match cause.downcast_ref::<std::io::Error>() {
            Some(io) => Some(io.kind()),
            None => cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind),
        });
    io == Some(ErrorKind::BrokenPipe)
}
