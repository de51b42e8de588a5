//! The busiest disks, mounts and interfaces of the machine.

use super::columns::{percent, size_of};
use crate::live::machine::Machine;

/// File systems that are emptier are nothing to be told of.
const USED_MIN: f64 = 0.01;

/// One of them, and how busy it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Busy {
    pub(super) name: String,
    /// The part of the time that it had something to do, if that is told.
    pub(super) share: Option<f64>,
    /// Bytes a second.
    pub(super) read: f64,
    pub(super) written: f64,
    /// What else there is to say.
    pub(super) words: Option<String>,
}

impl Busy {
    pub(super) fn text(&self, (read, written): (&str, &str)) -> String {
        let mut text = self.name.clone();
        if let Some(share) = self.share {
            text += &format!(" {} % busy,", percent(Some(share.min(1.0))));
        }
        text += &format!(
            " {}/s {read}, {}/s {written}",
            size_of(Some(self.read)),
            size_of(Some(self.written))
        );
        if let Some(words) = &self.words {
            text += &format!(", {words}");
        }
        text
    }
}

/// The disks that did something, the busiest first; partitions are in their disks.
pub(super) fn disks(machine: &Machine) -> Vec<Busy> {
    let all: Vec<&str> = machine.parts("disk_busy").collect();
    let mut busy: Vec<Busy> = all
        .iter()
        .filter(|name| !is_partition(name, &all))
        .filter_map(|name| {
            let rate = |metric: &str| machine.share(metric, name).map(|it| it * 1e9);
            let share = machine.share("disk_busy", name)?;
            let (read, written) = (rate("disk_read")?, rate("disk_written")?);
            (share > 0.0 || read + written > 0.0).then(|| Busy {
                name: (*name).to_owned(),
                share: Some(share),
                read,
                written,
                words: None,
            })
        })
        .collect();
    busy.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    busy
}

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_partition(name: &str, all: &[&str]) -> bool {
    all.iter().any(|disk| {
        let Some(rest) = name.strip_prefix(disk).filter(|rest| !rest.is_empty()) else {
            return false;
        };
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit());
        match disk.ends_with(|it: char| it.is_ascii_digit()) {
            true => rest.strip_prefix('p').is_some_and(is_number),
            false => is_number(rest),
        }
    })
}

/// Mounts of file systems on other machines, by what programs read and wrote there, the most first.
pub(super) fn mounts(machine: &Machine) -> Vec<Busy> {
    let rate = |metric: &str, part: &str| machine.share(metric, part).unwrap_or(0.0) * 1e9;
    let nfs = machine.parts("nfs_read").map(|mount| Busy {
        name: mount.to_owned(),
        share: None,
        read: rate("nfs_read", mount) + rate("nfs_read_direct", mount),
        written: rate("nfs_written", mount) + rate("nfs_written_direct", mount),
        words: None,
    });
    let lustre = machine.parts("lustre_bytes").filter_map(|part| {
        let mount = part.strip_suffix(" read_bytes")?;
        Some(Busy {
            name: mount.to_owned(),
            share: None,
            read: rate("lustre_bytes", part),
            written: rate("lustre_bytes", &format!("{mount} write_bytes")),
            words: None,
        })
    });
    ranked(nfs.chain(lustre))
}

/// Interfaces that sent or received something, the most first.
pub(super) fn interfaces(machine: &Machine) -> Vec<Busy> {
    let all = machine.parts("interface_received").map(|name| {
        let rate = |metric: &str| machine.share(metric, name).unwrap_or(0.0) * 1e9;
        Busy {
            name: name.to_owned(),
            share: None,
            read: rate("interface_received"),
            written: rate("interface_sent"),
            words: None,
        }
    });
    ranked(all)
}

fn ranked(all: impl Iterator<Item = Busy>) -> Vec<Busy> {
    let sum = |one: &Busy| one.read + one.written;
    let mut busy: Vec<Busy> = all.filter(|one| sum(one) > 0.0).collect();
    busy.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    busy
}

/// The fullest file systems, the fullest first: mount and the part that is used.
pub(super) fn fullest(machine: &Machine) -> Vec<(String, f64)> {
    let value = |metric: &str, part: &str| machine.value(metric, part).map(|it| it as f64);
    let mut all: Vec<(String, f64)> = machine
        .parts("file_system_size")
        .filter_map(|part| {
            let whole = value("file_system_size", part).filter(|it| *it > 0.0)?;
            let free = value("file_system_free", part)?;
            let used = 1.0 - free / whole;
            (used >= USED_MIN).then(|| (part.to_owned(), used))
        })
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_known_by_their_disks() {
        let all = [
            "sda",
            "sda1",
            "sdaa",
            "nvme0n1",
            "nvme0n1p2",
            "nvme0n10",
            "dm-1",
            "dm-11",
        ];
        let partitions: Vec<_> = all.iter().filter(|name| is_partition(name, &all)).collect();
        assert_eq!(partitions, [&"sda1", &"nvme0n1p2"]);
    }
}
