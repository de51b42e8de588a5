//! Probes of `/proc`, and of what is told of files and file systems.

use super::outcome::{reason, words};
use super::{Outcome, Probe};
use record::value::Absent;
use std::fs;
use std::io;
use sys::probe::{self, IdleChild};

const HIDEPID: &str = "mount -o remount,hidepid=0 /proc, or gid= of a group you are in";

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "procfs",
        gives: "everything that is sampled",
        allow: "",
        needs: "mount -t proc proc /proc",
        attempt: |_| procfs(),
    },
    Probe {
        name: "/proc/PID/stat",
        gives: "CPU time, state, faults and resident set of a process",
        allow: HIDEPID,
        needs: "procfs",
        attempt: |_| of_child("stat", |text| text.contains(") ")),
    },
    Probe {
        name: "/proc/PID/io",
        gives: "bytes and calls read and written by a process",
        allow: "a process of your own that may be traced",
        needs: "a kernel with CONFIG_TASK_IO_ACCOUNTING",
        attempt: |_| of_child("io", |text| text.contains("rchar:")),
    },
    Probe {
        name: "/proc/PID/smaps_rollup",
        gives: "memory with shared pages divided: checks limits without a control group",
        allow: "a process of your own that may be traced",
        needs: "Linux 4.14",
        attempt: |_| of_child("smaps_rollup", |text| text.contains("Pss:")),
    },
    Probe {
        name: "/proc/PID/schedstat",
        gives: "CPU time in nanoseconds, time waiting for a CPU",
        allow: HIDEPID,
        needs: "a kernel with CONFIG_SCHED_INFO",
        attempt: |_| of_child("schedstat", |text| text.split_whitespace().count() == 3),
    },
    Probe {
        name: "delay accounting",
        gives: "time waiting for the disk",
        allow: "",
        needs: "sysctl kernel.task_delayacct=1 as root, or the boot option delayacct",
        attempt: |ground| delay_accounting(&ground.kernel),
    },
    Probe {
        name: "processes of others",
        gives: "setuid programs of the task, and daemons that work for it",
        allow: HIDEPID,
        needs: "procfs",
        attempt: |_| Outcome::of(fs::read("/proc/1/stat").map(drop).map_err(hidden)),
    },
    Probe {
        name: "statfs",
        gives: "the kind of file system of a folder, before it is walked",
        allow: "",
        needs: "any Linux",
        attempt: |_| Outcome::of(probe::filesystem_magic(c"/").map(drop)),
    },
    Probe {
        name: "inotify",
        gives: "changes of single folders",
        allow: "sysctl fs.inotify.max_user_instances, max_user_watches",
        needs: "a kernel with CONFIG_INOTIFY_USER",
        attempt: |_| Outcome::of(probe::inotify()),
    },
    Probe {
        name: "fanotify",
        gives: "every file opened and closed on a file system",
        allow: "CAP_SYS_ADMIN",
        needs: "Linux 4.20 with CONFIG_FANOTIFY",
        attempt: |_| Outcome::of(probe::fanotify()),
    },
];

fn procfs() -> Outcome {
    const MAGIC: u64 = 0x9fa0;
    match probe::filesystem_magic(c"/proc") {
        Ok(MAGIC) => Outcome::of(fs::read("/proc/self/stat").map(drop)),
        Ok(_) => Outcome::not(Absent::NoKernelSupport, "/proc is no process file system"),
        Err(error) => Outcome::not(reason(&error), format!("/proc: {}", words(&error))),
    }
}

/// Reads a file of a child, whose content must look as `is_right` says.
fn of_child(name: &str, is_right: impl Fn(&str) -> bool) -> Outcome {
    let child = match IdleChild::start() {
        Ok(child) => child,
        Err(error) => return Outcome::of(Err(error)),
    };
    match fs::read_to_string(format!("/proc/{}/{name}", child.pid())) {
        Ok(text) if is_right(&text) => Outcome::usable(),
        Ok(_) => Outcome::not(Absent::NoKernelSupport, "its content is not as expected"),
        Err(error) => Outcome::of(Err(error)),
    }
}

/// With `hidepid` the folders of others are not there.
fn hidden(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::NotFound && fs::exists("/proc/self/stat").unwrap_or(false) {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            "/proc is mounted with hidepid",
        )
    } else {
        error
    }
}

/// Since 5.14 it is off until a sysctl turns it on; before, on unless a boot option turned it off.
fn delay_accounting(kernel: &str) -> Outcome {
    match fs::read_to_string("/proc/sys/kernel/task_delayacct") {
        Ok(text) if text.trim() != "0" => Outcome::usable(),
        Ok(_) => Outcome::not(Absent::Off, "kernel.task_delayacct is 0"),
        Err(_) => {
            let options = fs::read_to_string("/proc/cmdline").unwrap_or_default();
            always_on(
                kernel,
                options.split_whitespace().any(|word| word == "nodelayacct"),
            )
        }
    }
}

fn always_on(kernel: &str, turned_off: bool) -> Outcome {
    let mut numbers = kernel
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    let version = (numbers.next(), numbers.next());
    match version {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (5, 14) && !turned_off => {
            Outcome::with("on by default before Linux 5.14; not tried")
        }
        (Some(Ok(_)), Some(Ok(_))) if turned_off => {
            Outcome::not(Absent::Off, "the boot option nodelayacct")
        }
        _ => Outcome::not(Absent::NoKernelSupport, "no kernel.task_delayacct")
            .remedied_by("a kernel with CONFIG_TASK_DELAY_ACCT"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_accounting_before_its_sysctl_is_on_unless_turned_off() {
        assert!(always_on("4.18.0-553.el8", false).is_usable());
        assert_eq!(always_on("5.10.0", true).reason(), Some(Absent::Off));
        assert_eq!(
            always_on("6.1.0", false).reason(),
            Some(Absent::NoKernelSupport)
        );
        assert_eq!(
            always_on("unknown", false).reason(),
            Some(Absent::NoKernelSupport)
        );
    }

    #[test]
    fn files_of_a_child_are_read() {
        assert!(of_child("stat", |text| text.contains(") ")).is_usable());
        assert!(!of_child("stat", |_| false).is_usable());
        assert!(!of_child("nonsense", |_| true).is_usable());
    }
}
