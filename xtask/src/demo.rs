//! One real task, watched: what a person sees first.

use crate::page;
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
const FUNCTIONS: usize = 80;

/// Builds, and runs `plimsoll run` on a build of a small C project.
///
/// # Errors
/// When packages are missing, the build fails, or the task does.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = build(workspace, NODE)?;
    let project = tempfile::Builder::new()
        .prefix("plimsoll-demo-")
        .tempdir()?;
    write_project(project.path())?;
    println!();
    let mut task = Command::new(program);
    task.args(["run", "--", "make", "-j2"]);
    // Started by `make demo`, it would call itself make[1].
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        task.env_remove(name);
    }
    step::run(task.current_dir(project.path()))
}

/// What a node needs: all but the engine behind `plimsoll query`, which takes longer to build than
/// everything else.
pub(crate) const NODE: &[&str] = &["--no-default-features", "--features", "bpf,dataset,nvml"];

/// The release build with these words for cargo; without the in-kernel programs where their
/// packages are missing and cannot be had.
///
/// # Errors
/// When packages that every build needs are missing, or the build fails.
pub(crate) fn build(workspace: &Workspace, words: &[&str]) -> Result<PathBuf> {
    page::before(workspace);
    match setup::ensure(Purpose::Build) {
        Ok(()) => workspace.build_release(words),
        Err(error) if setup::missing(Purpose::Plain).is_empty() => {
            eprintln!("{error:#}\nbuilding without the in-kernel programs");
            workspace.build_release(&["--no-default-features"])
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

/// A C file of many functions, and one that calls the first of them.
fn source(file: usize) -> String {
    let mut text = String::new();
    for n in 0..FUNCTIONS {
        text.push_str(&format!(
            "unsigned part{file}_{n}(const unsigned *a, int k) {{ unsigned s = {n}; \
             for (int i = 0; i < k; i++) for (int j = 0; j < i; j++) s = s * 31 + (a[j] ^ s >> 3); \
             return s; }}\n"
        ));
    }
    let call = format!("unsigned a[2] = {{ x, 1 }}; return part{file}_0(a, 2) & 1;");
    text.push_str(&format!("int part{file}(int x) {{ {call} }}\n"));
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
