//! The files of a report: as few metadata operations as can be, for shared file systems.
//!
//! `PREFIX.json` is made under a temporary name before the task starts, which is the only test of
//! a path that no permission bit, quota or read-only mount can mislead. The running state is
//! rewritten in place through the descriptor kept open, and the end is one rename: one create and
//! one rename a task.

use crate::beside::{self, Beside};
use crate::place::open_special;
use crate::target::{names_file, resolve};
use crate::{Error, Left};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The main file of a report.
#[derive(Debug)]
pub struct Output {
    prefix: PathBuf,
    beside: Beside,
    /// Bytes of the running state that is there.
    length: usize,
}

impl Output {
    /// Makes sure, before the task starts, that `PREFIX.json` can be written: makes the file that
    /// will become it, `.NAME.json.running` beside it. `r.json` means the prefix `r`; where it is a
    /// link it stays one.
    ///
    /// # Errors
    /// If the prefix names no file, a directory is in the way, or the file cannot be made.
    pub fn check(prefix: &Path) -> Result<Self, Error> {
        let prefix = strip(prefix)?;
        let path = resolve(&with_extension(&prefix, "json"))?;
        let beside = Beside::create(&path)?;
        Ok(Self {
            prefix,
            beside,
            length: 0,
        })
    }

    /// The path of the report after the end.
    pub fn path(&self) -> &Path {
        self.beside.path()
    }

    /// The path of the running state.
    pub fn running_path(&self) -> &Path {
        self.beside.running_path()
    }

    /// The path of another file of this report, such as `PREFIX.series.csv`.
    pub fn beside(&self, extension: &str) -> PathBuf {
        with_extension(&self.prefix, extension)
    }

    /// Makes sure, before the task starts, that [`Output::beside`] can be written. Makes no file in
    /// the folder of the report, which has just taken one; what is there keeps what it holds.
    ///
    /// # Errors
    /// If a directory is in the way, or the file may not be written or made.
    pub fn check_beside(&self, extension: &str) -> Result<(), Error> {
        let path = resolve(&self.beside(extension))?;
        let failed = |source| Error::Open {
            path: path.clone(),
            source,
        };
        if open_special(&path).map_err(failed)?.is_some() {
            return Ok(());
        }
        if path.exists() {
            // As it is opened at the end: in a folder with the sticky bit a file of another may be
            // opened, and not by who would make it (protected_regular).
            let mut open = OpenOptions::new();
            let open = open.write(true).create(true).truncate(false);
            return open.open(&path).map(drop).map_err(failed);
        }
        if path.parent() != self.path().parent() {
            // One of them is a link to another folder.
            Beside::create(&path)?.remove();
        }
        Ok(())
    }

    /// Device and inode of the file, now and under its later name.
    ///
    /// # Errors
    /// If the file system does not tell.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        identity(self.beside.file())
    }

    /// Rewrites the running state in place. A reader, or a crash between two of our calls, finds
    /// a complete state.
    ///
    /// # Errors
    /// If the disk is full or the file system fails; the next call tries again.
    pub fn write_running(&mut self, text: &[u8]) -> Result<(), Error> {
        self.length = write_padded(self.beside.file(), text, self.length).map_err(|source| {
            // A part of the first state tells nothing: it is not left. Of a later one what is there
            // may be more than there was.
            let file = self.beside.file();
            if self.length > 0 || file.set_len(0).is_err() {
                let there = file.metadata();
                let there = there.map_or(text.len(), |it| it.len() as usize);
                self.length = self.length.max(there);
            }
            Error::Write {
                path: self.beside.running_path().to_owned(),
                source,
            }
        })?;
        Ok(())
    }

    /// Writes the end and gives the file its name.
    ///
    /// # Errors
    /// If the disk is full or the file cannot be renamed; the last state stays under its
    /// temporary name.
    pub fn finish(mut self, text: &[u8]) -> Result<(), Error> {
        self.write_running(text)?;
        self.beside.publish(text)
    }
}

/// Writes a state over one of `length` bytes; the length of what is there now.
fn write_padded(file: &File, text: &[u8], length: usize) -> io::Result<usize> {
    // Blanks over the rest of a longer state: JSON at every moment, not only after the cut.
    let mut padded = text.to_vec();
    padded.resize(text.len().max(length), b'\n');
    file.write_all_at(&padded, 0)?;
    if padded.len() > text.len() {
        file.set_len(text.len() as u64)?;
    }
    Ok(text.len())
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.length == 0 {
            // Nothing was ever written: leave no empty file.
            self.beside.remove();
        }
    }
}

/// The end of a common file is looked at so often at most, with this pause.
const LOOKS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// A common file that many tasks append a line to.
#[derive(Debug)]
pub struct Append {
    path: PathBuf,
    file: File,
}

impl Append {
    /// Opens `path` for appending, before the task starts.
    ///
    /// # Errors
    /// If it cannot be opened or made.
    pub fn check(path: &Path) -> Result<Self, Error> {
        let open = |read| {
            let mut how = OpenOptions::new();
            how.read(read).append(true).create(true).open(path)
        };
        // Its end is read; a pipe is not, and a file that may not be read takes lines too.
        let is_special = fs::metadata(path).is_ok_and(|data| !data.is_file());
        let opened = match is_special {
            true => open(false),
            false => open(true).or_else(|_| open(false)),
        };
        let file = opened.map_err(|source| Error::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Device and inode of the file.
    ///
    /// # Errors
    /// If the file system does not tell.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        identity(&self.file)
    }

    /// Appends `line`, its end included, by one `write(2)`: lines of different tasks do not mix.
    /// Where the file ends within a line, as after a full disk, that line is ended in front of it.
    /// Where only a part has room the file is cut back to where it ended.
    ///
    /// # Errors
    /// If not all of it was taken.
    pub fn write(self, line: &[u8]) -> Result<(), Error> {
        match self.ends_within_a_line() {
            true => self.write_all(&[b"\n", line].concat()),
            false => self.write_all(line),
        }
    }

    /// Whether the last line has no end, as far as that can be read. One that another is writing
    /// grows page by page: it is looked at until it stays as it is. Where its end comes later all
    /// the same, an empty line comes of it.
    fn ends_within_a_line(&self) -> bool {
        let look = || -> io::Result<(u64, bool)> {
            let end = self.file.metadata()?.len();
            let mut last = *b"\n";
            if let Some(place) = end.checked_sub(1) {
                self.file.read_exact_at(&mut last, place)?;
            }
            Ok((end, last != *b"\n"))
        };
        let mut before = None;
        for _ in 0..LOOKS {
            match look() {
                Ok((end, true)) if before == Some(end) => return true,
                Ok((end, true)) => before = Some(end),
                _ => return false,
            }
            thread::sleep(PAUSE);
        }
        true
    }

    fn write_all(mut self, line: &[u8]) -> Result<(), Error> {
        let (mut taken, mut start) = (0, None);
        let source = loop {
            match self.file.write(line.get(taken..).unwrap_or_default()) {
                Ok(0) => break ErrorKind::WriteZero.into(),
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => break error,
            }
            if taken >= line.len() {
                return Ok(());
            }
            // Where this write ended.
            let end = self.file.stream_position().ok();
            start = start.or(end.map(|end| end.saturating_sub(taken as u64)));
        };
        let (path, length) = (self.path.clone(), line.len());
        Err(match taken {
            0 => Error::Write { path, source },
            _ => Error::Short {
                path,
                taken,
                length,
                left: self.cut_off(start, taken),
                source,
            },
        })
    }

    /// After `taken` bytes of a line, from `start` on: what comes next must not continue it.
    fn cut_off(&mut self, start: Option<u64>, taken: usize) -> Left {
        let cut = || {
            let end = (&self.file).stream_position()?;
            let size = self.file.metadata()?.len();
            match start {
                // Nobody else added to the file.
                Some(start) if size == end && end - start == taken as u64 => {
                    self.file.set_len(start).map(|()| true)
                }
                _ => Ok(false),
            }
        };
        let cut: io::Result<bool> = cut();
        match cut {
            Ok(true) => Left::Nothing,
            _ if self.file.write_all(b"\n").is_ok() => Left::Line,
            _ => Left::Part,
        }
    }
}

/// Makes `path` and lets `fill` write it through a buffer.
///
/// # Errors
/// If it cannot be made or does not take the data.
pub fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let file = File::create(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = fill(&mut out).and_then(|()| out.flush());
    written.map_err(|source| {
        // What the buffer could not hand over is not tried again.
        drop(out.into_parts());
        keep_lines(path);
        Error::Write {
            path: path.to_owned(),
            source,
        }
    })
}

/// Of what did not have room the whole lines stay; a file without a line would tell that there was
/// nothing. The error of the writing is told; another would add nothing.
fn keep_lines(path: &Path) {
    let data = std::fs::symlink_metadata(path);
    let Some(length) = data.ok().filter(fs::Metadata::is_file).map(|it| it.len()) else {
        return;
    };
    let end = last_line_end(path, length).unwrap_or(length);
    if end == 0 {
        drop(fs::remove_file(path));
    } else if end < length
        && let Ok(file) = OpenOptions::new().write(true).open(path)
    {
        drop(file.set_len(end));
    }
}

/// Where the last line of a file ends that has an end; 0 for a short file without any.
fn last_line_end(path: &Path, length: u64) -> io::Result<u64> {
    const TAIL: u64 = 1 << 20;
    let begin = length.saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(length - begin).unwrap_or(0)];
    File::open(path)?.read_exact_at(&mut tail, begin)?;
    let end = tail.iter().rposition(|byte| *byte == b'\n');
    Ok(match end {
        Some(place) => begin + place as u64 + 1,
        None if begin == 0 => 0,
        None => length,
    })
}

/// In the place of a monitor that died, of this pid: removes the running state of the report
/// `prefix` if there is nothing in it; where there is something, its path.
pub fn remove_empty_state(prefix: &Path, pid: u32) -> Option<PathBuf> {
    let path = strip(prefix).and_then(|prefix| resolve(&with_extension(&prefix, "json")));
    beside::remove_empty(&path.ok()?, pid)
}

pub(crate) fn identity(file: &File) -> io::Result<(u64, u64)> {
    let data = file.metadata()?;
    Ok((data.dev(), data.ino()))
}

/// The prefix without a final `.json`.
fn strip(prefix: &Path) -> Result<PathBuf, Error> {
    let no_name = || Error::NoName {
        prefix: prefix.to_owned(),
    };
    let name = prefix.file_name().filter(|_| names_file(prefix));
    let name = name.ok_or_else(no_name)?;
    match (Path::new(name).extension(), Path::new(name).file_stem()) {
        (Some(extension), Some(stem)) if extension == "json" => Ok(prefix.with_file_name(stem)),
        _ => Ok(prefix.to_owned()),
    }
}

/// `PREFIX.extension`; a dot in the prefix stays.
fn with_extension(prefix: &Path, extension: &str) -> PathBuf {
    let mut path = OsString::from(prefix.as_os_str());
    path.push(".");
    path.push(extension);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn one_file_is_made_rewritten_in_place_and_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let mut output = Output::check(&dir.path().join("r.json")).unwrap();
        assert_eq!(names(dir.path()), [".r.json.running"]);
        output.write_running(b"{\"long\": 123456}\n").unwrap();
        output.write_running(b"{}\n").unwrap();
        assert_eq!(fs::read(output.running_path()).unwrap(), b"{}\n");
        output.write_running(b"{\"a\":1}\n").unwrap();
        let (path, side) = (output.path().to_owned(), output.beside("series.csv"));
        output.finish(b"{\"b\":2}\n").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"{\"b\":2}\n");
        assert_eq!(side, dir.path().join("r.series.csv"));
        assert_eq!(names(dir.path()), ["r.json"]);
    }

    #[test]
    fn an_output_never_used_leaves_nothing_but_a_state_once_written_stays() {
        let dir = tempfile::tempdir().unwrap();
        drop(Output::check(&dir.path().join("a.b")).unwrap());
        assert!(names(dir.path()).is_empty());
        let mut output = Output::check(&dir.path().join("a.b")).unwrap();
        output.write_running(b"{}").unwrap();
        drop(output);
        assert_eq!(names(dir.path()), [".a.b.json.running"]);
        // The next run takes its place.
        let output = Output::check(&dir.path().join("a.b")).unwrap();
        output.finish(b"{}").unwrap();
        assert_eq!(names(dir.path()), ["a.b.json"]);
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_the_task_starts() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d.json")).unwrap();
        let check = |path: &str| Output::check(&dir.path().join(path)).unwrap_err();
        assert!(matches!(check("d"), Error::IsDirectory { .. }));
        assert!(matches!(check("missing/r"), Error::Open { .. }));
        assert!(matches!(
            Output::check(Path::new("/proc/r")).unwrap_err(),
            Error::Open { .. }
        ));
        for prefix in ["", "/", ".", "..", "somewhere/", "somewhere/."] {
            let error = Output::check(Path::new(prefix)).unwrap_err();
            assert!(matches!(error, Error::NoName { .. }), "{prefix}: {error}");
        }
        assert!(Append::check(&dir.path().join("missing/all.jsonl")).is_err());
    }

    #[test]
    fn what_goes_beside_is_tried_without_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("r.folder")).unwrap();
        fs::write(path("r.old"), "old").unwrap();
        std::os::unix::fs::symlink("missing/file", path("r.lost")).unwrap();
        std::os::unix::fs::symlink("r.folder/file", path("r.link")).unwrap();
        let output = Output::check(&path("r")).unwrap();
        let before = names(dir.path());
        for fine in ["new", "old", "link"] {
            output.check_beside(fine).unwrap();
        }
        let refused = |extension: &str| output.check_beside(extension).unwrap_err();
        assert!(matches!(refused("folder"), Error::IsDirectory { .. }));
        assert!(matches!(refused("lost"), Error::Open { .. }));
        assert_eq!(names(dir.path()), before);
        assert!(names(&path("r.folder")).is_empty());
        assert_eq!(fs::read(path("r.old")).unwrap(), b"old");
    }

    #[test]
    fn a_link_under_the_name_of_the_report_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("r.json");
        std::os::unix::fs::symlink("file", &link).unwrap();
        for text in [b"{\"a\":1}\n", b"{\"a\":2}\n"] {
            let output = Output::check(&dir.path().join("r")).unwrap();
            output.finish(text).unwrap();
            assert_eq!(fs::read_link(&link).unwrap(), Path::new("file"));
            assert_eq!(fs::read(dir.path().join("file")).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["file", "r.json"]);
    }

    #[test]
    fn a_link_under_the_temporary_name_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "keep").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join(".r.json.running")).unwrap();
        Output::check(&dir.path().join("r"))
            .unwrap()
            .finish(b"{}")
            .unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"keep");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
            println!("skipped: no /dev/full");
            return;
        };
        assert!(write_padded(&full, b"{}", 1).is_err());
        let append = Append::check(Path::new("/dev/full")).unwrap();
        assert!(matches!(append.write(b"{}\n"), Err(Error::Write { .. })));
        let long = |out: &mut dyn Write| out.write_all(&[b'x'; 200_000]);
        let error = write_file(Path::new("/dev/full"), long).unwrap_err();
        assert!(matches!(error, Error::Write { .. }));
    }

    /// It would tell that there was nothing; of what had room the lines stay.
    #[test]
    fn a_disk_that_is_full_from_the_start_leaves_no_empty_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.files.jsonl");
        let full = |_: &mut dyn Write| Err(ErrorKind::StorageFull.into());
        assert!(matches!(write_file(&path, full), Err(Error::Write { .. })));
        assert!(names(dir.path()).is_empty());
        let later = |out: &mut dyn Write| {
            out.write_all(b"one\ntwo\n")?;
            out.write_all(&[b'x'; 70_000])?;
            full(out)
        };
        assert!(matches!(write_file(&path, later), Err(Error::Write { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        let no_line = |out: &mut dyn Write| {
            out.write_all(&[b'x'; 70_000])?;
            full(out)
        };
        assert!(matches!(
            write_file(&path, no_line),
            Err(Error::Write { .. })
        ));
        assert!(names(dir.path()).is_empty());
    }

    /// Where it may be replaced, by root here or by the owner of the folder, the trial leaves
    /// nothing; where it may not is for the truth tests, which can be another user.
    #[test]
    fn a_file_in_a_sticky_folder_is_left_alone_until_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let sticky = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(dir.path(), sticky).unwrap();
        let path = dir.path().join("r.json");
        fs::write(&path, "old").unwrap();
        // To nobody, if we may.
        let _ = std::os::unix::fs::chown(dir.path(), Some(65534), None);
        let _ = std::os::unix::fs::chown(&path, Some(65534), None);
        let output = Output::check(&dir.path().join("r")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        output.finish(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_line_that_was_cut_off_takes_no_other_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all.jsonl");
        let append = |line: &str| Append::check(&path).unwrap().write(line.as_bytes());
        append("{\"a\":1}\n").unwrap();
        append("{\"b\":2}\n").unwrap();
        let whole = "{\"a\":1}\n{\"b\":2}\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        fs::write(&path, "{\"a\":").unwrap();
        append("{\"b\":2}\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":\n{\"b\":2}\n");
        // A pipe is written as it is.
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from(0o600)).unwrap();
        let mut both = OpenOptions::new();
        let mut reader = both.read(true).write(true).open(&pipe).unwrap();
        Append::check(&pipe).unwrap().write(b"{}\n").unwrap();
        let mut told = [0; 9];
        assert_eq!(io::Read::read(&mut reader, &mut told).unwrap(), 3);
    }

    #[test]
    fn lines_of_many_tasks_do_not_mix() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("all.jsonl");
        std::thread::scope(|scope| {
            for task in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    let mut line = vec![b'a' + task; 9000];
                    line.push(b'\n');
                    Append::check(path).unwrap().write(&line).unwrap();
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 8);
        for line in text.lines() {
            assert!(line.len() == 9000 && line.bytes().all(|b| b == line.as_bytes()[0]));
        }
    }
}
