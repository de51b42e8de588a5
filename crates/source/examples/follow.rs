//! Runs a command under one event mechanism and prints what it told, one JSON object a line.
//!
//! `follow MECHANISM COMMAND [ARG...]`; a mechanism that cannot be used here prints why and exits
//! 77.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people and tests to look at"
)]

use record::event::Event;
use record::identity::Ending;
use source::follow::tree::Counts;
use source::notify::connector::Connector;
use source::notify::ptrace::{self, Options, Tracer};
use source::notify::taskstats::{self, ExitValues};
use source::notify::{MECHANISMS, Notify};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use sys::descriptor::{Waiting, poll};

const UNUSABLE: u8 = 77;
const PAUSE_NS: u64 = 5_000_000;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let name = words.next().unwrap_or_default();
    let command: Vec<_> = words.collect();
    let Some(mechanism) = MECHANISMS.iter().find(|mechanism| *mechanism.name == *name) else {
        eprintln!("usage: follow MECHANISM COMMAND [ARG...]");
        return ExitCode::from(64);
    };
    if let Err((reason, why)) = (mechanism.probe)() {
        println!("skipped: {reason:?}: {why}");
        return ExitCode::from(UNUSABLE);
    }
    match watch(mechanism.name, &command) {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(255)),
        Err(error) => {
            eprintln!("follow: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A process of one thread that becomes the command when a line is written to it.
fn blocked(command: &[std::ffi::OsString]) -> std::io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", "read go && exec \"$@\" </dev/null", "sh"])
        .args(command)
        .stdin(Stdio::piped())
        .spawn()
}

enum Source {
    Connector(Box<Connector>),
    Tracer(Tracer),
}

impl Source {
    fn notify(&mut self) -> &mut dyn Notify {
        match self {
            Source::Connector(connector) => connector.as_mut(),
            Source::Tracer(tracer) => tracer,
        }
    }

    fn is_tracer(&self) -> bool {
        matches!(self, Source::Tracer(_))
    }

    fn counts(&self) -> Counts {
        match self {
            Source::Connector(connector) => connector.counts(),
            Source::Tracer(tracer) => tracer.counts(),
        }
    }
}

fn open(name: &str, root: u32, adopter: u32) -> Result<Source, source::Error> {
    if name == ptrace::MECHANISM.name {
        let tracer = Tracer::start(Path::new("/proc"), root, adopter, Options::default())?;
        return Ok(Source::Tracer(tracer));
    }
    let mut connector = Connector::open(Path::new("/proc"))?;
    if name == taskstats::MECHANISM.name {
        connector.add_values(ExitValues::open()?);
    }
    connector.follow(root, adopter);
    Ok(Source::Connector(Box::new(connector)))
}

type Failure = Box<dyn std::error::Error>;

fn watch(name: &str, command: &[std::ffi::OsString]) -> Result<i32, Failure> {
    sys::process::become_subreaper()?;
    let mut child = blocked(command)?;
    let root = child.id();
    let mut source = open(name, root, std::process::id())?;
    let before = sys::clock::now(sys::clock::Clock::Process);
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(b"go\n")?;
    }
    let mut tally = Tally::default();
    let mut events = Vec::new();
    let mut status = None;
    loop {
        let notify = source.notify();
        let fd = Some(notify.fd());
        let exceptional = false;
        poll(&[Waiting { fd, exceptional }], Some(100_000_000))?;
        poll(&[], Some(PAUSE_NS))?;
        source.notify().read(&mut events)?;
        for event in events.drain(..) {
            tally.add(root, &event);
        }
        // A wait for any child would take stops from the tracing thread. An error is that no child
        // is left.
        while !source.is_tracer()
            && let Ok(Some(waited)) = sys::process::wait_any(false)
        {
            if waited.pid == root {
                status = Some(waited.status);
            }
        }
        // A traced child of this very process is waited for by the tracing thread.
        let ended = status.is_some() || tally.root_ending.is_some();
        if ended && source.counts().processes_alive == 0 {
            break;
        }
    }
    let cost = sys::clock::now(sys::clock::Clock::Process).saturating_sub(before);
    tally.print(name, &source.counts(), cost);
    let waited = status.map(Ending::from_wait_status);
    Ok(waited.or(tally.root_ending).map_or(0, Ending::shell_status))
}

#[derive(Default)]
struct Tally {
    forks: u64,
    execs: u64,
    exits: u64,
    valued: u64,
    lost: u64,
    root_ending: Option<Ending>,
    endings: Vec<i32>,
    cpu_ns: u64,
    bytes_read: u64,
    reads: u64,
    rss_peak: u64,
}

impl Tally {
    fn add(&mut self, root: u32, event: &Event) {
        match event {
            Event::Fork { .. } => self.forks += 1,
            Event::Exec { .. } => self.execs += 1,
            Event::Lost { count, .. } => self.lost += count,
            Event::Final { .. } => {}
            Event::Exit {
                pid,
                ending,
                own,
                peaks,
                ..
            } => {
                self.exits += 1;
                if *pid == root {
                    self.root_ending = *ending;
                }
                self.endings
                    .extend(ending.map(Ending::shell_status).filter(|s| *s != 0));
                if let Some(own) = own {
                    self.valued += 1;
                    self.cpu_ns += own.cpu.map_or(0, |cpu| cpu.0);
                    self.bytes_read += own.bytes_read.map_or(0, |bytes| bytes.0);
                    self.reads += own.reads.unwrap_or(0);
                }
                let rss = peaks.and_then(|peaks| peaks.rss).map_or(0, |rss| rss.0);
                self.rss_peak = self.rss_peak.max(rss);
            }
        }
    }

    fn print(&self, name: &str, counts: &Counts, cost_ns: u64) {
        let root = self.root_ending.map_or(-1, Ending::shell_status);
        println!(
            "{{\"mechanism\":\"{name}\",\"forks\":{},\"execs\":{},\"exits\":{},\"lost\":{},\
             \"root\":{root},\"endings\":{:?},\"total\":{},\"peak\":{},\"peak_least\":{},\
             \"alive\":{},\"threads_peak\":{},\"threads_alive\":{},\"exact\":{},\"valued\":{},\
             \"cpu_ns\":{},\"bytes_read\":{},\"reads\":{},\"rss_peak\":{},\
             \"monitor_ns\":{cost_ns}}}",
            self.forks,
            self.execs,
            self.exits,
            self.lost,
            self.endings,
            counts.processes_total,
            counts.processes_peak,
            counts.processes_peak_least,
            counts.processes_alive,
            counts.threads_peak,
            counts.threads_alive,
            counts.exact,
            self.valued,
            self.cpu_ns,
            self.bytes_read,
            self.reads,
            self.rss_peak
        );
    }
}
