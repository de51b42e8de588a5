//! Starting a run: everything that can be refused is refused here, before the task exists.

use super::command::{self, Found};
use super::eyes::Eyes;
use super::facts::Facts;
use super::hold::Hold;
use super::monitor::{Monitor, Parts};
use super::task::Task;
use super::words::ToFront;
use super::{front, warn};
use crate::cmd::Status;
use crate::cmd::run::{MonitorDeath, RunOptions};
use anyhow::{Context, Result};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::Path;
use sys::descriptor;
use sys::launcher::Plan;
use sys::process::{self, Fork};
use sys::signal::{self, Signals};

/// Exit status of a command that does not exist.
const STATUS_MISSING: Status = 127;
/// Exit status of a command that cannot be executed.
const STATUS_NOT_EXECUTABLE: Status = 126;
const ENOENT: i32 = 2;
const SIGCHLD: i32 = 17;

/// What we were started with, read before anything is changed.
struct Inheritance {
    descriptors: Vec<RawFd>,
    ignored: u32,
}

/// Runs the task; the exit status.
pub(crate) fn run(options: &RunOptions) -> Result<Status> {
    let inheritance = Inheritance {
        descriptors: descriptor::open_now(),
        ignored: signal::ignored_at_start(),
    };
    let mut facts = Facts::gather(options)?;
    let word = options.command.first().context("the command is empty")?;
    let path = match command::find(word, std::env::var_os("PATH").as_deref()) {
        Found::At(path) => path,
        Found::Missing => {
            let cause = format!("{}: no such command", Path::new(word).display());
            return Ok(facts.not_started(options, STATUS_MISSING, &cause));
        }
        Found::NotExecutable(path) => {
            let cause = format!("{}: not an executable file", path.display());
            return Ok(facts.not_started(options, STATUS_NOT_EXECUTABLE, &cause));
        }
    };
    let (ours, theirs) = descriptor::channel()?;
    match process::fork() {
        Ok(Fork::Parent(monitor)) => {
            drop(theirs);
            drop(facts);
            Ok(front::serve(ours, monitor, &inheritance.descriptors))
        }
        Ok(Fork::Child) => {
            drop(ours);
            process::exit_now(i32::from(monitor(
                options,
                facts,
                &path,
                theirs,
                &inheritance,
            )))
        }
        Err(error) => Err(error).context("cannot start the monitor"),
    }
}

/// In the monitor's process: starts the task and sees it through; the exit status.
#[allow(
    clippy::print_stderr,
    reason = "a refusal before the task started goes to the user"
)]
fn monitor(
    options: &RunOptions,
    facts: Facts,
    path: &Path,
    front: OwnedFd,
    inheritance: &Inheritance,
) -> Status {
    // The first refusal below ends it; without a front there is nobody to wait for the word.
    let channel = front.as_fd().try_clone_to_owned();
    let status = match watch(options, facts, path, front, inheritance) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("plimsoll: {error:#}");
            crate::cmd::run::STATUS_OWN_FAILURE
        }
    };
    if let Ok(channel) = channel {
        // A front that died has nobody to tell.
        drop(descriptor::send(
            channel.as_fd(),
            &ToFront::Done(status).encode(),
        ));
    }
    status
}

fn watch(
    options: &RunOptions,
    mut facts: Facts,
    path: &Path,
    front: OwnedFd,
    inheritance: &Inheritance,
) -> Result<Status> {
    process::become_subreaper()?;
    signal::set_default(SIGCHLD);
    let mask = signal::block_all();
    let signals = Signals::open(u64::MAX)?;
    let mut eyes = Eyes::choose(options, &mut facts)?;
    let mut hold = Hold::prepare(options, &mut facts)?;
    let mut task = Task::start(&Plan {
        path: path.as_os_str(),
        arguments: &options.command,
        signal_mask: mask,
        ignored: inheritance.ignored,
        leave: options.on_monitor_death == MonitorDeath::Leave,
    })?;
    let others: Vec<RawFd> = inheritance
        .descriptors
        .iter()
        .copied()
        .filter(|fd| *fd != 2)
        .collect();
    descriptor::close_inherited(&others);
    if let Err(error) = hold.take(task.pid()) {
        facts.note(format!("no own control group: {error:#}"));
    }
    eyes.follow(&task, &mut facts)?;
    facts.started(&task);
    eyes.started(&facts, &task);
    if let Some(errno) = task.go()? {
        let status = if errno == ENOENT {
            STATUS_MISSING
        } else {
            STATUS_NOT_EXECUTABLE
        };
        let cause = format!(
            "{}: {}",
            path.display(),
            std::io::Error::from_raw_os_error(errno)
        );
        task.dismiss();
        hold.release();
        return Ok(facts.not_started(options, status, &cause));
    }
    if std::env::set_current_dir("/").is_err() {
        warn("cannot leave the working directory");
    }
    Ok(Monitor::new(Parts {
        options,
        task,
        eyes,
        hold,
        facts,
        front,
        signals,
    })
    .serve())
}
