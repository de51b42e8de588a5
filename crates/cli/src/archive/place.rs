//! Where the archive of whoever asks is, and its catalogue.

use super::usual::{OURS, base};
use super::work::Work;
use anyhow::{Context, Result};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::archive::Archive;
use store::archive::folder::Folder;

/// The archive at a path, with all that was added to it until now.
pub(crate) fn open(path: &Path, work: &mut Work) -> Result<Archive> {
    let folder = Folder::open(path).with_context(|| format!("archive {}", path.display()))?;
    of_folder(folder, &|attempts| said(work, attempts))
}

/// The same once more, for another thread.
#[cfg(feature = "serve")]
pub(crate) fn again(path: &Path) -> Result<Archive> {
    let folder = Folder::open(path).with_context(|| format!("archive {}", path.display()))?;
    of_folder(folder, &|_| true)
}

/// The same; one is made where there is none.
pub(crate) fn create(path: &Path, work: &mut Work) -> Result<Archive> {
    let folder = Folder::create(path).with_context(|| format!("archive {}", path.display()))?;
    of_folder(folder, &|attempts| said(work, attempts))
}

fn said(work: &Work, attempts: u64) -> bool {
    work.heed(&|| format!("{attempts} attempts found"))
}

/// The same of a folder, as long as `heed` says to go on.
pub(crate) fn of_folder(folder: Folder, heed: &dyn Fn(u64) -> bool) -> Result<Archive> {
    let catalogue = catalogue(folder.path());
    let now = SystemTime::now();
    Ok(Archive::open_refreshed(
        &folder,
        catalogue.as_deref(),
        now,
        heed,
    )?)
}

/// The file of an archive's catalogue, in a folder that is there; none if nothing can be kept.
fn catalogue(archive: &Path) -> Option<PathBuf> {
    let folder = base("XDG_CACHE_HOME", ".cache")?.join(OURS);
    std::fs::create_dir_all(&folder).ok()?;
    let mut hasher = DefaultHasher::new();
    std::fs::canonicalize(archive).ok()?.hash(&mut hasher);
    Some(folder.join(format!("archive-{:016x}.sqlite", hasher.finish())))
}
