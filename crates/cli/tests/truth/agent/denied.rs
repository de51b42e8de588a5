//! What an agent says of processes that its user may not read.

use crate::harness::dataset::agent;
use crate::harness::process;
use crate::harness::run::{Done, Run, Running};
use crate::harness::words;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A command of another user.
const OTHER: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// A reading, through `/proc`, of this process and those below it by another user's agent.
fn read_by_other(who: &Running) -> Done {
    let select = format!("pid:{}", who.pid());
    let options = "--mechanism procfs --interval 100ms --duration 1s --select";
    let mut options: Vec<_> = options.split(' ').collect();
    options.push(&select);
    let agent = agent(&options);
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(agent.folder(), open).unwrap();
    let done = agent.wrapped(OTHER.map(OsString::from).to_vec()).finish();
    done.expect_status(0);
    assert!(
        done.stderr.contains("1 processes now"),
        "{}",
        done.context()
    );
    done
}

#[test]
fn root_only_the_wanted_are_said_to_be_denied() {
    if !process::is_root() {
        println!("skipped: to be two users needs root");
        return;
    }
    let cat = || Run::bare(words!["/bin/cat"]).input(Stdio::piped());
    let mut other = cat().wrapped(OTHER.map(OsString::from).to_vec()).start();
    let mut ours = cat().start();
    // Once it is the program that it becomes.
    process::wait_until("it has executed cat", || {
        let name = std::fs::read(format!("/proc/{}/comm", other.pid()));
        name.is_ok_and(|name| name == b"cat\n")
    });
    let told = read_by_other(&other).stderr;
    assert!(!told.contains("may not read the I/O"), "{told}");
    let told = read_by_other(&ours).stderr;
    assert!(
        told.contains("the I/O of 1 processes, and nothing of 0"),
        "{told}"
    );
    for cat in [&mut other, &mut ours] {
        cat.end_input();
    }
    other.finish().expect_status(0);
    ours.finish().expect_status(0);
}
