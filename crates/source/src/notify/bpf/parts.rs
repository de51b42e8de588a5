//! Command lines that come in parts, as they do not fit into one event.

use record::identity::ProcessId;
use std::collections::HashMap;

/// So much of all that wait for their event is held.
const BYTES_MAX: usize = 8 << 20;

/// What came of command lines whose event is still to come.
#[derive(Debug, Default)]
pub(super) struct Parts {
    waiting: HashMap<ProcessId, Part>,
    bytes: usize,
}

/// What comes behind the beginning, which the event has.
#[derive(Debug)]
struct Part {
    at: usize,
    text: Vec<u8>,
}

impl Parts {
    /// More of one. What does not follow what came before is of no use.
    pub(super) fn more(&mut self, id: ProcessId, at: usize, text: &[u8]) {
        if self.bytes + text.len() > BYTES_MAX {
            // Their events were lost: nobody will ask.
            *self = Self::default();
        }
        let part = self.waiting.entry(id).or_insert_with(|| Part {
            at,
            text: Vec::new(),
        });
        if at < part.at + part.text.len() {
            // The process became another program, and the event of that was lost.
            self.bytes -= part.text.len();
            (part.at, part.text) = (at, Vec::new());
        }
        if at == part.at + part.text.len() {
            part.text.extend_from_slice(text);
            self.bytes += text.len();
        }
    }

    /// The command line that begins so, as far as it came.
    pub(super) fn whole(&mut self, id: ProcessId, begin: &[u8]) -> Vec<u8> {
        let mut command = begin.to_vec();
        if let Some(part) = self.forget(id).filter(|part| part.at == begin.len()) {
            command.extend(part.text);
        }
        command
    }

    /// Its event came, or never will.
    pub(super) fn end(&mut self, id: ProcessId) {
        let _ = self.forget(id);
    }

    fn forget(&mut self, id: ProcessId) -> Option<Part> {
        let part = self.waiting.remove(&id)?;
        self.bytes -= part.text.len();
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::Nanos;

    fn id(pid: u32) -> ProcessId {
        ProcessId::new(pid, Nanos(1))
    }

    #[test]
    fn parts_are_put_behind_their_beginning() {
        let mut parts = Parts::default();
        parts.more(id(1), 2, b"cd");
        parts.more(id(2), 2, b"xy");
        parts.more(id(1), 4, b"ef");
        assert_eq!(parts.whole(id(1), b"ab"), b"abcdef");
        assert_eq!(parts.whole(id(1), b"ab"), b"ab");
        parts.end(id(2));
        assert_eq!((parts.waiting.len(), parts.bytes), (0, 0));
    }

    #[test]
    fn what_is_missing_ends_it() {
        let mut parts = Parts::default();
        parts.more(id(1), 2, b"cd");
        parts.more(id(1), 6, b"gh");
        assert_eq!(parts.whole(id(1), b"ab"), b"abcd");
        parts.more(id(1), 4, b"ef");
        assert_eq!(parts.whole(id(1), b"ab"), b"ab");
        // Of a program that is no more.
        parts.more(id(1), 2, b"cd");
        parts.more(id(1), 4, b"ef");
        parts.more(id(1), 2, b"CD");
        assert_eq!(parts.whole(id(1), b"AB"), b"ABCD");
        assert_eq!(parts.bytes, 0);
    }

    #[test]
    fn what_nobody_asks_for_is_not_held() {
        let mut parts = Parts::default();
        for pid in 0..10_000 {
            parts.more(id(pid), 4096, &[b'a'; 4096]);
            assert!(parts.bytes <= BYTES_MAX);
        }
        assert!(parts.waiting.len() <= BYTES_MAX / 4096);
    }
}
