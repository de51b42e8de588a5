//! Folders within an archive that others than its maker may write to.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What a folder may grant to its group and to everybody, and that names in it are their owners'
/// alone.
const GRANTED: u32 = 0o1077;

/// Who of these may write.
const MAY_WRITE: u32 = 0o022;

/// Makes a folder and those above it that are missing. Where others may write to the one above,
/// they may to a new one too, whatever the mask of who makes it: else whoever comes first to a
/// shared archive shuts it to all others.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let above = folder.parent().unwrap_or(Path::new("/"));
    let made = match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_folder(above)?;
            fs::create_dir(folder)
        }
        made => made,
    };
    match made {
        // Another may have made it right then.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    let granted = fs::metadata(above)?.permissions().mode() & GRANTED;
    if granted & MAY_WRITE == 0 {
        return Ok(());
    }
    // The bit that hands its group on is there already.
    let mode = fs::metadata(folder)?.permissions().mode() | granted;
    match fs::set_permissions(folder, Permissions::from_mode(mode)) {
        // A file system without modes: everybody may what everybody may.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Unsupported | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        set => set,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn who_may_write_above_may_write_below() {
        let folder = tempfile::tempdir().unwrap();
        for (above, below) in [
            (0o700, 0o000),
            (0o755, 0o000),
            (0o775, 0o075),
            (0o770, 0o070),
            (0o777, 0o077),
            (0o1777, 0o1077),
            (0o2770, 0o2070),
        ] {
            let top = folder.path().join(format!("{above:o}"));
            fs::create_dir(&top).unwrap();
            fs::set_permissions(&top, Permissions::from_mode(above)).unwrap();
            let deep = top.join("tasks/abc");
            make_folder(&deep).unwrap();
            // What is there stays as it is.
            make_folder(&deep).unwrap();
            for made in [top.join("tasks"), deep] {
                assert_eq!(mode(&made) & below, below, "{above:o} {:o}", mode(&made));
                if below == 0 {
                    assert_eq!(mode(&made) & MAY_WRITE, 0, "{above:o}");
                }
            }
        }
    }

    #[test]
    fn what_is_in_the_way_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tasks"), "").unwrap();
        let made = make_folder(&folder.path().join("tasks/abc"));
        assert_eq!(made.unwrap_err().kind(), ErrorKind::NotADirectory);
    }
}
