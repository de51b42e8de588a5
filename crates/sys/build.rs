//! Builds what is not Rust: the launcher.

#[path = "build/launcher.rs"]
mod launcher;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    launcher::build()
}
