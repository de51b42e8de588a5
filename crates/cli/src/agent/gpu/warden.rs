//! Who starts the process that asks a driver, ends it if it does not answer, and starts another.
//!
//! It is a process of its own: the agent's others may not fork once they read, and none of them
//! waits for a driver. It believes nothing of what it passes on.

use super::driver::{self, Way};
use super::message::{self, Ask, Told};
use anyhow::Result;
use record::quantity::show_time;
use record::unit::Nanos;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use sys::clock;
use sys::confine::{self, Forbidden, Rules};
use sys::descriptor::{self, Waiting};
use sys::process::{self, Fork};

/// Until the next one is started after one that did not come back: twice as long each time.
const PAUSE_FIRST: Nanos = Nanos::from_secs(1);
const PAUSE_MAX: Nanos = Nanos::from_secs(300);
/// Where there was nothing to ask it is looked again after so long.
const LOOK_AGAIN: Nanos = Nanos::from_secs(300);
/// A driver may wake its devices first.
const START_PATIENCES: u64 = 6;
/// Whether one that was killed has ended is asked so often.
const ENDING: Nanos = Nanos::from_millis(100);
const SIGKILL: i32 = 9;
const SIGNAL: u32 = 0x7f;

/// Serves until the agent is gone.
pub(super) fn serve(channel: OwnedFd, patience: Nanos) -> ! {
    // What the agent has open is not for it.
    let own = channel.as_raw_fd();
    let others: Vec<i32> = descriptor::open_now()
        .into_iter()
        .filter(|fd| *fd > 2 && *fd != own)
        .collect();
    descriptor::close_inherited(&others);
    // Whom it starts has no more than that.
    let held = confine::confine(&Rules {
        user: driver::user(),
        keep: &[],
        files: None,
        forbidden: &[Forbidden::Machine, Forbidden::Programs],
    });
    let kept = held
        .err()
        .map(|error| format!("who asks keeps privileges: {error}"));
    let mut warden = Warden {
        agent: channel,
        patience,
        kept: kept.unwrap_or_default(),
        asker: None,
        way: Way::Library,
        due: Nanos(0),
        pause: PAUSE_FIRST,
        lack: String::new(),
        room: message::room(),
    };
    while warden.turn().is_ok() {}
    if let Some(asker) = warden.asker {
        // It may have ended by itself.
        let _ = process::kill(asker.pid, SIGKILL);
    }
    process::exit_now(0)
}

struct Warden {
    agent: OwnedFd,
    patience: Nanos,
    /// What it could not give up, in words.
    kept: String,
    asker: Option<Asker>,
    /// How the next one asks, and when it is started.
    way: Way,
    due: Nanos,
    pause: Nanos,
    /// Why the library cannot be asked.
    lack: String,
    room: Vec<u8>,
}

/// The process that asks.
struct Asker {
    pid: u32,
    channel: OwnedFd,
    stage: Stage,
}

enum Stage {
    /// It was asked, or has begun, and must answer by then.
    Asked(Nanos),
    Free,
    /// It is killed. With a reason unless that was meant to be; by how it ended if that is empty.
    Ending(Option<String>),
}

impl Warden {
    /// Waits for what comes next, and does it.
    ///
    /// # Errors
    /// The agent is gone.
    fn turn(&mut self) -> Result<()> {
        let now = Nanos(clock::boot());
        if self.asker.is_none() && now >= self.due {
            self.start(now);
        }
        let (channel, until) = match &self.asker {
            None => (None, Some(self.due)),
            Some(asker) => match asker.stage {
                Stage::Ending(_) => (None, Some(now.plus(ENDING))),
                Stage::Asked(deadline) => (Some(asker.channel.as_fd()), Some(deadline)),
                Stage::Free => (Some(asker.channel.as_fd()), None),
            },
        };
        let waiting = [Some(self.agent.as_fd()), channel].map(|fd| Waiting {
            fd,
            exceptional: false,
        });
        let ready = descriptor::poll(&waiting, until.map(|until| until.since(now).0))?;
        let [wanted, answered] = *ready.as_slice() else {
            return Ok(());
        };
        if answered {
            self.pass_on();
        }
        if wanted {
            self.ask()?;
        }
        self.look(Nanos(clock::boot()));
        Ok(())
    }

    fn start(&mut self, now: Nanos) {
        let begun = descriptor::channel().and_then(|channel| Ok((channel, process::fork()?)));
        match begun {
            Ok(((ours, theirs), Fork::Child)) => {
                // What the agent is told, the warden tells.
                descriptor::close_inherited(&[self.agent.as_raw_fd(), ours.as_raw_fd()]);
                driver::serve(&theirs, self.way, self.patience, &self.kept)
            }
            Ok(((ours, _), Fork::Parent(pid))) => {
                let patience = Nanos(self.patience.0.saturating_mul(START_PATIENCES));
                self.asker = Some(Asker {
                    pid,
                    channel: ours,
                    stage: Stage::Asked(now.plus(patience)),
                });
            }
            Err(error) => self.failed(format!("cannot be started: {error}"), now),
        }
    }

    /// It did not come back, or did not come: the next one comes later.
    fn failed(&mut self, why: String, now: Nanos) {
        self.due = now.plus(self.pause);
        self.pause = Nanos(self.pause.0.saturating_mul(2)).min(PAUSE_MAX);
        // The agent reads it later, or never.
        let _ = message::say(self.agent.as_fd(), &mut Told::Ended(why), false);
    }

    /// Asks for the agent, or says that nobody can be asked.
    ///
    /// # Errors
    /// The agent is gone.
    fn ask(&mut self) -> Result<()> {
        let wanted = message::next(self.agent.as_fd(), &mut self.room)?;
        let Some(ask) = wanted.and_then(|bytes| Ask::try_from(bytes).ok()) else {
            return Ok(());
        };
        match &mut self.asker {
            Some(asker) if matches!(asker.stage, Stage::Free) => {
                asker.stage = Stage::Asked(Nanos(clock::boot()).plus(self.patience));
                // One that ended is noticed by its channel.
                let _ = message::forward(asker.channel.as_fd(), &ask, false);
            }
            _ => {
                let at = Nanos(u64::from_le_bytes(ask));
                // The agent reads it later, or never.
                let _ = message::say(self.agent.as_fd(), &mut Told::Refused { at }, false);
            }
        }
        Ok(())
    }

    /// Passes on what the asker says.
    fn pass_on(&mut self) {
        let Some(asker) = &mut self.asker else {
            return;
        };
        let message = match message::next(asker.channel.as_fd(), &mut self.room) {
            Ok(None) => return,
            Ok(Some(message)) => message,
            Err(_) => return asker.end(Some(String::new())),
        };
        let is_asked = matches!(asker.stage, Stage::Asked(_));
        match message::read(message).ok().filter(|_| is_asked) {
            Some(Told::Reading { .. }) => {
                self.pause = PAUSE_FIRST;
                asker.stage = Stage::Free;
            }
            Some(Told::Way { .. }) => asker.stage = Stage::Free,
            Some(Told::Absent(why)) => {
                asker.end(None);
                return self.absent(why);
            }
            Some(Told::Ended(_) | Told::Refused { .. }) | None => {
                return asker.end(Some("said what it should not".to_owned()));
            }
        }
        // The agent reads it later, or never.
        let _ = message::forward(self.agent.as_fd(), message, false);
    }

    /// There is nothing to ask this way: the other one is tried, then both again later.
    fn absent(&mut self, why: String) {
        let now = Nanos(clock::boot());
        match self.way {
            Way::Library => {
                self.lack = why;
                (self.way, self.due) = (Way::Program, now);
            }
            Way::Program => {
                (self.way, self.due) = (Way::Library, now.plus(LOOK_AGAIN));
                let mut told = Told::Absent(format!("{}; {why}", self.lack));
                // The agent reads it later, or never.
                let _ = message::say(self.agent.as_fd(), &mut told, false);
            }
        }
    }

    /// Ends the asker if it is late, and takes note of its end.
    fn look(&mut self, now: Nanos) {
        let Some(asker) = &mut self.asker else {
            return;
        };
        if matches!(asker.stage, Stage::Asked(deadline) if now >= deadline) {
            let patience = show_time(self.patience.0);
            asker.end(Some(format!("did not answer within {patience}")));
        }
        let Stage::Ending(why) = &mut asker.stage else {
            return;
        };
        let status = match process::wait_end(asker.pid, false) {
            // One that waits for a device without end cannot be killed: there is no other before.
            Ok(None) => return,
            Ok(Some(ended)) => ended.status,
            Err(_) => 0,
        };
        let why = why.take();
        self.asker = None;
        if let Some(why) = why {
            let why = match (why.is_empty(), status & SIGNAL) {
                (false, _) => why,
                (true, 0) => format!("ended with status {}", status >> 8 & 0xff),
                (true, signal) => format!("was ended by signal {signal}"),
            };
            self.failed(why, now);
        }
    }
}

impl Asker {
    fn end(&mut self, why: Option<String>) {
        // To one that ends by itself just now this makes no difference.
        let _ = process::kill(self.pid, SIGKILL);
        self.stage = Stage::Ending(why);
    }
}
