//! Why a control group could not be had or used: a reason to act on and a sentence to read.

use std::io;
use std::path::{Path, PathBuf};

/// Why a control group could not be had or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No control group file system is visible to this process.
    #[error("no control groups here: {0}")]
    NotMounted(&'static str),
    /// This user may not.
    #[error("{what} ({})", path.display())]
    NoPermission {
        /// The file or folder that said no.
        path: PathBuf,
        /// One sentence.
        what: &'static str,
    },
    /// This kernel, or the controllers it has here, cannot.
    #[error("{what} ({})", path.display())]
    NoKernelSupport {
        /// The file that is missing or refuses.
        path: PathBuf,
        /// One sentence.
        what: &'static str,
    },
    /// The group or the process was removed meanwhile.
    #[error("{} is gone", path.display())]
    Gone {
        /// The file or folder.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Error {
    /// Sorts what the kernel said about `path` into the reasons above.
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EROFS) => Error::NoPermission {
                path,
                what: "this user may not change this control group",
            },
            Some(libc::ENODEV | libc::ESRCH) => Error::Gone { path },
            Some(libc::ENOENT) => Error::NoKernelSupport {
                path,
                what: "this kernel has no such control group file here",
            },
            Some(libc::EOPNOTSUPP) => Error::NoKernelSupport {
                path,
                what: "the control group is of a kind that takes no processes",
            },
            _ => Error::Io { path, source },
        }
    }

    /// Whether the kernel said "busy": the group still has processes or groups in it.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.raw_os_error() == Some(libc::EBUSY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_becomes_a_reason() {
        let reason = |code| Error::new(Path::new("/x"), io::Error::from_raw_os_error(code));
        assert!(matches!(reason(libc::EACCES), Error::NoPermission { .. }));
        assert!(matches!(reason(libc::ENODEV), Error::Gone { .. }));
        assert!(reason(libc::EBUSY).is_busy());
        assert!(!reason(libc::EINVAL).is_busy());
        assert_eq!(
            reason(libc::EACCES).to_string(),
            "this user may not change this control group (/x)"
        );
    }
}
