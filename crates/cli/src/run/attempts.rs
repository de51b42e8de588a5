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
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use sys::{clock, process, signal};

/// Device number of `/dev/null`.
const NULL: (u64, u64) = (1, 3);

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
        };
        let took = clock::boot().saturating_sub(began);
        // What is left of the monitor; then whoever asked us to end meanwhile ends us.
        while let Ok(Some(_)) = process::wait_any(false) {}
        signal::set_mask(mask);
        let kind = usize::try_from(place).ok().and_then(|at| LIMITS.get(at));
        let resource = kind.context("the monitor named no limit")?.resource;
        let next = next(&options, &ladders, resource).context("there is no further limit")?;
        climb(&mut options, resource, next, took);
        stdin.rewind()?;
        left -= 1;
    }
}

fn next(options: &RunOptions, ladders: &auto::Ladders, resource: Resource) -> Option<u64> {
    let mut limits = options.limits.iter();
    let now = limits.find(|one| one.limit.resource == resource)?;
    ladders.after(resource, now.limit.value)
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

/// What the task may read again.
#[derive(Debug, PartialEq, Eq)]
enum Stdin {
    /// Closed, or `/dev/null`.
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
            kind if kind.is_char_device() && device == NULL => Stdin::Nothing,
            kind if kind.is_fifo() => Stdin::Once("a pipe"),
            kind if kind.is_socket() => Stdin::Once("a socket"),
            kind if kind.is_char_device() => Stdin::Once("a terminal or another device"),
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
    fn only_what_can_be_read_again_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        file.seek(SeekFrom::Start(7)).unwrap();
        assert_eq!(Stdin::of(&mut file), Stdin::File(7));
        let mut null = File::open("/dev/null").unwrap();
        assert_eq!(Stdin::of(&mut null), Stdin::Nothing);
        let mut zero = File::open("/dev/zero").unwrap();
        assert!(matches!(Stdin::of(&mut zero), Stdin::Once(_)));
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(Stdin::of(&mut pipe), Stdin::Once("a pipe"));
    }
}
