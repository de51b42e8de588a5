//! What is given up in a thread of its own stays there.

use super::*;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `check` in a thread of its own, which is confined for good; the others are not.
#[track_caller]
fn alone(check: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(check).join()).unwrap();
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[track_caller]
fn refused<T>(result: std::io::Result<T>) {
    let kind = result.err().map(|error| error.kind());
    assert_eq!(kind, Some(ErrorKind::PermissionDenied));
}

#[test]
fn forbidden_calls_fail_and_others_do_not() {
    let folder = folder("calls");
    let file = folder.join("file");
    fs::write(&file, "text").unwrap();
    alone(|| {
        let rules = Rules {
            forbidden: &[
                Forbidden::Processes,
                Forbidden::Sockets,
                Forbidden::Writing,
                Forbidden::Machine,
                Forbidden::Programs,
            ],
            ..Rules::default()
        };
        assert_eq!(confine_thread(&rules).unwrap(), Held::NotAsked);
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert!(fs::read_dir(&folder).unwrap().next().is_some());
        refused(fs::write(&file, "more"));
        refused(fs::File::options().append(true).open(&file));
        refused(fs::write(folder.join("new"), ""));
        refused(fs::remove_file(&file));
        refused(fs::rename(&file, folder.join("other")));
        refused(std::net::UdpSocket::bind("127.0.0.1:0"));
        refused(std::os::unix::net::UnixStream::pair());
        // SAFETY: no pointers that are read.
        let space = unsafe { libc::unshare(libc::CLONE_NEWUTS) };
        assert_eq!((space, last_errno()), (-1, libc::EPERM));
        // SAFETY: the process that is asked about is this one.
        let other = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        assert_eq!((other, last_errno()), (-1, libc::EPERM));
    });
    // Others go on.
    fs::write(&file, "more").unwrap();
    fs::remove_dir_all(folder).unwrap();
}

fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[test]
fn a_process_is_held_to_its_folders() {
    let (own, seen, other) = (folder("own"), folder("seen"), folder("other"));
    for folder in [&own, &seen, &other] {
        fs::write(folder.join("file"), "text").unwrap();
    }
    let at = |folder: &Path| folder.join("file");
    alone(|| {
        let rules = Rules {
            files: Some(Files {
                written: &[&own],
                read: &[&seen],
            }),
            ..Rules::default()
        };
        let held = confine_thread(&rules).unwrap();
        if held == Held::NotAtAll {
            return eprintln!("this kernel has no Landlock");
        }
        fs::write(own.join("new"), "text").unwrap();
        fs::rename(own.join("new"), own.join("renamed")).unwrap();
        fs::remove_file(own.join("renamed")).unwrap();
        assert_eq!(fs::read(at(&seen)).unwrap(), b"text");
        refused(fs::write(at(&seen), "more"));
        refused(fs::write(seen.join("new"), "more"));
        refused(fs::remove_file(at(&seen)));
        refused(fs::read(at(&other)));
        refused(fs::read_dir(&other).map(drop));
    });
    assert_eq!(fs::read(at(&other)).unwrap(), b"text");
    for folder in [own, seen, other] {
        fs::remove_dir_all(folder).unwrap();
    }
}

/// `Name:` of `/proc/thread-self/status`, a number in base 16.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

#[test]
fn root_keeps_what_it_is_told_and_becomes_somebody() {
    // SAFETY: asks who we are.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: needs root");
    }
    let had = status("CapPrm:");
    let ptrace = 1 << Capability::SysPtrace.number();
    let nobody = User {
        uid: 65534,
        gid: 65534,
    };
    for user in [None, Some(nobody)] {
        alone(|| {
            let rules = Rules {
                user,
                keep: &[Capability::SysPtrace],
                ..Rules::default()
            };
            confine_thread(&rules).unwrap();
            let now = [status("CapPrm:"), status("CapEff:"), status("CapInh:")];
            assert_eq!(now, [had & ptrace, had & ptrace, 0]);
            assert_eq!((status("CapBnd:"), status("NoNewPrivs:")), (0, 1));
            // SAFETY: asks who this thread is.
            let uid = unsafe { libc::geteuid() };
            assert_eq!(uid, user.map_or(0, |user| user.uid));
        });
    }
    assert_eq!(status("CapPrm:"), had);
}

#[test]
fn a_process_with_threads_is_told_so() {
    let error = confine(&Rules::default()).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EBUSY));
    assert!(Command::new("true").status().unwrap().success());
}
