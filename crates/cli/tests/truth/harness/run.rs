//! Runs `plimsoll run`, or the same command bare, within a time limit, and reads what it left.

use super::expect;
use super::mechanism::Mechanism;
use super::process::{self, Signal};
use record::report::Report;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest run of anything in these tests, but for slow machines.
const LIMIT: Duration = Duration::from_secs(90);

/// The binary under test: `PLIMSOLL_BIN`, or the one that cargo built.
pub(crate) fn plimsoll() -> PathBuf {
    match std::env::var_os("PLIMSOLL_BIN") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env!("CARGO_BIN_EXE_plimsoll")),
    }
}

/// A command to be run, watched or bare, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Run {
    words: Vec<OsString>,
    options: Option<Vec<OsString>>,
    wrapper: Vec<OsString>,
    input: Stdio,
    has_report: bool,
    folder: TempDir,
}

/// Whether the files of a folder are memory: a page written there is no cache. The overlay of an
/// emulated machine keeps its changes so.
pub(crate) fn is_memory(folder: &Path) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const OVERLAY: i64 = 0x794c_7630;
    match rustix::fs::statfs(folder).unwrap().f_type {
        TMPFS => true,
        OVERLAY => expect::slowness() > 1,
        _ => false,
    }
}

impl Run {
    /// `command`, watched by `mechanism`, its report in the run's folder.
    pub(crate) fn watched(mechanism: Mechanism, command: Vec<OsString>) -> Self {
        let mut run = Self::bare(command);
        run.has_report = true;
        let mut options: Vec<OsString> = mechanism.options().iter().map(Into::into).collect();
        options.push("--output".into());
        options.push(run.folder.path().join("r").into());
        run.options = Some(options);
        run
    }

    /// `command` under `plimsoll run` with these options alone: no mechanism, no report.
    pub(crate) fn plain(options: &[&str], command: Vec<OsString>) -> Self {
        let mut run = Self::bare(command);
        run.options = Some(options.iter().map(Into::into).collect());
        run
    }

    /// `command` by itself.
    pub(crate) fn bare(command: Vec<OsString>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("plimsoll-truth-")
            .tempdir()
            .unwrap();
        fs::create_dir(folder.path().join("cwd")).unwrap();
        Self {
            words: command,
            options: None,
            wrapper: Vec::new(),
            input: Stdio::null(),
            has_report: false,
            folder,
        }
    }

    /// More options of `plimsoll run`.
    pub(crate) fn options<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        if let Some(own) = &mut self.options {
            own.extend(options.into_iter().map(|word| word.as_ref().to_owned()));
        }
        self
    }

    /// A command line that names plimsoll itself, and makes the report.
    #[cfg(feature = "dataset")]
    pub(crate) fn unwatched(mut self, words: Vec<OsString>) -> Self {
        self.options = None;
        self.words = words;
        self
    }

    /// The command, where it needs a path in the folder of the run.
    pub(crate) fn command(mut self, command: Vec<OsString>) -> Self {
        self.words = command;
        self
    }

    /// A command that starts plimsoll (or the bare command) as its own last words.
    pub(crate) fn wrapped(mut self, wrapper: Vec<OsString>) -> Self {
        self.wrapper = wrapper;
        self
    }

    /// What the command reads; nothing otherwise.
    pub(crate) fn input(mut self, input: impl Into<Stdio>) -> Self {
        self.input = input.into();
        self
    }

    /// A folder for files of the test; the working directory is `cwd` in it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder of this run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts it, its output into files.
    #[track_caller]
    pub(crate) fn start(self) -> Running {
        let mut words = self.wrapper;
        if let Some(options) = self.options {
            words.push(plimsoll().into());
            words.push("run".into());
            words.extend(options);
            words.push("--".into());
        }
        words.extend(self.words);
        let mut command = Command::new(&words[0]);
        let folder = self.folder;
        command
            .args(&words[1..])
            .current_dir(folder.path().join("cwd"))
            .stdin(self.input)
            .stdout(File::create(folder.path().join("stdout")).unwrap())
            .stderr(File::create(folder.path().join("stderr")).unwrap());
        let child = command.spawn().unwrap();
        Running {
            child,
            words,
            folder: Some(folder),
            has_report: self.has_report,
        }
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn finish(self) -> Done {
        self.start().finish()
    }
}

/// A run that goes on.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    words: Vec<OsString>,
    folder: Option<TempDir>,
    has_report: bool,
}

impl Running {
    /// The process that was started: plimsoll's front.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The folder of the run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// What it has printed so far.
    pub(crate) fn stdout(&self) -> String {
        read(&self.folder().join("stdout"))
    }

    /// Waits until its stdout holds `text`.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        while !self.stdout().contains(text) {
            let ended = self.child.try_wait().unwrap();
            if ended.is_some() || start.elapsed() > process::patience() {
                panic!(
                    "no `{text}` in stdout; ended: {ended:?}\n{}",
                    self.printed()
                );
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until `file` has a line `ready` (written last), and gives the pids in it.
    #[track_caller]
    pub(crate) fn wait_for_pids(&mut self, file: &Path) -> Vec<u32> {
        let start = Instant::now();
        loop {
            let text = read(file);
            if text.lines().any(|line| line == "ready") {
                return text.lines().filter_map(|line| line.parse().ok()).collect();
            }
            if start.elapsed() > process::patience() || self.child.try_wait().unwrap().is_some() {
                panic!("no pids in {}\n{}", file.display(), self.printed());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes its stdin, where that was a pipe.
    pub(crate) fn end_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends a signal to the process that was started.
    pub(crate) fn send(&self, signal: Signal) {
        assert!(process::send(self.pid(), signal), "plimsoll is gone");
    }

    /// Waits for its end; a run that never ends is ended and fails the test.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Done {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > LIMIT.max(2 * process::patience()) {
                let tree = process::descendants(self.pid());
                let names: Vec<_> = tree.iter().map(|pid| process::describe(*pid)).collect();
                self.end_tree();
                panic!(
                    "does not end; its processes: {names:#?}\n{}",
                    self.printed()
                );
            }
            thread::sleep(Duration::from_millis(2));
        };
        self.collect(status)
    }

    fn collect(mut self, status: ExitStatus) -> Done {
        let folder = self.folder.take().unwrap();
        let text = read(&folder.path().join("r.json"));
        let report = serde_json::from_str(&text);
        Done {
            status: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap()),
            signal: status.signal(),
            stdout: read(&folder.path().join("stdout")),
            stderr: read(&folder.path().join("stderr")),
            report: report.map_err(|error| match self.has_report {
                true => format!("r.json: {error}: {text:?}"),
                false => "no report was asked for".to_owned(),
            }),
            words: self.words.clone(),
            folder,
        }
    }

    /// What it was and what it has printed, for messages.
    pub(crate) fn printed(&self) -> String {
        let folder = self.folder();
        format!(
            "{:?}\nstdout: {}\nstderr: {}",
            self.words,
            read(&folder.join("stdout")),
            read(&folder.join("stderr"))
        )
    }

    fn end_tree(&mut self) {
        let tree = process::descendants(self.pid());
        for pid in [self.pid()].into_iter().chain(tree) {
            process::send(pid, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.folder.is_some() && matches!(self.child.try_wait(), Ok(None)) {
            self.end_tree();
        }
    }
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Done {
    /// Its exit status as a shell shows it.
    pub(crate) status: i32,
    /// The signal that killed plimsoll itself, if one did.
    pub(crate) signal: Option<i32>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it printed as errors.
    pub(crate) stderr: String,
    report: Result<Report, String>,
    words: Vec<OsString>,
    folder: TempDir,
}

impl Done {
    /// The report in `r.json`.
    #[track_caller]
    pub(crate) fn report(&self) -> &Report {
        match &self.report {
            Ok(report) => report,
            Err(why) => panic!("{why}\n{}", self.context()),
        }
    }

    /// The path of a file in the folder of the run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Fails unless the exit status is `status`.
    #[track_caller]
    pub(crate) fn expect_status(&self, status: i32) -> &Self {
        assert_eq!(self.status, status, "exit status\n{}", self.context());
        self
    }

    /// The number behind `name` in the lines that the workload printed.
    #[track_caller]
    pub(crate) fn printed(&self, name: &str) -> u64 {
        let lines = self.stdout.lines().filter_map(|line| line.split_once(' '));
        let mut found = lines.filter(|(word, _)| *word == name);
        match found
            .next_back()
            .and_then(|(_, number)| number.trim().parse().ok())
        {
            Some(number) => number,
            None => panic!("the workload printed no {name}\n{}", self.context()),
        }
    }

    /// Why the workload could not be done here, if it said so.
    pub(crate) fn skipped(&self) -> Option<&str> {
        (self.status == 77)
            .then(|| {
                self.stdout
                    .lines()
                    .find_map(|line| line.strip_prefix("skip "))
            })
            .flatten()
    }

    /// What one needs to know when a test fails.
    pub(crate) fn context(&self) -> String {
        let about = match &self.report {
            Ok(report) => format!(
                "mechanism {} level {} notes {:#?} exit {:?}",
                report.monitor.mechanism, report.monitor.level, report.monitor.notes, report.exit
            ),
            Err(why) => why.clone(),
        };
        format!(
            "{:?}\nstatus {} signal {:?}\nstdout: {}\nstderr: {}\n{about}",
            self.words, self.status, self.signal, self.stdout, self.stderr
        )
    }
}

fn read(path: &Path) -> String {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}
