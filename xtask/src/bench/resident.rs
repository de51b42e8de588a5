//! What stays and reads again and again, a `plimsoll agent` above all: the CPU time and the memory
//! of all its processes, and for how long it has a CPU in one piece.

use super::person::Person;
use super::place::Place;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An agent has loaded its programs and met everyone by then.
const START: Duration = Duration::from_secs(3);
/// Its longest burst is that of so much time.
const BURSTS: Duration = Duration::from_secs(5);
/// How `/metrics` has it.
const BURST: &str = "plimsoll_agent_burst_longest_seconds ";

/// A command with the processes that it has started; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Resident(Child);

impl Resident {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(person: Person, command: &[OsString]) -> Result<Self> {
        let mut words = person.prefix();
        words.extend_from_slice(command);
        let (program, rest) = words.split_first().context("a command has a word")?;
        let child = Command::new(program)
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.with_context(|| program.to_string_lossy().into_owned())?;
        Ok(Self(child))
    }

    /// The CPU time of those of its threads that are there, us.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn cpu_us(&self) -> Result<f64> {
        let mut sum = 0u64;
        for pid in self.pids()? {
            for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
                let file = thread?.path().join("schedstat");
                let text = fs::read_to_string(&file);
                let text = text.with_context(|| file.display().to_string())?;
                let ns = text.split(' ').next().unwrap_or_default();
                sum += ns.parse::<u64>()?;
            }
        }
        Ok(sum as f64 / 1e3)
    }

    /// The memory of all its processes, bytes: each page once (proportional set sizes).
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn memory(&self) -> Result<u64> {
        let sizes = self.pids()?.into_iter().map(|pid: u32| {
            let file = format!("/proc/{pid}/smaps_rollup");
            let text = fs::read_to_string(&file).with_context(|| file.clone())?;
            proportional(&text).context(file)
        });
        sizes.sum()
    }

    /// Itself, its children and theirs.
    fn pids(&self) -> Result<Vec<u32>> {
        let mut parents = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let pid: Option<u32> = name.to_str().and_then(|name| name.parse().ok());
            let stat = fs::read_to_string(Path::new("/proc").join(&name).join("stat"));
            // It may have ended; not every name there is a process.
            if let (Some(pid), Ok(stat)) = (pid, stat) {
                parents.extend(parent(&stat).map(|parent| (pid, parent)));
            }
        }
        let mut pids = vec![self.0.id()];
        let mut known = 0;
        while let Some(of) = pids.get(known).copied() {
            let children = parents.iter().filter(|(_, parent)| *parent == of);
            pids.extend(children.map(|(pid, _)| *pid));
            known += 1;
        }
        Ok(pids)
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // It was ours and is ending: there is nobody to tell if not.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Starts an agent with these options and waits until it is at work.
///
/// # Errors
/// When it cannot be started.
pub(super) fn agent(place: &Place, person: Person, options: &[&str]) -> Result<Resident> {
    let folder = place.home(person).join("dataset");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut words: Vec<OsString> = vec![place.file("plimsoll").into(), "agent".into()];
    words.extend(["--dataset".into(), folder.into()]);
    words.extend(options.iter().map(OsString::from));
    let agent = Resident::start(person, &words)?;
    std::thread::sleep(START);
    Ok(agent)
}

/// The longest burst of an agent, us: a command without `--metrics`.
///
/// # Errors
/// When it does not tell.
pub(super) fn longest_burst(place: &Place, person: Person, command: &[OsString]) -> Result<f64> {
    let socket = place.home(person).join("metrics.sock");
    let mut words = command.to_vec();
    words.push(format!("--metrics={}", socket.display()).into());
    let agent = Resident::start(person, &words)?;
    std::thread::sleep(START + BURSTS);
    let mut server = UnixStream::connect(&socket).context("/metrics")?;
    server.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    server.read_to_string(&mut text)?;
    drop(agent);
    let seconds = text.lines().find_map(|line| line.strip_prefix(BURST));
    let seconds = seconds.context("/metrics has no longest burst")?;
    Ok(seconds.trim().parse::<f64>()? * 1e6)
}

fn parent(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(") ")?;
    behind.split(' ').nth(1)?.parse().ok()
}

fn proportional(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_process() {
        assert_eq!(parent("7 (a) b) S 42 7 7 0"), Some(42));
        assert_eq!(parent("7"), None);
        let text = "00400000-7ff [rollup]\nRss:  9 kB\nPss:      5 kB\nPss_Dirty: 3 kB\n";
        assert_eq!(proportional(text), Some(5120));
        assert_eq!(proportional("Rss: 9 kB\n"), None);
    }
}
