//! The attempts of one task: each after the first has the next limit of the ladder (`--retry`).
//!
//! A standard input that cannot be read again makes none: the task would get the rest of it and not
//! know.

use super::auto;
use super::start::{self, Ended};
use crate::cmd::Status;
use crate::cmd::run::RunOptions;
use anyhow::{Context, Result};
use record::limit::{LIMITS, Resource};
use record::quantity::show;
use record::unit::Unit;
use std::fs::File;
use std::io::{IsTerminal, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use sys::{clock, process, signal};

/// Device number of `/dev/null`.
const NULL: (u64, u64) = (1, 3);

/// Bytes times nanoseconds.
const GIB_HOUR: f64 = (1u64 << 30) as f64 * 3600e9;

/// Runs the task with limits by its history; the exit status of the last attempt.
pub(super) fn run(mut options: RunOptions) -> Result<Status> {
    let ladders = auto::limit(&mut options);
    let stdin = Stdin::look();
    if let (Stdin::Once(what), true) = (&stdin, options.retries > 0) {
        options.notes.push(format!(
            "--retry: standard input is {what}, which cannot be read again: only one attempt \
             (< FILE or < /dev/null makes more)"
        ));
    }
    let mut left = match stdin {
        Stdin::Once(_) => 0,
        Stdin::Nothing | Stdin::File(_) => options.retries,
    };
    // Attempts of one task have one name.
    let id = || super::facts::made_id(clock::boot());
    options.id = options.id.take().or_else(|| (left > 0).then(id));
    let mask = signal::block_all();
    signal::set_mask(mask);
    let mut vain = Vain::default();
    loop {
        options.climbs = if left > 0 {
            let next = |resource: &Resource| next(&options, &ladders, *resource).is_some();
            ladders.resources().filter(next).collect()
        } else {
            Vec::new()
        };
        let began = clock::boot();
        let place = match start::run(&options)? {
            Ended::Status(status) => return Ok(status),
            Ended::Short(place) => place,
            Ended::Asked(signal) => return Ok(end_by(&options, signal)),
        };
        let took = clock::boot().saturating_sub(began);
        // What is left of the monitor; then whoever asked us to end meanwhile ends us.
        while let Ok(Some(_)) = process::wait_any(false) {}
        signal::set_mask(mask);
        let kind = usize::try_from(place).ok().and_then(|at| LIMITS.get(at));
        let resource = kind.context("the monitor named no limit")?.resource;
        let next = next(&options, &ladders, resource).context("there is no further limit")?;
        if vain.attempts > 0 {
            // The sum so far stands last.
            options.notes.pop();
        }
        vain.add(limit_on_memory(&options), took);
        climb(&mut options, resource, next, took);
        options.notes.push(vain.words());
        stdin.rewind()?;
        left -= 1;
    }
}

fn next(options: &RunOptions, ladders: &auto::Ladders, resource: Resource) -> Option<u64> {
    let mut limits = options.limits.iter();
    let now = limits.find(|one| one.limit.resource == resource)?;
    ladders.after(resource, now.limit.value)
}

fn limit_on_memory(options: &RunOptions) -> Option<u64> {
    let mut limits = options.limits.iter().map(|one| one.limit);
    let memory = limits.find(|limit| limit.resource == Resource::Memory);
    memory.map(|limit| limit.value)
}

/// Gives the next attempt its limit and the report a line on the one before.
fn climb(options: &mut RunOptions, resource: Resource, next: u64, took: u64) {
    let unit = resource.kind().map_or(Unit::Count, |kind| kind.unit);
    let number = options.attempt;
    for one in &mut options.limits {
        if one.limit.resource == resource {
            options.notes.push(format!(
                "attempt {number}: the limit on {} of {} ended it after {}, all in vain; attempt \
                 {} has {}",
                resource.name(),
                show(one.limit.value as f64, unit),
                show(took as f64, Unit::Nanoseconds),
                number.saturating_add(1),
                show(next as f64, unit)
            ));
            one.limit.value = next;
        }
    }
    options.attempt = number.saturating_add(1);
}

/// The monitor took the limit for the last word, and a signal came then.
fn end_by(options: &RunOptions, signal: i32) -> Status {
    let name = crate::view::headline::signal_name(signal);
    super::warn(&format!(
        "{name} came as a limit ended attempt {}: no further attempt; its report is in the archive",
        options.attempt
    ));
    super::front::end_by(signal);
    options.own_failure()
}

/// What the attempts that limits ended took together.
#[derive(Debug, Default)]
struct Vain {
    attempts: u32,
    took: u64,
    /// Bytes times nanoseconds of memory that they might have used and nobody else; `None` once
    /// one had no limit on memory.
    held: Option<f64>,
}

impl Vain {
    fn add(&mut self, memory: Option<u64>, took: u64) {
        let held = memory.map(|bytes| bytes as f64 * took as f64);
        let before = if self.attempts == 0 {
            Some(0.0)
        } else {
            self.held
        };
        self.held = before.zip(held).map(|(before, held)| before + held);
        self.attempts = self.attempts.saturating_add(1);
        self.took = self.took.saturating_add(took);
    }

    /// The note on all of them.
    fn words(&self) -> String {
        let took = show(self.took as f64, Unit::Nanoseconds);
        let attempts = match self.attempts {
            1 => "1 attempt".to_owned(),
            number => format!("{number} attempts"),
        };
        let held = self.held.map_or(String::new(), |held| {
            let hours = held / GIB_HOUR;
            // Two digits that say something, however small it is.
            let digits = (1.0 - hours.log10().floor()).clamp(2.0, 9.0);
            format!(", {hours:.0$} GiB.h of memory held", digits as usize)
        });
        format!("lost to limits: {attempts}, {took}{held}")
    }
}

/// What the task may read again.
#[derive(Debug, PartialEq, Eq)]
enum Stdin {
    /// Closed, `/dev/null`, or a terminal: who sits there sees the attempts and types again.
    Nothing,
    /// A file, from here on.
    File(u64),
    /// What is read is gone: what it is.
    Once(&'static str),
}

impl Stdin {
    fn look() -> Self {
        // One that is closed cannot be duplicated.
        let Ok(file) = std::io::stdin().as_fd().try_clone_to_owned() else {
            return Stdin::Nothing;
        };
        Self::of(&mut File::from(file))
    }

    fn of(file: &mut File) -> Self {
        let Ok(data) = file.metadata() else {
            return Stdin::Once("of an unknown kind");
        };
        let kind = data.file_type();
        if kind.is_file() {
            return match file.stream_position() {
                Ok(at) => Stdin::File(at),
                Err(_) => Stdin::Once("a file without a position"),
            };
        }
        let device = (data.rdev() >> 8, data.rdev() & 0xff);
        match kind {
            kind if kind.is_char_device() && (device == NULL || file.is_terminal()) => {
                Stdin::Nothing
            }
            kind if kind.is_fifo() => Stdin::Once("a pipe"),
            kind if kind.is_socket() => Stdin::Once("a socket"),
            kind if kind.is_char_device() => Stdin::Once("a device"),
            _ => Stdin::Once("of an unknown kind"),
        }
    }

    /// Back to where the first attempt began.
    fn rewind(&self) -> Result<()> {
        let Stdin::File(at) = self else {
            return Ok(());
        };
        let file = std::io::stdin().as_fd().try_clone_to_owned();
        let mut file = File::from(file.context("standard input")?);
        let sought = file.seek(SeekFrom::Start(*at));
        sought.map(drop).context("standard input cannot be rewound")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_added_up_and_unknown_memory_stays_unknown() {
        let mut vain = Vain::default();
        vain.add(Some(1 << 30), 36_000_000_000);
        assert_eq!(
            vain.words(),
            "lost to limits: 1 attempt, 36.00 s, 0.010 GiB.h of memory held"
        );
        vain.add(Some(2 << 30), 36_000_000_000);
        assert_eq!(
            vain.words(),
            "lost to limits: 2 attempts, 1m12s, 0.030 GiB.h of memory held"
        );
        vain.add(None, 0);
        vain.add(Some(1 << 30), 0);
        assert_eq!(vain.words(), "lost to limits: 4 attempts, 1m12s");
    }

    #[test]
    fn only_what_can_be_read_again_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        file.seek(SeekFrom::Start(7)).unwrap();
        assert_eq!(Stdin::of(&mut file), Stdin::File(7));
        let mut null = File::open("/dev/null").unwrap();
        assert_eq!(Stdin::of(&mut null), Stdin::Nothing);
        let mut terminal = File::open("/dev/ptmx").unwrap();
        assert_eq!(Stdin::of(&mut terminal), Stdin::Nothing);
        let mut zero = File::open("/dev/zero").unwrap();
        assert!(matches!(Stdin::of(&mut zero), Stdin::Once(_)));
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(Stdin::of(&mut pipe), Stdin::Once("a pipe"));
    }
}
