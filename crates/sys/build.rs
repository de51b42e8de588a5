//! Builds what is not Rust: the launcher, and the in-kernel programs if they are asked for.

#[cfg(feature = "bpf")]
#[path = "build/bpf.rs"]
mod bpf;
#[path = "build/launcher.rs"]
mod launcher;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "bpf")]
    bpf::build()?;
    launcher::build()
}
