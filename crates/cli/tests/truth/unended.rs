//! A setuid program that a limit is for: who started it may not end it, and the report says so.

use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run};
use crate::harness::workload::setuid;
use crate::harness::{executable, skip, words};
use record::report::ExitType;
use record::report::serde_free::Scalar;
use std::ffi::OsString;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A setuid program of root's that any user may start, in a folder that is removed in the end;
/// nothing where there can be none.
fn owned() -> Option<(tempfile::TempDir, PathBuf)> {
    let source = setuid("owned")?;
    let folder = tempfile::tempdir().unwrap();
    let mut path = source.clone();
    // Who is not root finds it where root has made it.
    if process::is_root() {
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        path = folder.path().join("owned.setuid");
        executable::copy(source, &path, "4755");
    }
    let probe = Run::bare(words![path, "0"]).finish();
    (probe.status == 6).then_some((folder, path))
}

/// `command` under a limit of wall time, by a user who is not root.
fn limited(command: Vec<OsString>) -> Done {
    let limit = ["--limit", "wall=300ms", "--grace", "200ms"];
    let run = Run::watched(Mechanism::Default, command)
        .options(limit)
        .options(["--format", "text"]);
    set_permissions(run.folder(), Permissions::from_mode(0o777)).unwrap();
    let user = words![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups"
    ];
    let run = match process::is_root() {
        true => run.wrapped(user),
        false => run,
    };
    run.finish()
}

/// Why it could not be ended, as the report says it, the lines of the screen put together.
#[track_caller]
fn expect_told(done: &Done) -> String {
    let evidence = &done.report().exit.evidence;
    let told = evidence.iter().find(|one| one.kind == "not_ended");
    let told = told.unwrap_or_else(|| panic!("no evidence\n{}", done.context()));
    let Scalar::Text(who) = &told.value else {
        panic!("{told:?}");
    };
    // Where `/proc` hides other users' processes, who it is is not known.
    let named = who.contains("owned.setuid") || who.starts_with("pid ");
    assert!(named, "{who}");
    let note = done.report().monitor.notes.join("\n");
    assert!(note.contains("could not be ended"), "{note}");
    done.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_command_that_we_may_not_end() {
    let Some((_folder, owned)) = owned() else {
        skip!("only root makes a setuid program, and not everywhere");
    };
    let done = limited(words![owned, "1500"]);
    done.expect_status(6);
    let report = done.report();
    assert_eq!(report.exit.kind, ExitType::Normal, "{}", done.context());
    assert_eq!(report.exit.code, Some(6));
    let wall = report.exceeded.iter().find(|one| one.resource == "wall");
    assert!(!wall.unwrap().enforced, "{:?}", report.exceeded);
    let cause = report.exit.cause.as_deref().unwrap_or_default();
    assert!(cause.contains("could not be ended"), "{cause}");
    let text = expect_told(&done);
    assert!(text.contains("exit 6 after"), "{text}");
    assert!(text.contains("limit wall 300.0 ms exceeded"), "{text}");
    assert!(!text.contains("ended by Plimsoll"), "{text}");
}

/// The shell is ours to end, what it started is not; it is not waited for.
#[test]
fn a_child_that_we_may_not_end() {
    let Some((_folder, owned)) = owned() else {
        skip!("only root makes a setuid program, and not everywhere");
    };
    let script = "\"$0\" 20000; exit 3";
    let done = limited(words!["/bin/sh", "-c", script, owned]);
    done.expect_status(124);
    assert_eq!(done.report().exit.kind, ExitType::Limit);
    assert!(done.report().exceeded.iter().any(|one| one.enforced));
    let text = expect_told(&done);
    assert!(text.contains("ended by Plimsoll but for"), "{text}");
    // Where `/proc` hides other users' processes it is not seen to live on.
    let row = "another user's, could not be ended";
    assert!(text.contains(row) || !text.contains("survivors"), "{text}");
    let wall = done.report().usage.get("wall_time").unwrap().whole();
    assert!(wall.unwrap() < 20_000_000_000, "{wall:?}");
}
