//! Where the workspace is, and how its programs are built.

use crate::step;
use anyhow::{Context, Result};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace that this task works on.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its root.
    pub(crate) root: PathBuf,
}

/// A program that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Built {
    /// The name of its target.
    pub(crate) name: String,
    /// `bin`, `test`, `lib`, ...
    pub(crate) kind: String,
    /// Whether it was built as a test.
    pub(crate) test: bool,
    /// Its file.
    pub(crate) file: PathBuf,
    /// The source that it starts with.
    pub(crate) source: PathBuf,
}

impl Workspace {
    /// The workspace that cargo started us in, else the one around the current folder.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find() -> Result<Self> {
        let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => std::env::current_dir()?,
        };
        let root = start
            .ancestors()
            .find(|folder| folder.join("xtask/Cargo.toml").is_file())
            .context("no workspace here: start it with `cargo xtask`")?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// A command with cargo that built us, in the root.
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(cargo);
        command.args(words).current_dir(&self.root);
        // Set for us by `cargo run`; the builds that we start have their own.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        // A variable of our own `make install PREFIX=...` would reach the make that builds libbpf.
        for name in ["MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "PREFIX", "DESTDIR"] {
            command.env_remove(name);
        }
        command
    }

    /// Where what is built is put.
    pub(crate) fn target(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
        self.root.join(target)
    }

    /// Where the root's own target folder has the debug program, if it has been built.
    pub(crate) fn debug_program(&self) -> Option<PathBuf> {
        let program = self.target().join("debug/plimsoll");
        program.is_file().then_some(program)
    }

    /// Runs a cargo command and gives back the programs that it built, its messages going to
    /// stderr.
    ///
    /// # Errors
    /// When cargo cannot be run or fails.
    pub(crate) fn build(&self, words: &[&str]) -> Result<Vec<Built>> {
        let mut command = self.cargo(words);
        command.arg("--message-format=json-render-diagnostics");
        step::announce(&command);
        let output = command.stderr(Stdio::inherit()).output()?;
        anyhow::ensure!(
            output.status.success(),
            "cargo {}: {}",
            words.join(" "),
            output.status
        );
        Ok(programs(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Builds a release of the binary `plimsoll` with these further words and gives back its file.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn build_release(&self, words: &[&str]) -> Result<PathBuf> {
        let release = ["build", "--package", "plimsoll", "--release", "--locked"];
        self.build_plimsoll(&[&release, words].concat())
    }

    /// Builds the binary `plimsoll` as the tests of the workspace do (the same features of the same
    /// packages, so that nothing is compiled twice) and gives back its file.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn build_debug(&self) -> Result<PathBuf> {
        self.build_plimsoll(&["build", "--workspace", "--bin", "plimsoll"])
    }

    fn build_plimsoll(&self, words: &[&str]) -> Result<PathBuf> {
        self.build(words)?
            .into_iter()
            .find(|built| built.kind == "bin" && built.name == "plimsoll")
            .map(|built| built.file)
            .context("cargo built no program plimsoll")
    }

    /// The version of the workspace.
    ///
    /// # Errors
    /// When the manifest cannot be read.
    pub(crate) fn version(&self) -> Result<String> {
        version_in(&self.root.join("Cargo.toml"))
    }
}

fn version_in(manifest: &Path) -> Result<String> {
    let table: toml::Table = std::fs::read_to_string(manifest)?.parse()?;
    table
        .get("workspace")
        .and_then(|workspace| workspace.get("package")?.get("version")?.as_str())
        .map(str::to_owned)
        .with_context(|| format!("no version in {}", manifest.display()))
}

/// The programs named in cargo's messages, one JSON object a line.
pub(crate) fn programs(messages: &str) -> Vec<Built> {
    messages
        .lines()
        .filter_map(|line| built(&serde_json::from_str(line).ok()?))
        .collect()
}

fn built(message: &Value) -> Option<Built> {
    let target = message.get("target")?;
    Some(Built {
        file: PathBuf::from(message.get("executable")?.as_str()?),
        source: PathBuf::from(target.get("src_path")?.as_str()?),
        name: target.get("name")?.as_str()?.to_owned(),
        kind: target.get("kind")?.get(0)?.as_str()?.to_owned(),
        test: message.get("profile")?.get("test")?.as_bool()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_the_messages_of_cargo() {
        let messages = [
            r#"{"target":{"kind":["lib"],"name":"a"},"profile":{"test":false},"executable":null}"#,
            "no json",
            r#"{"target":{"kind":["test"],"name":"truth","src_path":"/s/t.rs"},"#,
            r#""profile":{"test":true},"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        let messages = messages
            .join("\n")
            .replace("},\n\"", "},\"")
            .replace("},\n", "},\"executable\":\"/t/truth-1\"}\n");
        let found = programs(&messages);
        assert_eq!(found.len(), 1);
        let truth = found.first().unwrap();
        assert_eq!(
            (truth.name.as_str(), truth.kind.as_str(), truth.test),
            ("truth", "test", true)
        );
        assert_eq!(truth.file, Path::new("/t/truth-1"));
        assert_eq!(truth.source, Path::new("/s/t.rs"));
    }

    #[test]
    fn no_variable_of_make_reaches_cargo() {
        let cargo = Workspace::find().unwrap().cargo(&[]);
        assert!(
            cargo
                .get_envs()
                .any(|(name, value)| name == "MAKEFLAGS" && value.is_none())
        );
    }

    #[test]
    fn the_workspace_knows_its_version() {
        let workspace = Workspace::find().unwrap();
        assert_eq!(workspace.version().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
