//! One static file that runs on any Linux of its architecture.

use crate::demo::NODE;
use crate::page;
use crate::setup::{self, Purpose};
use crate::step;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// `p_type` of the segment that names the dynamic linker.
const PT_INTERP: u32 = 3;

/// Builds `dist/plimsoll-VERSION-ARCH-linux`.
///
/// # Errors
/// When packages are missing, the build fails, or the file is not static.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    setup::ensure(Purpose::Build)?;
    page::before(workspace);
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // With a target of its own, the flags do not reach the build scripts.
    let words = [
        "build",
        "--package",
        "plimsoll",
        "--release",
        "--locked",
        "--target",
        &target,
    ];
    let words = [&words[..], NODE].concat();
    let mut cargo = workspace.cargo(&words);
    cargo.arg("--message-format=json-render-diagnostics");
    // At a fixed address, as crates/cli/build.rs has it otherwise.
    let flags = "-C target-feature=+crt-static -C relocation-model=static";
    cargo.env("RUSTFLAGS", flags);
    step::announce(&cargo);
    let messages = step::read(&mut cargo)?;
    let built = crate::workspace::programs(&messages)
        .into_iter()
        .find(|built| built.kind == "bin" && built.name == "plimsoll")
        .context("cargo built no program plimsoll")?;
    let image = fs::read(&built.file)?;
    anyhow::ensure!(
        is_static(&image),
        "{} needs a dynamic linker",
        built.file.display()
    );
    let arch = std::env::consts::ARCH;
    let name = format!("plimsoll-{}-{arch}-linux", workspace.version()?);
    let folder = workspace.root.join("dist");
    fs::create_dir_all(&folder)?;
    let file = folder.join(name);
    fs::copy(&built.file, &file)?;
    step::run(Command::new(&file).arg("--version"))?;
    println!("{} ({} bytes)", file.display(), image.len());
    Ok(())
}

/// Whether a 64-bit little-endian ELF image runs without a dynamic linker; anything else is not.
fn is_static(image: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let field = image.get(at..at.checked_add(bytes)?)?;
        let value = field.iter().rev().try_fold(0_u64, |sum, byte| {
            Some(sum.checked_mul(256)? + u64::from(*byte))
        })?;
        usize::try_from(value).ok()
    };
    let types = || -> Option<Vec<usize>> {
        image.starts_with(b"\x7fELF\x02\x01").then_some(())?;
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..count)
            .map(|n| number(table.checked_add(n.checked_mul(size)?)?, 4))
            .collect()
    };
    types().is_some_and(|types| !types.contains(&(PT_INTERP as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(segments: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (image[32], image[54], image[56]) = (64, 56, segments.len() as u8);
        for segment in segments {
            image.extend([*segment, 0, 0, 0]);
            image.extend([0; 52]);
        }
        image
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(is_static(&image(&[1, 1, 2])));
        assert!(!is_static(&image(&[1, 3])));
        assert!(!is_static(&image(&[1])[..70][..66]));
        assert!(!is_static(b"#!/bin/sh\n"));
        let ours = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&ours), cfg!(target_feature = "crt-static"));
    }
}
