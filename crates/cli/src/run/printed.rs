//! The formats of a report that were asked for by name: their places, opened before the task
//! starts, and their texts after its end.

use super::assemble::Assembled;
use crate::cmd::formats::{Destination, Kind};
use crate::cmd::run::RunOptions;
use crate::view::report as screen;
use crate::view::style::Style;
use anyhow::{Context, Result, bail};
use record::report::Process;
use reduce::series::Series;
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use store::export::{Details, Record, Wants};
use store::place::{Place, is_same_file};
use sys::{descriptor, process};

/// The places of the formats that do not go to stderr.
#[derive(Debug)]
pub(crate) struct Printed(Vec<(Kind, Place)>);

impl Printed {
    /// Opens every place; `inherited` are the descriptors that we were started with.
    pub(crate) fn check(options: &RunOptions, inherited: &[RawFd]) -> Result<Self> {
        let mut places = Vec::new();
        for asked in &options.formats {
            let name = asked.kind.name();
            let place = match &asked.to {
                Destination::Default | Destination::Stderr => continue,
                Destination::Descriptor(fd) => open_descriptor(*fd, inherited),
                Destination::Replaced(path) => {
                    let path = to_be_written(path);
                    path.and_then(|path| Ok(Place::replacing(&path)?))
                }
                Destination::Appended(path) => {
                    let path = to_be_written(path);
                    path.and_then(|path| Ok(Place::appending(&path)?))
                }
            };
            places.push((
                asked.kind,
                place.with_context(|| format!("--format {name}"))?,
            ));
        }
        Ok(Self(places))
    }

    /// Device and inode of the files that are ours.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        // One that its file system does not tell of counts as the task's.
        self.0.iter().filter_map(|(_, place)| place.identity().ok())
    }

    /// Writes them all; what could not be written.
    pub(crate) fn write(self, texts: &Texts<'_>) -> Vec<anyhow::Error> {
        let write = |(kind, place): (Kind, Place)| -> Result<()> {
            let text = texts.of(kind, Style::PLAIN)?;
            Ok(place.write(&text)?)
        };
        let written = self.0.into_iter().map(write);
        written.filter_map(Result::err).collect()
    }
}

fn open_descriptor(fd: RawFd, inherited: &[RawFd]) -> Result<Place> {
    if !inherited.contains(&fd) {
        bail!("descriptor {fd} is not open: open it, as by {fd}>FILE");
    }
    let copy = descriptor::take_for_writing(fd);
    let copy = copy.with_context(|| format!("descriptor {fd} is not open for writing"))?;
    Ok(Place::open(File::from(copy), &format!("descriptor {fd}")))
}

/// The path, absolute, unless it is where the task's own output goes.
fn to_be_written(path: &Path) -> Result<std::path::PathBuf> {
    let stdout = std::io::stdout();
    let own = stdout.as_fd().try_clone_to_owned().map(File::from);
    if let Ok(own) = own
        && is_same_file(path, &own)
        && (stdout.is_terminal() || !is_device(&own))
    {
        bail!("{} is the task's standard output", path.display());
    }
    super::paper::absolute(path)
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
}

impl<'a> Texts<'a> {
    /// Of the task that ended.
    pub(crate) fn new(done: &'a Assembled, options: &RunOptions) -> Self {
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
                ..options.format_details.clone()
            },
        }
    }

    /// The text in this format.
    pub(crate) fn of(&self, kind: Kind, style: Style) -> Result<Vec<u8>> {
        let report = &self.done.report;
        match kind {
            Kind::Text => Ok(screen::text(report, &self.done.extra, style).into_bytes()),
            Kind::Of(format) => Ok((format.encode)(&Record {
                report,
                processes: &self.processes,
                series: self.series,
                details: &self.details,
            })?),
        }
    }
}
