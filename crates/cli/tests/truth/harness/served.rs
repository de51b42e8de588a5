//! An agent that others ask.

use super::dataset::{agent, wait_for_reading};
use super::mechanism::Mechanism;
use super::process::Signal;
use super::run::{Done, Running, plimsoll};
use super::{executable, words};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// An agent with a socket.
pub(crate) struct Served {
    pub(crate) agent: Running,
    pub(crate) dataset: PathBuf,
    pub(crate) socket: PathBuf,
    /// The program, where every user may execute it.
    pub(crate) plimsoll: PathBuf,
}

/// One that has read what is there, and whose socket and program are for everybody.
pub(crate) fn served(mechanism: Mechanism, interval: &str, more: &[&str]) -> Served {
    let run = agent(&[]);
    let (dataset, socket) = (run.path("d"), run.path("agent.sock"));
    let mut command = words![
        plimsoll(),
        "agent",
        "--dataset",
        dataset,
        "--socket",
        socket
    ];
    command.extend(words!["--interval", interval, "--compact", "never"]);
    command.extend(mechanism.options().iter().map(OsString::from));
    command.extend(more.iter().map(OsString::from));
    fs::set_permissions(run.folder(), Permissions::from_mode(0o755)).unwrap();
    let copy = run.path("plimsoll");
    executable::copy(plimsoll(), &copy, "755");
    let mut agent = run.command(command).start();
    wait_for_reading(&mut agent, &dataset);
    Served {
        agent,
        dataset,
        socket,
        plimsoll: copy,
    }
}

impl Served {
    /// Ends it, as its service manager does.
    #[track_caller]
    pub(crate) fn end(self) -> Done {
        self.agent.send(Signal::TERM);
        let done = self.agent.finish();
        done.expect_status(0);
        assert!(!done.stderr.contains("has ended"), "{}", done.stderr);
        done
    }
}
