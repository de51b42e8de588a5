//! `plimsoll plot`: a job over time as a picture.

use super::query_words::{EngineArgs, no_such_job, part_words};
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, when};
use crate::query::answer::{self, Heard};
use crate::view::plot::{Form, Size, picture};
use crate::view::style::printable;
use crate::view::{stderr, stdout};
use anyhow::{Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};
use query::Params;
use query::plot::{Found, Plot};
use record::unit::Nanos;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use store::place::Place;
use sys::clock::{self, Clock};

/// The verb.
pub const VERB: Verb = Verb {
    name: "plot",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// Where the packaged unit of an agent keeps its dataset.
const DATASET: &str = "/var/lib/plimsoll";

/// What is drawn.
const JOB: &str = "job";

#[derive(Debug, Args)]
struct PlotArgs {
    /// The job, as its scheduler calls it; an element of an array is 7_2
    #[arg(value_name = "JOBID")]
    job: String,
    /// The folder of the dataset
    #[arg(long, value_name = "DIR", default_value = DATASET)]
    dataset: PathBuf,
    /// Write the picture to this file, .svg or .png; what is there is replaced as a whole [default:
    /// stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What is written [default: as the file ends, else svg]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatWord>,
    /// Draw from this instant on: 2026-11-20, 2026-11-20 13:05 (UTC), or how long ago: 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    from: Option<Nanos>,
    /// Draw up to this instant
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    to: Option<Nanos>,
    /// This host alone
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Pixels from left to right
    #[arg(long, value_name = "PIXELS", default_value = "1200",
          value_parser = value_parser!(u32).range(480..=8192))]
    width: u32,
    /// Pixels from top to bottom; letters and lines grow with both
    #[arg(long, value_name = "PIXELS", default_value = "900",
          value_parser = value_parser!(u32).range(360..=8192))]
    height: u32,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// Shapes and letters, for papers and browsers
    Svg,
    /// Pixels
    Png,
}

fn command() -> Command {
    let job = PlotArgs::augment_args(Command::new(JOB))
        .about("Draw memory, CPUs and I/O of a job over time")
        .after_help(
            "Memory and CPUs of all processes together and of each, and what the job read, wrote \
             and mostly did, over one axis of time; more than 400 processes are drawn as a \
             density. Live and compacted files are read, while the job runs and as long as they \
             are kept.\n\n\
             Exit status: 0 drawn, 1 no such job, nothing to draw or no dataset, 2 usage, 130 \
             interrupted.\n\n\
             Examples:\n  \
             plimsoll plot job 4711 --output job.svg\n  \
             plimsoll plot job 4711_3 --dataset /data/plimsoll --output job.png --width 2400 \
             --height 1800\n  \
             plimsoll plot job 4711 --from 2h --host n17 > last-hours.svg",
        );
    Command::new(VERB.name)
        .about("Draw a job over time, as SVG or PNG")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(job)
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let Some((_, matches)) = matches.subcommand() else {
        return Ok(STATUS_USAGE);
    };
    let args = PlotArgs::from_arg_matches(matches)?;
    let form = match usage(&args) {
        Ok(form) => form,
        Err(error) => {
            crate::run::refuse(&error);
            return Ok(STATUS_USAGE);
        }
    };
    // Whether it can be written is known before the question, which may take long.
    let place = args.output.as_deref().map(Place::replacing).transpose()?;
    let params = Params {
        from: args.from,
        to: args.to,
        job: Some(args.job.clone()),
        host: args.host.clone(),
        ..Params::default()
    };
    let told = answer::with(&args.dataset, args.engine.options(), |engine, heed| {
        Plot::of(engine, &params, Nanos(clock::now(Clock::Real)), heed)
    });
    let found = match told? {
        Heard::Answer(found) => found,
        Heard::Status(status) => return Ok(status),
    };
    let plot = match found {
        Found::Plot(plot) => plot,
        nothing => {
            stderr::line(&nothing_to_draw(&args.dataset, &params, &nothing));
            return Ok(STATUS_FAILURE);
        }
    };
    let size = Size {
        width: args.width,
        height: args.height,
    };
    let bytes = picture(&args.job, &plot, size, form)?;
    match place {
        Some(place) => place.write(&bytes).map(|()| 0).map_err(Into::into),
        None => stdout::write(&bytes),
    }
}

/// What is to be written, if all options go together.
fn usage(args: &PlotArgs) -> Result<Form> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(anyhow!(
            "--from is not before --to: there is nothing in between"
        ));
    }
    if args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(anyhow!(
            "a picture is nothing for a terminal: --output job-{}.svg, or a pipe",
            args.job
        ));
    }
    let by_word = args.format.map(|word| match word {
        FormatWord::Svg => Form::Svg,
        FormatWord::Png => Form::Png,
    });
    let by_end = args.output.as_deref().map(form_of).transpose();
    match by_word {
        Some(form) => Ok(form),
        None => Ok(by_end?.unwrap_or(Form::Svg)),
    }
}

/// The format that the end of a file's name tells; of no name that ends in something else.
fn form_of(path: &Path) -> Result<Form> {
    let end = path.extension().unwrap_or_default().to_ascii_lowercase();
    match end.to_str() {
        Some("svg") => Ok(Form::Svg),
        Some("png") => Ok(Form::Png),
        _ => Err(anyhow!(
            "{} ends in neither .svg nor .png: --format svg or --format png",
            path.display()
        )),
    }
}

fn nothing_to_draw(dataset: &Path, params: &Params, found: &Found) -> String {
    let job = params.job.as_deref().unwrap_or_default();
    let (job, part) = (printable(job), part_words(params));
    let dataset_words = dataset.display();
    match found {
        Found::OneReading => format!(
            "plimsoll plot: job `{job}` was met by one reading{part}: a line needs two (plimsoll \
             job shows it)"
        ),
        Found::NoReading => format!(
            "plimsoll plot: job `{job}` was met by no reading in {dataset_words}{part}: there is \
             nothing to draw"
        ),
        _ => no_such_job(VERB.name, dataset, params),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_by_its_end_what_it_is() {
        for (path, form) in [("a/job.svg", Form::Svg), ("JOB.PNG", Form::Png)] {
            assert_eq!(form_of(Path::new(path)).unwrap(), form, "{path}");
        }
        for path in ["job", "job.pdf", ".svg", "/dev/full"] {
            let said = form_of(Path::new(path)).unwrap_err().to_string();
            assert!(said.contains("--format png"), "{said}");
        }
    }
}
