//! The process table as lines of JSON, one a process: `PREFIX.processes.jsonl`.

use record::report::Process;
use std::io::{self, Write};

/// The end of the file's name.
pub const EXTENSION: &str = "processes.jsonl";

/// Writes a line for each process.
pub fn write(processes: impl Iterator<Item = Process>, out: &mut dyn Write) -> io::Result<()> {
    for process in processes {
        serde_json::to_writer(&mut *out, &process)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
