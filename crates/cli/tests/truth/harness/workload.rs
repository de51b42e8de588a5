//! The programs whose use is known by construction, compiled once by gcc and kept by their content.

use super::process;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Permissions};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../workloads/", $name, ".c")))),*]
    };
}

const HEADER: &str = include_str!("../../workloads/truth.h");
const SOURCES: &[(&str, &str)] = sources![
    "again",
    "aio",
    "burn",
    "cache",
    "calls",
    "client",
    "cloneparent",
    "counter",
    "daemon",
    "direct",
    "drop",
    "endpoints",
    "escaped",
    "execchain",
    "facts",
    "fat",
    "fault",
    "fill",
    "gone",
    "handed",
    "hold",
    "hugetlb",
    "hungfs",
    "init",
    "jail",
    "joined",
    "leak",
    "many",
    "mmapread",
    "names",
    "namesake",
    "renames",
    "naps",
    "nothing",
    "numbers",
    "owned",
    "pages",
    "reader",
    "renamed",
    "setup",
    "share",
    "silent",
    "sockets",
    "spaces",
    "spawned",
    "storm",
    "stubborn",
    "swapped",
    "syscalls",
    "threadexec",
    "threadwork",
    "threads",
    "untraced",
    "unwaited",
    "uring",
    "writer",
];

/// A stand-in for the library of a GPU's driver.
const DRIVER: &str = include_str!("../../../../source/tests/programs/nvml.c");

/// The owner of the setuid copies: a user that every Linux has and that is not root.
pub(crate) const SETUID_OWNER: u32 = 1;

/// The program `name` (`fill`), or its statically linked twin (`fill.static`).
#[track_caller]
pub(crate) fn program(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(
        path.exists(),
        "{name} could not be built: gcc and libc6-dev are needed"
    );
    path
}

/// The program built with AddressSanitizer, if this gcc can.
pub(crate) fn leak() -> Option<PathBuf> {
    Some(folder().join("leak")).filter(|path| path.exists())
}

/// `facts` or `owned`, owned by another user and setuid; only root could make it.
pub(crate) fn setuid(name: &str) -> Option<PathBuf> {
    Some(folder().join(format!("{name}.setuid"))).filter(|path| path.exists())
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        (HEADER, SOURCES, DRIVER).hash(&mut hasher);
        let name = format!("plimsoll-workloads-{:x}", hasher.finish());
        let own = std::env::temp_dir().join(format!("{name}-{}", process::uid()));
        // Named where cargo's own folder cannot be read, or not written.
        let candidates = match std::env::var_os("PLIMSOLL_WORKLOADS") {
            Some(named) => vec![Path::new(&named).join(&name)],
            None => vec![Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name), own],
        };
        if let Some(built) = candidates
            .iter()
            .find(|path| path.join("complete").exists())
        {
            return built.clone();
        }
        let built = candidates.iter().find(|path| build(path).is_ok());
        built
            .expect("no folder to compile the workloads in")
            .clone()
    })
}

/// Compiles everything aside and puts it in place with one rename.
fn build(folder: &Path) -> std::io::Result<()> {
    let parent = folder.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    let aside = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(parent)?;
    fs::write(aside.path().join("truth.h"), HEADER)?;
    for (name, source) in SOURCES {
        fs::write(aside.path().join(format!("{name}.c")), source)?;
        if *name == "leak" {
            compile(aside.path(), name, name, &["-fsanitize=address"]);
        } else {
            compile(aside.path(), name, name, &[]);
            compile(aside.path(), name, &format!("{name}.static"), &["-static"]);
        }
    }
    fs::write(aside.path().join("nvml.c"), DRIVER)?;
    let library = ["-shared", "-fPIC"];
    compile(aside.path(), "nvml", "libnvidia-ml.so.1", &library);
    make_setuid(aside.path());
    fs::write(aside.path().join("complete"), "")?;
    match fs::rename(aside.path(), folder) {
        Err(error) if !folder.join("complete").exists() => Err(error),
        _ => Ok(()),
    }
}

fn compile(folder: &Path, source: &str, target: &str, options: &[&str]) {
    let output = Command::new("gcc")
        .args(["-O1", "-w", "-pthread"])
        .args(options)
        .arg("-o")
        .arg(folder.join(target))
        .arg(folder.join(format!("{source}.c")))
        // Of older C libraries.
        .arg("-lrt")
        .output()
        .expect("gcc is needed");
    if !output.status.success() {
        println!("{target}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// As root: setuid copies of `facts` and `owned`. Elsewhere there are none, and who needs them
/// skips.
fn make_setuid(folder: &Path) {
    for name in ["facts", "owned"] {
        let path = folder.join(format!("{name}.setuid"));
        let owner = Some(SETUID_OWNER);
        let made = process::is_root()
            && fs::copy(folder.join(format!("{name}.static")), &path).is_ok()
            && std::os::unix::fs::chown(&path, owner, owner).is_ok()
            && fs::set_permissions(&path, Permissions::from_mode(0o4755)).is_ok();
        if !made && path.exists() {
            fs::remove_file(&path).expect("a copy that we just made");
        }
    }
}

mod tests {
    use super::*;

    /// `cargo xtask` runs this first, where the other tests will not find a compiler.
    #[test]
    fn every_program_is_compiled() {
        for (name, _) in SOURCES.iter().filter(|(name, _)| *name != "leak") {
            program(name);
            program(&format!("{name}.static"));
        }
    }
}
