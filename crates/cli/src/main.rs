//! The binary `plimsoll`: words to an exit status.

fn main() -> std::process::ExitCode {
    let words = std::env::args_os().collect();
    sys::stack::with_room(|| cli::status(words)).into()
}
