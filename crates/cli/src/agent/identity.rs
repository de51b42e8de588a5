//! Who the processes are: read once of each, and again when its name is another.

use record::codec::cells::{Cell, put_row};
use record::identity::ProcessId;
use record::sample::ProcessSample;
use record::table;
use reduce::redact::redact;
use source::query::{proc_pid_cgroup, proc_pid_cmdline, proc_pid_status};
use source::root::Root;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use store::Error;
use store::disk::RealDisk;
use store::segment::{Instant, Writer};

/// A frame of rows that is this large is written.
const FRAME_BYTES: usize = 256 << 10;
/// Of a command line so much is kept.
const COMMAND_BYTES_MAX: usize = 128 << 10;

/// Who was told already.
pub(super) struct Identities {
    root: Root,
    known: HashMap<ProcessId, Known>,
    pass: u64,
    told: u64,
    payload: Vec<u8>,
    rows: u32,
}

struct Known {
    comm: Vec<u8>,
    execs: i64,
    pass: u64,
}

impl Identities {
    pub(super) fn new(root: Root) -> Self {
        Self {
            root,
            known: HashMap::new(),
            pass: 0,
            told: 0,
            payload: Vec::new(),
            rows: 0,
        }
    }

    /// How many processes were told.
    pub(super) const fn told(&self) -> u64 {
        self.told
    }

    /// Writes who is new or has another name; with a new segment everyone.
    ///
    /// # Errors
    /// Some could not be written: the rest is tried all the same.
    pub(super) fn tell(
        &mut self,
        samples: &[ProcessSample],
        is_new: bool,
        when: Instant,
        writer: &mut Writer<RealDisk>,
    ) -> Result<(), Error> {
        self.pass += 1;
        let pass = self.pass;
        let mut result = Ok(());
        for sample in samples {
            let known = self.known.get_mut(&sample.id);
            let execs = match known {
                Some(known) if known.comm == sample.comm => {
                    known.pass = pass;
                    if !is_new {
                        continue;
                    }
                    known.execs
                }
                Some(known) => known.execs + 1,
                None => {
                    self.told += 1;
                    0
                }
            };
            let comm = sample.comm.clone();
            self.known.insert(sample.id, Known { comm, execs, pass });
            put(&self.root, sample, execs, &mut self.payload);
            self.rows += 1;
            if self.payload.len() >= FRAME_BYTES {
                result = result.and(self.flush(when, writer));
            }
        }
        self.known.retain(|_, known| known.pass == pass);
        result.and(self.flush(when, writer))
    }

    fn flush(&mut self, when: Instant, writer: &mut Writer<RealDisk>) -> Result<(), Error> {
        let (rows, payload) = (std::mem::take(&mut self.rows), &mut self.payload);
        if rows == 0 {
            return Ok(());
        }
        let written = writer.frame(
            (table::process::TABLE.id, false),
            (0, 0),
            when,
            (payload, rows),
        );
        payload.clear();
        written
    }
}

/// Appends the row of a process.
fn put(root: &Root, sample: &ProcessSample, execs: i64, out: &mut Vec<u8>) {
    let pid = sample.id.pid;
    let mut command = proc_pid_cmdline::read(root, pid).unwrap_or_default();
    command.truncate(COMMAND_BYTES_MAX);
    let arguments = redact(&proc_pid_cmdline::parse(&command));
    let link = |name: &str| std::fs::read_link(root.process(pid, name)).ok();
    let (exe, cwd) = (link("exe"), link("cwd"));
    let groups = proc_pid_cgroup::read(root, Some(pid)).unwrap_or_default();
    let is_memory = |names: &[String]| names.iter().any(|name| name == "memory");
    let of_memory = groups.iter().find(|group| is_memory(&group.controllers));
    let unified = groups.iter().find(|group| group.is_v2());
    let group = of_memory
        .or(unified)
        .map(|group| group.path.as_os_str().as_bytes());
    let status = proc_pid_status::read(root, Some(pid)).ok();
    let uid = status.and_then(|status| status.uid_effective);
    let start = i64::try_from(sample.id.start_ns.0).unwrap_or(i64::MAX);
    let columns = &table::process::TABLE;
    let place = |name: &str| {
        let mut all = columns.key.iter().chain(columns.columns);
        all.position(|column| column.name == name)
            .and_then(|place| u8::try_from(place).ok())
    };
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map(|path| path.as_os_str().as_bytes().to_vec())
    };
    let (exe, cwd) = (path(&exe), path(&cwd));
    let cells = [
        ("pid", Some(Cell::Int(pid.into()))),
        ("start_ns", Some(Cell::Int(start))),
        ("exec", Some(Cell::Int(execs))),
        ("ppid", Some(Cell::Int(sample.ppid.into()))),
        ("comm", Some(Cell::Text(&sample.comm))),
        (
            "command",
            Some(Cell::List(arguments.iter().map(Vec::as_slice).collect())),
        ),
        ("exe", exe.as_deref().map(Cell::Text)),
        ("cwd", cwd.as_deref().map(Cell::Text)),
        ("cgroup", group.map(Cell::Text)),
        ("euid", uid.map(|uid| Cell::Int(uid.into()))),
    ];
    let known = cells
        .into_iter()
        .filter_map(|(name, cell)| Some((place(name)?, cell?)));
    put_row(out, known);
}
