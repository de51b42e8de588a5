//! Who a process is, read from `/proc` and written as a row of `process`.

use super::setup;
use crate::run::person;
use record::codec::cells::{Cell, put_row, take_row};
use record::context::Chain;
use record::identity::ProcessId;
use record::sample::ProcessSample;
use record::table::process::TABLE;
use record::value::Absent;
use reduce::redact::redact;
use source::context::kin::Kin;
use source::context::read::ReadMemory;
use source::context::{self, chain};
use source::everyone::Program as Exec;
use source::follow::procfs;
use source::query::proc_pid_cgroup::Membership;
use source::query::proc_pid_stat::{self, Setup};
use source::query::proc_pid_status::Status;
use source::query::{proc_pid_cgroup, proc_pid_cmdline, proc_pid_environ, proc_pid_status};
use source::root::Root;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStringExt;

/// Of a command line so much is kept.
const COMMAND_BYTES_MAX: u64 = 128 << 10;

/// Names of users that are remembered, at most.
const USERS_MAX: usize = 1024;

/// Whose process it is.
#[derive(Default)]
pub(super) struct Owner {
    pub(super) status: Status,
    pub(super) groups: Vec<Membership>,
    /// A digest of what told them.
    pub(super) groups_digest: Option<u64>,
    /// Which job it belongs to; read only where that is written.
    pub(super) job: Chain,
}

impl Owner {
    /// What this user may read of it.
    pub(super) fn read(root: &Root, pid: u32) -> Self {
        let groups = groups(root, pid);
        let text = groups.as_ref().map(|groups| groups.0.as_slice());
        Self {
            status: proc_pid_status::read(root, Some(pid)).unwrap_or_default(),
            groups: text.map(proc_pid_cgroup::parse).unwrap_or_default(),
            groups_digest: groups.map(|groups| groups.1),
            job: Chain::default(),
        }
    }

    /// Reads which job it belongs to; the environment, if that was read for it.
    fn read_job(
        &mut self,
        root: &Root,
        pid: u32,
        memory: ReadMemory<'_>,
        kin: &Kin,
    ) -> Option<Vec<u8>> {
        let process = (pid, &self.status);
        let input = context::read::enough(root, process, &self.groups, memory, kin);
        self.job = chain::resolve(&input);
        Some(input.environ).filter(|environ| !environ.is_empty())
    }

    /// The group that its memory is charged to, else that of the unified hierarchy.
    fn group(&self) -> Option<Vec<u8>> {
        let is_memory = |group: &&Membership| group.controllers.iter().any(|name| name == "memory");
        let of_memory = self.groups.iter().find(is_memory);
        let group = of_memory.or_else(|| self.groups.iter().find(|group| group.is_v2()))?;
        Some(group.path.clone().into_os_string().into_vec())
    }
}

/// What tells the control groups of a process, and a digest of it.
pub(super) fn groups(root: &Root, pid: u32) -> Option<(Vec<u8>, u64)> {
    let text = root.read_process(Some(pid), "cgroup").ok()?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    Some((text, hasher.finish()))
}

/// Arguments, or variables of the environment; or why there are none.
type Words = Result<Vec<Vec<u8>>, Absent>;

/// What it executes.
pub(super) struct Program {
    arguments: Words,
    is_cut: bool,
    pub(super) exe: Option<Vec<u8>>,
    cwd: Option<Vec<u8>>,
    /// The variables that were asked for; nothing if none was.
    environment: Option<Words>,
}

impl Program {
    /// One of which no more is known than that.
    pub(super) const fn absent(why: Absent) -> Self {
        Self {
            arguments: Err(why),
            is_cut: false,
            exe: None,
            cwd: None,
            environment: None,
        }
    }

    /// What can be read without the memory of the process, which does not answer.
    pub(super) fn silent(root: &Root, pid: u32) -> Self {
        let mut program = Self::absent(Absent::NoAnswer);
        program.read_links(root, pid);
        program
    }

    fn read_links(&mut self, root: &Root, pid: u32) {
        let link = |name| {
            let target = std::fs::read_link(root.process(pid, name)).ok()?;
            Some(target.into_os_string().into_vec())
        };
        (self.exe, self.cwd) = (link("exe"), link("cwd"));
    }

    /// What this user may read of it; secrets in the arguments are replaced.
    fn read(root: &Root, pid: u32, may_read: bool) -> Self {
        let mut program = Self::silent(root, pid);
        if !may_read {
            return program;
        }
        let command = proc_pid_cmdline::read_start(root, pid, COMMAND_BYTES_MAX + 1);
        program.arguments = command.map(|mut command| {
            program.is_cut = command.len() as u64 > COMMAND_BYTES_MAX;
            if program.is_cut {
                command.pop();
            }
            redact(&proc_pid_cmdline::parse(&command))
        });
        program
    }

    /// Keeps of an environment what is named, the values of secrets replaced.
    fn keep_variables(&mut self, environ: Result<Vec<u8>, Absent>, names: &[String]) {
        self.environment = Some(environ.map(|environ| {
            let named = |name: &String| proc_pid_environ::named(&environ, name);
            redact(&names.iter().filter_map(named).collect::<Vec<_>>())
        }));
    }
}

/// Whose a process is, how it is set up and what it executes.
pub(super) struct Who {
    pub(super) owner: Owner,
    setup: Setup,
    pub(super) program: Program,
    /// All that says which job it is in was read.
    pub(super) is_whole: bool,
}

impl Who {
    /// Reads all of it, and the variables that are named, if it is that process still. Before the
    /// memory of a process is read, `may_read` is asked.
    pub(super) fn read(
        root: &Root,
        id: ProcessId,
        names: &[String],
        (kin, may_read): (&Kin, &dyn Fn(u32) -> bool),
    ) -> Self {
        let memory = |pid: u32, file: &str| match may_read(pid) {
            true => root.read_process(Some(pid), file),
            false => Err(Absent::NoAnswer),
        };
        let mut owner = Owner::read(root, id.pid);
        let environ = owner.read_job(root, id.pid, &memory, kin);
        let is_whole = owner.status.uid.is_some() && may_read(id.pid);
        let mut program = Program::read(root, id.pid, may_read(id.pid));
        if !names.is_empty() {
            let environ = environ.map_or_else(|| memory(id.pid, "environ"), Ok);
            program.keep_variables(environ, names);
        }
        Self {
            owner,
            setup: Setup::default(),
            program,
            is_whole,
        }
        .of(root, id)
    }

    /// The same without what is in the memory of processes.
    pub(super) fn silent(root: &Root, id: ProcessId) -> Self {
        let mut owner = Owner::read(root, id.pid);
        // Its control group is not in its memory.
        let silent = |_: u32, _: &str| Err(Absent::NoAnswer);
        owner.read_job(root, id.pid, &silent, &Kin::default());
        Self {
            owner,
            setup: Setup::default(),
            program: Program::silent(root, id.pid),
            is_whole: false,
        }
        .of(root, id)
    }

    /// Of one that has ended.
    pub(super) fn gone() -> Self {
        Self {
            owner: Owner::default(),
            setup: Setup::default(),
            program: Program::absent(Absent::Gone),
            is_whole: false,
        }
    }

    /// With how it is set up. What was read is of somebody who has its pid now, if the process has
    /// ended meanwhile: the same file tells.
    fn of(self, root: &Root, id: ProcessId) -> Self {
        match proc_pid_stat::read_setup(root, id.pid) {
            Ok((found, setup)) if found == id => Self { setup, ..self },
            _ => Self::gone(),
        }
    }
}

/// Who has this pid now.
pub(super) fn id_of(root: &Root, pid: u32) -> Option<ProcessId> {
    let found = procfs::read_process(&root.proc(""), pid)?;
    Some(ProcessId::new(pid, found.start))
}

/// What the readings of a process told, and what the agent counts.
#[derive(Clone, Copy)]
pub(super) struct Face<'a> {
    pub(super) id: ProcessId,
    pub(super) ppid: u32,
    pub(super) comm: &'a [u8],
    /// Programs that it executed.
    pub(super) execs: i64,
    /// The job and its part that it is filed under.
    pub(super) job: [Option<&'a str>; 2],
}

/// What begets the threads of the kernel.
const KTHREADD: u32 = 2;

/// Whether it is a thread of the kernel: it has no memory, program, folder or open files.
pub(super) fn is_of_kernel(sample: &ProcessSample) -> bool {
    [sample.id.pid, sample.ppid].contains(&KTHREADD) && sample.memory.virtual_size.is_none()
}

/// The short name. Workers of the kernel have that of their present work behind their own in
/// `/proc`, where nobody else has it.
pub(super) fn name(sample: &ProcessSample) -> &[u8] {
    let name = &*sample.comm;
    match name.strip_prefix(b"kworker/") {
        Some(worker) if sample.ppid == KTHREADD && !worker.starts_with(b"R-") => {
            let is_work = |byte: &u8| matches!(byte, b'-' | b'+');
            let end = name.iter().position(is_work).unwrap_or(name.len());
            name.get(..end).unwrap_or(name)
        }
        _ => name,
    }
}

/// The names of users.
#[derive(Default)]
pub(super) struct Users(HashMap<u32, Option<String>>);

impl Users {
    pub(super) fn name(&mut self, uid: u32) -> Option<&[u8]> {
        if self.0.len() >= USERS_MAX {
            self.0.clear();
        }
        let name = self.0.entry(uid).or_insert_with(|| person::known(uid));
        name.as_ref().map(String::as_bytes)
    }
}

/// Appends a row: who it is.
pub(super) fn put(out: &mut Vec<u8>, face: Face<'_>, who: &Who, users: &mut Users) {
    let Who {
        owner,
        setup,
        program,
        ..
    } = who;
    let id = |id: Option<u32>| id.map(|id| Cell::Int(id.into()));
    let text = |text: &'_ Option<Vec<u8>>| text.clone();
    let (exe, cwd, group) = (text(&program.exe), text(&program.cwd), owner.group());
    let status = &owner.status;
    let [job, part] = face.job.map(|name| name.map(str::as_bytes));
    let start = i64::try_from(face.id.start_ns.0).unwrap_or(i64::MAX);
    let (command, command_absent) = words(Some(&program.arguments));
    let (variables, variables_absent) = words(program.environment.as_ref());
    let user = status.uid.and_then(|uid| users.name(uid));
    let cells = [
        ("pid", id(Some(face.id.pid))),
        ("start_ns", Some(Cell::Int(start))),
        ("exec", Some(Cell::Int(face.execs))),
        ("ppid", id(Some(face.ppid))),
        ("comm", Some(Cell::Text(face.comm))),
        ("command", command),
        ("exe", exe.as_deref().map(Cell::Text)),
        ("cwd", cwd.as_deref().map(Cell::Text)),
        ("cgroup", group.as_deref().map(Cell::Text)),
        ("uid", id(status.uid)),
        ("euid", id(status.uid_effective)),
        ("gid", id(status.gid)),
        ("egid", id(status.gid_effective)),
        ("user", user.map(Cell::Text)),
        ("identifier", job.map(Cell::Text)),
        ("subidentifier", part.map(Cell::Text)),
        ("command_cut", program.is_cut.then_some(Cell::Int(1))),
        ("command_absent", command_absent),
        ("environment", variables),
        ("environment_absent", variables_absent),
    ];
    let known = |(name, cell)| Some((place(name)?, cell?));
    let cells = cells.into_iter().chain(setup::cells(setup, status));
    put_row(out, cells.filter_map(known));
}

/// A digest of a row, by which it is known whether it says anything new.
pub(super) fn digest(row: &[u8]) -> u64 {
    let passing = setup::PASSING.map(place);
    let mut hasher = DefaultHasher::new();
    let cells = take_row(&mut &*row).unwrap_or_default();
    let lasting = cells
        .iter()
        .filter(|(place, _)| !passing.contains(&Some(*place)));
    lasting.for_each(|cell| cell.hash(&mut hasher));
    hasher.finish()
}

/// A list, and why there is none.
fn words(words: Option<&Words>) -> (Option<Cell<'_>>, Option<Cell<'static>>) {
    match words {
        None => (None, None),
        Some(Ok(words)) => {
            let words = words.iter().map(Vec::as_slice).collect();
            (Some(Cell::List(words)), None)
        }
        Some(Err(why)) => (None, Some(Cell::Text(why.name().as_bytes()))),
    }
}

/// Appends a row of what an exec told, with the job and its part.
pub(super) fn put_exec<'a>(out: &mut Vec<u8>, exec: &Exec<'a>, job: [Option<&str>; 2]) {
    let int = |value: u64| i64::try_from(value).ok().map(Cell::Int);
    let arguments = redact(&proc_pid_cmdline::parse(exec.command));
    let arguments = arguments.iter().map(Vec::as_slice).collect();
    let is_told = !exec.command.is_empty();
    let text = |bytes: &'a [u8]| (!bytes.is_empty()).then_some(Cell::Text(bytes));
    let [job, part] = job.map(|name| name.map(str::as_bytes));
    let cells = [
        ("pid", Some(Cell::Int(exec.id.pid.into()))),
        ("start_ns", int(exec.id.start_ns.0)),
        ("comm", exec.comm.map(Cell::Text)),
        ("command", is_told.then_some(Cell::List(arguments))),
        ("exe", text(exec.path)),
        ("command_cut", exec.is_cut.then_some(Cell::Int(1))),
        (
            "command_absent",
            (!is_told).then_some(Cell::Text(Absent::Gone.name().as_bytes())),
        ),
        ("exec_ns", int(exec.at.0)),
        ("identifier", job.map(Cell::Text)),
        ("subidentifier", part.map(Cell::Text)),
    ];
    let known = |(name, cell)| Some((place(name)?, cell?));
    put_row(out, cells.into_iter().filter_map(known));
}

/// The number of a column.
fn place(name: &str) -> Option<u8> {
    let mut all = TABLE.key.iter().chain(TABLE.columns);
    let place = all.position(|column| column.name == name)?;
    u8::try_from(place).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use record::identity::ProcessId;
    use record::unit::Nanos;

    pub(crate) fn sample(comm: &[u8], ppid: u32) -> ProcessSample {
        ProcessSample {
            id: ProcessId::new(std::process::id(), Nanos(0)),
            ppid,
            pgid: 1,
            sid: 1,
            state: 'S',
            comm: comm.into(),
            threads: Some(1),
            own: Default::default(),
            with_children: Default::default(),
            memory: Default::default(),
            io_uring: false,
            sigchld_ignored: false,
            is_init: false,
            memory_of: None,
            pss_denied: false,
            revision: None,
        }
    }

    #[test]
    fn who_has_memory_is_no_thread_of_the_kernel() {
        // As the first two processes of a container are numbered.
        let mut of = sample(b"a", 2);
        assert!(is_of_kernel(&of));
        of.memory.virtual_size = Some(record::unit::Bytes(4096));
        assert!(!is_of_kernel(&of));
        assert!(!is_of_kernel(&sample(b"a", 3)));
    }

    #[test]
    fn a_worker_of_the_kernel_has_one_name() {
        for (comm, ppid, told) in [
            ("kworker/0:1-events", 2, "kworker/0:1"),
            ("kworker/u8:2+flush", 2, "kworker/u8:2"),
            ("kworker/R-rcu_gp", 2, "kworker/R-rcu_gp"),
            ("kworker/0:1-events", 7, "kworker/0:1-events"),
            ("a-b", 2, "a-b"),
        ] {
            assert_eq!(name(&sample(comm.as_bytes(), ppid)), told.as_bytes());
        }
    }

    #[test]
    fn a_row_tells_who_this_process_is() {
        let (root, pid) = (Root::default(), std::process::id());
        let id = id_of(&root, pid).unwrap();
        let names = ["PATH".to_owned(), "NO SUCH VARIABLE".to_owned()];
        let who = Who::read(&root, id, &names, (&Kin::default(), &|_| true));
        let mut row = Vec::new();
        let face = Face {
            id,
            ppid: 5,
            comm: b"a b) S 1",
            execs: 3,
            job: [Some("7"), None],
        };
        put(&mut row, face, &who, &mut Users::default());
        let mut from = row.as_slice();
        let cells = take_row(&mut from).unwrap();
        let of = |name: &str| {
            let found = cells
                .iter()
                .find(|(column, _)| Some(*column) == place(name));
            found.map(|(_, cell)| cell.clone())
        };
        assert_eq!(of("pid"), Some(Cell::Int(pid.into())));
        assert_eq!(
            (of("exec"), of("ppid")),
            (Some(Cell::Int(3)), Some(Cell::Int(5)))
        );
        assert_eq!(of("comm"), Some(Cell::Text(b"a b) S 1")));
        let exe = std::env::current_exe().unwrap().into_os_string().into_vec();
        assert_eq!(of("exe"), Some(Cell::Text(&exe)));
        let words = std::env::args_os().map(OsStringExt::into_vec);
        let words: Vec<_> = words.collect();
        let words = words.iter().map(Vec::as_slice).collect();
        assert_eq!(of("command"), Some(Cell::List(words)));
        assert_eq!(of("identifier"), Some(Cell::Text(b"7")));
        assert_eq!(of("subidentifier"), None);
        assert!(of("uid").is_some() && of("egid").is_some());
        assert!(of("policy").is_some() && of("cpus_allowed").is_some());
        assert!(of("nice").is_some() && of("signals_caught").is_some());
        assert_eq!((of("command_cut"), of("command_absent")), (None, None));
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        assert_eq!(of("environment"), Some(Cell::List(vec![path.as_bytes()])));
        assert_eq!(
            cells
                .iter()
                .filter(|(column, _)| *column == u8::MAX)
                .count(),
            0
        );
    }

    #[test]
    fn a_row_is_new_by_what_does_not_come_and_go_by_itself() {
        let digest_of = |name: &str, value: i64| {
            let mut row = Vec::new();
            let cells = [(place("pid"), 7), (place(name), value)];
            let cells = cells.map(|(place, value)| (place.unwrap(), Cell::Int(value)));
            put_row(&mut row, cells.into_iter());
            digest(&row)
        };
        for name in setup::PASSING {
            assert_eq!(digest_of(name, 1), digest_of(name, 2), "{name}");
        }
        for name in ["nice", "tty", "signals_ignored", "rss_limit", "uid"] {
            assert_ne!(digest_of(name, 1), digest_of(name, 2), "{name}");
        }
    }

    #[test]
    fn what_is_absent_has_its_reason() {
        let (root, pid) = (Root::default(), std::process::id());
        let id = id_of(&root, pid).unwrap();
        let names = ["PATH".to_owned()];
        let silent = Who::read(&root, id, &names, (&Kin::default(), &|_| false)).program;
        assert_eq!(silent.arguments, Err(Absent::NoAnswer));
        assert_eq!(silent.environment, Some(Err(Absent::NoAnswer)));
        assert!(silent.exe.is_some());
        let other = ProcessId::new(pid, Nanos(id.start_ns.0 + 10_000_000));
        let gone = Who::read(&root, other, &[], (&Kin::default(), &|_| true));
        assert_eq!(gone.program.arguments, Err(Absent::Gone));
        assert_eq!((gone.program.exe, gone.owner.status.uid), (None, None));
    }
}
