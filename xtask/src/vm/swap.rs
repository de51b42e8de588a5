//! Swap inside a machine: compressed memory (zram), a module of every Debian kernel.

use crate::step;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes that can be swapped out. What is, takes a machine's memory again, compressed.
const BYTES: u64 = 512 << 20;

/// Where the kernel takes the size of the device.
const SIZE: &str = "/sys/block/zram0/disksize";
const DEVICE: &str = "/dev/zram0";

/// Switches swap on in the machine that this runs in.
///
/// # Errors
/// When the module, a program or the device is not to be had; the text says which.
pub(super) fn switch_on() -> Result<()> {
    run("modprobe", &["zram", "num_devices=1"])?;
    anyhow::ensure!(Path::new(SIZE).exists(), "{SIZE} is not there");
    fs::write(SIZE, BYTES.to_string()).context(SIZE)?;
    run("mkswap", &[DEVICE])?;
    run("swapon", &[DEVICE])
}

/// Runs a program of root's, its output kept for the error: the machine's is that of its work.
fn run(name: &str, arguments: &[&str]) -> Result<()> {
    let program = step::find_program(name).with_context(|| format!("{name} is not there"))?;
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name}: {}", said.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_whose_it_is() {
        let missing = run("no such program", &[]).unwrap_err();
        assert_eq!(missing.to_string(), "no such program is not there");
        let failed = run("mkswap", &["/nonexistent/device"]).unwrap_err();
        assert!(failed.to_string().starts_with("mkswap: "), "{failed}");
    }
}
