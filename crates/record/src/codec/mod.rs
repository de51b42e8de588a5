//! Records as bytes, for a file or a wire: numbers of variable length, series of which only what
//! changed is written, rows of cells, and the frames around them. docs/segment.md has the layout.
//!
//! Decoders believe nothing: whatever the bytes say, they end, allocate in proportion to their
//! input, and give an error instead of a wrong row.

pub mod cells;
pub mod frame;
pub mod key;
pub mod series;
pub mod varint;

/// Bytes that are no such record; the text says what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadBytes(pub &'static str);

impl std::fmt::Display for BadBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadBytes {}
