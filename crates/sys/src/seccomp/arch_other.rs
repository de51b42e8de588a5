//! An architecture whose numbers nobody has put down yet: there is no filter.

use super::FileCall;

pub(super) const NATIVE: u32 = 0;
pub(super) const COMPAT: u32 = 0;
pub(super) const CALLS: &[(libc::c_long, FileCall)] = &[];
pub(super) const COMPAT_CALLS: &[u32] = &[];
