//! The terminal while the screen is ours: as it was afterwards, whatever happens.

use anyhow::{Context, Result};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, PipeReader, Read, Stdout};
use std::os::fd::{AsFd, OwnedFd};
use sys::{descriptor, process};

const STDERR: i32 = 2;
const SIGTSTP: i32 = 20;

/// Of what is said so much is kept.
const SAID_BYTES_MAX: usize = 64 << 10;

/// The screen, ours from its making to its end.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
    said: Said,
}

/// What is said on stderr meanwhile, which would be written across the screen.
struct Said {
    /// Where stderr leads.
    stderr: OwnedFd,
    kept: PipeReader,
    text: Vec<u8>,
}

impl Screen {
    /// Takes it.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn take() -> Result<Self> {
        let said = Said::begin()?;
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        let terminal = match terminal {
            Ok(terminal) => terminal,
            Err(error) => {
                give_back();
                return Err(error).context("the terminal");
            }
        };
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            hook(panic);
        }));
        Ok(Self { terminal, said })
    }

    /// The last line that was said since this was asked.
    pub(super) fn said(&mut self) -> Option<String> {
        self.said.next()
    }

    /// Leaves it for a while, stops, and takes it again.
    ///
    /// # Errors
    /// It is gone.
    pub(super) fn suspend(&mut self) -> Result<()> {
        give_back();
        process::raise(SIGTSTP);
        take()?;
        self.terminal.clear().context("the terminal")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Then what was said may be told.
        give_back();
    }
}

fn take() -> Result<()> {
    enable_raw_mode().context("the terminal")?;
    let taken = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture);
    if let Err(error) = taken {
        give_back();
        return Err(error).context("the terminal");
    }
    Ok(())
}

/// A terminal that is gone cannot be given back.
fn give_back() {
    let _ = execute!(
        io::stdout(),
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

impl Said {
    fn begin() -> Result<Self> {
        let (kept, written) = io::pipe().context("a pipe")?;
        // Who says too much loses it, and waits for nobody.
        rustix::io::ioctl_fionbio(&written, true).context("a pipe")?;
        rustix::io::ioctl_fionbio(&kept, true).context("a pipe")?;
        let stderr = descriptor::duplicate(STDERR)?;
        descriptor::redirect(STDERR, written.as_fd())?;
        Ok(Self {
            stderr,
            kept,
            text: Vec::new(),
        })
    }

    /// What was said since this was asked.
    fn read(&mut self) -> Vec<u8> {
        let mut more = Vec::new();
        // It ends with there being nothing more.
        let _ = self.kept.read_to_end(&mut more);
        let room = SAID_BYTES_MAX.saturating_sub(self.text.len());
        self.text.extend(more.iter().take(room));
        more
    }

    fn next(&mut self) -> Option<String> {
        let more = self.read();
        let more = String::from_utf8_lossy(&more);
        more.lines().last().map(str::to_owned)
    }
}

impl Drop for Said {
    /// stderr leads where it did, and gets what was said.
    fn drop(&mut self) {
        self.read();
        if descriptor::redirect(STDERR, self.stderr.as_fd()).is_ok() {
            let text = String::from_utf8_lossy(&self.text);
            text.lines().for_each(crate::view::stderr::line);
        }
    }
}
