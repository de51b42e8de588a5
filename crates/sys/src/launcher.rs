//! The launcher: a freestanding static program of a few pages that is the parent of the task's
//! command.
//!
//! It is written to a memfd and executed from there. It waits for every descendant, so the kernel
//! sums up their use in its `RUSAGE_CHILDREN` and `/proc/self/io`, for any user and without
//! tracing. The C side is `launcher/launcher.c`; the messages are the structures of
//! `launcher/launcher.h`.

use crate::descriptor::{self, Received};
use crate::error::{Error, check};
use crate::process::{self, Usage};
use crate::rlimit::Raised;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

mod built_in;
mod environment;

static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launcher"));

/// The flag that stands below those of [`crate::start::facts`], which are passed on as they are.
const FLAG_LEAVE: u32 = 1;
/// Where a filter begins in its message.
const FILTER_AT: usize = 8;
/// `sizeof(struct message)`.
const MESSAGE_BYTES: usize = 384;

/// A launcher that is to end is waited for so often, and so long each time.
const WAITS_MAX: u32 = 500;
const WAIT_PAUSE: std::time::Duration = std::time::Duration::from_micros(200);

/// What to launch, and what it inherits.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The program's file.
    pub path: &'a OsStr,
    /// Its arguments, the name first.
    pub arguments: &'a [std::ffi::OsString],
    /// The signal mask to give back to it.
    pub signal_mask: u64,
    /// What we were started with ([`crate::start::facts`]), to be given back.
    pub started_with: u32,
    /// Whether the task is left alone when the monitor dies.
    pub leave: bool,
    /// A library that the command may be told to load ([`Launcher::go`]): the launcher holds it
    /// open, so that `/proc` leads to it as long as the task lives.
    pub library: Option<BorrowedFd<'a>>,
    /// A limit of ours that the task is to have as it was.
    pub raised: Option<Raised>,
}

/// A launcher that runs, with the command's process waiting to go.
///
/// One that is dropped ends, for want of a monitor unless it was dismissed before, and is waited
/// for: in a container nobody else may do that.
#[derive(Debug)]
pub struct Launcher {
    /// Open until [`Launcher::close`].
    control: Option<OwnedFd>,
    go: Option<OwnedFd>,
    pid: u32,
    without_memfd: Option<Error>,
}

/// What the launcher tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The command's process exists and waits for [`Launcher::go`].
    Ready {
        /// Its pid.
        pid: u32,
    },
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command goes on.
    Continued,
    /// The command ended.
    Ended {
        /// Its wait status.
        status: u32,
        /// Page faults of its own process, as that ended; `None` if they could not be read.
        faults: Option<u64>,
        /// When (`CLOCK_BOOTTIME`), and all that was waited for so far.
        totals: Box<Totals>,
    },
    /// The answer to [`Launcher::ask_totals`].
    Totals {
        /// Whether the launcher has children still.
        children: bool,
        /// All that was waited for so far.
        totals: Box<Totals>,
    },
    /// No child is left.
    Empty(Box<Totals>),
    /// The command's process could not be made: an error number.
    Failed(i32),
}

/// What the kernel accounted for every descendant that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// When this was read, `CLOCK_BOOTTIME`.
    pub at_ns: u64,
    /// `RUSAGE_CHILDREN`.
    pub children: Usage,
    /// The launcher's own cost.
    pub own: Usage,
    /// Direct children and adopted orphans waited for.
    pub reaped_total: u64,
    /// `/proc/self/io` of the waited-for descendants: rchar, wchar, syscr, syscw, read, written,
    /// cancelled bytes.
    pub io: Option<[u64; 7]>,
}

impl Launcher {
    /// Starts the launcher; it forks the command's process, which waits. The first message is
    /// [`Message::Ready`] or [`Message::Failed`]. Fails with `ENOSYS` where there is no launcher
    /// for this architecture, and with the kernel's error where it cannot be executed: neither from
    /// a memfd nor, if no library is to be held, within our own program.
    pub fn start(plan: &Plan<'_>) -> Result<Self, Error> {
        if IMAGE.is_empty() {
            let source = io::Error::from_raw_os_error(libc::ENOSYS);
            return Err(Error::Call {
                call: "launcher for this architecture",
                source,
            });
        }
        let started = write_image().and_then(|image| Self::start_from(&image, plan));
        match started {
            // The dynamic linker of our own program would load that library into the launcher.
            Err(error) if plan.library.is_none() => {
                let own = std::fs::File::open("/proc/self/exe");
                match own.map(|own| Self::start_from(&own.into(), plan)) {
                    Ok(Ok(mut launcher)) => {
                        launcher.without_memfd = Some(error);
                        Ok(launcher)
                    }
                    _ => Err(error),
                }
            }
            started => started,
        }
    }

    fn start_from(image: &OwnedFd, plan: &Plan<'_>) -> Result<Self, Error> {
        let (control, control_theirs) = descriptor::channel()?;
        let (go, go_theirs) = descriptor::channel()?;
        let (status, status_theirs) = descriptor::channel()?;
        let words = argument_words(plan, control_theirs.as_raw_fd(), go_theirs.as_raw_fd())?;
        let mut pointers: Vec<*const libc::c_char> =
            words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let pid = Birth {
            plan,
            image,
            kept: [&control_theirs, &go_theirs].map(AsRawFd::as_raw_fd),
            arguments: &pointers,
            variables: environment::Variables::new(plan.library),
            status: &status_theirs,
        }
        .begin()?;
        drop((control_theirs, go_theirs, status_theirs));
        let mut error = [0; 4];
        if let Received::Bytes(4) = descriptor::receive(status.as_fd(), &mut error, true)? {
            // It ends right behind that word.
            drop(process::wait_end(pid, true));
            let source = io::Error::from_raw_os_error(i32::from_ne_bytes(error));
            return Err(Error::Call {
                call: "execveat of the launcher",
                source,
            });
        }
        Ok(Self {
            control: Some(control),
            go: Some(go),
            pid,
            without_memfd: None,
        })
    }

    /// Why the launcher is our own program and no small one in a memfd, if so: the peak of the
    /// resident set of what the command began as is that of a few MiB then.
    pub fn without_memfd(&self) -> Option<&Error> {
        self.without_memfd.as_ref()
    }

    /// The launcher's own pid.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Installs a filter of system calls ([`crate::seccomp`]) in the command's process, which
    /// waits; it must be traced by now. Whether it had to give up new privileges for that
    /// (`no_new_privs`).
    ///
    /// # Errors
    /// The kernel's where it takes no filter.
    pub fn filter(&self, filter: &[u8]) -> Result<bool, Error> {
        const CALL: &str = "seccomp(SECCOMP_SET_MODE_FILTER)";
        let lost = |number| Error::Call {
            call: CALL,
            source: io::Error::from_raw_os_error(number),
        };
        let Some(go) = &self.go else {
            return Err(lost(libc::EPIPE));
        };
        let mut message = vec![b'F'];
        message.resize(FILTER_AT, 0);
        message.extend_from_slice(filter);
        descriptor::send(go.as_fd(), &message)?;
        let mut answer = [0; 4];
        match descriptor::receive(go.as_fd(), &mut answer, true)? {
            Received::Bytes(4) => match i32::from_ne_bytes(answer) {
                0 => Ok(false),
                1 => Ok(true),
                error => Err(lost(error.saturating_neg())),
            },
            _ => Err(lost(libc::EPIPE)),
        }
    }

    /// Lets the command's process execute its program, with the library of the plan named in its
    /// environment if `with_library`. Returns the error number if that failed.
    pub fn go(&mut self, with_library: bool) -> Result<Option<i32>, Error> {
        let Some(go) = self.go.take() else {
            return Ok(None);
        };
        descriptor::send(go.as_fd(), if with_library { b"L" } else { b"G" })?;
        let mut error = [0; 4];
        match descriptor::receive(go.as_fd(), &mut error, true)? {
            Received::Bytes(4) => Ok(Some(i32::from_ne_bytes(error))),
            _ => Ok(None),
        }
    }

    /// The next message; waits for it if `block`. `Ok(None)` when there is none now. `EPIPE` when
    /// the launcher is gone.
    pub fn message(&self, block: bool) -> Result<Option<Message>, Error> {
        const CALL: &str = "recv from the launcher";
        let mut bytes = [0; MESSAGE_BYTES];
        match descriptor::receive(self.control(CALL)?, &mut bytes, block)? {
            Received::Nothing => Ok(None),
            Received::End => Err(gone(CALL)),
            Received::Bytes(count) => decode(&bytes, count).map(Some),
        }
    }

    /// Asks for [`Message::Totals`].
    pub fn ask_totals(&self) -> Result<(), Error> {
        descriptor::send(self.control("send to the launcher")?, b"T")
    }

    /// Tells the launcher to end. Its children become ours.
    pub fn dismiss(&self) -> Result<(), Error> {
        descriptor::send(self.control("send to the launcher")?, b"X")
    }

    /// The descriptor to wait on for [`Launcher::message`]; none after [`Launcher::close`].
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(AsFd::as_fd)
    }

    /// Closes what leads to the launcher: one that was not dismissed takes it for the death of the
    /// monitor, and a command's process that waits still ends.
    pub fn close(&mut self) {
        self.go = None;
        self.control = None;
    }

    fn control(&self, call: &'static str) -> Result<BorrowedFd<'_>, Error> {
        self.fd().ok_or_else(|| gone(call))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.close();
        for _ in 0..WAITS_MAX {
            // One that was stopped from outside ends without us.
            if !matches!(process::wait_end(self.pid, false), Ok(None)) {
                return;
            }
            std::thread::sleep(WAIT_PAUSE);
        }
    }
}

/// Nobody is at the other end.
fn gone(call: &'static str) -> Error {
    let source = io::Error::from_raw_os_error(libc::EPIPE);
    Error::Call { call, source }
}

fn write_image() -> Result<OwnedFd, Error> {
    // SAFETY: the name is a C string literal.
    let fd = unsafe { libc::memfd_create(c"plim-launcher".as_ptr(), libc::MFD_CLOEXEC) };
    let fd = check("memfd_create", i64::from(fd))?;
    // SAFETY: the kernel just returned this descriptor and nobody else owns it.
    let file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    io::Write::write_all(&mut &file, IMAGE).map_err(|source| Error::Call {
        call: "write of the launcher",
        source,
    })?;
    Ok(OwnedFd::from(file))
}

fn argument_words(plan: &Plan<'_>, control: RawFd, go: RawFd) -> Result<Vec<CString>, Error> {
    let flags = plan.started_with << 1 | if plan.leave { FLAG_LEAVE } else { 0 };
    let mut words: Vec<Vec<u8>> = vec![
        built_in::NAME.to_bytes().to_vec(),
        control.to_string().into_bytes(),
        go.to_string().into_bytes(),
        flags.to_string().into_bytes(),
        format!("{:x}", plan.signal_mask).into_bytes(),
        plan.library
            .map_or(0, |fd| fd.as_raw_fd())
            .to_string()
            .into_bytes(),
        plan.path.as_bytes().to_vec(),
    ];
    words.extend(plan.arguments.iter().map(|word| word.as_bytes().to_vec()));
    let nul = |_| Error::Call {
        call: "argument with a NUL byte",
        source: io::Error::from_raw_os_error(libc::EINVAL),
    };
    words
        .into_iter()
        .map(|word| CString::new(word).map_err(nul))
        .collect()
}

/// What the process needs that becomes the launcher, all of it made before.
struct Birth<'a> {
    plan: &'a Plan<'a>,
    image: &'a OwnedFd,
    /// Descriptors that go through the exec.
    kept: [RawFd; 2],
    arguments: &'a [*const libc::c_char],
    variables: environment::Variables,
    status: &'a OwnedFd,
}

impl Birth<'_> {
    /// Begins the process; its pid, once it has executed the launcher or ended. Until then it has
    /// our memory: to copy how that is mapped takes longer than all the rest.
    fn begin(mut self) -> Result<u32, Error> {
        const STACK_BYTES: usize = 32 << 10;
        let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
        // The stacks of all processors that we know grow down.
        let top = stack.as_mut_ptr_range().end;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: `born` gets the pointer that it takes; the stack and `self` outlive the call,
        // which comes back when the child has a memory of its own or is gone.
        let pid = unsafe { libc::clone(born, top.cast(), flags, (&raw mut self).cast()) };
        Ok(check("clone", i64::from(pid))? as u32)
    }
}

/// In the child, which shares our memory, but neither descriptors nor limits: calls only what is
/// async-signal-safe before it executes or ends.
extern "C" fn born(birth: *mut libc::c_void) -> libc::c_int {
    // SAFETY: what `begin` gave; who gave it waits, so nobody else has it.
    let birth = unsafe { &mut *birth.cast::<Birth<'_>>() };
    keep(birth.plan.library.iter().map(AsRawFd::as_raw_fd));
    keep(birth.kept);
    if let Some(raised) = &birth.plan.raised {
        raised.give_back();
    }
    let variables = birth.variables.in_launcher();
    become_launcher(birth.image, birth.arguments, variables, birth.status)
}

/// In the child: executes the launcher, or reports the error number over `status`. Never returns.
fn become_launcher(
    image: &OwnedFd,
    arguments: &[*const libc::c_char],
    variables: &[*const libc::c_char],
    status: &OwnedFd,
) -> ! {
    // SAFETY: both lists end with a null pointer and point into live C strings; an empty path with
    // AT_EMPTY_PATH names the descriptor itself.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            image.as_raw_fd(),
            c"".as_ptr(),
            arguments.as_ptr(),
            variables.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    let error = io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO);
    // Nobody hears us if this fails; the parent then sees the channel's end and no first message.
    drop(descriptor::send(status.as_fd(), &error.to_ne_bytes()));
    process::exit_now(125)
}

/// Lets these descriptors through the exec.
fn keep(descriptors: impl IntoIterator<Item = RawFd>) {
    for fd in descriptors {
        // SAFETY: clears a flag of a descriptor that we own.
        unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    }
}

fn decode(bytes: &[u8; MESSAGE_BYTES], count: usize) -> Result<Message, Error> {
    let word = |at: usize| -> u64 {
        let mut eight = [0; 8];
        if let Some(slice) = bytes.get(at..at + 8) {
            eight.copy_from_slice(slice);
        }
        u64::from_ne_bytes(eight)
    };
    if count != MESSAGE_BYTES {
        return Err(Error::BadMessage(count));
    }
    let half = |at: usize, high: bool| (word(at) >> if high { 32 } else { 0 }) as u32;
    let (kind, pid, status) = if cfg!(target_endian = "little") {
        (half(0, false), half(0, true), half(8, false))
    } else {
        (half(0, true), half(0, false), half(8, true))
    };
    let io_valid = half(8, cfg!(target_endian = "little")) != 0;
    let usage =
        |from: usize| Usage::from_words(&std::array::from_fn(|i| word(from + 8 * i) as i64));
    let totals = || {
        Box::new(Totals {
            at_ns: word(16),
            reaped_total: word(24),
            io: io_valid.then(|| std::array::from_fn(|i| word(32 + 8 * i))),
            children: usage(88),
            own: usage(88 + 144),
        })
    };
    match kind {
        1 => Ok(Message::Ready { pid }),
        2 => Ok(Message::Stopped(status as i32)),
        3 => Ok(Message::Continued),
        4 => Ok(Message::Ended {
            status,
            faults: Some(word(376)).filter(|faults| *faults != u64::MAX),
            totals: totals(),
        }),
        5 => Ok(Message::Totals {
            children: pid != 0,
            totals: totals(),
        }),
        6 => Ok(Message::Empty(totals())),
        7 => Ok(Message::Failed(status as i32)),
        _ => Err(Error::BadMessage(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &[&str]) -> (Launcher, u32) {
        let arguments: Vec<_> = command.iter().map(Into::into).collect();
        let path = std::ffi::OsString::from(command[0]);
        let plan = Plan {
            path: &path,
            arguments: &arguments,
            signal_mask: 0,
            started_with: 0,
            leave: false,
            library: None,
            raised: None,
        };
        let launcher = Launcher::start(&plan).unwrap();
        let Some(Message::Ready { pid }) = launcher.message(true).unwrap() else {
            panic!("the first message is no Ready")
        };
        (launcher, pid)
    }

    fn end(launcher: &Launcher) -> (u32, Box<Totals>) {
        match launcher.message(true).unwrap() {
            Some(Message::Ended { status, totals, .. }) => (status, totals),
            other => panic!("{other:?} instead of Ended"),
        }
    }

    /// `VmHWM` of a living process, bytes (`/proc/PID/status`).
    fn resident_bytes(pid: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = kib.and_then(|rest| rest.split_whitespace().next());
        kib.unwrap().parse::<u64>().unwrap() << 10
    }

    fn reap(launcher: Launcher) {
        let pid = launcher.pid() as i32;
        launcher.dismiss().unwrap();
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    }

    #[test]
    fn a_command_ends_with_its_status_and_the_reads_it_made() {
        let (mut launcher, _) = run(&[
            "/bin/sh",
            "-c",
            "head -c 300000 /dev/zero >/dev/null; exit 3",
        ]);
        assert_eq!(launcher.go(false).unwrap(), None);
        let (status, totals) = end(&launcher);
        assert_eq!(status, 3 << 8);
        let io = totals.io.unwrap();
        assert!((300_000..330_000).contains(&io[0]), "rchar {}", io[0]);
        assert!(io[1] == 300_000, "wchar {}", io[1]);
        assert!(totals.children.rss_peak_bytes > 0 && totals.children.faults_minor_total > 50);
        // Not `totals.own.rss_peak_bytes`: exec folds the image that forked the launcher into it.
        let held = resident_bytes(launcher.pid());
        assert!((1..512 << 10).contains(&held), "launcher holds {held}");
        assert!(matches!(
            launcher.message(true).unwrap(),
            Some(Message::Empty(_))
        ));
        reap(launcher);
    }

    #[test]
    fn faults_of_the_command_itself_are_told_apart_from_its_childrens() {
        let (mut launcher, _) = run(&["/bin/sh", "-c", "head -c 9 /dev/zero >/dev/null; exit 0"]);
        launcher.go(false).unwrap();
        let Some(Message::Ended { faults, totals, .. }) = launcher.message(true).unwrap() else {
            panic!()
        };
        let (own, all) = (faults.unwrap(), totals.children.faults_minor_total);
        assert!(own > 20 && own + 20 < all, "{own} of {all}");
        reap(launcher);
    }

    #[test]
    fn a_program_that_cannot_be_executed_says_why() {
        let (mut launcher, _) = run(&["/does/not/exist"]);
        assert_eq!(launcher.go(false).unwrap(), Some(libc::ENOENT));
        assert_eq!(end(&launcher).0, 127 << 8);
        reap(launcher);
    }

    #[test]
    fn a_script_without_its_first_line_is_run_by_the_shell() {
        let file = script("exit $(($1 + 1))");
        let (mut launcher, _) = run(&[&file, "41"]);
        assert_eq!(launcher.go(false).unwrap(), None);
        assert_eq!(end(&launcher).0, 42 << 8);
        reap(launcher);
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn an_orphan_is_adopted_and_its_use_is_counted() {
        let (mut launcher, _) = run(&[
            "/bin/sh",
            "-c",
            "setsid sh -c 'head -c 200000 /dev/zero >&2' 2>/dev/null & exit 0",
        ]);
        launcher.go(false).unwrap();
        assert_eq!(end(&launcher).0, 0);
        let Some(Message::Empty(totals)) = launcher.message(true).unwrap() else {
            panic!()
        };
        assert!(totals.io.unwrap()[1] >= 200_000);
        assert_eq!(totals.reaped_total, 2);
        reap(launcher);
    }

    #[test]
    fn when_the_monitor_dies_the_whole_tree_is_ended() {
        let (mut launcher, pid) = run(&[
            "/bin/sh",
            "-c",
            "trap '' TERM HUP; setsid sleep 1000 & sleep 1000 & wait",
        ]);
        launcher.go(false).unwrap();
        let child = launcher.pid() as i32;
        launcher.close();
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, (128 + 9) << 8);
        assert_eq!(
            crate::process::kill(pid, 0).unwrap_err().errno(),
            Some(libc::ESRCH)
        );
    }

    #[test]
    fn who_lives_on_is_left_alone_by_a_dismissal_behind_unread_answers() {
        for _ in 0..20 {
            let (mut launcher, _) = run(&["/bin/sh", "-c", "sleep 1000 & exit 0"]);
            launcher.go(false).unwrap();
            assert_eq!(end(&launcher).0, 0);
            launcher.ask_totals().unwrap();
            let Some(Message::Totals { children: true, .. }) = launcher.message(true).unwrap()
            else {
                panic!("the child is not there")
            };
            let of_launcher = format!("/proc/{0}/task/{0}/children", launcher.pid());
            let text = std::fs::read_to_string(of_launcher).unwrap();
            let survivor: u32 = text.trim().parse().unwrap();
            launcher.ask_totals().unwrap();
            launcher.dismiss().unwrap();
            let child = launcher.pid() as i32;
            launcher.close();
            let mut status = 0;
            // SAFETY: waits for our own child.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "it took the dismissal for our death");
            crate::process::kill(survivor, 9).unwrap();
        }
    }

    /// A script, written by another process: a test that forks at that moment would hold a
    /// descriptor of ours open for writing, and the kernel would start nothing (`ETXTBSY`).
    fn script(text: &str) -> String {
        let path = std::env::temp_dir().join(format!("plimsoll-script-{}", std::process::id()));
        let written = std::process::Command::new("/bin/sh")
            .args(["-c", "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\""])
            .args([path.as_os_str(), text.as_ref()])
            .status();
        assert!(written.unwrap().success());
        path.to_str().unwrap().to_owned()
    }
}
