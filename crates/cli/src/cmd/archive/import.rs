//! `plimsoll archive import`: what other tools told of tasks.

use super::filter::EndWord;
use super::{Part, PlaceArgs, Status, work};
use crate::archive::place;
use crate::archive::work::Work;
use crate::cmd::STATUS_FAILURE;
use crate::view::stderr;
use crate::view::style::printable;
use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::Error;
use store::archive::{Intake, Taken, Texts};
use store::export::series;
use store::import::{
    ColumnMap, FORMATS, Format, Options, Rejected, Row, Summary, detect, format, read, unpacked,
};

pub(super) const PART: Part = Part {
    name: "import",
    command,
    call,
};

/// So many rejected records are named on stderr where no file takes them.
const NAMED_MAX: u64 = 20;

#[derive(Debug, Args)]
struct ImportArgs {
    /// What the files are [default: as they look]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    from: Option<&'static Format>,
    /// Files, gzip'ed or not; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The set that the attempts belong to [default: as the file says, else none]
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Which column of a CSV is what: memory=peak_mb:MB,wall=seconds:s,category=task
    #[arg(long, value_name = "FIELD=COLUMN[:UNIT],...", value_parser = ColumnMap::parse)]
    map: Option<ColumnMap>,
    /// How attempts ended of which the files do not tell it [default: done where no column of a CSV
    /// tells it, else unknown]
    #[arg(long, value_enum, value_name = "HOW")]
    end: Option<EndWord>,
    /// How far local times without a zone are ahead of UTC: +02:00, -05:30 [default: 0]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    /// Write what is no attempt to this file, one JSON object a record [default: the first on
    /// stderr]
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

fn command() -> Command {
    ImportArgs::augment_args(Command::new(PART.name))
        .about("Take in what other tools told of tasks")
        .after_help(
            "Each record becomes an attempt or is named with the reason; importing a file again \
             changes nothing (docs/import.md).\n\n\
             Exit status: 0 all taken in, 1 some records are no attempts or a file cannot be read, \
             2 usage, 130 interrupted.\n\nExamples:\n  \
             plimsoll archive import --from nextflow trace.txt --set 'run 3'\n  \
             plimsoll archive set 'run 3' --description 'with the new aligner'\n  \
             sacct --parsable2 --allusers --starttime 2026-11-01 --format \
             JobID,JobName,State,Submit,Start,End,Elapsed,MaxRSS,ReqMem,ReqCPUS,TotalCPU,ExitCode \
             | plimsoll archive import --from sacct -\n  \
             plimsoll archive import --from csv --map memory=rss_kb:KiB,category=name t.csv",
        )
}

fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS
        .iter()
        .map(|one| PossibleValue::new(one.name).help(one.doc));
    PossibleValuesParser::new(names.collect::<Vec<_>>())
        .try_map(|name| format(&name).ok_or("there is no such format"))
}

/// `+02:00` in seconds.
fn offset(text: &str) -> Result<i32> {
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => (1, text),
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
    let number = |text: &str, most: i32| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>()
            .ok()
            .filter(|value| digits && *value <= most)
    };
    match (number(hours, 14), number(minutes, 59)) {
        (Some(hours), Some(minutes)) => Ok(sign * (hours * 3600 + minutes * 60)),
        _ => bail!("an offset is +HH:MM or -HH:MM"),
    }
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ImportArgs::from_arg_matches(matches)?;
    take_in(&Request {
        from: args.from,
        files: &args.files,
        place: &args.place,
        options: Options {
            set: args.set,
            columns: args.map,
            utc_offset_seconds: args.utc_offset.unwrap_or(0),
            end: args.end.map(EndWord::end),
            ..Options::default()
        },
        rejects: args.rejects.as_deref(),
        quiet: args.quiet,
        beside: false,
    })
}

/// What is to be taken in.
pub(super) struct Request<'a> {
    pub(super) from: Option<&'static Format>,
    pub(super) files: &'a [PathBuf],
    pub(super) place: &'a PlaceArgs,
    /// Without the name of a file.
    pub(super) options: Options,
    pub(super) rejects: Option<&'a Path>,
    pub(super) quiet: bool,
    /// Whether what a task used over time comes from the file of it beside the report.
    pub(super) beside: bool,
}

/// Takes in all files; the status says whether all of it could be.
pub(super) fn take_in(args: &Request<'_>) -> Result<Status> {
    work(args.quiet, |work| {
        let mut archive = place::create(&args.place.path()?, work)?;
        let mut rejects = Rejects::open(args.rejects)?;
        let mut intake = archive.intake();
        let mut sum = Sum::default();
        let mut failed = None;
        for path in args.files {
            let done = file(args, path, (&mut intake, &mut rejects), work, &mut sum);
            if let Err(error) = done {
                let error = error.context(path.display().to_string());
                if work.is_stopped() {
                    failed = Some(error);
                    break;
                }
                work.clear();
                crate::run::refuse(&error);
                sum.unread += 1;
            }
        }
        // What was read before the end is kept in any case.
        let taken = intake.end(SystemTime::now())?;
        rejects.end()?;
        work.clear();
        if !args.quiet {
            sum.tell(taken);
        }
        match failed {
            Some(error) => Err(error),
            None if sum.rejected + sum.unread > 0 => Ok(STATUS_FAILURE),
            None => Ok(0),
        }
    })
}

/// What came of all files.
#[derive(Default)]
struct Sum {
    records: u64,
    rejected: u64,
    joined: u64,
    supposed: u64,
    unread: u64,
}

impl Sum {
    fn add(&mut self, one: Summary) {
        self.records += one.records;
        self.rejected += one.rejected;
        self.joined += one.joined;
        self.supposed += one.supposed;
    }

    fn tell(&self, taken: Taken) {
        let mut words = vec![format!(
            "{} record{}: {} new, {} known before",
            self.records,
            if self.records == 1 { "" } else { "s" },
            taken.new,
            taken.known
        )];
        if self.joined > 0 {
            words.push(format!("{} that tell more of one of these", self.joined));
        }
        if self.rejected > 0 {
            words.push(format!("{} rejected", self.rejected));
        }
        if self.unread > 0 {
            words.push(format!("{} files not read to their end", self.unread));
        }
        stderr::line(&words.join(", "));
        if self.supposed > 0 {
            stderr::line(
                "note: no column tells how they ended: taken as done (--end unknown: nobody knows; \
                 --map exit_code=COLUMN: a column does)",
            );
        }
    }
}

/// Takes in one file.
fn file(
    args: &Request<'_>,
    path: &Path,
    (intake, rejects): (&mut Intake<'_>, &mut Rejects),
    work: &Work,
    sum: &mut Sum,
) -> Result<()> {
    let input: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => Box::new(BufReader::new(File::open(path)?)),
    };
    let mut input = unpacked(input)?;
    if input.fill_buf()?.is_empty() {
        bail!("it is empty");
    }
    let name = path.display().to_string();
    let format = match args.from {
        Some(format) => format,
        None => detect(&name, input.fill_buf()?)
            .context("it looks like none of the formats: --from FORMAT says which it is")?,
    };
    let options = Options {
        file: Some(name.clone()),
        path: from_root(path).map(|path| path.display().to_string()),
        ..args.options.clone()
    };
    let mut failed: Option<anyhow::Error> = None;
    let mut records = 0;
    let mut series = args.beside.then(|| series_beside(path)).flatten();
    let summary = read(format, input, &options, &mut |row| {
        records += 1;
        let done = match row {
            Row::Attempt(attempt, report) => {
                let series = series.take();
                let texts = Texts { report, series };
                let taken = intake.take(*attempt, texts);
                taken.map(drop).map_err(Into::into)
            }
            Row::Rejected(rejected) => rejects.push(&name, &rejected, work),
        };
        let is_wanted = work.heed(&|| format!("{name}: {records} records read"));
        match done {
            Ok(()) if is_wanted => return ControlFlow::Continue(()),
            Ok(()) => failed = Some(Error::Interrupted.into()),
            Err(error) => failed = Some(error),
        }
        ControlFlow::Break(())
    })?;
    sum.add(summary);
    failed.map_or(Ok(()), Err)
}

/// The path of a file from the root on: the file is the same however its path is given. Links stay
/// as they are, but in front of a `..` that its folder is named by.
fn from_root(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder.ends_with("..") => {
            Some(folder.canonicalize().ok()?.join(name))
        }
        _ => Some(path),
    }
}

/// Larger ones are no series of ours.
const SERIES_BYTES_MAX: u64 = 64 << 20;

/// The series that `plimsoll run --with series` wrote beside PREFIX.json. Without it the report is
/// added all the same.
fn series_beside(path: &Path) -> Option<String> {
    let name = path.to_str()?.strip_suffix(".json")?;
    let path = format!("{name}.{}", series::EXTENSION);
    let read = || -> Result<Option<String>> {
        let mut text = String::new();
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        file.take(SERIES_BYTES_MAX).read_to_string(&mut text)?;
        let series = series::read(&text).map_err(anyhow::Error::msg)?;
        Ok(Texts::default().with_series(&series)?.series)
    };
    read().unwrap_or_else(|error| {
        let words = format!("plimsoll archive: note: {path}: {error}: not added");
        stderr::line(&printable(&words));
        None
    })
}

/// Where records go that are no attempts.
struct Rejects {
    file: Option<BufWriter<File>>,
    told: u64,
}

impl Rejects {
    fn open(path: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| File::create(path).with_context(|| path.display().to_string());
        let file = path.map(create).transpose()?;
        Ok(Self {
            file: file.map(BufWriter::new),
            told: 0,
        })
    }

    fn push(&mut self, file: &str, one: &Rejected, work: &Work) -> Result<()> {
        self.told += 1;
        let Some(out) = &mut self.file else {
            if self.told <= NAMED_MAX {
                work.clear();
                let place = one.place;
                let words = format!("{file}: {place}: {}: {}", one.why, one.text);
                stderr::line(&printable(&words));
            }
            return Ok(());
        };
        let place = one.place.to_string();
        let line = json!({"file": file, "place": place, "why": one.why, "text": one.text});
        writeln!(out, "{line}").context("--rejects")
    }

    fn end(self) -> Result<()> {
        if self.file.is_none() && self.told > NAMED_MAX {
            let more = self.told - NAMED_MAX;
            stderr::line(&format!("{more} more: --rejects FILE names all of them"));
        }
        match self.file {
            Some(mut file) => file.flush().context("--rejects"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[test]
    fn an_offset_is_of_hours_and_minutes() {
        for (text, seconds) in [
            ("+02:00", 7200),
            ("-05:30", -19_800),
            ("0", 0),
            ("+1", 3600),
        ] {
            assert_eq!(offset(text).unwrap(), seconds, "{text}");
        }
        for text in ["", "+", "25", "+1:60", "CET", "--1", "+-1"] {
            assert!(offset(text).is_err(), "{text}");
        }
    }
}
