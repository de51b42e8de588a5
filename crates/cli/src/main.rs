//! The binary `plimsoll`: words to an exit status.

fn main() -> std::process::ExitCode {
    cli::status(std::env::args_os().collect()).into()
}
