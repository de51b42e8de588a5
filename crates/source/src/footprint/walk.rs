//! One walk: blocks, not sizes; hard links once; one file system, unless mounts are followed;
//! symbolic links not followed.

use super::place;
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
    /// Its parts on each file system, where mounts are followed, as they were met.
    pub systems: Vec<Space>,
}

/// What lies on one file system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// The device number of its folders.
    pub device: u64,
    /// The folder through which the walk came to it.
    pub entered: PathBuf,
    /// Disk space.
    pub bytes: Bytes,
    /// Everything but folders, hard links once.
    pub files: u64,
}

/// What is walked, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The folders.
    pub dirs: Vec<PathBuf>,
    /// How long all of them together may take.
    pub budget: Option<Duration>,
    /// Files and folders, by device and inode, that are left out with all that is in them.
    pub exclude: Vec<(u64, u64)>,
    /// Whether what is mounted below the folders is walked too; but for what the kernel makes up.
    pub follow_mounts: bool,
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

    /// The parts on each file system, folders within another counted once.
    pub fn systems(&self) -> Vec<Space> {
        let mut sums: Vec<Space> = Vec::new();
        for part in self.dirs.iter().filter(|dir| !dir.inside) {
            for one in &part.systems {
                match sums.iter_mut().find(|sum| sum.device == one.device) {
                    Some(sum) => {
                        sum.bytes = sum.bytes.plus(one.bytes);
                        sum.files = sum.files.saturating_add(one.files);
                    }
                    None => sums.push(one.clone()),
                }
            }
        }
        sums
    }

    /// The first reason why a folder was not seen whole; `None` if all were.
    pub fn partial(&self) -> Option<Partial> {
        self.dirs.iter().filter_map(|dir| dir.partial).min()
    }
}

/// A walk under way.
#[derive(Debug)]
pub struct Walk {
    /// `None` once the result was given.
    result: Option<Receiver<Walked>>,
    seen: Arc<AtomicU64>,
}

impl Walk {
    /// Starts walking in a thread of its own.
    ///
    /// # Errors
    /// That no thread could be made.
    pub fn start(plan: Plan) -> io::Result<Self> {
        let (sender, result) = sync_channel(1);
        let seen = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&seen);
        let walk = move || {
            // Nobody may be waiting any more; then there is nobody to tell.
            let _ = sender.send(walk(plan, counter));
        };
        std::thread::Builder::new()
            .name("footprint".into())
            .spawn(walk)?;
        let result = Some(result);
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
        let Some(result) = &self.result else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        match result.try_recv() {
            Ok(walked) => {
                self.result = None;
                Ok(Some(walked))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Walks and waits for the end; [`Walk`] does the same without waiting.
fn walk(plan: Plan, seen: Arc<AtomicU64>) -> Walked {
    let start = Instant::now();
    let roots = plan.dirs.iter().filter_map(|dir| fs::metadata(dir).ok());
    let mut walker = Walker {
        roots: roots.map(|data| (data.dev(), data.ino())).collect(),
        deadline: plan.budget.and_then(|budget| start.checked_add(budget)),
        exclude: plan.exclude.into_iter().collect(),
        follow_mounts: plan.follow_mounts,
        seen,
        ..Walker::default()
    };
    let dirs = plan.dirs.into_iter();
    let mut measured: Vec<_> = dirs.map(|dir| walker.measure(dir)).collect();
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
    follow_mounts: bool,
    deadline: Option<Instant>,
    entries: u32,
    seen: Arc<AtomicU64>,
    linked: HashSet<(u64, u64)>,
    /// Folders that were met, where mounts are followed: one may be mounted at two places.
    met: HashSet<(u64, u64)>,
    waiting: Vec<Waiting>,
}

/// A folder that is to be read.
struct Waiting {
    path: PathBuf,
    /// The device of its file system.
    device: u64,
}

impl Walker {
    fn measure(&mut self, dir: PathBuf) -> Measured {
        self.linked.clear();
        self.met.clear();
        self.waiting.clear();
        let mut sum = Measured {
            dir,
            ..Measured::default()
        };
        // The folder that was asked for may be a symbolic link; no other is followed.
        match fs::metadata(&sum.dir) {
            Ok(data) if data.is_dir() => {
                let (path, device) = (sum.dir.clone(), data.dev());
                if self.follow_mounts {
                    self.met.insert((device, data.ino()));
                    sum.enters(device, &path);
                }
                sum.add(device, blocks(&data), 0);
                self.waiting.push(Waiting { path, device });
                self.walk_waiting(&mut sum);
            }
            Ok(_) => sum.partial = Some(Partial::Unreadable),
            Err(e) => sum.partial = Some(reason(&e)),
        }
        sum
    }

    fn walk_waiting(&mut self, sum: &mut Measured) {
        while let Some(folder) = self.waiting.pop() {
            let result = fs::read_dir(&folder.path).and_then(|mut entries| {
                entries.try_for_each(|entry| {
                    self.visit(&folder, &entry?, sum);
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

    fn visit(&mut self, parent: &Waiting, entry: &DirEntry, sum: &mut Measured) {
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
        if self.exclude.contains(&id) {
            return;
        }
        // Files of an overlay carry the devices of its layers, only its folders its own. So a file
        // that is mounted on one counts too.
        if data.is_dir() {
            self.enter(parent, entry.file_name(), &data, sum);
        } else if data.nlink() == 1 || self.is_first(id, sum) {
            sum.add(parent.device, blocks(&data), 1);
        }
    }

    fn enter(&mut self, parent: &Waiting, name: OsString, data: &Metadata, sum: &mut Measured) {
        let id @ (device, _) = (data.dev(), data.ino());
        let elsewhere = device != parent.device;
        if elsewhere && !self.follow_mounts {
            return;
        }
        let path = parent.path.join(name);
        if self.follow_mounts {
            if (elsewhere && place::is_made_up(&path)) || !self.is_new(id, sum) {
                return;
            }
            sum.enters(device, &path);
        }
        sum.add(device, blocks(data), 0);
        if self.roots.contains(&id) {
            self.inner.insert(id);
        }
        match self.waiting.len() < TABLE_MAX {
            true => self.waiting.push(Waiting { path, device }),
            false => note(sum, Partial::TooMany),
        }
    }

    /// Whether a folder was not met before.
    fn is_new(&mut self, id: (u64, u64), sum: &mut Measured) -> bool {
        if self.met.len() >= TABLE_MAX {
            note(sum, Partial::TooMany);
            return !self.met.contains(&id);
        }
        self.met.insert(id)
    }

    fn is_first(&mut self, id: (u64, u64), sum: &mut Measured) -> bool {
        if self.linked.len() >= TABLE_MAX {
            note(sum, Partial::TooMany);
            return !self.linked.contains(&id);
        }
        self.linked.insert(id)
    }
}

impl Measured {
    /// A folder of `device` was met: its file system has a part, if parts are told.
    fn enters(&mut self, device: u64, path: &Path) {
        if self.systems.iter().all(|part| part.device != device) {
            self.systems.push(Space {
                device,
                entered: path.to_owned(),
                ..Space::default()
            });
        }
    }

    fn add(&mut self, device: u64, bytes: Bytes, files: u64) {
        self.bytes = self.bytes.plus(bytes);
        self.files = self.files.saturating_add(files);
        let mut parts = self.systems.iter_mut();
        if let Some(part) = parts.find(|part| part.device == device) {
            part.bytes = part.bytes.plus(bytes);
            part.files = part.files.saturating_add(files);
        }
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
        let plan = Plan {
            dirs,
            exclude: exclude.to_vec(),
            ..Plan::default()
        };
        walk(plan, Arc::default())
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
            let root = Waiting {
                path: PathBuf::from("/"),
                device: fs::metadata("/").unwrap().dev(),
            };
            walker.visit(&root, &entry, &mut sum);
            assert_eq!(walker.waiting.len(), 0);
            // Nor where mounts are followed: the kernel makes them up.
            walker.follow_mounts = true;
            walker.visit(&root, &entry, &mut sum);
            assert_eq!((walker.waiting.len(), sum.bytes), (0, Bytes(0)));
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let folder = Folder::new("parts");
        folder.file("a/b/one", 10_000);
        folder.file("two", 1);
        let plan = Plan {
            dirs: vec![folder.path("a"), folder.0.clone()],
            follow_mounts: true,
            ..Plan::default()
        };
        let walked = walk(plan, Arc::default());
        let all = run(&[&folder.0], &[]);
        let device = fs::metadata(&folder.0).unwrap().dev();
        let part = Space {
            device,
            entered: folder.0.clone(),
            bytes: all.bytes(),
            files: 2,
        };
        assert_eq!(walked.systems(), [part]);
        assert_eq!((walked.bytes(), walked.files()), (all.bytes(), 2));
        assert_eq!(all.systems(), []);
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
        let plan = Plan {
            dirs: vec![folder.0.clone()],
            budget: Some(Duration::ZERO),
            ..Plan::default()
        };
        let walked = walk(plan, Arc::default());
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
        let dirs = vec![folder.0.clone()];
        let mut walk = Walk::start(Plan {
            dirs,
            ..Plan::default()
        })
        .unwrap();
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
