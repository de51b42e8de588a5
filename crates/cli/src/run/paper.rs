//! Where the report goes: its files, the common file, stderr, and the status line while the task
//! runs.

use super::archived::{self, Archived};
use super::assemble::{self, Assembled};
use super::eyes::Eyes;
use super::facts::Facts;
use super::hold::Hold;
use super::live::Live;
use super::printed::{Printed, Texts, open_file};
use crate::cmd::formats::{Destination, Kind};
use crate::cmd::run::{Level, RunOptions};
use crate::view::status;
use crate::view::style::{Style, environment_allows_color};
use anyhow::{Context, Result, bail};
use record::report::Report;
use record::unit::Nanos;
use std::io::{self, IsTerminal, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use store::archive::folder::Folder;
use store::export::{self, json, jsonl};
use store::file::{Output, write_file};
use store::place::Place;

/// The running state is first written at this age, and then at most this often.
const RUNNING_PERIOD: Nanos = Nanos::from_secs(10);

/// The places of one report.
pub(crate) struct Paper {
    output: Option<Output>,
    append: Option<Place>,
    archive: Option<Folder>,
    printed: Printed,
    next_running: Nanos,
    live: Option<Live>,
}

impl Paper {
    /// Makes sure that everything can be written, before the task starts. `inherited` are the
    /// descriptors that we were started with.
    pub(crate) fn check(options: &RunOptions, inherited: &[RawFd]) -> Result<Self> {
        let prefix = options.output.as_deref().map(absolute).transpose()?;
        let output = prefix.as_deref().map(Output::check).transpose()?;
        if let Some(output) = &output {
            check_beside(output, options)?;
        }
        let append = options.append.as_deref();
        let append = append.map(|path| open_file(path, Place::appending));
        let append = append.transpose()?;
        let archive = options.archive.as_ref();
        Ok(Self {
            archive: archive.map(Archived::open).transpose()?,
            output,
            append,
            printed: Printed::check(options, inherited)?,
            next_running: Nanos(u64::MAX),
            live: options.live.then(Live::open).flatten(),
        })
    }

    /// Device and inode of the files that are ours, not the task's.
    pub(crate) fn own_files(&self) -> Vec<(u64, u64)> {
        let output = self.output.as_ref().map(Output::identity);
        let append = self.append.as_ref().map(Place::identity);
        // One that its file system does not tell of counts as the task's.
        output
            .into_iter()
            .chain(append)
            .filter_map(Result::ok)
            .chain(self.printed.identities())
            .collect()
    }

    /// The task started at `start`.
    pub(crate) fn started(&mut self, start: Nanos) {
        self.next_running = start.plus(RUNNING_PERIOD);
    }

    /// When something is to be written.
    pub(crate) fn next(&self) -> Option<Nanos> {
        let running = self.output.as_ref().map(|_| self.next_running);
        let live = self.live.as_ref().map(Live::next);
        running.into_iter().chain(live).min()
    }

    /// Whether the status line has the bottom row of the terminal.
    pub(crate) fn has_row(&self) -> bool {
        self.live.as_ref().is_some_and(Live::has_row)
    }

    /// The terminal was resized.
    pub(crate) fn resized(&mut self) {
        if let Some(live) = &mut self.live {
            live.resized();
        }
    }

    /// Draws the status line, if it is time; `stopped`: the task is.
    pub(crate) fn live(
        &mut self,
        now: Nanos,
        stopped: bool,
        (facts, eyes, hold): (&Facts, &Eyes, &Hold),
    ) {
        if let Some(live) = &mut self.live {
            live.look(now, stopped, |width| {
                let state = eyes.tree.live(now);
                status::status_line(&assemble::status_now(&state, hold, facts.start), width)
            });
        }
    }

    /// The task was stopped or is over: its terminal is another's.
    pub(crate) fn pause(&mut self) {
        if let Some(live) = &mut self.live {
            live.pause();
        }
    }

    /// Writes the running state, if it is time.
    pub(crate) fn running_state(&mut self, now: Nanos, facts: &Facts, eyes: &Eyes, hold: &Hold) {
        if now < self.next_running {
            return;
        }
        self.next_running = now.plus(RUNNING_PERIOD);
        let Some(output) = &mut self.output else {
            return;
        };
        let report = assemble::running_report(now, facts, eyes, hold);
        let written = json::encode(&report).and_then(|text| output.write_running(&text));
        if let Err(error) = written {
            super::warn(&super::chain(&anyhow::Error::from(error)));
            // A full disk may have room in ten seconds; the task goes on in any case.
        }
    }

    /// The task is over: standard error is ours alone.
    pub(crate) fn take_stderr(&self) {
        self.printed.take_stderr();
    }

    /// Writes the end of an attempt that another follows: into what keeps all of them.
    pub(crate) fn write_between(self, done: &Assembled, options: &RunOptions) {
        let append = self.append.map(|append| add_line(append, &done.report));
        let set = options.archive.as_ref().and_then(|one| one.set.clone());
        let archive = self.archive;
        let series = done.summary.as_ref().map(|summary| &summary.series);
        let archive = archive.map(|folder| archived::add(&folder, set, &done.report, series));
        if let Some(mut live) = self.live {
            live.end();
        }
        drop((self.output, self.printed));
        clear_after_death(options, std::process::id());
        let failed = [append, archive].into_iter().flatten();
        for error in failed.filter_map(Result::err) {
            super::warn(&super::chain(&error));
        }
    }

    /// Writes the end everywhere. What fails is a warning: the task is over and its status stands.
    pub(crate) fn write(self, done: &Assembled, options: &RunOptions) {
        self.take_stderr();
        let beside = self.output.as_ref();
        let beside = beside.map_or_else(Vec::new, |output| write_beside(output, done, options));
        let output = self
            .output
            .map_or(Ok(()), |output| finish(output, &done.report));
        let append = self
            .append
            .map_or(Ok(()), |append| add_line(append, &done.report));
        let set = || {
            options
                .archive
                .as_ref()
                .and_then(|archive| archive.set.clone())
        };
        let judged = self.archive.clone();
        let archive = self.archive.map_or(Ok(()), |folder| {
            let series = done.summary.as_ref().map(|summary| &summary.series);
            archived::add(&folder, set(), &done.report, series)
        });
        // A terminal that is held up holds up what is for people alone.
        if let Some(mut live) = self.live {
            live.end();
        }
        let texts = Texts::new(done, options, &self.printed, judged);
        let unprinted = self.printed.write(&texts);
        let files = [output, append, archive];
        let lost = files.iter().any(Result::is_err) || !unprinted.is_empty();
        let failed = files.into_iter().filter_map(Result::err);
        for error in beside.into_iter().chain(failed).chain(unprinted) {
            super::warn(&super::chain(&error));
        }
        if let Err(error) = to_stderr(&texts, options, lost) {
            super::warn(&super::chain(&error));
        }
    }
}

/// A path that stays the same when the working directory is left.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot write {}", path.display()))
}

/// The monitor of this pid died: removes what it made for its reports, as far as there is nothing
/// in it. A running state stays: its path.
pub(crate) fn clear_after_death(options: &RunOptions, monitor_pid: u32) -> Option<PathBuf> {
    for asked in &options.formats {
        if let Destination::Replaced(path) = &asked.to {
            store::place::remove_empty(path, monitor_pid);
        }
    }
    let prefix = options.output.as_ref()?;
    store::file::remove_empty_state(prefix, monitor_pid)
}

fn finish(output: Output, report: &Report) -> Result<()> {
    let text = json::encode(report)?;
    Ok(output.finish(&text)?)
}

fn add_line(append: Place, report: &Report) -> Result<()> {
    let line = jsonl::encode(report)?;
    Ok(append.write(&line)?)
}

/// Makes sure that the files that were asked for beside the report can be written.
fn check_beside(output: &Output, options: &RunOptions) -> Result<()> {
    let with_files = options.level == Some(Level::Io);
    let asked = [
        (options.with_processes, export::processes::EXTENSION),
        (with_files, export::files::EXTENSION),
        (with_files, export::sockets::EXTENSION),
        (options.syscalls, export::syscalls::EXTENSION),
        (options.with_series.is_some(), export::series::EXTENSION),
    ];
    for (_, extension) in asked.iter().filter(|(asked, _)| *asked) {
        if let Err(error) = output.check_beside(extension) {
            let why = super::chain(&error.into());
            bail!("--output: {why}: take away what is there, or give another PREFIX");
        }
    }
    Ok(())
}

/// Writes the files beside the report, each whatever becomes of the others; what could not be
/// written.
fn write_beside(output: &Output, done: &Assembled, options: &RunOptions) -> Vec<anyhow::Error> {
    let mut failed: Vec<anyhow::Error> = Vec::new();
    let Some(summary) = &done.summary else {
        return failed;
    };
    let mut write = |extension: &str, fill: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let written = write_file(&output.beside(extension), fill);
        failed.extend(written.map_err(anyhow::Error::from).err());
    };
    if options.with_processes {
        write(export::processes::EXTENSION, &|out| {
            export::processes::write(summary.processes.iter(), out)
        });
    }
    if let Some(files) = &done.files {
        write(export::files::EXTENSION, &|out| {
            export::files::write(&files.lines, &files.others, out)
        });
        let sockets = &files.sockets;
        write(export::sockets::EXTENSION, &|out| {
            export::sockets::write(&sockets.lines, &sockets.others, out)
        });
    }
    if let Some(calls) = &done.calls {
        write(export::syscalls::EXTENSION, &|out| {
            export::syscalls::write(&calls.processes, out)
        });
    }
    if options.with_series.is_some() {
        write(export::series::EXTENSION, &|out| {
            export::series::write(&summary.series, out)
        });
    }
    failed
}

/// What was measured cannot be had again: if it is `lost` elsewhere (a full disk), it stands here.
fn to_stderr(texts: &Texts<'_>, options: &RunOptions, lost: bool) -> Result<()> {
    let stderr = std::io::stderr();
    let mut kinds = options.on_stderr(stderr.is_terminal());
    if kinds.is_empty() && lost && !options.quiet {
        kinds.push(Kind::Text);
    }
    let style = Style::of(&stderr, environment_allows_color());
    for kind in kinds {
        let text = texts.of(kind, style)?;
        stderr
            .lock()
            .write_all(&text)
            .context("cannot write the report to stderr")?;
    }
    Ok(())
}
