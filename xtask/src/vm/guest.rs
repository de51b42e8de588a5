//! The work that a machine finds in the folder that it shares with the host, and what it leaves
//! there.
//!
//! `work.json` holds the command and whether it wants swap; `output` gets what it writes, `status`
//! its exit status as text, last of all.

use super::swap;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command as it travels: words, folder, environment, and whether there shall be swap.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Work {
    words: Vec<String>,
    folder: String,
    environment: Vec<(String, String)>,
    swap: bool,
}

impl Work {
    /// What a command would do, with our PATH.
    ///
    /// # Errors
    /// When a word of it is no text.
    pub(super) fn of(command: &Command) -> Result<Self> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let path = std::env::var("PATH").unwrap_or_default();
        let mut environment = vec![("PATH".to_owned(), path)];
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                environment.push((text(name)?, text(value)?));
            }
        }
        let folder = command.get_current_dir().unwrap_or(Path::new("/"));
        Ok(Self {
            words: words.map(text).collect::<Result<_>>()?,
            folder: text(folder.as_os_str())?,
            environment,
            swap: false,
        })
    }

    /// The same in a machine with swap, if one can be given any.
    pub(super) fn with_swap(mut self, swap: bool) -> Self {
        self.swap = swap;
        self
    }

    /// Leaves it in the shared folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, shared: &Path) -> Result<()> {
        let Self {
            words,
            folder,
            environment,
            swap,
        } = self;
        let work = json!({
            "words": words, "folder": folder, "environment": environment, "swap": swap
        });
        Ok(fs::write(shared.join("work.json"), work.to_string())?)
    }

    fn read(shared: &Path) -> Result<Self> {
        let work: Value = serde_json::from_slice(&fs::read(shared.join("work.json"))?)?;
        let part = |name: &str| work.get(name).cloned().context("work.json is cut");
        Ok(Self {
            words: serde_json::from_value(part("words")?)?,
            folder: serde_json::from_value(part("folder")?)?,
            environment: serde_json::from_value(part("environment")?)?,
            swap: serde_json::from_value(part("swap")?)?,
        })
    }

    fn run(&self, output: &File) -> Result<u8> {
        let (program, arguments) = self.words.split_first().context("no command")?;
        let status = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .status()
            .with_context(|| program.clone())?;
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        Ok(code
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(u8::MAX))
    }
}

/// Does the work in the machine. A command that cannot be started has status 127 and says why in
/// its output. Where there can be no swap it runs without, and the output begins with the reason.
///
/// # Errors
/// When the shared folder cannot be read or written.
pub(crate) fn inside(shared: &Path) -> Result<()> {
    use std::io::Write;
    let work = Work::read(shared)?;
    let mut output = File::create(shared.join("output"))?;
    if work.swap
        && let Err(error) = swap::switch_on()
    {
        writeln!(output, "no swap in this machine: {error:#}")?;
    }
    let status = match work.run(&output) {
        Ok(status) => status,
        Err(error) => {
            writeln!(output, "{error:#}")?;
            127
        }
    };
    output.sync_all()?;
    let aside = shared.join("status.new");
    fs::write(&aside, status.to_string())?;
    File::open(&aside)?.sync_all()?;
    Ok(fs::rename(aside, shared.join("status"))?)
}

/// The exit status that the machine left; none if it did not get so far.
///
/// # Errors
/// When it is no number.
pub(super) fn status(shared: &Path) -> Result<Option<u8>> {
    match fs::read_to_string(shared.join("status")) {
        Ok(text) => Ok(Some(text.trim().parse().context("status")?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What the command wrote; nothing if it was not started.
///
/// # Errors
/// When it cannot be read.
pub(super) fn output(shared: &Path) -> Result<Vec<u8>> {
    match fs::read(shared.join("output")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        other => Ok(other?),
    }
}

fn text(word: &OsStr) -> Result<String> {
    let text = word
        .to_str()
        .with_context(|| format!("{word:?} is no text"))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(command: &Command) -> (Option<u8>, String) {
        let shared = tempfile::tempdir().unwrap();
        assert_eq!(status(shared.path()).unwrap(), None);
        let work = Work::of(command).unwrap();
        assert_ne!(work, Work::of(command).unwrap().with_swap(true));
        work.write(shared.path()).unwrap();
        assert_eq!(Work::read(shared.path()).unwrap(), work);
        inside(shared.path()).unwrap();
        let text = String::from_utf8(output(shared.path()).unwrap()).unwrap();
        (status(shared.path()).unwrap(), text)
    }

    #[test]
    fn work_is_carried_over_and_its_end_is_told() {
        let mut command = Command::new("sh");
        command.args(["-c", "pwd; echo \"$A 'b\" >&2; exit 3"]);
        command.env("A", "a b").current_dir("/");
        assert_eq!(done(&command), (Some(3), "/\na b 'b\n".to_owned()));
        let killed = done(Command::new("sh").args(["-c", "kill -9 $$"]));
        assert_eq!(killed.0, Some(137));
    }

    #[test]
    fn a_command_that_is_not_there_is_told() {
        let (status, text) = done(&Command::new("/no/such/program"));
        assert_eq!(status, Some(127));
        assert!(text.starts_with("/no/such/program: "), "{text}");
    }
}
