//! The loop of the screen: readings, keys, drawing.

use super::draw::{self, Scene};
use super::feed::{Feed, Got};
use super::head::About;
use super::jobs::Job;
use super::look::Look;
use super::state::{Do, State};
use super::terminal::Screen;
use crate::cmd::{STATUS_FAILURE, Status};
use crate::live::people::People;
use crate::view::stderr;
use anyhow::{Context, Result, bail};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use record::unit::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::io::{IsTerminal, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use sys::clock;
use sys::descriptor::{self, Waiting};
use sys::signal::{self, Signals};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// What is past is played so fast.
const PLAYED_EVERY: Nanos = Nanos::from_secs(1);
/// So long is slept at most: a change of size may come without waking anybody.
const PAUSE_MAX: Nanos = Nanos::from_secs(1);
/// Until the first reading of an agent: it may read seldom, and that is said then.
const SILENT_AFTER: Nanos = Nanos::from_secs(2);

/// Keys that are there and not given are looked for again after that.
const UNGIVEN_PAUSE: Duration = Duration::from_millis(20);

/// All that the loop holds.
struct Top {
    feed: Box<dyn Feed>,
    people: People,
    state: State,
    /// When the last reading was, since boot.
    at_ns: u64,
    message: Option<String>,
    /// Nothing more comes.
    is_over: bool,
    /// When the next reading of what is past is shown.
    play_at: Nanos,
}

/// Shows readings until somebody ends it.
pub(super) fn run(feed: Box<dyn Feed>, look: Look) -> Result<Status> {
    let size = ratatui::crossterm::terminal::size().context("the size of the terminal")?;
    if size.0 < draw::WIDTH_MIN || size.1 < draw::HEIGHT_MIN {
        bail!(
            "this terminal has {} x {}, and the screen needs {} x {}: make it larger, or use \
             --batch",
            size.0,
            size.1,
            draw::WIDTH_MIN,
            draw::HEIGHT_MIN
        );
    }
    let mask = [SIGHUP, SIGINT, SIGTERM].map(signal::bit).iter().sum();
    signal::set_mask(mask);
    let signals = Signals::open(mask).context("signals")?;
    let keys = Keys::open()?;
    let mut top = Top {
        feed,
        people: People::new(),
        state: State::new(look),
        at_ns: 0,
        message: None,
        is_over: false,
        play_at: Nanos(0),
    };
    // What is wrong at once is told on the terminal as it was.
    top.take()?;
    let mut screen = Screen::take()?;
    let done = top.run(&mut screen, &keys, &signals);
    drop(screen);
    if let Some(why) = done? {
        stderr::line(&format!("plimsoll top: {why}"));
        return Ok(STATUS_FAILURE);
    }
    Ok(0)
}

/// Where keys come from.
enum Keys {
    Stdin,
    Terminal(File),
}

impl Keys {
    fn open() -> Result<Self> {
        if stdin().is_terminal() {
            return Ok(Self::Stdin);
        }
        let terminal = File::open("/dev/tty");
        Ok(Self::Terminal(
            terminal.context("no terminal to take keys from")?,
        ))
    }

    /// Whether the terminal is gone.
    fn is_gone(&self) -> bool {
        let fd = self.fd();
        let mut polled = [PollFd::new(&fd, PollFlags::IN)];
        let now = Timespec::default();
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let ready = rustix::event::poll(&mut polled, Some(&now));
        ready.is_ok() && polled.iter().any(|one| one.revents().intersects(gone))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            // Open as long as we are.
            Self::Stdin => rustix::stdio::stdin(),
            Self::Terminal(file) => file.as_fd(),
        }
    }
}

impl Top {
    /// Takes what the feed has now; whether there was a reading.
    fn take(&mut self) -> Result<bool> {
        let is_past = self.feed.place().is_some();
        let mut is_new = false;
        loop {
            match self.feed.next(&mut self.people)? {
                Got::Reading(at_ns) => {
                    (self.at_ns, is_new) = (at_ns, true);
                    self.people.shown();
                    self.message = None;
                }
                Got::Nothing => return Ok(is_new),
                Got::End(why) => {
                    self.message = Some(why);
                    self.is_over = !is_past;
                    self.state.is_playing = false;
                    return Ok(true);
                }
            }
            // Of what is past there is always a next one.
            if is_past || self.feed.due().is_some() {
                return Ok(is_new);
            }
        }
    }

    /// Until it is over; the words if the terminal or the readings ended it.
    fn run(
        &mut self,
        screen: &mut Screen,
        keys: &Keys,
        signals: &Signals,
    ) -> Result<Option<String>> {
        let begun = Nanos(clock::boot());
        let mut is_dirty = true;
        loop {
            if self.at_ns == 0 && Nanos(clock::boot()).since(begun) >= SILENT_AFTER {
                self.message = Some("waiting for the agent's next reading".to_owned());
                is_dirty = true;
            }
            if let Some(said) = screen.said() {
                self.message = Some(said);
                is_dirty = true;
            }
            if std::mem::take(&mut is_dirty) {
                self.draw(screen)?;
            }
            let is_pressed = self.wait(keys, signals)?;
            // Who reads keys would wait for ever for those of a terminal that is gone.
            if signals.next().is_some() || keys.is_gone() {
                return Ok(None);
            }
            match self.keys(screen)? {
                Some(Do::Quit) => return Ok(None),
                Some(_) => is_dirty = true,
                // A part of a key; or it came together with a change of size, and is given with the
                // next one.
                None if is_pressed => std::thread::sleep(UNGIVEN_PAUSE),
                None => {}
            }
            is_dirty |= self.readings()?;
            if self.is_over {
                return Ok(self.message.take());
            }
        }
    }

    /// Takes the next readings where that is due; whether there is something to draw.
    fn readings(&mut self) -> Result<bool> {
        let now = Nanos(clock::boot());
        if self.feed.place().is_some() {
            if !self.state.is_playing || now < self.play_at {
                return Ok(false);
            }
            self.play_at = now.plus(PLAYED_EVERY);
            return self.take();
        }
        Ok(self.take()? && !self.state.is_held)
    }

    /// Waits until there is something to do; whether a key was pressed.
    fn wait(&self, keys: &Keys, signals: &Signals) -> Result<bool> {
        let now = Nanos(clock::boot());
        let played = self.state.is_playing.then_some(self.play_at);
        let due = [self.feed.due(), played, Some(now.plus(PAUSE_MAX))];
        let until = due.into_iter().flatten().min().unwrap_or(now);
        let waiting = [Some(keys.fd()), Some(signals.as_fd()), self.feed.wakes()];
        let waiting = waiting.map(|fd| Waiting {
            fd,
            exceptional: false,
        });
        let ready = descriptor::poll(&waiting, Some(until.since(now).0)).context("waiting")?;
        Ok(ready.first() == Some(&true))
    }

    /// Takes the keys that were pressed; what is to be done of them, nothing if there were none.
    fn keys(&mut self, screen: &mut Screen) -> Result<Option<Do>> {
        let mut done = None;
        while event::poll(Duration::ZERO).context("the terminal")? {
            let happened = event::read().context("the terminal")?;
            let what = self.happened(&happened, screen)?;
            match what {
                Do::Quit => return Ok(Some(Do::Quit)),
                Do::Suspend => screen.suspend()?,
                Do::Redraw => screen.terminal.clear().context("the terminal")?,
                Do::Step(by) => self.step(by)?,
                Do::Nothing => {}
            }
            done = Some(what);
        }
        Ok(done)
    }

    fn happened(&mut self, happened: &Event, screen: &Screen) -> Result<Do> {
        let is_past = self.feed.place().is_some();
        let shown = self.state.look.clone().order(self.people.living());
        let jobs = Job::of_look(&self.people, self.at_ns, &self.state.look);
        Ok(match happened {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.state.key(*key, (&shown, &jobs), is_past)
            }
            Event::Mouse(mouse) => {
                let size = screen.terminal.size().context("the terminal")?;
                self.state.mouse(*mouse, &shown, &jobs, size.width.into());
                Do::Nothing
            }
            _ => Do::Nothing,
        })
    }

    /// Goes through what is past.
    fn step(&mut self, by: i64) -> Result<()> {
        self.state.is_playing = false;
        self.message = None;
        match self.feed.step(&mut self.people, by)? {
            Some(Got::Reading(at_ns)) => self.at_ns = at_ns,
            Some(Got::End(why)) => self.message = Some(why),
            Some(Got::Nothing) => {
                let words = if by < 0 {
                    "that is the first reading"
                } else {
                    "that is the last reading"
                };
                self.message = Some(words.to_owned());
            }
            None => {}
        }
        Ok(())
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<()> {
        let shown = self.state.look.clone().order(self.people.living());
        let jobs = Job::of_look(&self.people, self.at_ns, &self.state.look);
        let about = About {
            host: self.feed.host().to_owned(),
            by: self.feed.name(),
            living: self.people.living().count(),
            shown: shown.len(),
        };
        let scene = Scene {
            people: &self.people,
            about: &about,
            shown: &shown,
            jobs: &jobs,
            message: self.message.as_deref(),
            place: self.feed.place(),
        };
        let state = &mut self.state;
        let drawn = screen
            .terminal
            .draw(|frame| draw::draw(&scene, state, frame.buffer_mut()));
        drawn.context("the terminal").map(drop)
    }
}
