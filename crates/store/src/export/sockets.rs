//! The sockets of a task as lines of JSON, one a socket: `PREFIX.sockets.jsonl`.

use super::files::lines;
use record::file::OtherFiles;
use record::socket::SocketLine;
use std::io::{self, Write};

/// The end of the file's name.
pub const EXTENSION: &str = "sockets.jsonl";

/// Writes a line for each socket, and one for the others if there are any.
///
/// # Errors
/// Those of `out`.
pub fn write(sockets: &[SocketLine], others: &OtherFiles, out: &mut dyn Write) -> io::Result<()> {
    lines(sockets, out)?;
    if others.files > 0 {
        lines(&[others], out)?;
    }
    Ok(())
}
