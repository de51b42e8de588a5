//! What the program did to names, put down with whole paths: later nobody knows from which folder
//! they led.

use crate::clock;
use crate::count::more;
use crate::descriptor;
use crate::layout::{Name, PATH_MAX, name_bytes};
use crate::state::{self, State};
use crate::system::{self, HERE};
use crate::table;
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, Release},
};

const FORMAT: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;

/// Paths lead from another root than that of the run.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// A name as a call wrote it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    /// The descriptor of the folder from which it leads, or [`HERE`].
    pub(crate) folder: i32,
    pub(crate) path: *const u8,
}

/// From now on paths lead from another root.
pub(crate) fn lose_root() {
    ELSEWHERE.store(true, Relaxed);
}

/// Whether a path is that of a folder, before it is gone.
pub(crate) fn is_folder(path: *const u8) -> bool {
    !state::is_quiet()
        && state::get().is_some()
        && system::stat_link(path).is_some_and(|stat| stat.mode & FORMAT == DIRECTORY)
}

/// What time it is in front of a call that changes a name: what is opened by that name once it is
/// another file's is opened after this.
pub(crate) fn now() -> u64 {
    if state::is_quiet() {
        return 0;
    }
    clock::precise()
}

/// A call changed a name and did not fail; it began at `at`.
#[cold]
#[inline(never)]
pub(crate) fn tell(change: u32, at: u64, path: Named, to: Option<Named>) {
    let told = put(change, at, path, to);
    if let Some(header) = table::find_header() {
        more(&header.moves, u64::from(to.is_some()));
        more(&header.names_lost, u64::from(told.is_none()));
    }
}

fn put(change: u32, at: u64, path: Named, to: Option<Named>) -> Option<()> {
    let state = state::get()?;
    if state::is_quiet() || ELSEWHERE.load(Relaxed) || !state.is_ours() {
        return None;
    }
    state.with_path(|room| {
        let path = path.whole(room)?;
        match to {
            None => write(state, change, at, [path, Whole::NONE]),
            Some(to) => state.with_path(|room| {
                let to = to.whole(room)?;
                write(state, change, at, [path, to])
            })?,
        }
    })?
}

/// An absolute path: that of a folder, and what leads on from there.
#[derive(Debug, Clone, Copy)]
struct Whole<'a> {
    folder: &'a [u8],
    path: *const u8,
    bytes: usize,
}

impl Named {
    fn whole(self, room: &mut [u8; PATH_MAX]) -> Option<Whole<'_>> {
        if self.path.is_null() {
            return None;
        }
        // The kernel just took this path, so it is readable up to its NUL.
        let bytes = (0..PATH_MAX).find(|i| byte(self.path, *i) == 0)?;
        let folder = match (bytes, byte(self.path, 0)) {
            (0, _) => return None,
            (_, b'/') => 0,
            _ if self.folder == HERE => system::working_folder(room)?,
            _ => descriptor::read_link(self.folder, room),
        };
        let folder = room.get(..folder)?;
        // One that was cut, and one that cannot be reached from the root.
        let found = byte(self.path, 0) == b'/' || folder.first() == Some(&b'/');
        let whole = Whole {
            folder,
            path: self.path,
            bytes,
        };
        (found && whole.len() <= PATH_MAX && folder.len() < PATH_MAX).then_some(whole)
    }
}

impl Whole<'_> {
    const NONE: Self = Whole {
        folder: &[],
        path: core::ptr::null(),
        bytes: 0,
    };

    const fn len(&self) -> usize {
        let slash = if self.folder.is_empty() { 0 } else { 1 };
        self.folder.len() + slash + self.bytes
    }

    /// Its bytes.
    fn bytes(self) -> impl Iterator<Item = u8> {
        let slash = (!self.folder.is_empty()).then_some(b'/');
        let path = (0..self.bytes).map(move |i| byte(self.path, i));
        self.folder.iter().copied().chain(slash).chain(path)
    }
}

fn byte(path: *const u8, at: usize) -> u8 {
    // SAFETY: a path that the kernel just took, up to its NUL.
    unsafe { path.wrapping_add(at).read() }
}

fn write(state: &State, change: u32, at: u64, paths: [Whole<'_>; 2]) -> Option<()> {
    let [path, to] = paths;
    let name = table::take_name(state, name_bytes(path.len(), to.len()))?;
    name.bytes.store(path.len() as u32, Relaxed);
    name.to_bytes.store(to.len() as u32, Relaxed);
    name.at.store(at, Relaxed);
    let text = core::ptr::from_ref(name) as usize + size_of::<Name>();
    for (i, byte) in path.bytes().chain(to.bytes()).enumerate() {
        // SAFETY: behind the name, where there is room for both paths that nobody else has.
        unsafe { ((text + i) as *mut u8).write(byte) };
    }
    name.change.store(change, Release);
    Some(())
}
