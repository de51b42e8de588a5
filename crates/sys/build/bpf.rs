//! Compiles the in-kernel programs with clang: `src/bpf/*.bpf.c` to `OUT_DIR/*.bpf.o`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compilers to try, best first, after the one that `CLANG` names.
const COMPILERS: [&str; 5] = ["clang", "clang-19", "clang-18", "clang-16", "clang-14"];

/// Programs that need to know the processor's system calls.
const OF_SYSTEM_CALLS: [&str; 2] = ["io", "calls"];
/// Processors whose system calls they know; elsewhere their object is empty.
const SYSTEM_CALLS_KNOWN: [&str; 2] = ["x86_64", "aarch64"];

/// Builds the objects and tells the crate the hash of those that are shared, which names the pinned
/// copy.
///
/// # Errors
/// No clang that works, or an error in the program.
pub(crate) fn build() -> Result<(), Box<dyn Error>> {
    let source = Path::new("src/bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    // libbpf-sys has `links = "bpf"` and installs the headers of its own libbpf there.
    let include = env::var_os("DEP_BPF_INCLUDE").ok_or("libbpf-sys named no include folder")?;
    println!("cargo:rerun-if-env-changed=CLANG");
    for file in [
        "task.bpf.c",
        "task.h",
        "maps.h",
        "whose.h",
        "kernel.h",
        "peaks.h",
        "sigchld.h",
        "groups.h",
        "counters.h",
        "calls.bpf.c",
        "calls.h",
        "list.bpf.c",
        "walk.bpf.c",
        "walk.h",
        "walk_read.h",
        "rested.h",
        "io.bpf.c",
        "io.h",
        "io_arch.h",
        "io_arch_aarch64.h",
        "io_arch_x86_64.h",
        "io_datagram.h",
        "io_dump.h",
        "io_exec.h",
        "io_file.h",
        "io_maps.h",
        "io_names.h",
        "io_pages.h",
        "io_row.h",
        "io_socket.h",
        "io_thread.h",
        "io_uring.h",
        "kernel_io.h",
    ] {
        println!("cargo:rerun-if-changed={}", source.join(file).display());
    }
    let mut objects = Vec::new();
    for name in ["task", "io", "calls", "walk", "list"] {
        let object = out.join(format!("{name}.bpf.o"));
        if OF_SYSTEM_CALLS.contains(&name)
            && !SYSTEM_CALLS_KNOWN.contains(&architecture()?.as_str())
        {
            std::fs::write(&object, "")?;
            continue;
        }
        compile(&source.join(format!("{name}.bpf.c")), &object, &include)?;
        // The others are loaded by each run for itself.
        if ["task", "io"].contains(&name) {
            objects.extend(std::fs::read(&object)?);
        }
    }
    let hash = fnv(&objects);
    println!("cargo:rustc-env=PLIMSOLL_BPF_HASH={hash:016x}");
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
        .arg(format!("-DPLIMSOLL_{}", architecture()?.to_uppercase()))
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

/// The processor that the programs are for: its calling convention is theirs.
fn architecture() -> Result<String, Box<dyn Error>> {
    env::var("CARGO_CFG_TARGET_ARCH").map_err(|error| format!("no target: {error}").into())
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
