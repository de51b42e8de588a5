//! Who asks the driver: a process that loads its library, or starts its program. Either may hang,
//! crash or start threads; nobody else does so in it.

use super::message::{self, Ask, Told};
use record::unit::Nanos;
use record::value::Absent;
use source::query::gpu::machine::MachineReader;
use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use sys::clock;
use sys::confine::{self, Files, Forbidden, Held, Rules, User};
use sys::descriptor::{self, Received, Waiting};
use sys::process;

/// Where the driver shows that it is there.
pub(super) const DEVICE: &str = "/dev/nvidiactl";
/// Devices are `/dev/nvidia0` and its like; `/dev/nvidia-caps` has those of parts.
const DEVICES: (&str, &str) = ("/dev", "nvidia");
/// A user and a group that own nothing.
const NOBODY: u32 = 65_534;
/// What others than owner and group may do: read and write.
const OTHERS: u32 = 0o006;
const GROUP: u32 = 0o060;
/// What the program prints, at most.
const PRINTED_MAX: usize = 1 << 20;

/// How the driver is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Library,
    Program,
}

/// Whom root becomes to ask: nobody, in the group of the devices if they are not everyone's.
/// Nothing where they are root's alone.
pub(super) fn user() -> Option<User> {
    if process::effective_uid() != 0 {
        return None;
    }
    let (mode, group) = match fs::metadata(DEVICE) {
        Ok(device) => (device.permissions().mode(), device.gid()),
        Err(_) => (OTHERS, NOBODY),
    };
    let gid = match (mode & OTHERS == OTHERS, mode & GROUP == GROUP) {
        (true, _) => NOBODY,
        (false, true) if group != 0 => group,
        (false, _) => return None,
    };
    Some(User { uid: NOBODY, gid })
}

/// Asks whenever it is wanted, until nobody wants it; `kept`: what could not be given up before, in
/// words.
pub(super) fn serve(channel: &OwnedFd, way: Way, patience: Nanos, kept: &str) -> ! {
    let kept = match hold(way) {
        own if kept.is_empty() => own,
        _ => kept.to_owned(),
    };
    let reader = match way {
        Way::Library => MachineReader::by_library(),
        Way::Program => {
            MachineReader::by_program(Box::new(move |name, words| printed(name, words, patience)))
        }
    };
    match reader {
        Ok(reader) => answer(channel, reader, kept),
        Err(why) => {
            let mut told = Told::Absent(reason(way, why));
            // Nobody waits for it if this fails.
            let _ = message::say(channel.as_fd(), &mut told, true);
        }
    }
    process::exit_now(0)
}

fn answer(channel: &OwnedFd, mut reader: MachineReader, kept: String) {
    let source = reader.source().to_owned();
    let mut told = Told::Way { source, kept };
    let mut ask: Ask = [0; 8];
    while message::say(channel.as_fd(), &mut told, true).is_ok() {
        let Ok(Received::Bytes(_)) = descriptor::receive(channel.as_fd(), &mut ask, true) else {
            return;
        };
        told = Told::Reading {
            at: Nanos(u64::from_le_bytes(ask)),
            machine: reader.read(),
        };
    }
}

fn reason(way: Way, why: Absent) -> String {
    match (way, why) {
        (Way::Library, Absent::Off) => "this plimsoll cannot load the driver's library".to_owned(),
        (Way::Library, why) => format!("libnvidia-ml.so.1: {}", why.words()),
        (Way::Program, why) => format!("nvidia-smi: {}", why.words()),
    }
}

/// Gives up what a library that opens devices does not need; what is kept, in words. A program that
/// is to be started must be executable, so its files are not held.
fn hold(way: Way) -> String {
    let devices = devices();
    let devices: Vec<&Path> = devices.iter().map(PathBuf::as_path).collect();
    let rules = match way {
        Way::Program => return String::new(),
        Way::Library => Rules {
            user: None,
            keep: &[],
            files: Some(Files {
                written: &devices,
                read: &[Path::new("/")],
            }),
            forbidden: &[Forbidden::Processes, Forbidden::Sockets],
        },
    };
    match confine::confine(&rules) {
        Ok(Held::Wholly | Held::InPart) => String::new(),
        Ok(Held::NotAtAll | Held::NotAsked) => {
            "this kernel has no Landlock: who asks is held by its user alone".to_owned()
        }
        Err(error) => format!("who asks keeps privileges: {error}"),
    }
}

fn devices() -> Vec<PathBuf> {
    let (folder, prefix) = DEVICES;
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = all.filter(|one| one.file_name().to_string_lossy().starts_with(prefix));
    named.map(|one| one.path()).collect()
}

/// What a program prints, if it ends well within `patience`.
fn printed(name: &str, words: &[&str], patience: Nanos) -> Option<String> {
    let mut command = Command::new(name);
    let command = command.args(words).stdin(Stdio::null());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut out = child.stdout.take()?;
    // Who asks waits a little longer than that.
    let end = Nanos(clock::boot()).plus(Nanos(patience.0 / 4));
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    let is_whole = loop {
        let left = end.since(Nanos(clock::boot()));
        let waiting = [Waiting {
            fd: Some(out.as_fd()),
            exceptional: false,
        }];
        let is_ready = descriptor::poll(&waiting, Some(left.0)).is_ok_and(|all| all == [true]);
        if !is_ready && left > Nanos(0) {
            continue;
        }
        match is_ready.then(|| out.read(&mut part)) {
            Some(Ok(0)) => break true,
            Some(Ok(bytes)) if text.len() < PRINTED_MAX => {
                text.extend_from_slice(part.get(..bytes).unwrap_or_default());
            }
            _ => break false,
        }
    };
    if !is_whole {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    String::from_utf8(text).ok().filter(|_| is_whole && is_well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_bounded() {
        let sh = |script: &str, patience| printed("/bin/sh", &["-c", script], patience);
        let long = Nanos::from_secs(600);
        assert_eq!(sh("echo a; echo b", long).as_deref(), Some("a\nb\n"));
        assert_eq!(sh("echo a; exit 1", long), None);
        assert_eq!(sh("exec sleep 1000", Nanos::from_millis(40)), None);
        assert_eq!(sh("exec cat /dev/zero", long), None);
        assert_eq!(printed("/does/not/exist", &[], long), None);
    }
}
