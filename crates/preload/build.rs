//! Builds the library itself out of the crate's own source: for the target, without a C library,
//! and with nothing to be seen from outside but the C functions of `src/calls/`.
//!
//! Writes `$OUT_DIR/libplimsoll.so`, empty on a processor that has no `src/arch_*.rs`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINKER_FLAGS: &[&str] = &[
    "-shared",
    "-nostdlib",
    "-nostartfiles",
    "-s",
    "-Wl,--gc-sections",
    "-Wl,--build-id=none",
    "-Wl,-Bsymbolic",
    "-Wl,-z,defs",
    "-Wl,-z,noexecstack",
    // As few mappings as can be: each costs every program that starts, and every fork.
    "-Wl,-z,noseparate-code",
    "-Wl,-z,norelro",
    "-Wl,-z,now",
    "-Wl,--hash-style=gnu",
    "-Wl,-soname,libplimsoll.so",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rustc-check-cfg=cfg(shared_object)");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let library = out.join("libplimsoll.so");
    let processor = std::env::var("CARGO_CFG_TARGET_ARCH")?;
    if !Path::new(&format!("src/arch_{processor}.rs")).exists() {
        return Ok(fs::write(library, [])?);
    }
    let archive = out.join("libplimsoll.a");
    compile(&archive)?;
    let names = functions(Path::new("src/calls"))?;
    let script = out.join("names.map");
    fs::write(&script, version_script(&names))?;
    let compiler = cc::Build::new().try_get_compiler()?;
    let mut linker = Command::new(compiler.path());
    linker
        .args(LINKER_FLAGS)
        .arg(format!("-Wl,--version-script={}", script.display()))
        .args(names.iter().map(|name| format!("-Wl,-u,{name}")))
        .arg(&archive)
        .arg("-o")
        .arg(&library);
    run(&mut linker)
}

fn compile(archive: &Path) -> Result<(), Box<dyn Error>> {
    let mut compiler = Command::new(std::env::var("RUSTC")?);
    compiler
        .args(["--edition", "2024", "--crate-name", "plimsoll_preload"])
        .args(["--crate-type", "staticlib", "--cfg", "shared_object"])
        .args(["--check-cfg", "cfg(shared_object)", "--cap-lints", "allow"])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "lto=fat"])
        .args(["-C", "codegen-units=1", "-C", "relocation-model=pic"])
        .args(["-C", "force-unwind-tables=yes", "-C", "debuginfo=0"])
        .args(["--target", &std::env::var("TARGET")?]);
    if std::env::var("CARGO_CFG_TARGET_ARCH")? == "aarch64" {
        // Else atomic operations are calls of helpers that ask the C library for the processor.
        compiler.args(["-C", "target-feature=-outline-atomics"]);
    }
    compiler.arg("-o").arg(archive).arg("src/lib.rs");
    run(&mut compiler)
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}

/// The C functions that the sources define: with `wrap!`, by hand, or in assembly.
fn functions(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for file in fs::read_dir(folder)? {
        let text = fs::read_to_string(file?.path())?;
        let mut inside = false;
        for line in text.lines() {
            if line.ends_with("wrap! {") || line.starts_with("variadic! {") {
                inside = true;
            } else if line == "}" {
                inside = false;
            }
            let word = line.trim_start();
            let named = if let Some(rest) = word.strip_prefix("pub(crate) extern \"C\" fn ") {
                rest.split('(').next()
            } else if !inside {
                None
            } else if let Some(rest) = line.strip_prefix("    fn ") {
                rest.split('(').next()
            } else {
                word.strip_prefix('"')
                    .and_then(|rest| rest.split('"').next())
            };
            names.extend(
                named
                    .filter(|name| !name.starts_with('$'))
                    .map(str::to_owned),
            );
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn version_script(names: &[String]) -> String {
    let shown: String = names.iter().map(|name| format!("    {name};\n")).collect();
    format!("{{\n  global:\n{shown}  local:\n    *;\n}};\n")
}
