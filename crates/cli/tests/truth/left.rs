//! Level io: which files are left at the end.

use crate::files::{at_level_io, seen_of};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::run::Run;
use crate::harness::{skip, words};

/// Makes one test of each function for each mechanism that sees files.
macro_rules! each {
    ($($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::harness::mechanism::{Mechanism, with};
            #[test]
            fn bpf() {
                with(Mechanism::Bpf, super::$check);
            }
            #[test]
            fn preload() {
                with(Mechanism::Preload, super::$check);
            }
            #[test]
            fn ptrace() {
                with(Mechanism::Ptrace, super::$check);
            }
        }
    )* };
}

each!(a_name_that_is_no_utf_8);

/// In a mount namespace of their own: `b/f` is there, and has no such path here.
const ELSEWHERE: &str = "cd $0; mkdir s b; mount --bind s b; echo x > b/f; echo y > b/g; rm b/g";

fn root_a_mount_namespace(mechanism: Mechanism) {
    let shell = words!["unshare", "-m", "true"];
    let (probe, run) = (Run::bare(shell), at_level_io(mechanism));
    if probe.finish().status != 0 {
        skip!("no mount namespace may be made");
    }
    let folder = run.folder().canonicalize().unwrap();
    let command = words!["unshare", "-m", "/bin/sh", "-c", ELSEWHERE, folder];
    let done = run.command(command).finish();
    let seen = seen_of(done, folder);
    seen.report();
    assert!(seen.folder.join("s/f").exists());
    assert_eq!(seen.of("b/f").deleted, None);
    // That it was removed was seen.
    assert_eq!(seen.of("b/g").deleted, Some(true));
}

#[test]
fn root_bpf_a_mount_namespace() {
    with(Mechanism::Bpf, root_a_mount_namespace);
}

#[test]
fn root_preload_a_mount_namespace() {
    with(Mechanism::Preload, root_a_mount_namespace);
}

#[test]
fn root_ptrace_a_mount_namespace() {
    with(Mechanism::Ptrace, root_a_mount_namespace);
}

fn a_name_that_is_no_utf_8(mechanism: Mechanism) {
    let run = at_level_io(mechanism);
    let folder = run.folder().canonicalize().unwrap();
    let script = "cd $0; n=$(printf '\\377'); : > kept$n; : > gone$n; rm gone$n";
    let done = run
        .command(words!["/bin/sh", "-c", script, folder])
        .finish();
    let seen = seen_of(done, folder);
    seen.report();
    assert_eq!(seen.of("kept\u{fffd}").deleted, Some(false));
    assert_eq!(seen.of("gone\u{fffd}").deleted, Some(true));
}
