//! The kernels that can be booted, and where they are kept.

use crate::step;
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel of Debian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kernel {
    /// Debian 12's own.
    #[value(name = "6.1")]
    V6_1,
    /// Debian 12's backport.
    #[value(name = "6.12")]
    V6_12,
}

impl Kernel {
    /// The package that depends on the newest build of it.
    fn package(self) -> &'static str {
        match self {
            Kernel::V6_1 => "linux-image-amd64",
            Kernel::V6_12 => "linux-image-6.12-amd64",
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kernel::V6_1 => "6.1",
            Kernel::V6_12 => "6.12",
        })
    }
}

/// A kernel that has been unpacked.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// The image to boot.
    pub(crate) image: PathBuf,
    /// Its version, as `uname -r` says.
    pub(crate) version: String,
    /// Its modules.
    pub(crate) modules: PathBuf,
}

impl Unpacked {
    /// The kernel below `cache`, fetched and unpacked if it is not there yet.
    ///
    /// # Errors
    /// When the package cannot be found, fetched or unpacked.
    pub(crate) fn fetch(kernel: Kernel, cache: &Path) -> Result<Self> {
        let folder = cache.join(format!("k-{kernel}"));
        if let Some(found) = Self::find(&folder) {
            return Ok(found);
        }
        let list = step::read(Command::new("apt-cache").args(["depends", kernel.package()]))?;
        let package = image_package(&list)
            .with_context(|| format!("no Debian kernel {kernel}: try `apt-get update`"))?;
        let fetched = tempfile::tempdir_in(cache)?;
        let mut fetch = Command::new("apt-get");
        fetch.args(["download", "-qq", package]);
        // apt gives up its rights for the download and says so where it cannot write as its own
        // user.
        fetch.args(["-o", "APT::Sandbox::User=root"]);
        step::run(fetch.current_dir(fetched.path()))?;
        let archive = std::fs::read_dir(fetched.path())?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|end| end == "deb"))
            .with_context(|| format!("apt-get download left no {package}"))?;
        let unpacked = fetched.path().join("unpacked");
        step::run(Command::new("dpkg").arg("-x").arg(archive).arg(&unpacked))?;
        std::fs::rename(&unpacked, &folder)?;
        Self::find(&folder).with_context(|| format!("no kernel in {package}"))
    }

    fn find(folder: &Path) -> Option<Self> {
        let modules = std::fs::read_dir(folder.join("lib/modules"))
            .ok()?
            .flatten()
            .next()?
            .path();
        let version = modules.file_name()?.to_str()?.to_owned();
        let image = folder.join(format!("boot/vmlinuz-{version}"));
        image.is_file().then_some(Self {
            image,
            version,
            modules,
        })
    }
}

/// The first package with a kernel image in the output of `apt-cache depends`.
fn image_package(depends: &str) -> Option<&str> {
    depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .find(|name| {
            name.strip_prefix("linux-image-")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_the_image_is_found() {
        let text = "linux-image-amd64\n  Depends: x\n  Depends: linux-image-6.1.0-9-amd64\n";
        assert_eq!(image_package(text), Some("linux-image-6.1.0-9-amd64"));
        assert_eq!(image_package("linux-image-amd64\n"), None);
    }

    #[test]
    fn an_unpacked_kernel_needs_its_image() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("lib/modules/6.1.0-9")).unwrap();
        assert!(Unpacked::find(folder.path()).is_none());
        std::fs::create_dir(folder.path().join("boot")).unwrap();
        std::fs::write(folder.path().join("boot/vmlinuz-6.1.0-9"), "").unwrap();
        assert_eq!(Unpacked::find(folder.path()).unwrap().version, "6.1.0-9");
    }
}
