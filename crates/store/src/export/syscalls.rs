//! The system calls of a task as lines of JSON, one a process and kind: `PREFIX.syscalls.jsonl`.

use super::files::lines;
use record::call::ProcessCallLine;
use std::io::{self, Write};

/// The end of the file's name.
pub const EXTENSION: &str = "syscalls.jsonl";

/// Writes a line for each process and kind of call.
///
/// # Errors
/// Those of `out`.
pub fn write(calls: &[ProcessCallLine], out: &mut dyn Write) -> io::Result<()> {
    lines(calls, out)
}
