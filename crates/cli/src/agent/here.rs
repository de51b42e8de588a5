//! The readings of an agent in this process alone: nothing is written, nobody else is told, and no
//! events are heard. What a segment would hold is kept until it is read.

use super::detail::{Detail, Wishes};
use super::identity::Identities;
use super::node::Node;
use super::reader::Reader;
use super::segments::{Place, Segments};
use super::{PROCESSES_MAX, lose, now, origin, rows};
use crate::live::client::See;
use crate::live::wire::Mark;
use anyhow::{Context, Result, bail};
use record::codec::frame::{self, Front, Header};
use record::table::{self, TABLES};
use record::unit::Nanos;
use source::follow::select::{Selection, Wanted};
use source::root::Root;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::segment::{self, MAGIC, Origin, Rows, Sheet, Unread, Writer};
use sys::clock;
use sys::descriptor::{self, Waiting};

/// So long the first reading waits for the names of whom it met, and a later one: the others come
/// before the next. Those of 5000 processes take some 0.7 s.
const FIRST_PATIENCE: Nanos = Nanos::from_millis(1500);
const PATIENCE: Nanos = Nanos::from_millis(20);

/// Reads everyone when asked to.
pub(crate) struct Here {
    reader: Reader,
    identities: Identities,
    detail: Detail,
    node: Node,
    samples: Sheet,
    writer: Segments,
    written: Written,
    rows: Rows,
    origin: Origin,
    is_begun: bool,
}

/// The bytes of a segment that nobody has read yet.
pub(super) type Written = Arc<Mutex<Vec<u8>>>;

impl Here {
    /// By the better mechanism that works here; readings come about so often.
    ///
    /// # Errors
    /// No process can be read here.
    pub(crate) fn open(interval: Nanos) -> Result<Self> {
        let root = Root::default();
        let origin = origin(&root)?;
        let written = Written::default();
        // It is one segment, which nobody cuts.
        let settings = segment::Options {
            segment_bytes_max: u64::MAX,
            segment_age_max: Nanos(u64::MAX),
            sync_period: Nanos(u64::MAX),
        };
        let place = Place::Here(Arc::clone(&written));
        let writer = Writer::new(place, Path::new(""), origin.clone(), settings)?;
        let wishes = Wishes {
            descriptors: None,
            weighs: false,
            variables: Vec::new(),
        };
        let selection = Selection::new(vec![Wanted::All]);
        Ok(Self {
            reader: Reader::open(&root, None, interval)?,
            identities: Identities::new(root.clone(), selection, None),
            detail: Detail::new(&root, &wishes, None)?,
            node: Node::open(&root),
            samples: Sheet::new(&table::sample::TABLE),
            writer,
            written,
            rows: Rows::default(),
            origin,
            is_begun: false,
        })
    }

    /// This machine.
    pub(crate) const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// How the processes are read.
    pub(crate) fn mechanism(&self) -> &'static str {
        self.reader.name()
    }

    /// Reads everyone and gives the rows.
    ///
    /// # Errors
    /// The kernel does not tell this time.
    pub(crate) fn read(&mut self, take: &mut dyn See) -> Result<(Mark, Header)> {
        let is_first = !self.is_begun;
        let header = self.pass()?;
        let patience = if is_first { FIRST_PATIENCE } else { PATIENCE };
        self.wait(patience)?;
        self.give(take)?;
        let mark = Mark {
            is_full: is_first,
            ..Mark::default()
        };
        Ok((mark, header))
    }

    /// Takes what has been answered since the reading, and gives the rows.
    ///
    /// # Errors
    /// Rows of our own cannot be read.
    pub(crate) fn hear(&mut self, take: &mut dyn See) -> Result<()> {
        self.take_answers()?;
        self.give(take)
    }

    /// Readable when there is something to hear.
    pub(crate) fn heard(&self) -> BorrowedFd<'_> {
        self.detail.as_fd()
    }

    fn pass(&mut self) -> Result<Header> {
        let when = now();
        let samples = self.reader.read()?;
        self.node.read(when.at);
        let span = Nanos(clock::boot()).since(when.at);
        let (count, writer) = (samples.len(), &mut self.writer);
        let kept = &*samples.split_at_mut(count.min(PROCESSES_MAX)).0;
        lose(writer, count - kept.len());
        let is_new = writer.begin(when.at)?;
        self.is_begun = true;
        let asker = self.detail.asker();
        let (is_wanted, told) = self.identities.tell(kept, asker, (is_new, when), writer);
        let wanted = || kept.iter().zip(&is_wanted).filter(|(_, wanted)| **wanted);
        let ids = wanted().map(|(one, _)| one.id);
        self.identities.names.reading(ids, when.at, false);
        self.samples.begin(when, is_new);
        rows::write(&mut self.samples, writer, wanted().map(|(one, _)| one));
        let sampled = self.samples.end(writer, span);
        let node = self.node.write((when, is_new), &[], writer, span);
        told.and(sampled).and(node)?;
        Ok(Header {
            at_ns: when.at.0,
            real_offset_ns: when.real_offset_ns,
            ..Header::default()
        })
    }

    /// Waits until everyone who was asked has answered, but no longer than that.
    fn wait(&mut self, patience: Nanos) -> Result<()> {
        let until = Nanos(clock::boot()).plus(patience);
        loop {
            self.take_answers()?;
            let left = until.since(Nanos(clock::boot()));
            if left == Nanos(0) || !self.identities.waits() {
                return Ok(());
            }
            let waiting = [Waiting {
                fd: Some(self.detail.as_fd()),
                exceptional: false,
            }];
            descriptor::poll(&waiting, Some(left.0)).context("waiting")?;
        }
    }

    fn take_answers(&mut self) -> Result<()> {
        let (when, writer) = (now(), &mut self.writer);
        self.detail.take(&mut self.identities, when, writer)?;
        self.identities.ask_jobs(self.detail.asker());
        let jobs = &mut self.identities.names.jobs;
        Ok(jobs.write((false, when), false, writer)?)
    }

    /// Gives the rows that were written.
    fn give(&mut self, take: &mut dyn See) -> Result<()> {
        let bytes =
            std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        let mut rest = bytes.strip_prefix(&MAGIC).unwrap_or(&bytes);
        while !rest.is_empty() {
            let Front::Frame {
                header,
                payload,
                bytes,
            } = frame::front(rest)
            else {
                bail!("a frame of our own cannot be read");
            };
            // The first frame of a segment is of no table.
            let is_row = TABLES.iter().any(|table| table.id == header.table);
            match self.rows.read(&header, payload, take) {
                Err(Unread::Unlinked | Unread::Bad(_)) => bail!("rows of our own cannot be read"),
                Err(Unread::Unknown) if is_row => bail!("a table of our own is not known"),
                Ok(()) | Err(Unread::Unknown) => {}
            }
            rest = rest.get(bytes..).unwrap_or_default();
        }
        Ok(())
    }
}
