//! Calls that remove or change names, and that cut files.

use super::wrap;
use crate::arch::{NR_FTRUNCATE, NR_RENAMEAT2, NR_TRUNCATE, NR_UNLINKAT};
use crate::count::begun;
use crate::descriptor;
use crate::layout::name::{EXCHANGED, FOLDER_REMOVED, REMOVED, RENAMED, TRUNCATED};
use crate::names::{self, Named};
use crate::system::HERE;

const AT_REMOVEDIR: i32 = 0x200;
const RENAME_EXCHANGE: u32 = 2;

wrap! {
    fn unlink(path: *const u8) -> i32, raw NR_UNLINKAT, [HERE, path, 0]
        => |next| one(REMOVED, HERE, path, next);
    fn rmdir(path: *const u8) -> i32, raw NR_UNLINKAT, [HERE, path, AT_REMOVEDIR]
        => |next| one(FOLDER_REMOVED, HERE, path, next);
    fn unlinkat(folder: i32, path: *const u8, how: i32) -> i32,
        raw NR_UNLINKAT, [folder, path, how] => |next| one(removed(how), folder, path, next);
    fn remove(path: *const u8) -> i32 => |next| {
        let change = if names::is_folder(path) { FOLDER_REMOVED } else { REMOVED };
        one(change, HERE, path, next)
    };

    fn rename(path: *const u8, to: *const u8) -> i32,
        raw NR_RENAMEAT2, [HERE, path, HERE, to, 0]
        => |next| two(RENAMED, (HERE, path), (HERE, to), next);
    fn renameat(folder: i32, path: *const u8, to_folder: i32, to: *const u8) -> i32,
        raw NR_RENAMEAT2, [folder, path, to_folder, to, 0]
        => |next| two(RENAMED, (folder, path), (to_folder, to), next);
    fn renameat2(folder: i32, path: *const u8, to_folder: i32, to: *const u8, how: u32) -> i32,
        raw NR_RENAMEAT2, [folder, path, to_folder, to, how]
        => |next| two(renamed(how), (folder, path), (to_folder, to), next);

    fn truncate(path: *const u8, bytes: i64) -> i32, raw NR_TRUNCATE, [path, bytes]
        => |next| one(TRUNCATED, HERE, path, next);
    fn truncate64(path: *const u8, bytes: i64) -> i32, raw NR_TRUNCATE, [path, bytes]
        => |next| one(TRUNCATED, HERE, path, next);
    fn ftruncate(fd: i32, bytes: i64) -> i32, raw NR_FTRUNCATE, [fd, bytes]
        => |next| cut(fd, next);
    fn ftruncate64(fd: i32, bytes: i64) -> i32, raw NR_FTRUNCATE, [fd, bytes]
        => |next| cut(fd, next);
}

/// What `unlinkat` with these flags does to a name.
pub(super) const fn removed(how: i32) -> u32 {
    if how & AT_REMOVEDIR != 0 {
        FOLDER_REMOVED
    } else {
        REMOVED
    }
}

/// What `renameat2` with these flags does to a name.
pub(super) const fn renamed(how: u32) -> u32 {
    if how & RENAME_EXCHANGE != 0 {
        EXCHANGED
    } else {
        RENAMED
    }
}

pub(super) fn one(change: u32, folder: i32, path: *const u8, call: impl FnOnce() -> i32) -> i32 {
    let at = names::now();
    let result = call();
    if result == 0 {
        names::tell(change, at, Named { folder, path }, None);
    }
    result
}

pub(super) fn two(
    change: u32,
    (folder, path): (i32, *const u8),
    (to_folder, to): (i32, *const u8),
    call: impl FnOnce() -> i32,
) -> i32 {
    let at = names::now();
    let result = call();
    if result == 0 {
        let to = Named {
            folder: to_folder,
            path: to,
        };
        names::tell(change, at, Named { folder, path }, Some(to));
    }
    result
}

pub(super) fn cut(fd: i32, call: impl FnOnce() -> i32) -> i32 {
    descriptor::meet(fd);
    let begun = begun();
    let result = call();
    if result == 0 {
        descriptor::truncated(fd, begun);
    }
    result
}
