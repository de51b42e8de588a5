//! Disk space: blocks of what the task left, hard links once, without the files of the report.

use crate::harness::mechanism::Mechanism;
use crate::harness::run::Run;
use crate::harness::words;
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
