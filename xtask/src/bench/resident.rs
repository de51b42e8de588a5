//! A `plimsoll agent` at work: the memory of all its processes, and for how long it has a CPU in
//! one piece.

use super::person::Person;
use super::place::Place;
use anyhow::{Context, Result};
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

/// An agent; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct Agent(Child);

impl Agent {
    /// Starts one and waits until it is at work.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(place: &Place, person: Person, options: &[&str]) -> Result<Self> {
        let folder = place.home(person).join("dataset");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let mut words = person.prefix();
        words.extend([place.file("plimsoll").into(), "agent".into()]);
        words.extend(["--dataset".into(), folder.into()]);
        let (program, rest) = words.split_first().context("a command has a word")?;
        let agent = Command::new(program)
            .args(rest)
            .args(options)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("plimsoll agent")?;
        std::thread::sleep(START);
        Ok(Self(agent))
    }

    /// The memory of all its processes, bytes: each page once (proportional set sizes).
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn memory(&self) -> Result<u64> {
        let mut pids = vec![self.0.id()];
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let pid = name.to_str().and_then(|name| name.parse().ok());
            let stat = fs::read_to_string(Path::new("/proc").join(&name).join("stat"));
            // It may have ended; not every name there is a process.
            let (Some(pid), Ok(stat)) = (pid, stat) else {
                continue;
            };
            if parent(&stat) == Some(self.0.id()) {
                pids.push(pid);
            }
        }
        let sizes = pids.into_iter().map(|pid: u32| {
            let file = format!("/proc/{pid}/smaps_rollup");
            let text = fs::read_to_string(&file).with_context(|| file.clone())?;
            proportional(&text).context(file)
        });
        sizes.sum()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It was ours and is ending: there is nobody to tell if not.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// The longest burst of an agent with these options, us.
///
/// # Errors
/// When it does not tell.
pub(super) fn longest_burst(place: &Place, person: Person, options: &[&str]) -> Result<f64> {
    let socket = place.home(person).join("metrics.sock");
    let metrics = format!("--metrics={}", socket.display());
    let mut options = options.to_vec();
    options.push(&metrics);
    let agent = Agent::start(place, person, &options)?;
    std::thread::sleep(BURSTS);
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
