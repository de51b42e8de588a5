//! One walk: blocks, not sizes; hard links once; one file system; symbolic links not followed.

use record::unit::{Bytes, Nanos};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// Most folders that wait to be entered, and most hard-linked files that are remembered.
const TABLE_MAX: usize = 1 << 20;
/// Entries between two looks at the clock.
const CLOCK_EVERY: u32 = 64;
/// `st_blocks` counts these, whatever the file system's own block.
const BLOCK_BYTES: u64 = 512;

/// Why a walk did not see everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Partial {
    /// It took longer than its budget.
    OverBudget,
    /// A folder could not be entered by this user.
    NoPermission,
    /// A folder could not be read, or is no folder.
    Unreadable,
    /// More folders waiting, or more hard-linked files, than are remembered.
    TooMany,
}

/// What lies under one folder, the folder itself included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measured {
    /// The folder as it was given.
    pub dir: PathBuf,
    /// Disk space.
    pub bytes: Bytes,
    /// Everything but folders, hard links once.
    pub files: u64,
    /// Why this is less than the truth; `None` if all was seen.
    pub partial: Option<Partial>,
    /// Whether it lies within another folder of the same walk: a total leaves it out.
    pub inside: bool,
}

/// The result of a walk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walked {
    /// Each folder, in the order given.
    pub dirs: Vec<Measured>,
    /// How long it took, wall time.
    pub took: Nanos,
}

impl Walked {
    /// Disk space of all folders, those within another counted once.
    pub fn bytes(&self) -> Bytes {
        let outer = self.dirs.iter().filter(|dir| !dir.inside);
        outer.fold(Bytes(0), |sum, dir| sum.plus(dir.bytes))
    }

    /// Files of all folders, those within another counted once.
    pub fn files(&self) -> u64 {
        let outer = self.dirs.iter().filter(|dir| !dir.inside);
        outer.fold(0, |sum, dir| sum.saturating_add(dir.files))
    }

    /// The first reason why a folder was not seen whole; `None` if all were.
    pub fn partial(&self) -> Option<Partial> {
        self.dirs.iter().filter_map(|dir| dir.partial).min()
    }
}

/// A walk under way.
#[derive(Debug)]
pub struct Walk {
    result: Receiver<Walked>,
    seen: Arc<AtomicU64>,
}

impl Walk {
    /// Starts walking `dirs` in a thread of its own; `budget` is for all of them together. Files
    /// and folders in `exclude`, by device and inode, are left out with all that is in them.
    ///
    /// # Errors
    /// That no thread could be made.
    pub fn start(
        dirs: Vec<PathBuf>,
        budget: Option<Duration>,
        exclude: Vec<(u64, u64)>,
    ) -> io::Result<Self> {
        let (sender, result) = sync_channel(1);
        let seen = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&seen);
        let walk = move || {
            let exclude = exclude.into_iter().collect();
            // Nobody may be waiting any more; then there is nobody to tell.
            let _ = sender.send(walk(dirs, budget, exclude, counter));
        };
        std::thread::Builder::new()
            .name("footprint".into())
            .spawn(walk)?;
        Ok(Self { result, seen })
    }

    /// Entries seen so far: a walk whose number stands still waits for its file system.
    pub fn entries(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// The result, once. Never blocks; `Ok(None)` while the walk goes on.
    ///
    /// # Errors
    /// That the walk ended without a result, or was asked again after its result.
    pub fn poll(&mut self) -> io::Result<Option<Walked>> {
        match self.result.try_recv() {
            Ok(walked) => Ok(Some(walked)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Walks `dirs` and waits for the end; [`Walk`] does the same without waiting.
fn walk(
    dirs: Vec<PathBuf>,
    budget: Option<Duration>,
    exclude: HashSet<(u64, u64)>,
    seen: Arc<AtomicU64>,
) -> Walked {
    let start = Instant::now();
    let roots = dirs.iter().filter_map(|dir| fs::metadata(dir).ok());
    let mut walker = Walker {
        roots: roots.map(|data| (data.dev(), data.ino())).collect(),
        deadline: budget.and_then(|budget| start.checked_add(budget)),
        exclude,
        seen,
        ..Walker::default()
    };
    let mut measured: Vec<_> = dirs.into_iter().map(|dir| walker.measure(dir)).collect();
    for dir in &mut measured {
        let id = fs::metadata(&dir.dir).map(|data| (data.dev(), data.ino()));
        dir.inside = id.is_ok_and(|id| walker.inner.contains(&id));
    }
    mark_repeats(&mut measured);
    let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Walked {
        dirs: measured,
        took: Nanos(took),
    }
}

/// A folder given twice counts once.
fn mark_repeats(measured: &mut [Measured]) {
    let mut seen = HashSet::new();
    for dir in measured {
        if let Ok(data) = fs::metadata(&dir.dir) {
            dir.inside |= !seen.insert((data.dev(), data.ino()));
        }
    }
}

#[derive(Default)]
struct Walker {
    /// The folders given, and those of them that were met on the way from another.
    roots: HashSet<(u64, u64)>,
    inner: HashSet<(u64, u64)>,
    exclude: HashSet<(u64, u64)>,
    deadline: Option<Instant>,
    entries: u32,
    seen: Arc<AtomicU64>,
    linked: HashSet<(u64, u64)>,
    waiting: Vec<PathBuf>,
}

impl Walker {
    fn measure(&mut self, dir: PathBuf) -> Measured {
        self.linked.clear();
        self.waiting.clear();
        let mut sum = Measured {
            dir,
            ..Measured::default()
        };
        // The folder that was asked for may be a symbolic link; no other is followed.
        match fs::metadata(&sum.dir) {
            Ok(data) if data.is_dir() => {
                sum.bytes = blocks(&data);
                self.waiting.push(sum.dir.clone());
                self.walk_waiting(data.dev(), &mut sum);
            }
            Ok(_) => sum.partial = Some(Partial::Unreadable),
            Err(e) => sum.partial = Some(reason(&e)),
        }
        sum
    }

    fn walk_waiting(&mut self, device: u64, sum: &mut Measured) {
        while let Some(path) = self.waiting.pop() {
            let result = fs::read_dir(&path).and_then(|mut entries| {
                entries.try_for_each(|entry| {
                    self.visit(&path, &entry?, device, sum);
                    match sum.partial {
                        Some(Partial::OverBudget) => Err(ErrorKind::TimedOut.into()),
                        _ => Ok(()),
                    }
                })
            });
            match result {
                Err(e) if e.kind() == ErrorKind::TimedOut && sum.partial.is_some() => return,
                // A folder that was removed meanwhile holds nothing.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => note(sum, reason(&e)),
                Ok(()) => {}
            }
        }
    }

    fn visit(&mut self, parent: &Path, entry: &DirEntry, device: u64, sum: &mut Measured) {
        self.entries = self.entries.wrapping_add(1);
        self.seen.fetch_add(1, Ordering::Relaxed);
        if self.entries.is_multiple_of(CLOCK_EVERY)
            && self.deadline.is_some_and(|end| Instant::now() >= end)
        {
            sum.partial = Some(Partial::OverBudget);
            return;
        }
        let data = match entry.metadata() {
            Ok(data) => data,
            Err(e) if e.kind() == ErrorKind::NotFound => return,
            Err(e) => return note(sum, reason(&e)),
        };
        let id = (data.dev(), data.ino());
        // Files of an overlay carry the devices of its layers, only its folders its own. So a file
        // that is mounted on one counts too.
        let elsewhere = data.is_dir() && data.dev() != device;
        if elsewhere || self.exclude.contains(&id) {
            return;
        }
        if data.is_dir() {
            sum.bytes = sum.bytes.plus(blocks(&data));
            self.enter(parent, entry.file_name(), id, sum);
        } else if data.nlink() == 1 || self.is_first(id, sum) {
            sum.bytes = sum.bytes.plus(blocks(&data));
            sum.files = sum.files.saturating_add(1);
        }
    }

    fn enter(&mut self, parent: &Path, name: OsString, id: (u64, u64), sum: &mut Measured) {
        if self.roots.contains(&id) {
            self.inner.insert(id);
        }
        match self.waiting.len() < TABLE_MAX {
            true => self.waiting.push(parent.join(name)),
            false => note(sum, Partial::TooMany),
        }
    }

    fn is_first(&mut self, id: (u64, u64), sum: &mut Measured) -> bool {
        if self.linked.len() >= TABLE_MAX {
            note(sum, Partial::TooMany);
            return !self.linked.contains(&id);
        }
        self.linked.insert(id)
    }
}

fn note(sum: &mut Measured, partial: Partial) {
    sum.partial.get_or_insert(partial);
}

fn blocks(data: &Metadata) -> Bytes {
    Bytes(data.blocks().saturating_mul(BLOCK_BYTES))
}

fn reason(error: &io::Error) -> Partial {
    match error.kind() {
        ErrorKind::PermissionDenied => Partial::NoPermission,
        _ => Partial::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("plimsoll-walk-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn file(&self, name: &str, bytes: usize) -> u64 {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            fs::write(self.path(name), vec![1; bytes]).unwrap();
            on_disk(&self.path(name))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn on_disk(path: &Path) -> u64 {
        fs::symlink_metadata(path).unwrap().blocks() * 512
    }

    fn run(dirs: &[&Path], exclude: &[(u64, u64)]) -> Walked {
        let dirs = dirs.iter().map(|dir| dir.to_path_buf()).collect();
        walk(
            dirs,
            None,
            exclude.iter().copied().collect(),
            Arc::default(),
        )
    }

    #[test]
    fn blocks_are_summed_and_hard_links_count_once() {
        let folder = Folder::new("sum");
        let expected = on_disk(&folder.0) + folder.file("a/one", 10_000) + folder.file("two", 1);
        let expected = expected + on_disk(&folder.path("a"));
        fs::hard_link(folder.path("two"), folder.path("a/again")).unwrap();
        let sparse = fs::File::create(folder.path("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let walked = run(&[&folder.0], &[]);
        assert_eq!(
            walked.bytes(),
            Bytes(expected + on_disk(&folder.path("sparse")))
        );
        assert_eq!(walked.files(), 3);
        assert_eq!(walked.partial(), None);
    }

    #[test]
    fn links_are_not_followed_and_other_file_systems_not_entered() {
        let folder = Folder::new("link");
        symlink("/", folder.path("root")).unwrap();
        symlink("nowhere", folder.path("dangling")).unwrap();
        assert_eq!(run(&[&folder.0], &[]).files(), 2);
        let through = folder.path("self");
        symlink(&folder.0, &through).unwrap();
        assert_eq!(run(&[&through], &[]).files(), 3);
        // /proc lies on another device than the root; its thousands of files are not met.
        let mut walker = Walker::default();
        let mut sum = Measured::default();
        let entry = fs::read_dir("/")
            .unwrap()
            .find(|e| e.as_ref().unwrap().file_name() == "proc");
        if let Some(Ok(entry)) = entry {
            let device = fs::metadata("/").unwrap().dev();
            walker.visit(Path::new("/"), &entry, device, &mut sum);
            assert_eq!(walker.waiting.len(), 0);
        }
    }

    #[test]
    fn what_is_excluded_is_not_counted() {
        let folder = Folder::new("out");
        folder.file("report.json", 100_000);
        folder.file("kept", 1);
        let before = run(&[&folder.0], &[]);
        let report = fs::metadata(folder.path("report.json")).unwrap();
        let after = run(&[&folder.0], &[(report.dev(), report.ino())]);
        assert_eq!(after.files(), 1);
        assert_eq!(after.bytes().0 + report.blocks() * 512, before.bytes().0);
    }

    #[test]
    fn folders_within_one_another_count_once_in_the_total() {
        let folder = Folder::new("nest");
        folder.file("inner/deep/file", 5000);
        let walked = run(
            &[
                &folder.path("inner"),
                &folder.0,
                &folder.path("../").join(folder.0.file_name().unwrap()),
            ],
            &[],
        );
        let inside: Vec<_> = walked.dirs.iter().map(|dir| dir.inside).collect();
        assert_eq!(inside, [true, false, true]);
        assert_eq!(walked.files(), 1);
        assert_eq!(walked.bytes(), walked.dirs[1].bytes);
    }

    #[test]
    fn a_walk_over_its_budget_stops_and_says_so() {
        let folder = Folder::new("budget");
        for number in 0..200 {
            folder.file(&number.to_string(), 0);
        }
        let walked = walk(
            vec![folder.0.clone()],
            Some(Duration::ZERO),
            HashSet::new(),
            Arc::default(),
        );
        assert_eq!(walked.partial(), Some(Partial::OverBudget));
        assert!(walked.files() < 200);
    }

    #[test]
    fn what_is_missing_or_no_folder_has_a_reason() {
        let folder = Folder::new("none");
        folder.file("file", 1);
        let walked = run(&[&folder.path("missing"), &folder.path("file")], &[]);
        assert_eq!(walked.dirs[0].partial, Some(Partial::Unreadable));
        assert_eq!(walked.dirs[1].partial, Some(Partial::Unreadable));
        assert_eq!(walked.bytes(), Bytes(0));
    }

    #[test]
    fn a_started_walk_gives_its_result_once() {
        let folder = Folder::new("poll");
        let mut walk = Walk::start(vec![folder.0.clone()], None, Vec::new()).unwrap();
        let walked = loop {
            match walk.poll().unwrap() {
                Some(walked) => break walked,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(walked.files(), 0);
        assert!(walk.poll().is_err());
    }
}
