//! Folders of a user, as the XDG base directory specification names them.

use anyhow::{Result, anyhow};
use std::ffi::OsString;
use std::path::PathBuf;

/// Below the folders of a user's data and caches.
pub(super) const OURS: &str = "plimsoll";

/// The archive that is meant where none is named: `$XDG_DATA_HOME/plimsoll/archive`, else
/// `~/.local/share/plimsoll/archive`.
pub(crate) fn usual() -> Result<PathBuf> {
    let data = base("XDG_DATA_HOME", ".local/share").ok_or_else(|| {
        anyhow!("neither XDG_DATA_HOME nor HOME is set: --archive DIR says where the archive is")
    })?;
    Ok(data.join(OURS).join("archive"))
}

/// The path that a variable names, else one below the home.
pub(super) fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    // A path that is relative is no such folder, says the specification of these.
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let named = std::env::var_os(variable).and_then(absolute);
    let home = || std::env::var_os("HOME").and_then(absolute);
    named.or_else(|| home().map(|home| home.join(below_home)))
}
