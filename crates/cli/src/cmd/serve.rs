//! `plimsoll serve`: an archive by HTTP.

use super::archive::PlaceArgs;
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::archive::page::{self, Page};
use crate::archive::place;
use crate::archive::work::Work;
use crate::interrupt;
use crate::serve::submissions::Taker;
use crate::view::stderr;
use crate::view::style::printable;
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity;
use record::unit::Unit;
use serve::http::{Address, Certificate, Receipt, Server, Settings, Submissions};
use serve::{Answers, Refusal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::archive::Archive;
use sys::signal;

/// The verb.
pub const VERB: Verb = Verb {
    name: "serve",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

#[derive(Debug, Args)]
struct ServeArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Where: IP:PORT, [IPv6]:PORT or unix:PATH; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8123")]
    listen: Address,
    /// Speak TLS with this certificate, in PEM with those that it rests on behind it
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Speak plain HTTP where other machines can reach it: whoever is on the way reads and changes
    /// all of it
    #[arg(long)]
    insecure: bool,
    /// Take attempts from those who have a token of this file: a line each, NAME TOKEN or
    /// NAME sha256:DIGITS; nobody else may read it
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Bytes that are submitted at once
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = submission_max)]
    submission_max: u32,
    /// What stands above the page [default: the name of the archive's folder]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Write a line to stderr for each request
    #[arg(long)]
    log: bool,
}

fn command() -> Command {
    ServeArgs::augment_args(Command::new(VERB.name))
        .about("Show an archive in a browser, and take attempts from other machines")
        .after_help(
            "In the foreground, until SIGINT or SIGTERM ends it; what is under way then has 5 \
             seconds. SIGHUP reads certificate and tokens again. docs/serve.md has all of it.\n\n\
             Exit status: 130 or 143 as the signal that ended it, 1 if it cannot listen, 2 \
             usage.\n\nExamples:\n  \
             plimsoll serve\n  \
             ssh -L 8123:localhost:8123 host plimsoll serve\n  \
             plimsoll serve --listen 0.0.0.0:8123 --certificate c.pem --key k.pem --tokens t",
        )
}

fn submission_max(text: &str) -> Result<u32, String> {
    let size = quantity::parse(text, Unit::Bytes).map_err(|error| error.to_string())?;
    match u32::try_from(size) {
        Ok(size) if (1..=1 << 30).contains(&size) => Ok(size),
        _ => Err("at least a byte, and at most 1GiB: a body is held in memory".to_owned()),
    }
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ServeArgs::from_arg_matches(matches)?;
    let path = args.place.path()?;
    let opened = |takes: bool| open(&path, takes);
    let submissions: Arc<dyn Submissions> = match &args.tokens {
        Some(_) => match opened(true)? {
            Ok(archive) => Arc::new(Taker::new(archive)),
            Err(status) => return Ok(status),
        },
        None => Arc::new(Nobody),
    };
    let title = args.title.unwrap_or_else(|| page::title(Some(&path)));
    let answers: Arc<dyn Answers> = match opened(false)? {
        Ok(archive) => Arc::new(Page::new(archive, title, true)),
        Err(status) => return Ok(status),
    };
    let certificate = args.certificate.zip(args.key);
    let settings = Settings {
        listen: args.listen,
        certificate: certificate.map(|(certificate, key)| Certificate { certificate, key }),
        is_insecure: args.insecure,
        tokens: args.tokens,
        submission_bytes_max: args.submission_max,
        page: serve::page::built(),
        log: args.log.then_some(Arc::new(|line: &str| say(line))),
        say: Arc::new(|line| say(&format!("plimsoll: {line}"))),
    };
    let server = Server::open(settings)?;
    say(&format!("{} shows {}", server.url(), path.display()));
    Ok(interrupt::status(server.run(answers, submissions)))
}

fn say(line: &str) {
    stderr::line(&printable(line));
}

/// The archive, one that is made if it is to take in attempts; a status if a signal came first.
fn open(path: &Path, takes: bool) -> Result<Result<Archive, Status>> {
    let mut work = Work::begin(false)?;
    let opened = match takes {
        true => place::create(path, &mut work),
        false => place::open(path, &mut work),
    };
    let mut archive = None;
    let status = work.end(opened.map(|opened| {
        archive = Some(opened);
        0
    }))?;
    // The server waits for signals in its own way.
    signal::set_mask(0);
    Ok(archive.ok_or(status))
}

/// Who takes nothing.
struct Nobody;

impl Submissions for Nobody {
    fn take(
        &self,
        _: &mut dyn std::io::BufRead,
        _: &str,
        _: Option<String>,
    ) -> Result<Receipt, Refusal> {
        Err(Refusal::Question("no attempts are taken here".to_owned()))
    }
}
