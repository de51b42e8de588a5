//! Who listens at the agent's socket, and lends the in-kernel programs to users without privilege
//! (`plimsoll run`): a process of the agent that holds them, and may do little else.
//!
//! It sees who connects (`SO_PEERCRED`) and takes in no process that is not his. Events go from the
//! kernel straight to him, so a run costs the lender a few answers. Who asks for live records
//! instead is handed to who tells them (`live`), with his connection.

use super::lender_share::Shares;
use super::lent::{self, Guest, Programs};
use super::live;
use super::say;
use crate::live::wire::NOTHING_LENT;
use anyhow::{Context, Result, anyhow};
use record::unit::Nanos;
use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::clock;
use sys::confine::{self, Capability, Files, Forbidden, Rules};
use sys::descriptor::{self, Received, Waiting};
use sys::heap;
use sys::local;
use sys::process::{self, Fork};

/// Runs at once, at most, and those of one user: the kernel has 1024 for all.
const GUESTS_MAX: usize = 768;
const GUESTS_OF_USER_MAX: usize = 256;

/// The lender of this agent, if one was asked for.
#[derive(Debug, Default)]
pub(super) struct Lender(Option<(OwnedFd, u32)>);

impl Lender {
    /// Starts it, to listen at `socket`. It ends when what this returns is dropped. Those who ask
    /// for live records come out of the other end.
    ///
    /// # Errors
    /// Nobody can listen there.
    pub(super) fn start(socket: Option<&Path>) -> Result<(Self, Option<OwnedFd>)> {
        let Some(path) = socket else {
            return Ok((Self::default(), None));
        };
        let of = || format!("--socket {}", path.display());
        let (ours, theirs) = descriptor::channel()?;
        let (out, door) = descriptor::channel()?;
        match process::fork()? {
            Fork::Child => {
                drop((ours, out));
                serve(&theirs, &door, path)
            }
            Fork::Parent(pid) => {
                drop((theirs, door));
                let mut words = [0; 1024];
                let told = descriptor::receive(ours.as_fd(), &mut words, true)?;
                let Received::Bytes(bytes) = told else {
                    return Err(anyhow!("who lends the programs ended at once")).with_context(of);
                };
                let words = String::from_utf8_lossy(words.get(..bytes).unwrap_or_default());
                match words.strip_prefix(READY) {
                    None => Err(anyhow!("{words}")).with_context(of),
                    Some(told) => {
                        told.lines().for_each(say);
                        Ok((Self(Some((ours, pid))), Some(out)))
                    }
                }
            }
        }
    }

    /// Says so, once, if it has ended.
    pub(super) fn look(&mut self) {
        if let Some((_, pid)) = &self.0
            && !matches!(process::wait_end(*pid, false), Ok(None))
        {
            say("warning: who listens at --socket has ended: runs of users do without");
            self.0 = None;
        }
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        if let Some((channel, pid)) = self.0.take() {
            drop(channel);
            // It may have ended long ago.
            let _ = process::wait_end(pid, true);
        }
    }
}

/// In front of what is said of it once it listens.
const READY: &str = "ready ";

/// Serves until the agent is gone.
fn serve(channel: &OwnedFd, door: &OwnedFd, path: &Path) -> ! {
    // What the agent has open is not for it.
    let own = [channel.as_raw_fd(), door.as_raw_fd()];
    let others: Vec<i32> = descriptor::open_now()
        .into_iter()
        .filter(|fd| *fd > 2 && !own.contains(fd))
        .collect();
    descriptor::close_inherited(&others);
    match open(path) {
        Ok((programs, listener)) => {
            let words = [lacks(&programs), held(path, programs.is_ok())].concat();
            let words = format!("{READY}{words}");
            if descriptor::send(channel.as_fd(), words.as_bytes()).is_ok() {
                // Loading took far more than serving does, and this may wait for days.
                heap::trim();
                heap::drop_program();
                lend(channel, door, &listener, programs.as_ref().ok());
            }
            // Another agent may have made its own there meanwhile; it would be told so.
            let _ = fs::remove_file(path);
        }
        Err(error) => {
            // Nobody waits for it if this fails.
            let _ = descriptor::send(channel.as_fd(), crate::run::chain(&error).as_bytes());
        }
    }
    process::exit_now(0)
}

/// The programs, or why there are none, and who connects.
fn open(path: &Path) -> Result<(Result<Programs>, OwnedFd)> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("the folder {}", folder.display()))?;
        if folder == default_folder() {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
    }
    let listener = local::listen(path).context("listen")?;
    Ok((lent::open(), listener))
}

/// A line where nothing is lent.
fn lacks(programs: &Result<Programs>) -> String {
    let Err(error) = programs else {
        return String::new();
    };
    let why = crate::run::chain(error);
    format!("--socket tells live records alone, no programs are lent: {why}\n")
}

fn default_folder() -> PathBuf {
    let usual = Path::new(source::notify::agent::SOCKET);
    usual.parent().unwrap_or(usual).to_owned()
}

/// Gives up what is not needed; a line if that could not be.
fn held(socket: &Path, lends: bool) -> String {
    let written: Vec<&Path> = socket.parent().into_iter().collect();
    let keep: &[Capability] = match lends {
        true => &[Capability::Bpf, Capability::Perfmon],
        false => &[],
    };
    let rules = Rules {
        user: None,
        keep,
        files: Some(Files {
            written: &written,
            read: &[Path::new("/proc"), Path::new("/sys")],
        }),
        forbidden: &[Forbidden::Processes, Forbidden::Machine],
    };
    match confine::confine(&rules) {
        Ok(_) => String::new(),
        Err(error) => format!("warning: who lends the programs keeps privileges: {error}\n"),
    }
}

fn lend(channel: &OwnedFd, door: &OwnedFd, listener: &OwnedFd, programs: Option<&Programs>) {
    let mut guests: Vec<Guest> = Vec::new();
    let mut shares = Shares::default();
    loop {
        let now = Nanos(clock::boot());
        shares.at(now, guests.iter().map(Guest::uid));
        let pause = shares.next().map(|next| next.since(now).0);
        let Ok(ready) = wait(channel, listener, &guests, &shares, pause) else {
            return;
        };
        let [end, came, ..] = *ready.as_slice() else {
            return;
        };
        if end {
            return;
        }
        let mut ready = ready.into_iter().skip(2);
        guests.retain_mut(|guest| {
            if !ready.next().unwrap_or(false) || !shares.has_left(guest.uid()) {
                return true;
            }
            if live::is_asked_for(guest.as_fd()) {
                live::hand_over(door, guest.as_fd());
                return false;
            }
            let begun = clock::boot();
            let stays = match programs {
                // He is gone, or was never there for answers.
                Some(programs) => guest.serve(programs).is_ok(),
                None => {
                    live::refuse(guest.as_fd(), NOTHING_LENT);
                    false
                }
            };
            shares.took(guest.uid(), Nanos(clock::boot().saturating_sub(begun)));
            stays
        });
        if came {
            welcome(listener, &mut guests);
        }
    }
}

/// Waits for the end of the agent, for who connects, and for guests who have a share left: which of
/// them are there.
fn wait(
    channel: &OwnedFd,
    listener: &OwnedFd,
    guests: &[Guest],
    shares: &Shares,
    pause: Option<u64>,
) -> Result<Vec<bool>> {
    let fixed = [channel.as_fd(), listener.as_fd()].map(Some).into_iter();
    let served = guests
        .iter()
        .map(|guest| shares.has_left(guest.uid()).then(|| guest.as_fd()));
    let waiting: Vec<Waiting<'_>> = fixed
        .chain(served)
        .map(|fd| Waiting {
            fd,
            exceptional: false,
        })
        .collect();
    Ok(descriptor::poll(&waiting, pause)?)
}

/// Takes in who has connected, unless there are too many.
fn welcome(listener: &OwnedFd, guests: &mut Vec<Guest>) {
    let mut of_user: HashMap<u32, usize> = HashMap::new();
    for guest in guests.iter() {
        *of_user.entry(guest.uid()).or_default() += 1;
    }
    while let Ok(Some(socket)) = local::accept(listener.as_fd()) {
        let Ok(peer) = local::peer(socket.as_fd()) else {
            continue;
        };
        let his = of_user.entry(peer.uid).or_default();
        if guests.len() < GUESTS_MAX && *his < GUESTS_OF_USER_MAX {
            *his += 1;
            guests.push(Guest::new(socket, peer.uid));
        }
    }
}
