//! One real task, watched: what a person sees first.

use crate::setup::{self, Purpose};
use crate::step;
use crate::workspace::Workspace;
use anyhow::Result;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the small C project that the task compiles.
const FILES: usize = 8;
/// Functions in each: enough that a compiler has something to do.
const FUNCTIONS: usize = 300;

/// Builds, and runs `plimsoll run` on a build of a small C project.
///
/// # Errors
/// When packages are missing, the build fails, or the task does.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = build(workspace)?;
    let project = tempfile::Builder::new()
        .prefix("plimsoll-demo-")
        .tempdir()?;
    write_project(project.path())?;
    println!();
    let mut task = Command::new(program);
    task.args(["run", "--", "make", "-j2"]);
    step::run(task.current_dir(project.path()))
}

/// The release build; without the in-kernel programs where their packages are missing and cannot be
/// had.
///
/// # Errors
/// When packages that every build needs are missing, or the build fails.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let release = ["--release", "--locked"];
    match setup::ensure(Purpose::Build) {
        Ok(()) => workspace.build_plimsoll(&release),
        Err(error) if setup::missing(Purpose::Plain).is_empty() => {
            eprintln!("{error:#}\nbuilding without the in-kernel programs");
            workspace.build_plimsoll(&[&release[..], &["--no-default-features"]].concat())
        }
        Err(error) => Err(error),
    }
}

fn write_project(folder: &Path) -> Result<()> {
    let mut objects = String::new();
    for file in 0..FILES {
        fs::write(folder.join(format!("part{file}.c")), source(file))?;
        write!(objects, " part{file}.o")?;
    }
    let main = "int part0(int x);\nint main(void) { return part0(1) < 0; }\n";
    fs::write(folder.join("main.c"), main)?;
    let rules = format!("CFLAGS = -O2\nmain: main.o{objects}\n");
    Ok(fs::write(folder.join("Makefile"), rules)?)
}

/// A C file of many small functions that call one another.
fn source(file: usize) -> String {
    let mut text = format!("static int part{file}_0(int x) {{ return x; }}\n");
    for n in 1..FUNCTIONS {
        let last = n - 1;
        text.push_str(&format!(
            "static int part{file}_{n}(int x) {{ for (int i = 0; i < {n}; i++) \
             x = x * 31 + part{file}_{last}(x ^ i); return x; }}\n"
        ));
    }
    let last = FUNCTIONS - 1;
    text.push_str(&format!(
        "int part{file}(int x) {{ return part{file}_{last}(x); }}\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_has_all_that_its_rules_name() {
        let folder = tempfile::tempdir().unwrap();
        write_project(folder.path()).unwrap();
        let rules = fs::read_to_string(folder.path().join("Makefile")).unwrap();
        for name in rules
            .split_whitespace()
            .filter_map(|word| word.strip_suffix(".o"))
        {
            assert!(folder.path().join(format!("{name}.c")).is_file(), "{name}");
        }
        assert_eq!(source(3).lines().count(), FUNCTIONS + 1);
    }
}
