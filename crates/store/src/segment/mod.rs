//! Live segments: what an agent saw, appended frame by frame as it came (docs/segment.md).
//!
//! A frame is one write, so whoever kills the writer leaves every frame that it had written. A
//! segment begins with who wrote it and which tables it has, and needs no other to be read.

mod follow;
mod name;
mod origin;
mod reader;
mod rows;
mod sheet;
mod writer;

pub use follow::{Follow, Met};
pub use name::{FOLDER, SUFFIX, is_segment};
#[cfg(feature = "dataset")]
pub(crate) use name::{is_of, writer};
pub use origin::{Origin, SegmentTable};
#[cfg(feature = "dataset")]
pub(crate) use reader::Beginning;
pub use reader::{Found, Reader};
pub use rows::{Counts, Rows, Take, Unread};
pub use sheet::Sheet;
pub use writer::{Instant, Options, Writer};

/// The first bytes of a segment; the last of them is the version of the format.
pub const MAGIC: [u8; 8] = *b"PLIMSEG\x01";

/// The table number of the first frame, which says who wrote the segment.
pub(crate) const ORIGIN: u8 = 0;
