//! Compiles the freestanding launcher with the C compiler of the target.
//!
//! Writes `$OUT_DIR/launcher`: a static program, or an empty file on an architecture without one
//! (the monitor then is the parent of the command itself).

use std::path::PathBuf;

const FLAGS: &[&str] = &[
    "-O2",
    "-std=gnu11",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-pie",
    "-no-pie",
    "-nostdlib",
    "-static",
    "-s",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wl,--build-id=none",
    "-Wl,-z,noseparate-code",
    "-Wl,-z,noexecstack",
];

/// Compiles `src/launcher/launcher.c`, as a program and into our own. Errors: the compiler's words,
/// or a missing `OUT_DIR`.
pub(crate) fn build() -> Result<(), Box<dyn std::error::Error>> {
    let source = "src/launcher/launcher.c";
    for name in [
        "launcher.c",
        "launcher.h",
        "await.h",
        "filter.h",
        "arch_x86_64.h",
        "arch_aarch64.h",
    ] {
        println!("cargo:rerun-if-changed=src/launcher/{name}");
    }
    let target = PathBuf::from(std::env::var("OUT_DIR")?).join("launcher");
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH")?;
    if !["x86_64", "aarch64"].contains(&arch.as_str()) {
        return Ok(std::fs::write(&target, [])?);
    }
    let compiler = cc::Build::new().try_get_compiler()?;
    let mut command = std::process::Command::new(compiler.path());
    let status = command
        .args(FLAGS)
        .arg("-o")
        .arg(&target)
        .arg(source)
        .status()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    cc::Build::new()
        .file(source)
        .define("BUILT_IN", None)
        .flag("-std=gnu11")
        .flag("-fno-builtin")
        .flag("-fno-stack-protector")
        .opt_level(2)
        .try_compile("plimsoll_launcher")?;
    Ok(())
}
