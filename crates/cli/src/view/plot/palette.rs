//! Colours that people with any sight tell apart (Okabe and Ito), on white; not their light blue,
//! which a thin line of the other blue looks like.

use super::scene::Color;
use query::plot::Doing;

/// Of programs: the first few have one each.
pub(super) const PROGRAMS: [Color; 6] = [
    Color(0x00, 0x72, 0xb2),
    Color(0xd5, 0x5e, 0x00),
    Color(0x00, 0x9e, 0x73),
    Color(0xcc, 0x79, 0xa7),
    Color(0xe6, 0x9f, 0x00),
    Color(0x00, 0x00, 0x00),
];

/// Of all others.
pub(super) const OTHERS: Color = Color(0xa6, 0xa6, 0xa6);

/// From one line to the most.
pub(super) const DENSITY: [Color; 6] = [
    Color(0xc6, 0xdb, 0xef),
    Color(0x85, 0xba, 0xdb),
    Color(0x41, 0x8f, 0xc6),
    Color(0x12, 0x5d, 0xa6),
    Color(0x08, 0x30, 0x6b),
    Color(0x03, 0x0f, 0x26),
];

pub(super) const INK: Color = Color(0x22, 0x22, 0x22);
pub(super) const ASIDE: Color = Color(0x59, 0x59, 0x59);
pub(super) const AXIS: Color = Color(0x80, 0x80, 0x80);
pub(super) const GRID: Color = Color(0xe4, 0xe4, 0xe4);
/// What a job had.
pub(super) const HAD: Color = Color(0xb0, 0x2a, 0x1a);

pub(super) const READ: Color = Color(0x00, 0x72, 0xb2);
pub(super) const WRITTEN: Color = Color(0xe6, 0x9f, 0x00);
pub(super) const DISK_READ: Color = Color(0x00, 0x3a, 0x5c);
pub(super) const DISK_WRITTEN: Color = Color(0x8a, 0x4b, 0x00);

/// The colour of a program by its rank.
pub(super) fn program(rank: usize) -> Color {
    PROGRAMS.get(rank).copied().unwrap_or(OTHERS)
}

pub(super) fn doing(doing: Doing) -> Color {
    match doing {
        Doing::Reading => READ,
        Doing::Writing => WRITTEN,
        Doing::Computing => Color(0x00, 0x9e, 0x73),
        Doing::Waiting => Color(0xd9, 0xd9, 0xd9),
    }
}
