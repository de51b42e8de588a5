//! The files that the checks look at: what git tracks or would track, read once.

use super::super::rust_text::RustText;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Folders that are never looked into where there is no git to ask.
const SKIPPED: &[&str] = &[".git", "target", "dist", "node_modules"];

/// A text file of the tree.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path, relative to the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// What a Rust file holds; none for other files.
    pub(crate) rust: Option<RustText>,
}

impl File {
    /// Its lines, numbered from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Its name without the folder.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Its folder, without the slash at the end; empty for the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Whether its name ends so.
    pub(crate) fn ends(&self, endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.path.ends_with(ending))
    }

    /// Whether all of it is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests") || self.name() == "tests.rs"
    }

    /// The name of the crate's folder below `crates/`.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// All text files.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
    /// What METRICS.md should be, if somebody asked the program.
    pub(crate) fresh_metrics: Option<String>,
}

impl Tree {
    /// Reads every text file below `root` that git does not ignore; without git, every one.
    ///
    /// # Errors
    /// When git fails or a file cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let paths = if root.join(".git").exists() {
            git_files(root)?
        } else {
            let mut found = Vec::new();
            walk(root, "", &mut found)?;
            found
        };
        let mut files = Vec::new();
        for path in paths {
            let full = root.join(&path);
            if full.is_symlink() || !full.is_file() {
                continue;
            }
            let bytes = std::fs::read(&full).with_context(|| path.clone())?;
            // Fixtures may hold bytes that are no text: no rule speaks of them.
            if let Ok(text) = String::from_utf8(bytes) {
                let rust = path.ends_with(".rs").then(|| RustText::read(&text));
                files.push(File { path, text, rust });
            }
        }
        Ok(Self {
            files,
            fresh_metrics: None,
        })
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// All Rust files with what they hold.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &RustText)> {
        self.files
            .iter()
            .filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    /// The file at this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn git_files(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .context("git ls-files")?;
    anyhow::ensure!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8(output.stdout).context("a file name that is no text")?;
    let mut names: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        if entry.file_type()?.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                walk(root, &path, found)?;
            }
        } else {
            found.push(path);
        }
    }
    Ok(())
}
