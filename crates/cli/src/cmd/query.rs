//! `plimsoll query`: a dataset is asked in SQL, or for a ready-made report.

use super::query_words::{self, QueryArgs};
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::query::answer::{self, Asks, Question};
use crate::view::{stderr, stdout};
use anyhow::{Context, Result, anyhow, bail};
use clap::{ArgMatches, Command, FromArgMatches};
use query::{Dialect, FORMATS, Look, REPORTS};
use std::io::{IsTerminal, Read};

/// The verb.
pub const VERB: Verb = Verb {
    name: "query",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// Longer questions are refused.
const QUESTION_BYTES_MAX: u64 = 1 << 20;

fn command() -> Command {
    query_words::command(VERB.name)
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = QueryArgs::from_arg_matches(matches)?;
    let refuse = |error: anyhow::Error| {
        crate::run::refuse(&error);
        Ok(STATUS_USAGE)
    };
    let params = match args.part.params() {
        Ok(params) => params,
        Err(error) => return refuse(error),
    };
    if let Err(error) = goes_together(&args) {
        return refuse(error);
    }
    if let (Some(report), Some(dialect)) = (args.report, args.print_sql) {
        return print_sql(&args, &report.sql(&params, dialect), dialect);
    }
    let text;
    let asks = match (args.report, &args.sql) {
        (Some(report), _) => Asks::Report(report, &params),
        (None, Some(sql)) if sql == "-" => {
            text = from_stdin()?;
            Asks::Text(&text)
        }
        (None, Some(sql)) => Asks::Text(sql),
        (None, None) => {
            let names: Vec<_> = REPORTS.iter().map(|report| report.name).collect();
            return refuse(anyhow!(
                "a question in SQL is missing, or --report {}",
                names.join("|")
            ));
        }
    };
    let to_screen = args.output.is_none() && std::io::stdout().is_terminal();
    let Some(format) = args.format.or(FORMATS.first().copied()) else {
        return refuse(anyhow!("no format"));
    };
    if format.is_binary && to_screen {
        return refuse(anyhow!(
            "--format {} is nothing for a terminal: --output FILE, or a pipe",
            format.name
        ));
    }
    let width = terminal_size::terminal_size_of(std::io::stdout()).filter(|_| to_screen);
    let question = Question {
        dataset: &args.dataset,
        asks,
        format,
        look: Look {
            width: width.map(|(terminal_size::Width(width), _)| width.into()),
            kinds: args
                .report
                .map_or(Vec::new(), |report| report.kinds.to_vec()),
        },
        output: args.output.as_deref(),
        quiet: args.quiet,
        options: args.engine.options(),
    };
    answer::give(question)
}

/// Options that are given for nothing, or are missing.
fn goes_together(args: &QueryArgs) -> Result<()> {
    if let Some(report) = args.report.filter(|report| report.needs_job)
        && args.part.is_of_no_job()
    {
        bail!("the report {} is of one job: --job ID", report.name);
    }
    let of_report = args.part.first();
    let of_report = of_report.or(args.print_sql.map(|_| "print-sql"));
    match (args.report, of_report) {
        (None, Some(name)) => {
            bail!("--{name} goes with --report NAME; a question in SQL has its WHERE")
        }
        _ => Ok(()),
    }
}

/// The text for an engine, with what it needs in front; a table of ours has live rows too.
fn print_sql(args: &QueryArgs, text: &str, dialect: Dialect) -> Result<Status> {
    let tables = query::elsewhere::tables(&args.dataset, dialect)?;
    let segments = store::compact::Snapshot::of(&args.dataset)?.segments;
    if dialect != Dialect::DataFusion && !segments.is_empty() && !args.quiet {
        stderr::line(&format!(
            "plimsoll query: {} live segments are not in it: `plimsoll compact` first",
            segments.len()
        ));
    }
    stdout::write(format!("{tables}{text};\n").as_bytes())
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    let mut stdin = std::io::stdin().lock().take(QUESTION_BYTES_MAX + 1);
    stdin.read_to_string(&mut text).context("stdin")?;
    if text.len() as u64 > QUESTION_BYTES_MAX {
        bail!("a question has at most 1 MiB");
    }
    Ok(text)
}
