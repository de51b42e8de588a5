//! Whose ends sockets have, as lines of the kernel's tables tell it.

use record::endpoints::{Endpoints, SocketState};

/// A line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of the socket.
    pub inode: u64,
    /// Its ends.
    pub ends: Endpoints,
}

/// What a parser made of a table, for its fixtures.
pub(super) fn digest(all: &[Entry]) -> String {
    let line = |one: &Entry| {
        let state = one.ends.state().map_or("-", SocketState::name);
        let text = one.ends.text();
        format!("{} {state} {}", one.inode, text.escape_ascii())
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}
