//! The frames that one writer writes, from now on: segment after segment, each while it is written.
//!
//! Nobody waits for anybody: [`Follow::read`] gives what is there and returns. Segments that are
//! taken away before they were read are passed over, damage is counted.

use super::rows::{Counts, Rows, Take};
use super::{Found, Origin, Reader, name};
use crate::error::Error;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// After so many calls that found no next segment by its number the folder is listed: a number may
/// be left out.
const CALLS_BEFORE_LISTING: u32 = 16;

/// What was met so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Met {
    /// Of the segments that are over, and of the one that is read.
    pub counts: Counts,
    /// Stretches of bytes that are no frame.
    pub damaged: u64,
}

/// The frames of one writer.
#[derive(Debug)]
pub struct Follow {
    dataset: PathBuf,
    origin: Origin,
    /// Segments of that name that were there before.
    former: HashMap<u64, (u64, Option<SystemTime>)>,
    number: u64,
    reader: Option<(Reader, Rows)>,
    over: Met,
    calls: u32,
}

impl Follow {
    /// Of the writer that `origin` names, which has not begun yet: what it finds there of another
    /// one with its name is left alone.
    pub fn new(dataset: &Path, origin: Origin) -> Self {
        let mut follow = Self {
            dataset: dataset.to_owned(),
            origin,
            former: HashMap::new(),
            number: 0,
            reader: None,
            over: Met::default(),
            calls: 0,
        };
        let there = follow.listed().into_iter();
        let former = there.filter_map(|number| {
            let known = fs::metadata(follow.path(number)).ok()?;
            Some((number, mark(&known)))
        });
        follow.former = former.collect();
        follow
    }

    /// Gives all frames that were written since the last call; what it met so far.
    ///
    /// # Errors
    /// A segment cannot be read: the next call goes on behind it.
    pub fn read(&mut self, take: &mut dyn Take) -> Result<Met, Error> {
        loop {
            // First the next one: behind it nothing is added to this one.
            let next = self.next();
            let read = self.read_on(take);
            if read.is_err() || next.is_some() {
                self.finish();
            }
            read?;
            let Some(number) = next else {
                return Ok(self.met());
            };
            let opened = self.open(number);
            if opened.is_err() {
                self.number = number;
            }
            if let Some(reader) = opened? {
                self.number = number;
                self.reader = Some((reader, Rows::default()));
            } else if self.listed().iter().any(|other| *other > number) {
                // It never got a beginning.
                self.number = number;
            } else {
                return Ok(self.met());
            }
        }
    }

    /// From the last segment that is there by now on: those before it are passed over, and it is
    /// read from its beginning.
    pub fn begin_with_last(&mut self) {
        self.finish();
        let last = self.listed().into_iter();
        let last = last.filter(|number| self.is_ours(*number)).max();
        self.number = last.map_or(self.number, |last| last.saturating_sub(1));
        self.calls = 0;
    }

    /// Closes what is open; to read on is to begin anew.
    pub fn pause(&mut self) {
        self.finish();
    }

    /// What was met so far.
    pub fn met(&self) -> Met {
        let mut met = self.over;
        if let Some((_, rows)) = &self.reader {
            add(&mut met.counts, rows.counts());
        }
        met
    }

    fn finish(&mut self) {
        self.over = self.met();
        self.reader = None;
    }

    fn read_on(&mut self, take: &mut dyn Take) -> Result<(), Error> {
        let Some((reader, rows)) = &mut self.reader else {
            return Ok(());
        };
        loop {
            match reader.read_next()? {
                // What cannot be had is counted.
                Found::Frame { header, payload } => drop(rows.read(&header, payload, take)),
                Found::Bad { .. } => self.over.damaged += 1,
                Found::End { .. } => return Ok(()),
            }
        }
    }

    /// One that was taken away meanwhile is none.
    fn open(&self, number: u64) -> Result<Option<Reader>, Error> {
        match Reader::open(&self.path(number)) {
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened,
        }
    }

    /// The number of the segment behind this one, if it is there.
    fn next(&mut self) -> Option<u64> {
        let number = self.number + 1;
        if self.is_ours(number) {
            self.calls = 0;
            return Some(number);
        }
        self.calls += 1;
        if self.calls < CALLS_BEFORE_LISTING && self.reader.is_some() {
            return None;
        }
        self.calls = 0;
        let later = self.listed().into_iter();
        later
            .filter(|number| *number > self.number && self.is_ours(*number))
            .min()
    }

    fn is_ours(&self, number: u64) -> bool {
        let there = fs::metadata(self.path(number));
        there.is_ok_and(|there| self.former.get(&number) != Some(&mark(&there)))
    }

    fn path(&self, number: u64) -> PathBuf {
        name::path(&self.dataset, &self.origin, number)
    }

    /// The numbers of the writer's segments that are there now.
    fn listed(&self) -> Vec<u64> {
        let folder = self.dataset.join(name::FOLDER);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| name::number(&entry.file_name(), &self.origin));
        numbers.collect()
    }
}

/// By what a file of a former writer is known again.
fn mark(file: &Metadata) -> (u64, Option<SystemTime>) {
    (
        std::os::unix::fs::MetadataExt::ino(file),
        file.modified().ok(),
    )
}

fn add(sum: &mut Counts, more: Counts) {
    sum.rows += more.rows;
    sum.changed += more.changed;
    sum.unknown += more.unknown;
    sum.unlinked += more.unlinked;
    sum.bad += more.bad;
    sum.lost += more.lost;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use crate::segment::{Instant, Options, Sheet, Writer};
    use record::codec::cells::Cell;
    use record::codec::frame::Header;
    use record::codec::series::Row;
    use record::table::{Table, node};
    use record::unit::Nanos;

    #[derive(Default)]
    struct Values(Vec<i64>);

    impl Take for Values {
        fn series(&mut self, _: &'static Table, _: &Header, row: Row<'_>, _: bool) {
            self.0.push(row.values[0]);
        }
        fn cells(&mut self, _: &'static Table, _: &Header, _: &[(u8, Cell<'_>)]) {}
    }

    struct Writing {
        writer: Writer<RealDisk>,
        sheet: Sheet,
    }

    fn origin() -> Origin {
        Origin::of_writer("host", "0123456789", 7, "1")
    }

    impl Writing {
        fn new(dataset: &Path) -> Self {
            let options = Options {
                segment_age_max: Nanos(10),
                ..Options::default()
            };
            Self {
                writer: Writer::new(RealDisk, dataset, origin(), options).unwrap(),
                sheet: Sheet::new(&node::TABLE),
            }
        }

        fn put(&mut self, at: u64, value: i64) {
            let is_new = self.writer.begin(Nanos(at)).unwrap();
            let when = Instant {
                at: Nanos(at),
                ..Instant::default()
            };
            self.sheet.begin(when, is_new);
            let row = Row {
                key: b"a\0\0\0\0",
                present: 1,
                values: &[value],
            };
            self.sheet.row(&mut self.writer, row);
            self.sheet.end(&mut self.writer, Nanos(0)).unwrap();
        }
    }

    fn read(follow: &mut Follow) -> Vec<i64> {
        let mut values = Values::default();
        follow.read(&mut values).unwrap();
        values.0
    }

    #[test]
    fn every_frame_comes_once_from_segment_to_segment() {
        let folder = tempfile::tempdir().unwrap();
        let mut follow = Follow::new(folder.path(), origin());
        assert!(read(&mut follow).is_empty());
        let mut writing = Writing::new(folder.path());
        writing.put(1, 11);
        assert_eq!(read(&mut follow), [11]);
        assert!(read(&mut follow).is_empty());
        writing.put(2, 12);
        writing.put(20, 13);
        writing.put(40, 14);
        assert_eq!(read(&mut follow), [12, 13, 14]);
        writing.put(41, 15);
        assert_eq!(read(&mut follow), [15]);
        assert_eq!(follow.met().counts.rows, 5);
    }

    #[test]
    fn what_was_there_before_and_what_is_taken_away_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut former = Writing::new(folder.path());
        former.put(1, 1);
        former.put(20, 2);
        drop(former);
        let mut follow = Follow::new(folder.path(), origin());
        let mut writing = Writing::new(folder.path());
        writing.put(30, 3);
        assert_eq!(read(&mut follow), [3]);
        writing.put(50, 4);
        let lost = writing.writer.path().unwrap().to_owned();
        writing.put(70, 5);
        fs::remove_file(lost).unwrap();
        let mut all = Vec::new();
        for _ in 0..CALLS_BEFORE_LISTING {
            all.extend(read(&mut follow));
        }
        assert_eq!(all, [5]);
    }

    #[test]
    fn who_begins_late_begins_with_the_last_and_may_begin_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut follow = Follow::new(folder.path(), origin());
        follow.begin_with_last();
        assert!(read(&mut follow).is_empty());
        let mut writing = Writing::new(folder.path());
        for (at, value) in [(1, 11), (20, 12), (40, 13), (41, 14)] {
            writing.put(at, value);
        }
        follow.begin_with_last();
        assert_eq!(read(&mut follow), [13, 14]);
        writing.put(42, 15);
        assert_eq!(read(&mut follow), [15]);
        follow.pause();
        writing.put(43, 16);
        follow.begin_with_last();
        assert_eq!(read(&mut follow), [13, 14, 15, 16]);
        writing.put(80, 17);
        assert_eq!(read(&mut follow), [17]);
    }

    #[test]
    fn damage_is_counted_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut follow = Follow::new(folder.path(), origin());
        let mut writing = Writing::new(folder.path());
        writing.put(1, 1);
        let path = writing.writer.path().unwrap().to_owned();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend([9; 100]);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&mut follow), [1]);
        writing.put(30, 2);
        assert_eq!(read(&mut follow), [2]);
        fs::remove_dir_all(folder.path().join(name::FOLDER)).unwrap();
        assert!(read(&mut follow).is_empty());
    }
}
