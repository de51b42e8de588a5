//! The command line of `plimsoll query`.

use super::when;
use crate::view::style::printable;
use anyhow::{Context, Result, anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use query::{Category, Dialect, FORMATS, Format, Options, Params, REPORTS, Report};
use record::quantity;
use record::unit::{Bytes, Nanos, Unit};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// What sorting and grouping may take by default.
const MEMORY: &str = "1GiB";

#[derive(Debug, Args)]
pub(super) struct QueryArgs {
    /// The folder of the dataset
    pub(super) dataset: PathBuf,
    /// The question; `-` reads it from stdin
    #[arg(conflicts_with = "report")]
    pub(super) sql: Option<String>,
    /// A ready-made report
    #[arg(long, value_name = "NAME", value_parser = reports())]
    pub(super) report: Option<&'static Report>,
    /// How the answer is written [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(super) format: Option<&'static Format>,
    /// Write it to this file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) part: PartArgs,
    #[command(flatten)]
    pub(super) engine: EngineArgs,
    /// Print the report's text for datafusion, duckdb or spark, and do not ask it
    #[arg(long, value_name = "ENGINE", value_parser = dialects())]
    pub(super) print_sql: Option<Dialect>,
    /// Say nothing on stderr but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// What the engine may use.
#[derive(Debug, Args)]
pub(super) struct EngineArgs {
    /// Memory for sorting and grouping; what does not fit goes to files for a while
    #[arg(long, value_name = "SIZE", default_value = MEMORY, value_parser = size)]
    memory: Bytes,
    /// The folder of these files [default: $TMPDIR, else /tmp]
    #[arg(long, value_name = "DIR")]
    temporary: Option<PathBuf>,
    /// CPUs to use [default: all that are there]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl EngineArgs {
    pub(super) fn options(&self) -> Options {
        let usual = usual();
        Options {
            memory: self.memory,
            spill: self.temporary.clone().unwrap_or(usual.spill),
            threads: self.threads.unwrap_or(usual.threads),
        }
    }
}

/// What the engine may use where nobody says it.
pub(super) fn usual() -> Options {
    Options {
        memory: size(MEMORY).unwrap_or(Bytes(1 << 30)),
        spill: std::env::temp_dir(),
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    }
}

/// What is said where a dataset does not have the job that is asked for.
pub(super) fn no_such_job(verb: &str, dataset: &Path, params: &Params) -> String {
    format!(
        "plimsoll {verb}: {} has no job `{}`{}",
        dataset.display(),
        printable(params.job.as_deref().unwrap_or_default()),
        part_words(params)
    )
}

/// Said behind it if only a part was looked at.
pub(super) fn part_words(params: &Params) -> &'static str {
    let is_part = params.from.is_some() || params.to.is_some() || params.host.is_some();
    if is_part { " in that part" } else { "" }
}

/// Of which part of the dataset a report is.
#[derive(Debug, Args)]
pub(super) struct PartArgs {
    /// From this instant on: 2026-11-20, 2026-11-20 13:05 (UTC), or how long ago: 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    from: Option<Nanos>,
    /// Up to this instant
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    to: Option<Nanos>,
    /// Processes of this user alone, by name, or by number where there is no name
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Processes of this job alone; an element of an array is 7_2
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// This host alone
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// So many rows at most
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Programs that are counted together: a TOML file with `name = ["gcc*", "cc1*"]` lines
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
}

impl PartArgs {
    /// Whether no job is named.
    pub(super) fn is_of_no_job(&self) -> bool {
        self.job.is_none()
    }

    /// What a question in SQL does not heed.
    pub(super) fn first(&self) -> Option<&'static str> {
        let given = [
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("user", self.user.is_some()),
            ("job", self.job.is_some()),
            ("host", self.host.is_some()),
            ("limit", self.limit.is_some()),
            ("categories", self.categories.is_some()),
        ];
        given
            .iter()
            .find(|(_, is_given)| *is_given)
            .map(|(name, _)| *name)
    }

    pub(super) fn params(&self) -> Result<Params> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && from >= to
        {
            bail!("--from is not before --to: there is nothing in between");
        }
        let categories = self.categories.as_deref();
        Ok(Params {
            from: self.from,
            to: self.to,
            user: self.user.clone(),
            job: self.job.clone(),
            host: self.host.clone(),
            limit: self.limit,
            categories: categories
                .map(categories_in)
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

/// `name = ["glob", ...]`, in the order of the file: the first that fits counts.
fn categories_in(path: &Path) -> Result<Vec<Category>> {
    let of = || format!("--categories {}", path.display());
    let text = super::named_file::text_of_pipe_or_file(path).with_context(of)?;
    let table: toml::Table = text.parse().with_context(of)?;
    let category = |(name, programs): (String, toml::Value)| {
        let texts = programs.as_array().map(|programs| {
            let texts = programs.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>()
        });
        match texts.flatten() {
            Some(programs) => Ok(Category { name, programs }),
            None => Err(anyhow!(
                "`{name}` is not a list of texts, such as [\"gcc*\", \"cc1*\"]"
            )),
        }
    };
    let all = table.into_iter().map(category).collect::<Result<_>>();
    all.with_context(of)
}

fn reports() -> impl TypedValueParser<Value = &'static Report> {
    let names = REPORTS
        .iter()
        .map(|report| PossibleValue::new(report.name).help(report.doc));
    PossibleValuesParser::new(names).try_map(|name| query::by_name(&name).ok_or("no report"))
}

fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.name).help(format.doc));
    PossibleValuesParser::new(names).try_map(|name| {
        let found = FORMATS.iter().find(|format| format.name == name).copied();
        found.ok_or("no format")
    })
}

fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name)).try_map(|name| {
        let found = Dialect::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or("no engine")
    })
}

fn size(text: &str) -> Result<Bytes> {
    let parsed = quantity::parse(text, Unit::Bytes);
    let bytes = parsed.map(Bytes).map_err(|error| anyhow!("{error}"))?;
    match bytes.0 >= MEMORY_MIN {
        true => Ok(bytes),
        false => Err(anyhow!("16MiB or more")),
    }
}

/// With less nothing can be sorted.
const MEMORY_MIN: u64 = 16 << 20;

pub(super) fn command(name: &'static str) -> Command {
    QueryArgs::augment_args(Command::new(name))
        .about("Ask a dataset in SQL, or for a ready-made report")
        .after_help(
            "Tables: sample, process, exit, job, node, descriptor, gpu, and file, a row for each \
             process and path; docs/segment.md and METRICS.md have their columns. Live segments \
             are read too.\n\n\
             Exit status: 0 answered, 1 it could not be, 2 usage, 130 interrupted.\n\n\
             Examples:\n  \
             plimsoll query /var/lib/plimsoll --report top-cpu --from 7d\n  \
             plimsoll query /var/lib/plimsoll --report tree --job 4711\n  \
             plimsoll query /var/lib/plimsoll 'SELECT max(rss) FROM sample' --format csv\n  \
             plimsoll query /var/lib/plimsoll --report efficiency --print-sql duckdb | duckdb",
        )
}
