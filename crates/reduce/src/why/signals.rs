//! Names of signals, and what it usually means to die of one.

/// Signal numbers of Linux on the machines that we know.
pub(super) const SIGHUP: i32 = 1;
pub(super) const SIGINT: i32 = 2;
pub(super) const SIGQUIT: i32 = 3;
pub(super) const SIGABRT: i32 = 6;
pub(super) const SIGKILL: i32 = 9;
pub(super) const SIGTERM: i32 = 15;
pub(super) const SIGXCPU: i32 = 24;

const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The highest signal number.
const SIGNAL_MAX: i32 = 64;

/// The name of a signal.
pub(super) fn name(signal: i32) -> String {
    let place = usize::try_from(signal)
        .ok()
        .and_then(|it| it.checked_sub(1));
    match place.and_then(|place| NAMES.get(place)) {
        Some(name) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}

/// The signal of a status 128 + N as shells return it.
pub(super) fn of_status(status: i32) -> Option<i32> {
    let signal = status.checked_sub(128)?;
    (1..=SIGNAL_MAX).contains(&signal).then_some(signal)
}

/// What usually sends a signal that a program brings upon itself, and what to do.
#[derive(Debug)]
pub(super) struct Crash {
    pub(super) signal: i32,
    /// Completes "for the usual reason, ".
    pub(super) usual: &'static str,
    pub(super) advice: &'static str,
}

const DEBUG: &str = "Look for the fault in the program: a core file (`ulimit -c unlimited`, \
                     `coredumpctl`) opened with gdb shows the line.";

/// Signals that a program brings upon itself.
pub(super) const CRASHES: &[Crash] = &[
    Crash {
        signal: 4,
        usual: "an instruction that this processor does not have, as of a program built for \
                another one",
        advice: "Build the program for the processors that it runs on, or ask for machines that \
                 have what it was built for.",
    },
    Crash {
        signal: 5,
        usual: "a breakpoint or a check of the program's own",
        advice: DEBUG,
    },
    Crash {
        signal: SIGABRT,
        usual: "abort(3), as after a failed assertion, where the C library finds memory spoilt, or \
                where nobody catches a C++ exception",
        advice: "Read what it wrote to standard error, which is not in the report: abort(3) is \
                 mostly called after a message.",
    },
    Crash {
        signal: 7,
        usual: "a mapped file that was cut meanwhile or found no room on its file system, or \
                memory that is not aligned",
        advice: "Look whether the file system of its files is full (`df`), `/dev/shm` too; else \
                 open a core file with gdb.",
    },
    Crash {
        signal: 8,
        usual: "a division of whole numbers by zero",
        advice: DEBUG,
    },
    Crash {
        signal: 11,
        usual: "an access to memory that is not the program's (a fault of the program, or a stack \
                too small for it: `ulimit -s`)",
        advice: DEBUG,
    },
    Crash {
        signal: 13,
        usual: "writing into a pipe or a socket that nobody reads any more",
        advice: "Look at who was to read what it wrote: that ended first.",
    },
    Crash {
        signal: SIGXCPU,
        usual: "the limit on CPU time of a process (`ulimit -t`)",
        advice: "Raise or lift the limit on CPU time where the task is started (`ulimit -t`).",
    },
    Crash {
        signal: 25,
        usual: "the limit on the size of a file (`ulimit -f`)",
        advice: "Raise or lift the limit on the size of files where the task is started \
                 (`ulimit -f`).",
    },
    Crash {
        signal: 31,
        usual: "a system call that a filter (seccomp) forbids",
        advice: "Look at the filter of the container or sandbox that it runs in.",
    },
];

/// What usually sends this signal, if a program brings it upon itself.
pub(super) fn crash(signal: i32) -> Option<&'static Crash> {
    CRASHES.iter().find(|crash| crash.signal == signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        assert_eq!([SIGKILL, 31, 64, 0, -1].map(name).join(" "), {
            "SIGKILL SIGSYS signal 64 signal 0 signal -1"
        });
        assert_eq!([129, 192, 193, 128, -5].map(of_status), {
            [Some(1), Some(64), None, None, None]
        });
        assert!(CRASHES.iter().all(|crash| !crash.usual.ends_with('.')));
        assert!(CRASHES.iter().all(|crash| crash.advice.ends_with('.')));
    }
}
