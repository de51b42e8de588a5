//! Disk space: blocks of what the task left, hard links once, without the files of the report.

use crate::harness::mechanism::Mechanism;
use crate::harness::process::is_root;
use crate::harness::run::Run;
use crate::harness::{skip, words};
use std::fs;
use std::os::unix::fs::MetadataExt;

const SCRIPT: &str = "mkdir sub; for one in a b sub/c; do head -c 100000 /dev/zero >$one; done; \
                      ln a d; ln -s / outside; sleep 0.2";

#[test]
fn blocks_are_counted_once_and_our_own_files_not() {
    let run = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", SCRIPT]);
    let folder = run.folder().to_owned();
    // The report, and the common file, lie in the folder that is measured.
    let common = run.path("cwd/all.jsonl");
    let cwd = run.path("cwd");
    let done = run
        .options(["--measure-dir".as_ref(), folder.as_os_str()])
        .options(["--append".as_ref(), common.as_os_str()])
        .finish();
    done.expect_status(0);
    let blocks = |path| fs::symlink_metadata(path).unwrap().blocks() * 512;
    let folders = [folder.clone(), cwd.clone(), cwd.join("sub")];
    let files = ["a", "b", "sub/c", "outside"].map(|name| cwd.join(name));
    // What the harness keeps beside it.
    let beside = ["stdout", "stderr"].map(|name| folder.join(name));
    let all = folders.into_iter().chain(files).chain(beside);
    let truth: u64 = all.map(blocks).sum();
    let whole = |name: &str| {
        done.report()
            .usage
            .get(name)
            .and_then(|field| field.whole())
    };
    assert_eq!(whole("files_peak"), Some(6), "{}", done.context());
    let told = whole("footprint_peak").unwrap();
    assert!(
        told >= truth && told <= truth + truth / 50,
        "{told} for {truth}"
    );
}

/// A container's files lie on an overlay, and carry the devices of its layers.
#[test]
fn files_of_an_overlay_are_counted() {
    let run = Run::watched(Mechanism::Default, Vec::new());
    let place = run.path("place");
    fs::create_dir(&place).unwrap();
    let mount = format!(
        "cd {} && mkdir lower memory merged && echo 1 >lower/one && mount -t tmpfs none memory && \
         mkdir memory/upper memory/work && mount -t overlay none -o \
         lowerdir=lower,upperdir=memory/upper,workdir=memory/work merged || \
         {{ echo skip no overlay can be mounted here; exit 77; }}; exec \"$@\"",
        place.display()
    );
    let namespace = if is_root() { "-m" } else { "-Urm" };
    let script = "mkdir sub; echo 2 >two; echo 3 >sub/three; sleep 0.2";
    let merged = place.join("merged");
    let done = run
        .wrapped(words!["unshare", namespace, "sh", "-c", mount, "sh"])
        .options(["--measure-dir".as_ref(), merged.as_os_str()])
        .command(words![
            "/bin/sh",
            "-c",
            format!("cd {}; {script}", merged.display())
        ])
        .finish();
    if done.skipped().is_some() || done.stderr.contains("unshare failed") {
        skip!("no overlay can be mounted here");
    }
    done.expect_status(0);
    let files = done.report().usage.get("files_peak");
    assert_eq!(
        files.and_then(|files| files.whole()),
        Some(3),
        "{}",
        done.context()
    );
}
