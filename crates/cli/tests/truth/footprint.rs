//! Disk space: blocks of what the task left, hard links once, without the files of the report.

use crate::harness::mechanism::Mechanism;
use crate::harness::process::is_root;
use crate::harness::run::Run;
use crate::harness::{skip, words};
use record::report::Usage;
use record::value::{Absent, Field, Method};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const SCRIPT: &str = "mkdir sub; for one in a b sub/c; do head -c 100000 /dev/zero >$one; done; \
                      ln a d; ln -s / outside; sleep 0.2";

/// A folder that this user may enter and not list: its footprint is absent with that reason; one
/// that is closed in a part is a lower bound.
#[test]
fn folders_that_this_user_may_not_read() {
    if !is_root() {
        skip!("only root makes folders that another user may not read");
    }
    let look = |closed: &str| {
        let run = Run::watched(Mechanism::Default, words!["true"]);
        let inner = run.path("cwd/inner");
        fs::create_dir(&inner).unwrap();
        fs::write(run.path("cwd/file"), "text").unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(run.folder(), open.clone()).unwrap();
        fs::set_permissions(run.path("cwd"), open).unwrap();
        let closed = run.path(closed);
        fs::set_permissions(closed, fs::Permissions::from_mode(0o711)).unwrap();
        let user = words![
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups"
        ];
        let done = run.wrapped(user).finish();
        done.expect_status(0);
        done
    };
    let done = look("cwd");
    for name in ["footprint_peak", "files_peak"] {
        let field = done.report().usage.get(name).unwrap();
        let absent = Absent::NoPermission;
        assert_eq!(field, &Field::Missing { absent }, "{}", done.context());
    }
    let done = look("cwd/inner");
    let files = done.report().usage.get("files_peak");
    let files = files.and_then(Field::value).unwrap();
    assert_eq!(files.value.as_f64(), 1.0);
    assert!(matches!(files.method, Method::LowerBound { .. }));
}

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

/// What is mounted below the folder counts where that was asked for, each file system by itself,
/// and once where it is mounted twice.
#[test]
fn mounts_are_followed_where_that_is_asked_for() {
    let script = "head -c 4096000 /dev/zero >disk; head -c 9216000 /dev/zero >inner/one; \
                  echo >inner/two; sleep 1; rm inner/one; sleep 0.2";
    let namespace = if is_root() { "-m" } else { "-Urm" };
    let mount = "mkdir inner again && mount -t tmpfs none inner && mount --bind inner again && \
                 mkdir made && mount -t proc none made; test -e again || exit 77; exec \"$@\"";
    for follow in [false, true] {
        let mut run = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", script])
            .wrapped(words!["unshare", namespace, "sh", "-c", mount, "sh"]);
        let cwd = run.path("cwd");
        run = run.options(["--measure-dir".as_ref(), cwd.as_os_str()]);
        if follow {
            run = run.options(["--follow-mounts", "--format", "text"]);
        }
        let done = run.finish();
        if done.status != 0 && done.stderr.contains("unshare") || done.status == 77 {
            skip!("nothing can be mounted here");
        }
        done.expect_status(0);
        let report = done.report();
        let whole = |usage: &Usage, name: &str| usage.get(name).and_then(Field::whole).unwrap();
        let disk = fs::symlink_metadata(cwd.join("disk")).unwrap().blocks() * 512;
        let peak = whole(&report.usage, "footprint_peak");
        if !follow {
            assert!(report.footprint.is_empty());
            assert_eq!(whole(&report.usage, "files_peak"), 1, "{}", done.context());
            assert!((disk..disk + (1 << 20)).contains(&peak), "{peak}");
            continue;
        }
        let inner = 9_216_000 + 4096;
        assert_eq!(whole(&report.usage, "files_peak"), 3, "{}", done.context());
        assert!(
            (disk + inner..disk + inner + (1 << 20)).contains(&peak),
            "{peak}"
        );
        let [memory, own] = &report.footprint[..] else {
            panic!("{:#?}", report.footprint);
        };
        assert_eq!(memory.kind.as_deref(), Some("tmpfs"));
        let point = memory.mount.clone().unwrap();
        assert!([cwd.join("inner"), cwd.join("again")].contains(&point.into()));
        assert_eq!(whole(&memory.usage, "footprint_peak"), inner);
        assert_eq!(whole(&own.usage, "files_peak"), 1);
        let own = whole(&own.usage, "footprint_peak");
        assert!((disk..disk + (1 << 20)).contains(&own), "{own}");
        // Where a line ends is told by the length of the path.
        let words: Vec<_> = done.stderr.split_whitespace().collect();
        let told = words.join(" ").contains(" (tmpfs), ~2 files ");
        assert!(told, "{}", done.context());
    }
}

/// 40 MiB in new files, of which 30 are deleted and one has a second name, and a file of 1 GiB that
/// is a hole but for its end: the peak is what lay there at once, whatever watches the task.
#[test]
fn the_peak_is_what_lay_there_at_once() {
    let script = "for n in 1 2 3 4; do head -c 10485760 /dev/zero >$n; done; ln 4 link; \
                  truncate -s 1G hole; echo end >>hole; sleep 1.5; rm 1 2 3; sleep 0.1";
    for (mechanism, level) in [
        (Mechanism::Default, &[][..]),
        (Mechanism::Default, &["--level", "io"]),
        (Mechanism::Procfs, &[]),
        (Mechanism::Preload, &[]),
    ] {
        let run = Run::watched(mechanism, words!["/bin/sh", "-c", script]).options(level);
        let cwd = run.path("cwd");
        let run = run.options(["--measure-dir".as_ref(), cwd.as_os_str()]);
        let done = run.finish();
        done.expect_status(0);
        let report = done.report();
        let whole = |name: &str| report.usage.get(name).and_then(Field::whole).unwrap();
        let blocks = |name: &str| fs::symlink_metadata(cwd.join(name)).unwrap().blocks() * 512;
        let truth = 4 * blocks("4") + blocks("hole") + blocks(".");
        let peak = whole("footprint_peak");
        // Blocks may be set aside for a file that grows.
        assert!(
            (truth..truth + truth / 50).contains(&peak),
            "{peak} for {truth}"
        );
        assert_eq!(whole("files_peak"), 5, "{}", done.context());
        let method = &report
            .usage
            .get("footprint_peak")
            .and_then(Field::value)
            .unwrap()
            .method;
        assert!(matches!(method, Method::Sampled { .. }), "{method:?}");
    }
}
