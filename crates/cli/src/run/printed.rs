//! The formats of a report that were asked for by name: their places, opened before the task
//! starts, and their texts after its end.

use super::assemble::Assembled;
use super::command::{self, Found};
use super::executable;
use super::judged;
use crate::cmd::formats::{CapturedFile, Destination, Kind};
use crate::cmd::run::RunOptions;
use crate::view::report as screen;
use crate::view::style::Style;
use anyhow::{Context, Result, bail};
use record::report::Process;
use reduce::series::Series;
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use store::archive::folder::Folder;
use store::export::{Details, Record, TaskOutput, Wants};
use store::place::{Place, is_same_file};
use sys::{descriptor, process};

/// Most of an output of the task that a record shows, whatever is asked for.
const OUTPUT_BYTES_MAX: u64 = 1 << 28;

/// The places of the formats that do not go to stderr, and the outputs of the task that they show.
#[derive(Debug)]
pub(crate) struct Printed {
    places: Vec<(Kind, Place)>,
    /// Files without a name, by the name of the output.
    captured: Vec<(&'static str, File)>,
    /// Where our own messages go, if not to what the task has as standard error.
    messages: Option<OwnedFd>,
    /// What kind of file the command's program is, while it can be found.
    executable: Option<&'static str>,
}

impl Printed {
    /// Opens every place; `inherited` are the descriptors that we were started with.
    pub(crate) fn check(options: &RunOptions, inherited: &[RawFd]) -> Result<Self> {
        let mut places = Vec::new();
        for asked in &options.formats {
            let name = asked.kind.name();
            let place = match &asked.to {
                Destination::Default | Destination::Stderr => continue,
                Destination::Descriptor(fd) => open_descriptor(*fd, inherited),
                Destination::Replaced(path) => open_file(path, Place::replacing),
                Destination::Appended(path) => open_file(path, Place::appending),
            };
            places.push((
                asked.kind,
                place.with_context(|| format!("--format {name}"))?,
            ));
        }
        let mut captured = Vec::new();
        for capture in &options.captures {
            if let CapturedFile::Temporary(fd) = capture.file {
                let file = descriptor::take_for_writing(fd)?;
                captured.push((capture.name, File::from(file)));
            }
        }
        let messages = options.messages.map(descriptor::take_for_writing);
        Ok(Self {
            places,
            captured,
            messages: messages.transpose()?,
            executable: executable_of(options),
        })
    }

    /// The task is over: standard error is ours alone.
    pub(crate) fn take_stderr(&self) {
        if let Some(messages) = &self.messages
            && let Err(error) = descriptor::redirect(2, messages.as_fd())
        {
            super::warn(&format!("messages stay in the task's stderr: {error}"));
        }
    }

    /// Device and inode of the files that are ours.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        // One that its file system does not tell of counts as the task's.
        self.places
            .iter()
            .filter_map(|(_, place)| place.identity().ok())
    }

    /// The outputs of the task, as far as they are to be shown of one that ended so.
    pub(crate) fn outputs(&self, options: &RunOptions, done: &Assembled) -> Vec<TaskOutput> {
        let succeeded = done.report.exit.code == Some(0);
        let shown = options.captures.iter().map(|capture| {
            let file = self.captured.iter().find(|(name, _)| *name == capture.name);
            let omitted = capture.omitted_on_success && succeeded;
            let read = file.map(|(_, file)| end_of(file, capture.bytes_max));
            let (size_bytes, data) = match read {
                Some(Ok((size, data))) => (Some(size), Some(data)),
                Some(Err(error)) => {
                    super::warn(&format!("the task's {} is lost: {error}", capture.name));
                    (None, None)
                }
                None => (None, None),
            };
            let length = data.as_ref().map_or(0, |data| data.len() as u64);
            TaskOutput {
                name: capture.name,
                file_name: match &capture.file {
                    CapturedFile::Named(path) => Some(path.display().to_string()),
                    _ => None,
                },
                truncated: size_bytes.is_some_and(|size| size > length),
                size_bytes,
                data: data
                    .filter(|data| !omitted && !data.is_empty())
                    .map(|data| String::from_utf8_lossy(&data).into_owned()),
            }
        });
        shown.collect()
    }

    /// Writes them all; what could not be written.
    pub(crate) fn write(self, texts: &Texts<'_>) -> Vec<anyhow::Error> {
        let write = |(kind, place): (Kind, Place)| -> Result<()> {
            let text = texts.of(kind, Style::PLAIN)?;
            Ok(place.write(&text)?)
        };
        let written = self.places.into_iter().map(write);
        written.filter_map(Result::err).collect()
    }
}

fn executable_of(options: &RunOptions) -> Option<&'static str> {
    let word = options
        .command
        .first()
        .filter(|_| !options.formats.is_empty())?;
    match command::find(word, std::env::var_os("PATH").as_deref()) {
        Found::At(path) => executable::kind(&path),
        Found::Missing | Found::NotExecutable(_) => None,
    }
}

/// How long `file` is, and its end.
fn end_of(file: &File, bytes_max: u64) -> std::io::Result<(u64, Vec<u8>)> {
    let size = file.metadata()?.len();
    let kept = size.min(bytes_max).min(OUTPUT_BYTES_MAX);
    let mut data = vec![0; usize::try_from(kept).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut data, size - kept)?;
    Ok((size, data))
}

fn open_descriptor(fd: RawFd, inherited: &[RawFd]) -> Result<Place> {
    if !inherited.contains(&fd) {
        bail!("descriptor {fd} is not open: open it, as by {fd}>FILE");
    }
    let copy = descriptor::take_for_writing(fd);
    let copy = copy.with_context(|| format!("descriptor {fd} is not open for writing"))?;
    Ok(Place::open(File::from(copy), &format!("descriptor {fd}")))
}

/// The file at `path`, or standard error where the path leads there (`/dev/stderr`), which may be a
/// file that others write too.
pub(super) fn open_file(
    path: &Path,
    open: fn(&Path) -> Result<Place, store::Error>,
) -> Result<Place> {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let leads_to =
        |terminal: bool, own: &File| is_same_file(path, own) && (terminal || !is_device(own));
    if let Ok(own) = stderr.as_fd().try_clone_to_owned().map(File::from)
        && leads_to(stderr.is_terminal(), &own)
    {
        return Ok(Place::open(own, "stderr"));
    }
    if let Ok(own) = stdout.as_fd().try_clone_to_owned().map(File::from)
        && leads_to(stdout.is_terminal(), &own)
    {
        bail!("{} is the task's standard output", path.display());
    }
    Ok(open(&super::paper::absolute(path)?)?)
}

/// Such as /dev/null, where nothing is mixed up.
fn is_device(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|data| data.file_type().is_char_device())
}

/// What the texts of all formats are made of.
pub(crate) struct Texts<'a> {
    done: &'a Assembled,
    processes: Vec<Process>,
    series: Option<&'a Series>,
    details: Details,
    /// The archive by which the run is judged.
    archive: Option<Folder>,
}

impl<'a> Texts<'a> {
    /// Of the task that ended, judged by the attempts in `archive`.
    pub(crate) fn new(
        done: &'a Assembled,
        options: &RunOptions,
        printed: &Printed,
        archive: Option<Folder>,
    ) -> Self {
        let summary = done.summary.as_ref();
        let processes = match summary {
            Some(summary) if options.wants(Wants::Processes) => summary.processes.iter().collect(),
            _ => Vec::new(),
        };
        let series = summary.map(|summary| &summary.series);
        Self {
            done,
            processes,
            series: series.filter(|series| !series.by_process()),
            details: Details {
                page_bytes: process::page_bytes(),
                executable: printed.executable,
                outputs: printed.outputs(options, done),
                ..options.format_details.clone()
            },
            archive,
        }
    }

    /// The text in this format.
    pub(crate) fn of(&self, kind: Kind, style: Style) -> Result<Vec<u8>> {
        let report = &self.done.report;
        match kind {
            Kind::Text => {
                let mut text = screen::text(report, &self.done.extra, style);
                if let Some(archive) = &self.archive {
                    text.push_str(&judged::line(archive, report, style));
                }
                Ok(text.into_bytes())
            }
            Kind::Of(format) => Ok((format.encode)(&Record {
                report,
                processes: &self.processes,
                series: self.series,
                details: &self.details,
            })?),
        }
    }
}
