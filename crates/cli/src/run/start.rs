//! Starting a run: everything that can be refused is refused here, before the task exists.

use super::assemble;
use super::command::{self, Found};
use super::eyes::Eyes;
use super::facts::Facts;
use super::files::Files;
use super::front::{self, Served};
use super::hold::Hold;
use super::interpreter;
use super::monitor::{Monitor, Parts};
use super::named;
use super::notifier::Opening;
use super::paper::Paper;
use super::task::Task;
use super::words::ToFront;
use super::{chain, warn};
use crate::cmd::Status;
use crate::cmd::run::{Mechanism, MonitorDeath, RunOptions};
use crate::cmd::statuses::{Compat, cctools};
use crate::view::stderr;
use anyhow::{Context, Result};
use source::query::proc_pid_schedstat;
use source::root::Root;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use sys::descriptor;
use sys::launcher::Plan;
use sys::process::{self, Fork};
use sys::rlimit;
use sys::signal::{self, Signals};

/// Exit status of a command that does not exist.
const STATUS_MISSING: Status = 127;
/// Exit status of a command that cannot be executed.
const STATUS_NOT_EXECUTABLE: Status = 126;
const ENOENT: i32 = 2;
const ENOEXEC: i32 = 8;
const EACCES: i32 = 13;
const SIGCHLD: i32 = 17;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this exit status.
    Status(Status),
    /// By the limit at this place in the table of limits: it is to run again.
    Short(u32),
    /// The same, but this signal asked for the end of everything.
    Asked(i32),
}

/// Runs the task once.
pub(super) fn run(options: &RunOptions) -> Result<Ended> {
    let inherited = descriptor::open_now();
    let (ours, theirs) = match descriptor::channel() {
        Ok(channel) => channel,
        Err(error) => return run_bare(options, error).map(Ended::Status),
    };
    match process::fork() {
        Ok(Fork::Parent(monitor)) => {
            drop(theirs);
            match front::serve(ours, monitor, &inherited, options) {
                Served::Status(status) => Ok(Ended::Status(status)),
                Served::Short(place) => Ok(Ended::Short(place)),
                Served::Asked(signal) => Ok(Ended::Asked(signal)),
                Served::Bare => become_command(options).map(Ended::Status),
            }
        }
        Ok(Fork::Child) => {
            drop(ours);
            sys::heap::share();
            process::exit_now(i32::from(monitor(options, theirs, &inherited)))
        }
        Err(error) => run_bare(options, error).map(Ended::Status),
    }
}

/// There cannot even be a monitor: the task comes first, so it runs without one, in our place.
fn run_bare(options: &RunOptions, error: sys::Error) -> Result<Status> {
    if asks_for_watching(options) {
        return Err(error).context("cannot start the monitor");
    }
    warn(&format!("not watched: {error}"));
    become_command(options)
}

/// Whether something was asked for by name that cannot be had without a monitor.
fn asks_for_watching(options: &RunOptions) -> bool {
    options.output.is_some()
        || options.append.is_some()
        || options.archive.is_some()
        || !options.formats.is_empty()
        || options.compat.is_some()
        || options.level.is_some()
        || options.mechanism.is_some()
        || !options.limits.is_empty()
        || !options.measure_dirs.is_empty()
        || options.follow_mounts
        || !options.named_inputs.is_empty()
        || !options.named_outputs.is_empty()
}

/// Becomes the command, unwatched; the exit status if that fails.
fn become_command(options: &RunOptions) -> Result<Status> {
    // Where that is refused we never were one.
    drop(process::give_up_subreaper());
    let word = options.command.first().context("the command is empty")?;
    let Found::At(path) = command::find(word, std::env::var_os("PATH").as_deref()) else {
        return Ok(STATUS_MISSING);
    };
    sys::start::restore_signals();
    let refusal = process::execute(&path, &options.command);
    warn(&format!("{}: {refusal}", path.display()));
    Ok(STATUS_NOT_EXECUTABLE)
}

/// Why the monitor cannot start the task.
enum Trouble {
    /// What was asked for cannot be had.
    Refused(anyhow::Error),
    /// The kernel does not give us what watching needs.
    NoMeans(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Trouble::Refused(error)
    }
}

impl From<sys::Error> for Trouble {
    fn from(error: sys::Error) -> Self {
        Trouble::NoMeans(error.into())
    }
}

/// In the monitor's process: starts the task and sees it through; the exit status.
fn monitor(options: &RunOptions, front: OwnedFd, inherited: &[RawFd]) -> Status {
    // Without a second descriptor the front takes the status from our exit.
    let channel = front.as_fd().try_clone_to_owned();
    let bare = !asks_for_watching(options) && channel.is_ok();
    let last_word = match watch(options, front, inherited) {
        Ok(status) => ToFront::Done(status),
        Err(Trouble::NoMeans(error)) if bare => {
            warn(&format!("not watched: {}", chain(&error)));
            ToFront::Bare
        }
        Err(Trouble::NoMeans(error) | Trouble::Refused(error)) => {
            super::refuse(&error);
            ToFront::Done(options.own_failure())
        }
    };
    if let Ok(channel) = channel {
        // A front that died has nobody to tell.
        drop(last_word.say(&channel));
    }
    match last_word {
        ToFront::Done(status) => status,
        _ => 0,
    }
}

fn watch(options: &RunOptions, front: OwnedFd, inherited: &[RawFd]) -> Result<Status, Trouble> {
    process::become_subreaper()?;
    signal::set_default(SIGCHLD);
    let mask = signal::block_all();
    // Every stop of a traced process sends us SIGCHLD; the launcher's end is told by its channel.
    let signals = Signals::open(!signal::bit(SIGCHLD))?;
    let mut paper = Paper::check(options, inherited)?;
    let mut facts = Facts::gather(options);
    let path = match find(options) {
        Ok(path) => path,
        Err(why) => {
            named::first_look(options, &mut facts);
            return Ok(refuse(facts, paper, options, &why));
        }
    };
    let raised = rlimit::raise_file_size();
    let files = Files::prepare(options)?;
    // The command's process comes first, waiting: whatever else cannot be opened, it can run.
    let mut task = Task::start(
        &Plan {
            path: path.as_os_str(),
            arguments: &options.command,
            signal_mask: mask,
            started_with: sys::start::facts(),
            leave: options.on_monitor_death == MonitorDeath::Leave,
            library: files.library(),
            raised,
        },
        &mut facts,
    )
    .map_err(Trouble::NoMeans)?;
    let others = inherited.iter().copied().filter(|fd| *fd != 2);
    descriptor::close_inherited(&others.collect::<Vec<RawFd>>());
    let opening = Opening::begin(options);
    let mut hold = Hold::prepare(options, &mut facts, &task)?;
    hold.folders.leave_out(&paper.own_files());
    hold.take(task.pid())
        .unwrap_or_else(|error| facts.note(format!("no own control group: {}", chain(&error))));
    named::first_look(options, &mut facts);
    let mut eyes = Eyes::choose(options, &mut facts, &task, opening, files)?;
    if options.mechanism == Some(Mechanism::Ptrace) {
        task.trace();
    }
    eyes.files.stop_calls(&task, &mut facts)?;
    facts.started();
    paper.started(facts.start);
    eyes.started(&mut facts, &task);
    // A front that died is noticed by the monitor.
    drop(ToFront::Started(task.adopter()).say(&front));
    let with_library = eyes.files.loads_into(&path, task.adopter(), &mut facts);
    if let Some(errno) = task.go(with_library)? {
        // Not dismissed: the launcher waits for the command's process first.
        drop(task);
        hold.release();
        return Ok(refuse(facts, paper, options, &refused(&path, errno)));
    }
    look_at_beginning(&task, &mut eyes);
    leave_folder(&mut facts);
    Ok(Monitor::new(Parts {
        options,
        task,
        eyes,
        hold,
        facts,
        paper,
        front,
        signals,
    })
    .serve())
}

/// Read after the exec: at least what passed before it.
fn look_at_beginning(task: &Task, eyes: &mut Eyes) {
    if let Ok(before) = proc_pid_schedstat::read(&Root::default(), Some(task.pid())) {
        eyes.tree.waited_before_exec(before.wait);
    }
}

/// What is mounted where the task began can be unmounted while we run.
fn leave_folder(facts: &mut Facts) {
    if std::env::set_current_dir("/").is_err() {
        facts.note("the monitor could not leave the working directory");
    }
}

/// Why a command was not run.
struct NotRun {
    status: Status,
    /// What the kernel said, or would have said.
    errno: i32,
    /// The command and the reason in words of ours.
    cause: String,
}

/// The kernel refused to execute the program.
fn refused(path: &Path, errno: i32) -> NotRun {
    let status = if errno == ENOENT {
        STATUS_MISSING
    } else {
        STATUS_NOT_EXECUTABLE
    };
    let why = match errno {
        ENOENT => interpreter::missing(path),
        ENOEXEC => Some(
            "neither a program for this machine nor a script with `#!` in its first line"
                .to_owned(),
        ),
        _ => None,
    };
    let why = why.unwrap_or_else(|| std::io::Error::from_raw_os_error(errno).to_string());
    NotRun {
        status,
        errno,
        cause: format!("{}: {why}", path.display()),
    }
}

fn find(options: &RunOptions) -> Result<PathBuf, NotRun> {
    let word = first_word(options);
    match command::find(word, std::env::var_os("PATH").as_deref()) {
        Found::At(path) => Ok(path),
        Found::Missing => Err(NotRun {
            status: STATUS_MISSING,
            errno: ENOENT,
            cause: format!(
                "{}: no such command{}",
                Path::new(word).display(),
                hint(options)
            ),
        }),
        Found::NotExecutable(path) => Err(NotRun {
            status: STATUS_NOT_EXECUTABLE,
            errno: EACCES,
            cause: match path.is_dir() {
                true => format!("{}: a folder, not a program", path.display()),
                false => format!("{}: not an executable file", path.display()),
            },
        }),
    }
}

fn first_word(options: &RunOptions) -> &OsStr {
    options.command.first().map_or(OsStr::new(""), |word| word)
}

/// Of files before a `--` all but the first are the words of a command.
fn hint(options: &RunOptions) -> &'static str {
    let named = !options.named_inputs.is_empty() || !options.named_outputs.is_empty();
    if named && options.command.iter().any(|word| word == "--") {
        " (--inputs and --outputs take one file each: --inputs A --inputs B -- COMMAND)"
    } else {
        ""
    }
}

/// Reports a command that never ran.
fn refuse(facts: Facts, paper: Paper, options: &RunOptions, why: &NotRun) -> Status {
    let status = match options.compat {
        Some(Compat::Cctools) => cctools::MONITOR_ERROR,
        None => why.status,
    };
    paper.take_stderr();
    // A refusal is no report: it is said where no report says it, which GNU time's does not.
    let kinds = options.on_stderr(std::io::stderr().is_terminal());
    if kinds.iter().all(|kind| kind.name() == "time") {
        stderr::line(&in_words(options, why));
    }
    paper.write(&assemble::not_started(facts, status, &why.cause), options);
    status
}

fn in_words(options: &RunOptions, why: &NotRun) -> String {
    let Some(other_tool) = options.cannot_run else {
        return format!("plimsoll: {}", why.cause);
    };
    let word = Path::new(first_word(options)).display();
    let error = std::io::Error::from_raw_os_error(why.errno).to_string();
    let reason = error.split(" (os error").next().unwrap_or_default();
    format!("{other_tool} {word}: {reason}")
}
