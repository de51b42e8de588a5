//! Compiles the in-kernel programs with clang: `src/bpf/*.bpf.c` to `OUT_DIR/*.bpf.o`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compilers to try, best first, after the one that `CLANG` names.
const COMPILERS: [&str; 5] = ["clang", "clang-19", "clang-18", "clang-16", "clang-14"];

/// Builds `task.bpf.o` and tells the crate its hash, which names the pinned copy.
///
/// # Errors
/// No clang that works, or an error in the program.
pub(crate) fn build() -> Result<(), Box<dyn Error>> {
    let source = Path::new("src/bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    // libbpf-sys has `links = "bpf"` and installs the headers of its own libbpf there.
    let include = env::var_os("DEP_BPF_INCLUDE").ok_or("libbpf-sys named no include folder")?;
    let object = out.join("task.bpf.o");
    println!("cargo:rerun-if-env-changed=CLANG");
    for file in [
        "task.bpf.c",
        "task.h",
        "kernel.h",
        "peaks.h",
        "walk.bpf.c",
        "walk.h",
    ] {
        println!("cargo:rerun-if-changed={}", source.join(file).display());
    }
    compile(&source.join("task.bpf.c"), &object, &include)?;
    compile(
        &source.join("walk.bpf.c"),
        &out.join("walk.bpf.o"),
        &include,
    )?;
    let hash = fnv(&std::fs::read(&object)?);
    println!("cargo:rustc-env=PLIMSOLL_TASK_OBJECT_HASH={hash:016x}");
    Ok(())
}

fn compile(source: &Path, object: &Path, include: &OsString) -> Result<(), Box<dyn Error>> {
    let compiler = compiler()?;
    let mut include_flag = OsString::from("-I");
    include_flag.push(include);
    // v3: atomics that return the old value. The prefix map keeps the object, and so its hash, the
    // same wherever it is built.
    let status = Command::new(&compiler)
        .args([
            "-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3",
        ])
        .arg("-fdebug-compilation-dir=.")
        .arg(include_flag)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .status()
        .map_err(|error| format!("{}: {error}", compiler.to_string_lossy()))?;
    if status.success() {
        return Ok(());
    }
    Err(format!(
        "{} failed on {}",
        compiler.to_string_lossy(),
        source.display()
    )
    .into())
}

fn compiler() -> Result<OsString, Box<dyn Error>> {
    if let Some(named) = env::var_os("CLANG") {
        return Ok(named);
    }
    COMPILERS
        .iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|output| output.status.success())
        })
        .map(OsString::from)
        .ok_or_else(|| {
            "no clang found: install it (Debian: apt install clang libelf-dev zlib1g-dev), name it \
             with CLANG=..., or build without the in-kernel programs: --no-default-features"
                .into()
        })
}

/// FNV-1a, 64 bit.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
