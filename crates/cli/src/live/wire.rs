//! What a reader of live records asks for, and what it is told beside the rows; as bytes.
//!
//! Pure. A request is a message of two words (64 bits, in the byte order of the machine): the verb
//! and the version, and behind them one row of cells. What comes back is a segment
//! (docs/segment.md) without an end, with frames of one more table: where a reading is whole.

use record::codec::BadBytes;
use record::codec::cells::{Cell, put_row, take_row};
use record::table::{self, Column, Table};
use record::unit::Nanos;

/// The first word of a request; those of lending are below it.
pub(crate) const VERB: u64 = 64;
/// The second: both sides must have this number.
pub(crate) const VERSION: u64 = 1;
/// A request is this long, at most.
pub(crate) const REQUEST_BYTES_MAX: usize = 16 << 10;
/// A message of the answer is this long, at most.
pub(crate) const MESSAGE_BYTES_MAX: usize = 32 << 10;

/// Instead of a segment: the agent speaks another version.
pub(crate) const OTHER_VERSION: u64 = 1;
/// Instead of a segment: there are as many readers as there can be, of all users or of this one.
pub(crate) const TOO_MANY: u64 = 4;
/// Instead of a segment: no request, or nothing that this agent knows.
pub(crate) const UNKNOWN: u64 = 6;
/// There are no programs in the kernel to lend.
pub(crate) const NOTHING_LENT: u64 = 8;
/// Instead of a segment: the process that serves live records has ended.
pub(crate) const NOT_SERVED: u64 = 9;

/// The table of [`Mark`]; no table of a dataset has this number.
pub(crate) const MARK_TABLE: u8 = 255;

/// The table of frames that say how the rows behind them are shown: a byte, 1 if only what
/// everybody may know is.
pub(crate) const SHOWN_TABLE: u8 = 254;

/// What is told of another user's process has nothing of these: files that only its user may read
/// (mode 0400), or that the kernel shows only to who may trace it, and what the context chain may
/// have from the environment.
const PRIVATE: &[&str] = &[
    "/io",
    "/smaps_rollup",
    "/exe",
    "/cwd",
    "/environ",
    "/fd",
    "exit_code",
    "the context chain",
];

/// Who are asked for by name, at most.
const WHO_MAX: usize = 256;

/// The tables that are served, in the order in which their rows come.
pub(crate) const SERVED: [&Table; 6] = [
    &table::process::TABLE,
    &table::sample::TABLE,
    &table::node::TABLE,
    &table::exit::TABLE,
    &table::job::TABLE,
    &table::gpu::TABLE,
];

/// Some processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    /// This one.
    Pid(u32),
    /// Those of this real user.
    Uid(u32),
    /// Those of this job.
    Job(String),
}

/// What a reader wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Rows of these tables.
    pub(crate) tables: Vec<&'static Table>,
    /// Rows of these processes; of all if nobody is named.
    pub(crate) who: Vec<Who>,
    /// A reading this often, and not more often than there are readings.
    pub(crate) period: Nanos,
}

impl Wish {
    /// The message that asks for it.
    pub(crate) fn message(&self) -> Vec<u8> {
        let mut bytes = [VERB, VERSION].map(u64::to_ne_bytes).concat();
        let tables = self.tables.iter().map(|table| table.name.as_bytes());
        let who: Vec<String> = self.who.iter().map(Who::text).collect();
        let period = i64::try_from(self.period.0).unwrap_or(i64::MAX);
        let cells = [
            (0, Cell::List(tables.collect())),
            (1, Cell::List(who.iter().map(String::as_bytes).collect())),
            (2, Cell::Int(period)),
        ];
        put_row(&mut bytes, cells.into_iter());
        bytes
    }

    /// What a message asks for; the status to refuse it with.
    pub(crate) fn of_message(bytes: &[u8]) -> Result<Self, u64> {
        let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
        let (verb, rest) = bytes.split_first_chunk().ok_or(UNKNOWN)?;
        let (version, mut row) = rest.split_first_chunk().ok_or(UNKNOWN)?;
        if word(verb) != VERB {
            return Err(UNKNOWN);
        }
        if word(version) != VERSION {
            return Err(OTHER_VERSION);
        }
        let cells = take_row(&mut row).map_err(|_| UNKNOWN)?;
        let mut wish = Self {
            tables: Vec::new(),
            who: Vec::new(),
            period: Nanos(0),
        };
        for (column, cell) in &cells {
            match (column, cell) {
                (0, Cell::List(names)) => wish.tables = tables(names).ok_or(UNKNOWN)?,
                (1, Cell::List(who)) if who.len() <= WHO_MAX => {
                    let all: Option<_> = who.iter().map(|one| Who::of_text(one)).collect();
                    wish.who = all.ok_or(UNKNOWN)?;
                }
                (2, Cell::Int(period)) => {
                    wish.period = Nanos(u64::try_from(*period).map_err(|_| UNKNOWN)?);
                }
                _ => return Err(UNKNOWN),
            }
        }
        match row.is_empty() && !wish.tables.is_empty() {
            true => Ok(wish),
            false => Err(UNKNOWN),
        }
    }
}

/// The tables of these names, in the order of [`SERVED`]; nothing if one is not served.
fn tables(names: &[&[u8]]) -> Option<Vec<&'static Table>> {
    let known = |name: &&[u8]| SERVED.iter().any(|table| table.name.as_bytes() == *name);
    let wanted = |table: &&'static Table| names.contains(&table.name.as_bytes());
    let all = names.iter().all(known);
    all.then(|| SERVED.into_iter().filter(wanted).collect())
}

impl Who {
    fn text(&self) -> String {
        match self {
            Self::Pid(pid) => format!("pid:{pid}"),
            Self::Uid(uid) => format!("uid:{uid}"),
            Self::Job(identifier) => format!("job:{identifier}"),
        }
    }

    fn of_text(text: &[u8]) -> Option<Self> {
        let (kind, name) = std::str::from_utf8(text).ok()?.split_once(':')?;
        match kind {
            "pid" => name.parse().ok().map(Self::Pid),
            "uid" => name.parse().ok().map(Self::Uid),
            "job" if !name.is_empty() => Some(Self::Job(name.to_owned())),
            _ => None,
        }
    }
}

/// Behind the rows of a reading: it is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The request that it answers; the first one is 1.
    pub(crate) request: u64,
    /// Readings that were due since the mark before and are not there: who reads was too slow.
    pub(crate) readings_lost: u64,
    /// Rows of `process`, `exit` and `job` that were lost with them.
    pub(crate) rows_lost: u64,
    /// It is a full picture: nothing that came before is needed.
    pub(crate) is_full: bool,
    /// Of other users' processes, and of their jobs, not all is told.
    pub(crate) is_restricted: bool,
}

impl Mark {
    /// Its row.
    pub(crate) fn row(self) -> Vec<u8> {
        let int = |value: u64| Cell::Int(i64::try_from(value).unwrap_or(i64::MAX));
        let cells = [
            (0, int(self.request)),
            (1, int(self.readings_lost)),
            (2, int(self.rows_lost)),
            (3, int(self.is_full.into())),
            (4, int(self.is_restricted.into())),
        ];
        let mut row = Vec::new();
        put_row(&mut row, cells.into_iter());
        row
    }

    /// What a row says.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn of_row(mut row: &[u8]) -> Result<Self, BadBytes> {
        let mut mark = Self::default();
        for (column, cell) in take_row(&mut row)? {
            let Cell::Int(value) = cell else { continue };
            let value = u64::try_from(value).unwrap_or(0);
            match column {
                0 => mark.request = value,
                1 => mark.readings_lost = value,
                2 => mark.rows_lost = value,
                3 => mark.is_full = value != 0,
                4 => mark.is_restricted = value != 0,
                // Of a later version.
                _ => {}
            }
        }
        Ok(mark)
    }
}

/// Whether other users' processes are told without it.
pub(crate) fn is_private(column: &Column) -> bool {
    PRIVATE.iter().any(|part| column.origin.contains(part))
}

/// The table of this name, if it is served.
pub(crate) fn served(name: &str) -> Option<&'static Table> {
    SERVED.into_iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish() -> Wish {
        Wish {
            tables: vec![SERVED[0], SERVED[3]],
            who: vec![Who::Pid(7), Who::Uid(65534), Who::Job("77:x".to_owned())],
            period: Nanos::from_secs(5),
        }
    }

    #[test]
    fn a_wish_comes_back_and_every_cut_of_it_is_refused() {
        let message = wish().message();
        assert_eq!(Wish::of_message(&message), Ok(wish()));
        for end in 0..message.len() {
            assert!(Wish::of_message(&message[..end]).is_err(), "{end}");
        }
        let mut longer = message.clone();
        longer.push(0);
        assert_eq!(Wish::of_message(&longer), Err(UNKNOWN));
        let mut other = message;
        other[8] ^= 3;
        assert_eq!(Wish::of_message(&other), Err(OTHER_VERSION));
    }

    #[test]
    fn what_is_not_served_is_refused() {
        let of = |tables: Vec<&[u8]>, who: &[u8]| {
            let mut bytes = [VERB, VERSION].map(u64::to_ne_bytes).concat();
            let cells = [(0, Cell::List(tables)), (1, Cell::List(vec![who]))];
            put_row(&mut bytes, cells.into_iter());
            Wish::of_message(&bytes)
        };
        assert!(of(vec![b"sample"], b"pid:1").is_ok());
        assert!(of(vec![], b"pid:1").is_err());
        assert!(of(vec![b"descriptor"], b"pid:1").is_err());
        for who in [
            &b"pid:x"[..],
            b"job:",
            b"",
            b"user:eva",
            b"uid:-1",
            b"job:\xff",
        ] {
            assert!(of(vec![b"sample"], who).is_err(), "{who:?}");
        }
    }

    #[test]
    fn the_mark_is_no_table_of_a_dataset() {
        assert!(record::table::by_id(MARK_TABLE).is_none());
        assert!(record::table::by_id(SHOWN_TABLE).is_none());
    }

    #[test]
    fn a_mark_comes_back() {
        let mark = Mark {
            request: 2,
            readings_lost: 3,
            rows_lost: 4,
            is_full: true,
            is_restricted: true,
        };
        assert_eq!(Mark::of_row(&mark.row()), Ok(mark));
    }

    #[test]
    fn hostile_bytes_are_survived() {
        let mut state = 1u64;
        for length in 0..2000usize {
            let mut bytes = [VERB, VERSION].map(u64::to_ne_bytes).concat();
            for _ in 0..length % 64 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                bytes.push((state >> 40) as u8 >> (length % 7));
            }
            let _ = Wish::of_message(&bytes);
            let _ = Mark::of_row(&bytes[16..]);
        }
    }
}
