//! The files of the task, at level io: read from the mechanism, reduced to a table.

use super::calls::Calls;
use super::facts::Facts;
use super::left;
use super::notifier::Notifier;
use super::real_paths::RealPaths;
use super::task::Task;
use crate::cmd::run::{Level, Mechanism, RunOptions};
use crate::view::amount;
use anyhow::{Context, Result, bail};
use preload::judge;
use record::name::{NameChange, NamePath};
use record::report::Usage;
use record::unit::{Bytes, Nanos, Unit};
use record::value::Field;
use reduce::calls::CallSummary;
use reduce::files::{FileSummary, FileTable};
use source::interpose::ptrace::{self, Watch};
use source::interpose::{FileEvent, preload as library};
use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The files of one task, and its system calls, if they were asked for.
pub(crate) struct Files {
    seen: Seen,
    table: FileTable,
    real_paths: RealPaths,
    calls: Calls,
    /// Whether the time of calls is taken.
    times: bool,
    /// The limit on the size of files, if it leaves no room for the library's table.
    no_room: Option<u64>,
}

/// What sees them.
enum Seen {
    /// Nothing.
    Nothing,
    /// Programs in the kernel.
    #[cfg(feature = "bpf")]
    Bpf(Box<source::interpose::bpf::Files>),
    /// The library in the task's programs.
    Library(Box<library::Files>),
    /// The thread that traces the task.
    Tracer(Box<ptrace::Files>),
}

impl Files {
    /// Before the task: makes the library ready, if it may be needed.
    pub(crate) fn prepare(options: &RunOptions) -> Result<Self> {
        let named = matches!(
            options.mechanism,
            Some(Mechanism::Bpf | Mechanism::Agent | Mechanism::Ptrace)
        );
        let asked = options.level == Some(Level::Io) && !named;
        let made = asked.then(|| library::Files::create(options.times));
        let seen = match made {
            None if options.stops_calls() => {
                if let Err((_, why)) = ptrace::probe() {
                    bail!("--level io --mechanism ptrace: {why}");
                }
                Seen::Tracer(Box::new(ptrace::Files::new(options.times)))
            }
            None => Seen::Nothing,
            Some(Ok(files)) => Seen::Library(Box::new(files)),
            Some(Err(error)) if options.mechanism == Some(Mechanism::Preload) => {
                return Err(error).context("--mechanism preload");
            }
            // Programs in the kernel need none of it.
            Some(Err(_)) => Seen::Nothing,
        };
        Ok(Self {
            seen,
            table: FileTable::new(usize::try_from(options.files_max).unwrap_or(usize::MAX)),
            real_paths: RealPaths::default(),
            calls: Calls::default(),
            times: options.times,
            no_room: asked.then(library::no_room).flatten(),
        })
    }

    /// The system calls of the task; nothing if they were not asked for.
    pub(crate) fn calls(&self, facts: &mut Facts) -> Option<CallSummary> {
        self.calls.finish(facts)
    }

    /// The library that the command is started with, or could be.
    pub(crate) fn library(&self) -> Option<BorrowedFd<'_>> {
        match &self.seen {
            Seen::Library(files) => Some(files.library()),
            _ => None,
        }
    }

    /// What the thread that traces the task is to count with.
    pub(crate) fn watch(&self) -> Option<Arc<Mutex<Watch>>> {
        match &self.seen {
            Seen::Tracer(files) => Some(files.watch()),
            _ => None,
        }
    }

    /// Before the command's exec: stops its calls on files for the thread that traces it.
    pub(crate) fn stop_calls(&self, task: &Task, facts: &mut Facts) -> Result<()> {
        if !matches!(self.seen, Seen::Tracer(_)) {
            return Ok(());
        }
        let gave_up = task
            .filter(&sys::seccomp::filter())
            .context("--level io --mechanism ptrace")?;
        facts.note(TRACER_ENDS);
        if gave_up {
            facts.note(GAVE_UP_PRIVILEGES);
        }
        if self.times {
            facts.note(TIMES_HAVE_STOPS);
        }
        Ok(())
    }

    /// Begins to count what the task that `notifier` follows does with files, if that was asked
    /// for: by programs in the kernel where there are some, else by the library. The most memory
    /// that a process shares with us for it.
    pub(crate) fn begin(
        &mut self,
        options: &RunOptions,
        notifier: &Notifier,
        facts: &mut Facts,
    ) -> Result<Bytes> {
        self.calls = Calls::begin(options, notifier)?;
        if options.level != Some(Level::Io) || options.stops_calls() {
            return Ok(Bytes(0));
        }
        #[cfg(feature = "bpf")]
        if let Notifier::Bpf(bpf) = notifier
            && options.mechanism != Some(Mechanism::Preload)
        {
            match bpf.follow_files(options.times) {
                Ok(files) => {
                    self.seen = Seen::Bpf(Box::new(files));
                    return Ok(Bytes(0));
                }
                Err(error) if self.library().is_none() && self.no_room.is_none() => {
                    return Err(error.into());
                }
                Err(error) => {
                    let why = super::chain(&error.into());
                    facts.note(format!("files are not counted in the kernel: {why}"));
                }
            }
        }
        #[cfg(not(feature = "bpf"))]
        let _ = notifier;
        if let Some(bytes) = self.no_room {
            let why = amount::file_size_limit(bytes);
            facts.note(format!("no file is seen, the library has no room: {why}"));
            return Ok(Bytes(0));
        }
        if self.library().is_none() {
            bail!("--level io: no file in memory for the library (see `plimsoll doctor`)");
        }
        facts.note(LIBRARY_SEES);
        Ok(library::SHARED)
    }

    /// Whether the command at `path` is started with the library, which the process `launcher`
    /// holds open; says so if it cannot be.
    pub(crate) fn loads_into(&self, path: &Path, launcher: u32, facts: &mut Facts) -> bool {
        let Some(library) = self.library() else {
            return false;
        };
        if !is_held(launcher, library) {
            facts.note(OUT_OF_REACH);
            return false;
        }
        let others = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        if judge::names_sanitizer(others.as_bytes()) {
            facts.note(SANITIZER_NAMED);
            return false;
        }
        let Ok(name) = CString::new(path.as_os_str().as_bytes()) else {
            return false;
        };
        let verdict = judge::judge(&name);
        if let Some(why) = verdict.words() {
            facts.note(format!(
                "the library is not in {}: {why}; no file is seen, nor those of the programs that \
                 it starts",
                path.display()
            ));
        }
        !verdict.refuses()
    }

    /// Whether files are counted.
    pub(crate) const fn is_on(&self) -> bool {
        !matches!(self.seen, Seen::Nothing)
    }

    /// The name of what sees them and of what tells of the processes.
    pub(crate) fn mechanism(&self, notifier: &Notifier) -> &'static str {
        if self.library().is_some() {
            notifier.name_beside_library()
        } else {
            notifier.name()
        }
    }

    /// Where they are counted.
    pub(crate) const fn source(&self) -> &'static str {
        match self.seen {
            Seen::Library(_) => "preload",
            Seen::Tracer(_) => "ptrace",
            _ => "sys_exit",
        }
    }

    /// Readable when there is much to read.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.seen {
            #[cfg(feature = "bpf")]
            Seen::Bpf(files) => Some(files.fd()),
            _ => None,
        }
    }

    /// Takes what was told.
    pub(crate) fn read(&mut self, facts: &mut Facts) {
        let (table, paths) = (&mut self.table, &mut self.real_paths);
        let mut take = |event| take(table, paths, event);
        let read = match &mut self.seen {
            Seen::Nothing => Ok(()),
            #[cfg(feature = "bpf")]
            Seen::Bpf(files) => files.read(&mut take),
            Seen::Library(files) => files.read(&mut take),
            Seen::Tracer(files) => {
                files.read(&mut take);
                Ok(())
            }
        };
        if let Err(error) = read {
            facts.note(unread(error));
        }
    }

    /// The end of a task that began at `start`; `alive`: some of its processes live on.
    pub(crate) fn finish(
        &mut self,
        alive: bool,
        start: Nanos,
        facts: &mut Facts,
    ) -> Option<FileSummary> {
        #[cfg(not(feature = "bpf"))]
        let _ = alive;
        let mut table = std::mem::take(&mut self.table);
        let paths = &mut self.real_paths;
        let mut taken = |event| take(&mut table, paths, event);
        #[cfg_attr(not(feature = "bpf"), allow(unused_mut, reason = "nobody sets it"))]
        let mut foreign = false;
        let (read, rest) = match &mut self.seen {
            Seen::Nothing => return None,
            #[cfg(feature = "bpf")]
            Seen::Bpf(files) => {
                let read = files.finish(alive, &mut taken);
                foreign = files.has_foreign();
                (read, files.rest())
            }
            Seen::Library(files) => {
                let read = files.finish(&mut taken);
                let seen = files.seen();
                if seen.left_out > 0 {
                    facts.note(left_out(seen.left_out));
                }
                facts.library_saw = Some(seen);
                (read, files.rest())
            }
            Seen::Tracer(files) => {
                files.finish(&mut taken);
                tell_of_tracer(files, facts);
                (Ok(()), files.rest())
            }
        };
        let mut summary = table.finish(&rest, start);
        if foreign {
            facts.note(FOREIGN);
            summary.complete = false;
        }
        // Nobody knows what a library does not see.
        summary.complete &= self.library().is_none();
        if matches!(self.seen, Seen::Tracer(_)) {
            // It does not ask sockets for their ends.
            summary.sockets.network = None;
        }
        if let Err(error) = read {
            facts.note(unread(error));
            summary.complete = false;
        }
        left::look(&mut summary);
        summary.notes.drain(..).for_each(|note| facts.note(note));
        Some(summary)
    }
}

/// What the tracer did not see.
fn tell_of_tracer(files: &ptrace::Files, facts: &mut Facts) {
    if files.hidden() > 0 {
        facts.note(HIDDEN);
    }
    let untraced = files.children_untraced();
    if untraced > 0 {
        facts.note(format!(
            "{untraced} children asked not to be traced (CLONE_UNTRACED): they are not watched, \
             and their calls on files fail"
        ));
    }
    let unsized_ones = files.unsized_transfers();
    if unsized_ones > 0 {
        facts.note(format!(
            "of {unsized_ones} reads and writes some moved less than they were asked for: how \
             many bytes each moved and whether it failed is not known"
        ));
    }
}

/// What the reader of a report by ptrace must know.
const TRACER_ENDS: &str = "calls on files are stopped and counted as asked: what is left of the \
    task when Plimsoll ends is killed, for it cannot live without";
const GAVE_UP_PRIVILEGES: &str = "the filter of calls cost the task the right to new privileges \
    (no_new_privs): setuid programs and file capabilities have no effect";
const FOREIGN: &str = "programs with another user's privilege (setuid) ran in the task: the agent \
    does not tell of their files";
const HIDDEN: &str = "some programs may be executed and not read: their files are counted without \
    their names";
const TIMES_HAVE_STOPS: &str = "the time of calls has the stops in it, some microseconds each";

/// What the reader of a report must know.
const LIBRARY_SEES: &str = "files are counted by a library in dynamic programs: what static and \
    setuid programs do, and system calls without the C library, it does not see";

const SANITIZER_NAMED: &str = "the library is left out: LD_PRELOAD names the runtime of a \
    sanitizer, which must come first; no file is seen";

const OUT_OF_REACH: &str = "the library is left out: /proc does not lead to it (it is missing, or \
    that of another pid namespace); no file is seen";

/// Whether the path by which programs are to find the library leads to it.
fn is_held(launcher: u32, library: BorrowedFd<'_>) -> bool {
    let of = |path: String| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.dev(), data.ino()))
    };
    let fd = library.as_raw_fd();
    let held = of(format!("/proc/{launcher}/fd/{fd}"));
    held.is_some() && held == of(format!("/proc/self/fd/{fd}"))
}

/// How much of what the kernel counted for the whole task went by the library's eyes.
pub(crate) fn share_seen(saw: &library::Seen, usage: &Usage) -> String {
    let bytes = |bytes: Bytes| amount::number(bytes.0 as f64, Unit::Bytes);
    let whole = |name: &str| usage.get(name).and_then(Field::whole).map(Bytes);
    let of = |seen: Bytes, all: Option<Bytes>| match all {
        // What is counted while a call is under way may be ahead of the kernel.
        Some(all) => format!("{} of {}", bytes(seen.min(all)), bytes(all)),
        None => bytes(seen),
    };
    let mut text = format!(
        "the library saw {} read and {} written",
        of(saw.bytes_read, whole("bytes_read")),
        of(saw.bytes_written, whole("bytes_written"))
    );
    if saw.without_stdio > 0 {
        let (some, all) = (saw.without_stdio, saw.processes);
        text.push_str(&format!(
            "; in {some} of {all} programs not what went through stdio.h"
        ));
    }
    text
}

/// What is not known for want of the library in `programs`.
fn left_out(programs: u64) -> String {
    format!(
        "{programs} executions were of programs without the library (static, setuid or 32-bit \
         ones, with a sanitizer, another C library or root), or by system and popen of a process \
         that had threads: their files are not seen, nor those of the programs that they started"
    )
}

fn unread(error: source::Error) -> String {
    format!("files could not be read: {}", super::chain(&error.into()))
}

fn take(table: &mut FileTable, paths: &mut RealPaths, event: FileEvent) {
    match event {
        FileEvent::Pages(pages) => table.pages(&pages),
        FileEvent::Name(name) => {
            // This one follows the last component as well.
            let follows = name.change == NameChange::Truncated;
            let pid = name.pid;
            let real = |path: NamePath| {
                let path = table.path_of(&path)?;
                if follows {
                    paths.target(pid, &path)
                } else {
                    paths.real(pid, &path)
                }
            };
            match name.with_paths(real) {
                Some(name) => table.name(&name),
                None => table.name_lost(),
            }
        }
        FileEvent::Folder(folder) => table.folder(folder),
        FileEvent::Use(used) => table.take(*used),
        FileEvent::Socket(socket) => table.socket(socket),
    }
}
