//! Who lends the in-kernel programs to users without privilege (`plimsoll run`): a process of the
//! agent that holds them, and may do little else.
//!
//! It sees who connects (`SO_PEERCRED`) and takes in no process that is not his. Events go from the
//! kernel straight to him, so a run costs the lender a few answers.

use super::lender_share::Shares;
use super::say;
use anyhow::{Context, Result, anyhow};
use record::unit::Nanos;
use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::bpf::{Guest, TaskPrograms};
use sys::clock;
use sys::confine::{self, Capability, Files, Forbidden, Rules};
use sys::descriptor::{self, Received, Waiting};
use sys::local;
use sys::process::{self, Fork};

/// Runs at once, at most, and those of one user: the kernel has 1024 for all.
const GUESTS_MAX: usize = 768;
const GUESTS_OF_USER_MAX: usize = 256;

/// The lender of this agent, if one was asked for.
#[derive(Debug, Default)]
pub(super) struct Lender(Option<(OwnedFd, u32)>);

impl Lender {
    /// Starts it, to listen at `socket`. It ends when what this returns is dropped.
    ///
    /// # Errors
    /// The programs cannot be had here, or nobody can listen there.
    pub(super) fn start(socket: Option<&Path>) -> Result<Self> {
        let Some(path) = socket else {
            return Ok(Self::default());
        };
        let of = || format!("--socket {}", path.display());
        let (ours, theirs) = descriptor::channel()?;
        match process::fork()? {
            Fork::Child => {
                drop(ours);
                serve(&theirs, path)
            }
            Fork::Parent(pid) => {
                drop(theirs);
                let mut words = [0; 1024];
                let told = descriptor::receive(ours.as_fd(), &mut words, true)?;
                let Received::Bytes(bytes) = told else {
                    return Err(anyhow!("who lends the programs ended at once")).with_context(of);
                };
                let words = String::from_utf8_lossy(words.get(..bytes).unwrap_or_default());
                match words.strip_prefix(READY) {
                    None => Err(anyhow!("{words}")).with_context(of),
                    Some(held) => {
                        if !held.is_empty() {
                            say(&format!("warning: who lends the programs {held}"));
                        }
                        Ok(Self(Some((ours, pid))))
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
            say("warning: who lends the programs has ended: runs of users do without");
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
fn serve(channel: &OwnedFd, path: &Path) -> ! {
    // What the agent has open is not for it.
    let own = channel.as_raw_fd();
    let others: Vec<i32> = descriptor::open_now()
        .into_iter()
        .filter(|fd| *fd > 2 && *fd != own)
        .collect();
    descriptor::close_inherited(&others);
    match open(path) {
        Ok((programs, listener)) => {
            let words = format!("{READY}{}", held(path));
            if descriptor::send(channel.as_fd(), words.as_bytes()).is_ok() {
                lend(channel, &listener, &programs);
            }
            // Another agent may have made its own there meanwhile; it would be told so.
            let _ = fs::remove_file(path);
            drop(programs);
        }
        Err(error) => {
            // Nobody waits for it if this fails.
            let _ = descriptor::send(channel.as_fd(), crate::run::chain(&error).as_bytes());
        }
    }
    process::exit_now(0)
}

fn open(path: &Path) -> Result<(TaskPrograms, OwnedFd)> {
    // A copy of its own: nothing of it stays behind, and other runs do not depend on it.
    let programs = TaskPrograms::open_private()?;
    // Where this kernel cannot have these, who asks for files is told so.
    drop(programs.prepare_files());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("the folder {}", folder.display()))?;
        if folder == default_folder() {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok((programs, local::listen(path).context("listen")?))
}

fn default_folder() -> PathBuf {
    let usual = Path::new(source::notify::agent::SOCKET);
    usual.parent().unwrap_or(usual).to_owned()
}

/// Gives up what is not needed; what could not be given up, in words.
fn held(socket: &Path) -> String {
    let written: Vec<&Path> = socket.parent().into_iter().collect();
    let rules = Rules {
        user: None,
        keep: &[Capability::Bpf, Capability::Perfmon],
        files: Some(Files {
            written: &written,
            read: &[Path::new("/proc"), Path::new("/sys")],
        }),
        forbidden: &[Forbidden::Processes, Forbidden::Machine],
    };
    match confine::confine(&rules) {
        Ok(_) => String::new(),
        Err(error) => format!("keeps privileges: {error}"),
    }
}

fn lend(channel: &OwnedFd, listener: &OwnedFd, programs: &TaskPrograms) {
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
            let begun = clock::boot();
            // He is gone, or was never there for answers.
            let stays = guest.serve(programs).is_ok();
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
