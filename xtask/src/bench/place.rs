//! The folder of a benchmark: compiled workloads, a copy of the binary, a home for each user.

use super::account;
use super::keeper::Keeper;
use super::person::{NOBODY, Person};
use crate::step;
use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that are linked both ways: the dynamic one has a name of its own.
const BOTH: &[(&str, &str, &str)] = &[(
    "experiment",
    "experiment-dynamic",
    include_str!("c/experiment.c"),
)];

const SOURCES: &[(&str, &str)] = &[
    ("meter", include_str!("c/meter.c")),
    ("compute", include_str!("c/compute.c")),
    ("storm", include_str!("c/storm.c")),
    ("nothing", include_str!("c/nothing.c")),
    ("reads", include_str!("c/reads.c")),
    ("files", include_str!("c/files.c")),
    ("crowd", include_str!("c/crowd.c")),
    ("quanta", include_str!("c/quanta.c")),
];

/// A temporary folder that everybody can read.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    group: Option<PathBuf>,
    _keeper: Keeper,
}

impl Place {
    /// Compiles the workloads and copies `binary` beside them.
    ///
    /// # Errors
    /// When gcc is missing or a file cannot be written.
    pub(super) fn make(binary: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("plimsoll-bench-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()?
            .keep();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let group = account::folder(&name);
        let place = Self {
            _keeper: Keeper::start(&folder, group.as_ref())?,
            folder,
            group,
        };
        for (name, source) in SOURCES {
            place.compile(name, source, &["-static"])?;
        }
        for (name, dynamic, source) in BOTH {
            place.compile(name, source, &["-static"])?;
            place.compile(dynamic, source, &[])?;
        }
        let copy = place.file("plimsoll");
        fs::copy(binary, &copy).with_context(|| binary.display().to_string())?;
        fs::set_permissions(copy, Permissions::from_mode(0o755))?;
        for person in Person::all() {
            place.own(person, &place.home(person))?;
        }
        Ok(place)
    }

    /// A file or program in the folder.
    pub(super) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }

    /// Where a control group for this benchmark can be made; it is removed with the folder.
    pub(super) fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// The type of the file system that the folder is on.
    ///
    /// # Errors
    /// When it cannot be told.
    pub(super) fn file_system(&self) -> Result<String> {
        let words = ["-f", "-c", "%T"];
        let kind = step::read(Command::new("stat").args(words).arg(&self.folder))?;
        Ok(kind.trim().to_owned())
    }

    /// A folder that this user can write.
    pub(super) fn home(&self, person: Person) -> PathBuf {
        match person {
            Person::Own => self.file("own"),
            Person::Nobody => self.file("nobody"),
        }
    }

    /// Makes `folder` if need be and gives it to this user.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn own(&self, person: Person, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        if person == Person::Nobody {
            chown(folder, Some(NOBODY), Some(NOBODY))?;
        }
        Ok(())
    }

    /// The machine in a line: what the figures below it depend on.
    pub(super) fn facts(&self) -> String {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpus = read("/proc/cpuinfo");
        let model = cpus
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map_or("unknown processor", |(_, model)| model);
        let count = cpus
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        let kernel = read("/proc/sys/kernel/osrelease");
        let load = read("/proc/loadavg");
        let load: Vec<_> = load.split(' ').take(3).collect();
        let kernel = kernel.trim();
        format!(
            "Linux {kernel}, {count} x {model}, load {}\n",
            load.join(" ")
        )
    }

    fn compile(&self, name: &str, source: &str, options: &[&str]) -> Result<()> {
        let file = self.file(format!("{name}.c"));
        fs::write(&file, source)?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-w"]).args(options);
        gcc.arg("-o").args([self.file(name), file]);
        step::read(&mut gcc).map(drop)
    }
}
