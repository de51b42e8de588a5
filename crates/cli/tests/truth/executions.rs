//! Level io: the files that were executed, against what the command executed by construction.

use crate::files::{Seen, at_level_io, seen_of};
use crate::harness::expect::number;
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::is_root;
use crate::harness::run::plimsoll;
use crate::harness::workload::program;
use crate::harness::{each_io_mechanism, executable, skip, words};
use record::file::{FileFlags, FileKind, FileLine};
use record::unit::Bytes;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

each_io_mechanism!("": seven_times, deleted, by_a_thread, scripts);

/// Runs a shell with these lines in a folder that has the program as `p`.
fn watch(mechanism: Mechanism, workload: &str, lines: &str, prepare: fn(&Path)) -> Seen {
    let run = at_level_io(mechanism);
    let folder = run.path("data");
    fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    executable::copy(program(workload), folder.join("p"), "755");
    prepare(&folder);
    // The last command too is one that the shell starts and waits for.
    let lines = format!("cd '{}' || exit 1\n{lines}\nexit 0", folder.display());
    let shell: OsString = "sh".into();
    let done = run.command(words![shell, "-c", lines]).finish();
    let seen = seen_of(done, folder);
    seen.done.expect_status(0);
    seen
}

impl Seen {
    /// What was executed and is in another folder: the shell, the dynamic linker.
    fn elsewhere(&self, is_it: impl Fn(&str) -> bool) -> u64 {
        let others = self.lines.iter().filter(|line| {
            !Path::new(&line.path).starts_with(&self.folder)
                && is_it(line.path.rsplit('/').next().unwrap())
        });
        others.map(|line| line.counts.executions).sum()
    }

    fn linkers(&self) -> u64 {
        self.elsewhere(|name| name.starts_with("ld-") || name.starts_with("ld."))
    }

    fn shells(&self) -> u64 {
        let shell = fs::canonicalize("/bin/sh").unwrap();
        self.elsewhere(|name| name == shell.file_name().unwrap())
    }
}

/// The first program of a task, none of it in memory: what an exec reads ahead is told with it.
#[test]
fn a_cold_program_bpf() {
    with(Mechanism::Bpf, |mechanism| {
        let run = at_level_io(mechanism);
        let folder = run.path("data");
        fs::create_dir(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let copy = folder.join("p");
        executable::copy(program("nothing.static"), &copy, "755");
        let dropped = [
            "-c",
            "sync \"$1\" && dd if=\"$1\" iflag=nocache count=0",
            "sh",
        ];
        let dropped = Command::new("sh").args(dropped).arg(&copy).output();
        assert!(dropped.unwrap().status.success());
        let seen = seen_of(run.command(words![copy]).finish(), folder);
        let disk = number(&seen.done, "disk_read");
        if disk == 0.0 {
            skip!("nothing comes from storage here");
        }
        let pages = seen.of("p").page_cache.expect("this kernel tells of pages");
        let told = pages.filled.0 + pages.mapped_filled.0;
        assert_eq!(told, disk as u64, "{pages:?}");
    });
}

/// It was executed so often, each time by another process, and used in no other way.
#[track_caller]
fn only_executed(line: &FileLine, executions: u64) {
    let counts = &line.counts;
    assert_eq!(counts.executions, executions, "{line:#?}");
    assert_eq!(line.processes.len() as u64, executions, "{line:#?}");
    assert_eq!(
        (counts.opens, counts.closes, counts.reads),
        (0, 0, 0),
        "{line:#?}"
    );
    assert_eq!(line.flags, FileFlags::default());
    assert_eq!(line.kind, FileKind::File);
}

fn seven_times(mechanism: Mechanism, form: &str) {
    let lines = "for i in 1 2 3 4 5 6 7; do ./p; done";
    let seen = watch(mechanism, &format!("nothing{form}"), lines, |_| {});
    let line = seen.of("p");
    only_executed(line, 7);
    let truth = fs::metadata(seen.folder.join("p")).unwrap();
    let size = Some(Bytes(truth.len()));
    assert_eq!(
        (line.size_before_bytes, line.size_after_bytes),
        (size, size)
    );
    assert_eq!(line.inode, Some(truth.ino()));
    assert_eq!(line.deleted, Some(false));
    // The kernel's clock of these ticks: seven may be in one.
    assert!(line.first_ns <= line.last_ns, "{line:#?}");
    assert_eq!(seen.shells(), 1);
    let dynamic = if form.is_empty() { 7 } else { 0 };
    assert_eq!(seen.linkers(), 1 + dynamic);
}

/// A program that removes its own file.
fn deleted(mechanism: Mechanism, form: &str) {
    let lines = "./p p\ntest -e p && exit 1";
    let seen = watch(mechanism, &format!("gone{form}"), lines, |_| {});
    let line = seen.of("p");
    only_executed(line, 1);
    let size = fs::metadata(program(&format!("gone{form}"))).unwrap().len();
    assert_eq!(line.size_before_bytes, Some(Bytes(size)));
    assert_eq!(line.deleted, Some(true));
}

/// A thread that is not the first one, which ends by it.
fn by_a_thread(mechanism: Mechanism, form: &str) {
    let lines = "./p ./q";
    let seen = watch(mechanism, &format!("threadexec{form}"), lines, |folder| {
        executable::copy(program("nothing"), folder.join("q"), "755");
    });
    only_executed(seen.of("p"), 1);
    only_executed(seen.of("q"), 1);
    assert_eq!(seen.of("p").processes, seen.of("q").processes);
}

/// Whether this mechanism tells of scripts, each of them if one names another.
fn tells_scripts(mechanism: Mechanism) -> (bool, bool) {
    match mechanism {
        Mechanism::Bpf => {}
        // The doctor of this user cannot know what the agent's kernel allows root.
        Mechanism::Agent => return (false, false),
        _ => return (true, false),
    }
    let doctor = Command::new(plimsoll()).arg("doctor").output().unwrap();
    let text = String::from_utf8(doctor.stdout).unwrap();
    let told = text
        .lines()
        .any(|line| line.trim_start().starts_with("yes BPF fentry"));
    (told, told)
}

/// One whose interpreter does not read it, one that the shell reads, one that leads to another.
fn scripts(mechanism: Mechanism, form: &str) {
    let prepare = |folder: &Path| {
        let interpreter = |name| format!("#!{}\n", folder.join(name).display());
        executable::script(folder.join("unread"), &interpreter("p"));
        executable::script(folder.join("outer"), &interpreter("unread"));
        executable::script(folder.join("shell"), "#!/bin/sh\nexit 0\n");
    };
    let lines = "./unread; ./unread; ./shell; ./shell; ./shell; ./outer";
    let seen = watch(mechanism, &format!("nothing{form}"), lines, prepare);
    // By whom programs were run is known to all.
    only_executed(seen.of("p"), 3);
    assert_eq!(seen.shells(), 1 + 3);
    let (told, nested) = tells_scripts(mechanism);
    if !told {
        println!("skipped: the program that tells of scripts may be missing here");
        return;
    }
    only_executed(seen.of("unread"), if nested { 3 } else { 2 });
    only_executed(seen.of("outer"), 1);
    let shell = seen.of("shell");
    assert_eq!((shell.counts.executions, shell.processes.len()), (3, 3));
    assert!(shell.counts.bytes_read.0 >= 3 * 10 && shell.flags.opened_to_read);
}

/// On an overlay a program is mapped from the files of its layers: told are those of the overlay.
fn on_an_overlay(mechanism: Mechanism) {
    if !is_root() {
        skip!("only root mounts an overlay");
    }
    let run = at_level_io(mechanism);
    let folder = run.path("data");
    fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    executable::copy(program("nothing"), folder.join("p"), "755");
    executable::copy(program("nothing.static"), folder.join("s"), "755");
    let mount = format!(
        "cd {} && mkdir memory merged && mount -t tmpfs none memory && \
         mkdir memory/upper memory/work && mount -t overlay none -o \
         lowerdir=/,upperdir=memory/upper,workdir=memory/work merged && test -e merged$PWD/p || \
         {{ echo skip no overlay of this folder can be mounted here; exit 77; }}; exec \"$@\"",
        folder.display()
    );
    let lines = "for i in 1 2 3; do chroot \"$1/merged\" \"$1/p\"; done
                 chroot \"$1/merged\" \"$1/s\"; exit 0";
    let done = run
        .wrapped(words!["unshare", "-m", "sh", "-c", mount, "sh"])
        .command(words!["/bin/sh", "-c", lines, "sh", &folder])
        .finish();
    if done.skipped().is_some() {
        skip!("no overlay of this folder can be mounted here");
    }
    let seen = seen_of(done, folder);
    seen.done.expect_status(0);
    let merged = seen.folder.join("merged");
    let above = |line: &&FileLine| Path::new(&line.path).starts_with(&merged);
    let executed = |line: &&FileLine| line.counts.executions > 0;
    let told = seen.lines.iter().filter(above).filter(executed);
    let name = |line: &FileLine| line.path.rsplit('/').next().unwrap().to_owned();
    let mut told: Vec<_> = told.map(|it| (name(it), it.counts.executions)).collect();
    told.sort();
    let [(linker, runs), others @ ..] = &told[..] else {
        panic!("{:#?}", seen.lines);
    };
    assert!(linker.starts_with("ld") && *runs == 3, "{told:?}");
    assert_eq!(others, [("p".to_owned(), 3), ("s".to_owned(), 1)]);
    let below = |name| seen.folder.join(name).to_str().unwrap().to_owned();
    let (p, s) = (below("p"), below("s"));
    assert!(!seen.lines.iter().any(|line| [&p, &s].contains(&&line.path)));
}

#[test]
fn root_bpf_on_an_overlay() {
    with(Mechanism::Bpf, on_an_overlay);
}

#[test]
fn root_ptrace_on_an_overlay() {
    with(Mechanism::Ptrace, on_an_overlay);
}

/// What comes in for a program is in its line, not among the others.
#[test]
fn bpf_pages_of_a_program_are_its_own() {
    with(Mechanism::Bpf, |mechanism| {
        let lines = "./p";
        let seen = watch(mechanism, "nothing.static", lines, |folder| {
            let file = fs::File::open(folder.join("p")).unwrap();
            file.sync_all().unwrap();
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        });
        let line = seen.of("p");
        let pages = line.page_cache.expect("this kernel tells of pages");
        if crate::harness::run::is_memory(&seen.folder) {
            println!("skipped: the file system keeps its pages in the cache");
            return;
        }
        let (size, brought_in) = (line.size_after_bytes.unwrap(), pages.brought_in());
        let pages_most = size.0.next_multiple_of(1 << 16);
        assert!((4096..=pages_most).contains(&brought_in.0), "{line:#?}");
        assert!(pages.filled.0 > 0, "the kernel reads its start: {line:#?}");
    });
}
