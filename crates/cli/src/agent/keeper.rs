//! Who makes the files of the dataset: a process that may nothing else.
//!
//! The reader has privileges and may open no file but to read it; the keeper has none and sees
//! nothing but the dataset. The reader asks it by messages, and gets a new file as a descriptor.

use super::upkeep::{Turns, Upkeep};
use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use store::disk::{Disk, RealDisk};
use sys::affinity::Cpus;
use sys::confine::{self, Files, Forbidden, Held, Rules, User};
use sys::descriptor::{self, Received, Waiting};
use sys::local;
use sys::process::{self, Fork};

/// A request is its verb and a path, or two with a NUL between; or an upkeep and a mask of CPUs.
const REQUEST_BYTES: usize = 1 + 2 * 4096;
/// An answer is an error number, 0 if it went well.
const ANSWER_BYTES: usize = 4;

const MAKE_FOLDER: u8 = b'f';
const CREATE: u8 = b'c';
const RENAME: u8 = b'n';
const REMOVE: u8 = b'r';
/// Before the words of an upkeep and those of a mask of CPUs.
const SET: u8 = b's';
const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const EIO: i32 = 5;

/// The dataset's files by way of the keeper.
#[derive(Debug)]
pub(super) struct Kept(OwnedFd);

/// How the keeper is held.
pub(super) type Answer = std::result::Result<Held, String>;

/// Readable when the keeper is gone.
#[derive(Debug)]
pub(super) struct Life {
    channel: OwnedFd,
    pid: u32,
    /// A byte for each upkeep that has ended.
    ends: OwnedFd,
    upkeeps: Upkeeps,
}

/// How often the dataset was looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Upkeeps {
    /// And it went well.
    pub(super) done: u64,
    /// And it stayed as it was.
    pub(super) failed: u64,
}

impl Life {
    /// The keeper, and who compacts for it, goes on so and on these CPUs.
    ///
    /// # Errors
    /// It cannot.
    pub(super) fn set(&self, upkeep: Upkeep, cpus: &Cpus) -> Result<()> {
        let mut words: Vec<u8> = Vec::new();
        let all = upkeep
            .words()
            .into_iter()
            .chain(cpus.words().iter().copied());
        words.extend(all.flat_map(u64::to_ne_bytes));
        let done = ask(self.channel.as_fd(), SET, &words);
        done.context("the keeper of the dataset").map(drop)
    }

    /// How often the dataset was looked after up to now.
    pub(super) fn upkeeps(&mut self) -> Upkeeps {
        let mut word = [0];
        while let Ok(Received::Bytes(_)) = descriptor::receive(self.ends.as_fd(), &mut word, false)
        {
            match word {
                [0] => self.upkeeps.failed += 1,
                _ => self.upkeeps.done += 1,
            }
        }
        self.upkeeps
    }

    /// Returns when the keeper has ended, which it does when its [`Kept`] is gone.
    pub(super) fn wait(self) {
        drop(self.channel);
        // It may have ended long ago.
        let _ = process::wait_end(self.pid, true);
    }
}

impl AsFd for Life {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// Starts the keeper of the folder `dataset`, which is made if it is missing; how far it is held to
/// that. It ends when what it gave is dropped.
///
/// # Errors
/// The folder cannot be made, or there can be no other process.
pub(super) fn start(dataset: &Path, upkeep: Upkeep) -> Result<(Kept, Life, Answer)> {
    let of = || format!("dataset {}", dataset.display());
    RealDisk.make_folder(dataset).with_context(of)?;
    // The keeper is told whole paths: it may be in another folder than we.
    let whole = fs::canonicalize(dataset).with_context(of)?;
    let user = owner(&whole)?;
    let (ours, theirs) = descriptor::channel()?;
    let (ends, told) = descriptor::channel()?;
    match process::fork()? {
        Fork::Child => {
            drop((ours, ends));
            serve((&theirs, &told), &whole, user, upkeep)
        }
        Fork::Parent(pid) => {
            drop((theirs, told));
            let channel = ours.try_clone()?;
            let life = Life {
                channel,
                pid,
                ends,
                upkeeps: Upkeeps::default(),
            };
            let kept = Kept(ours);
            let answer = kept.held().context("the keeper of the dataset")?;
            Ok((kept, life, answer))
        }
    }
}

/// Whom root becomes to use the dataset: its owner, if that is another.
///
/// # Errors
/// There is no such folder.
pub(crate) fn owner(dataset: &Path) -> Result<Option<User>> {
    let owner = fs::metadata(dataset).with_context(|| format!("dataset {}", dataset.display()))?;
    let is_root = process::effective_uid() == 0;
    Ok((is_root && owner.st_uid() != 0).then(|| User {
        uid: owner.st_uid(),
        gid: owner.st_gid(),
    }))
}

/// Serves until nobody asks any more.
fn serve(
    (channel, ends): (&OwnedFd, &OwnedFd),
    dataset: &Path,
    user: Option<User>,
    upkeep: Upkeep,
) -> ! {
    let held = confine::confine(&Rules {
        user,
        keep: &[],
        files: Some(Files {
            written: &[dataset],
            read: &[],
        }),
        forbidden: &[
            Forbidden::Processes,
            Forbidden::Sockets,
            Forbidden::Machine,
            Forbidden::Programs,
        ],
    });
    let words = match &held {
        Ok(Held::Wholly) => "wholly".to_owned(),
        Ok(Held::InPart) => "in part".to_owned(),
        Ok(Held::NotAtAll | Held::NotAsked) => "not".to_owned(),
        Err(error) => format!("{HELD_BY_ERROR}{error}"),
    };
    let told = descriptor::send(channel.as_fd(), words.as_bytes());
    let mut turns = Turns::new(upkeep);
    if told.is_ok() {
        while next((channel, ends), dataset, &mut turns).is_ok() {}
    }
    turns.end();
    process::exit_now(0)
}

/// Answers the next request, or does what is due before it comes.
///
/// # Errors
/// Nobody asks any more.
fn next((channel, ends): (&OwnedFd, &OwnedFd), dataset: &Path, turns: &mut Turns) -> Result<()> {
    let waiting = [Waiting {
        fd: Some(channel.as_fd()),
        exceptional: false,
    }];
    let ready = descriptor::poll(&waiting, turns.pause().map(|pause| pause.0))?;
    if let Some(is_done) = turns.turn(dataset) {
        descriptor::send(ends.as_fd(), &[is_done.into()])?;
    }
    if ready.first() != Some(&true) {
        return Ok(());
    }
    let mut request = [0; REQUEST_BYTES];
    let Received::Bytes(bytes) = descriptor::receive(channel.as_fd(), &mut request, true)? else {
        bail!("nobody asks");
    };
    let request = request.get(..bytes).unwrap_or_default();
    let done = match request.split_first() {
        Some((&SET, words)) => set(words, turns).map(|()| None),
        _ => answer(request, dataset),
    };
    Ok(tell(channel, done)?)
}

/// Goes on with the upkeep and on the CPUs of these words.
fn set(words: &[u8], turns: &mut Turns) -> io::Result<()> {
    let (words, _) = words.as_chunks();
    let words: Vec<u64> = words.iter().copied().map(u64::from_ne_bytes).collect();
    let (upkeep, cpus) = words.split_first_chunk().ok_or_else(|| errno(EIO))?;
    let cpus = Cpus::from_words(cpus);
    let errno_of = |error: sys::Error| errno(error.errno().unwrap_or(EIO));
    cpus.set(0).map_err(errno_of)?;
    if let Some(pid) = turns.at_work() {
        // It may have ended by itself.
        let _ = cpus.set(pid);
    }
    turns.set(Upkeep::of_words(*upkeep));
    Ok(())
}

/// In front of what kept the keeper from being held.
const HELD_BY_ERROR: &str = "error ";

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// Does what is asked, below `dataset`.
fn answer(request: &[u8], dataset: &Path) -> io::Result<Option<File>> {
    let (verb, paths) = request.split_first().ok_or_else(|| errno(EIO))?;
    let mut paths = paths
        .split(|byte| *byte == 0)
        .map(|path| below(path, dataset));
    let mut path = || paths.next().unwrap_or_else(|| Err(errno(ENOENT)));
    match *verb {
        MAKE_FOLDER => RealDisk.make_folder(&path()?).map(|()| None),
        CREATE => RealDisk.create(&path()?).map(Some),
        RENAME => {
            let from = path()?;
            RealDisk.rename(&from, &path()?).map(|()| None)
        }
        REMOVE => RealDisk.remove(&path()?).map(|()| None),
        _ => Err(errno(EIO)),
    }
}

/// A path that leads nowhere but below the dataset by its words; links are the kernel's business
/// (Landlock).
fn below(path: &[u8], dataset: &Path) -> io::Result<PathBuf> {
    let path = Path::new(OsStr::from_bytes(path));
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if path.starts_with(dataset) && path.components().all(plain) {
        Ok(path.to_owned())
    } else {
        Err(errno(EACCES))
    }
}

fn tell(channel: &OwnedFd, done: io::Result<Option<File>>) -> io::Result<()> {
    let (number, file) = match done {
        Ok(file) => (0, file),
        Err(error) => (error.raw_os_error().unwrap_or(EIO), None),
    };
    let file = file.as_ref().map(AsFd::as_fd);
    local::send(channel.as_fd(), &number.to_ne_bytes(), file)
}

impl Kept {
    fn held(&self) -> Result<Answer> {
        let mut words = [0; 512];
        let Received::Bytes(bytes) = descriptor::receive(self.0.as_fd(), &mut words, true)? else {
            return Err(anyhow!("it ended at once"));
        };
        let words = String::from_utf8_lossy(words.get(..bytes).unwrap_or_default()).into_owned();
        Ok(match words.as_str() {
            "wholly" => Ok(Held::Wholly),
            "in part" => Ok(Held::InPart),
            "not" => Ok(Held::NotAtAll),
            error => Err(error
                .strip_prefix(HELD_BY_ERROR)
                .unwrap_or(error)
                .to_owned()),
        })
    }

    fn ask(&self, verb: u8, paths: &[&Path]) -> io::Result<Option<File>> {
        let paths: Vec<&[u8]> = paths
            .iter()
            .map(|path| path.as_os_str().as_bytes())
            .collect();
        ask(self.0.as_fd(), verb, &paths.join(&0))
    }
}

/// Asks the keeper and waits for its answer.
fn ask(channel: BorrowedFd<'_>, verb: u8, words: &[u8]) -> io::Result<Option<File>> {
    let request = [&[verb], words].concat();
    local::send(channel, &request, None)?;
    let mut number = [0; ANSWER_BYTES];
    let (bytes, file) = local::receive(channel, &mut number)?;
    let file = file.map(File::from);
    match (bytes, i32::from_ne_bytes(number)) {
        (ANSWER_BYTES, 0) => Ok(file),
        (ANSWER_BYTES, number) => Err(errno(number)),
        _ => Err(io::Error::new(
            io::ErrorKind::BrokenPipe,
            "the keeper of the dataset is gone",
        )),
    }
}

impl Disk for Kept {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.ask(MAKE_FOLDER, &[path]).map(drop)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.ask(CREATE, &[path])?.ok_or_else(|| errno(EIO))
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        RealDisk.append(file, bytes)
    }

    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        RealDisk.cut(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        RealDisk.sync(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(RENAME, &[from, to]).map(drop)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(REMOVE, &[path]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn only_what_lies_below_the_dataset_is_done() {
        let dataset = Path::new("/data/set");
        for (path, is_below) in [
            ("/data/set/live/x", true),
            ("/data/set", true),
            ("/data/setting", false),
            ("/data/set/../x", false),
            ("/etc/passwd", false),
            ("data/set/x", false),
            ("", false),
        ] {
            assert_eq!(below(path.as_bytes(), dataset).is_ok(), is_below, "{path}");
        }
    }

    #[test]
    fn files_are_made_renamed_and_removed_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = descriptor::channel().unwrap();
        let dataset = folder.path().to_owned();
        let keeper = std::thread::spawn(move || {
            let mut request = vec![0; REQUEST_BYTES];
            while let Ok(Received::Bytes(bytes)) =
                descriptor::receive(theirs.as_fd(), &mut request, true)
            {
                tell(&theirs, answer(&request[..bytes], &dataset)).unwrap();
            }
        });
        let kept = Kept(ours);
        let (live, other) = (folder.path().join("live"), folder.path().join("live/b"));
        kept.make_folder(&live).unwrap();
        let mut file = kept.create(&live.join("a")).unwrap();
        kept.append(&mut file, b"text").unwrap();
        let again = kept.create(&live.join("a")).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        kept.rename(&live.join("a"), &other).unwrap();
        let mut text = String::new();
        File::open(&other)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "text");
        kept.remove(&other).unwrap();
        assert!(!other.exists());
        let elsewhere = kept.create(Path::new("/nowhere/x")).unwrap_err();
        assert_eq!(elsewhere.kind(), io::ErrorKind::PermissionDenied);
        file.write_all(b"still ours").unwrap();
        drop(kept);
        keeper.join().unwrap();
    }
}
