//! Where the archive of whoever asks is, and its catalogue.

use super::work::Work;
use anyhow::{Context, Result, anyhow};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::archive::Archive;
use store::archive::folder::Folder;

/// Below the folders of a user's data and caches.
const OURS: &str = "plimsoll";

/// The archive that is meant where none is named: `$XDG_DATA_HOME/plimsoll/archive`, else
/// `~/.local/share/plimsoll/archive`.
pub(crate) fn usual() -> Result<PathBuf> {
    let data = base("XDG_DATA_HOME", ".local/share").ok_or_else(|| {
        anyhow!("neither XDG_DATA_HOME nor HOME is set: --archive DIR says where the archive is")
    })?;
    Ok(data.join(OURS).join("archive"))
}

/// The path that a variable names, else one below the home.
fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    // A path that is relative is no such folder, says the specification of these.
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let named = std::env::var_os(variable).and_then(absolute);
    let home = || std::env::var_os("HOME").and_then(absolute);
    named.or_else(|| home().map(|home| home.join(below_home)))
}

/// The archive at a path, with all that was added to it until now.
pub(crate) fn open(path: &Path, work: &mut Work) -> Result<Archive> {
    let folder = Folder::open(path).with_context(|| format!("archive {}", path.display()))?;
    known(folder, work)
}

/// The same; one is made where there is none.
pub(crate) fn create(path: &Path, work: &mut Work) -> Result<Archive> {
    let folder = Folder::create(path).with_context(|| format!("archive {}", path.display()))?;
    known(folder, work)
}

fn known(folder: Folder, work: &mut Work) -> Result<Archive> {
    let catalogue = catalogue(folder.path());
    // Where nothing can be kept it is made anew each time.
    let opened = Archive::open(folder.clone(), catalogue.as_deref());
    let mut archive = match (opened, catalogue) {
        (Err(_), Some(_)) => Archive::open(folder, None)?,
        (opened, _) => opened?,
    };
    let heed = |attempts| work.heed(&|| format!("{attempts} attempts found"));
    archive.refresh(SystemTime::now(), &heed)?;
    Ok(archive)
}

/// The file of an archive's catalogue, in a folder that is there; none if nothing can be kept.
fn catalogue(archive: &Path) -> Option<PathBuf> {
    let folder = base("XDG_CACHE_HOME", ".cache")?.join(OURS);
    std::fs::create_dir_all(&folder).ok()?;
    let mut hasher = DefaultHasher::new();
    std::fs::canonicalize(archive).ok()?.hash(&mut hasher);
    Some(folder.join(format!("archive-{:016x}.sqlite", hasher.finish())))
}
