//! What is in the files of an archive, in a file of SQLite. It is made of these files alone, lies
//! in a cache, and can be removed at any time.

use super::folder::{Folder, Shard, Stored};
use super::kept;
use super::pack::{Columns, Pack};
use crate::Error;
use record::attempt::Attempt;
use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A folder that changed within this time before it was listed is listed again: a file that came
/// right then may not change its time, and the clock of a file system may be another.
const SETTLED: Duration = Duration::from_secs(60);

/// The catalogue of one archive.
#[derive(Debug)]
pub(super) struct Catalogue {
    connection: Connection,
    /// As long as it is open: that it is used.
    _users: Option<File>,
}

/// A file that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The file.
    pub path: String,
    /// Why.
    pub why: String,
}

impl Damaged {
    pub(super) fn of(path: &Path, error: &Error) -> Self {
        let source = std::error::Error::source(error);
        let source = source.map_or(String::new(), |why| format!(": {why}"));
        Self {
            path: path.display().to_string(),
            why: format!("{error}{source}"),
        }
    }
}

/// A file of many attempts as the catalogue knows it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) number: i64,
    pub(super) name: String,
    pub(super) rows: u64,
    /// Rows whose attempts are in another file too, which counts.
    pub(super) again: HashSet<u64>,
}

impl Catalogue {
    /// Opens the catalogue in this file, or one in memory.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Error> {
        let (connection, users) = match file {
            Some(path) => kept::open(path)?,
            None => (kept::in_memory()?, None),
        };
        Ok(Self {
            connection,
            _users: users,
        })
    }

    /// Learns what came and what went.
    pub(super) fn refresh(
        &self,
        folder: &Folder,
        now: SystemTime,
        heed: &dyn Fn(u64) -> bool,
    ) -> Result<(), Error> {
        let begin = rusqlite::TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&self.connection, begin)?;
        forget_damaged(&transaction)?;
        // Loose ones first: what is packed meanwhile is found in its new place then.
        let mut done = 0;
        let mut is_wanted = |more: u64| {
            done += more;
            match heed(done) {
                true => Ok(()),
                false => Err(Error::Interrupted),
            }
        };
        refresh_loose(&transaction, folder, now, &mut is_wanted)?;
        refresh_packs(&transaction, folder, &mut is_wanted)?;
        transaction.commit()?;
        Ok(())
    }

    /// What is asked as long as this is held is of one time, whatever another process learns.
    pub(super) fn hold(&self) -> Result<Transaction<'_>, Error> {
        Ok(self.connection.unchecked_transaction()?)
    }

    /// The files of many attempts.
    pub(super) fn packs(&self) -> Result<Vec<Known>, Error> {
        let mut packs = Vec::new();
        let mut ask = self
            .connection
            .prepare("SELECT number, name, rows FROM pack ORDER BY name")?;
        let rows = ask.query_map([], |row| {
            Ok(Known {
                number: row.get(0)?,
                name: row.get(1)?,
                rows: row.get::<_, i64>(2)?.unsigned_abs(),
                again: HashSet::new(),
            })
        })?;
        for known in rows {
            packs.push(known?);
        }
        let mut ask = self
            .connection
            .prepare("SELECT row FROM again WHERE pack = ?1")?;
        for known in &mut packs {
            let rows = ask.query_map([known.number], |row| row.get::<_, i64>(0))?;
            for row in rows {
                known.again.insert(row?.unsigned_abs());
            }
        }
        Ok(packs)
    }

    /// The numbers of the files of many that have attempts in common with others.
    pub(super) fn packs_in_common(&self) -> Result<HashSet<i64>, Error> {
        let mut ask = self.connection.prepare(
            "SELECT pack FROM again UNION \
             SELECT packed.pack FROM again JOIN packed ON packed.id = again.id",
        )?;
        let rows = ask.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The attempts that have a file of their own and are in no other, in order of their ids; those
    /// of one category or all.
    pub(super) fn loose(
        &self,
        category: Option<&str>,
        each: &mut dyn FnMut(Attempt) -> Result<ControlFlow<()>, Error>,
    ) -> Result<ControlFlow<()>, Error> {
        let of_category = category.map_or("", |_| "category = ?1 AND ");
        let mut ask = self.connection.prepare(&format!(
            "SELECT attempt FROM loose WHERE {of_category} NOT EXISTS \
             (SELECT 1 FROM packed WHERE packed.id = loose.id) ORDER BY id"
        ))?;
        let mut rows = ask.query(params_from_iter(category))?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(0)?;
            let attempt = serde_json::from_str(&text).map_err(|source| Error::Attempt {
                path: "the catalogue".into(),
                source,
            })?;
            if each(attempt)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The ids of the attempts that have a file of their own.
    pub(super) fn loose_ids(&self) -> Result<Vec<String>, Error> {
        let mut ask = self
            .connection
            .prepare("SELECT id FROM loose ORDER BY id")?;
        let rows = ask.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether an attempt is there.
    pub(super) fn has(&self, id: &str) -> Result<bool, Error> {
        let mut ask = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM packed WHERE id = ?1) OR \
             EXISTS (SELECT 1 FROM loose WHERE id = ?1)",
        )?;
        Ok(ask.query_row([id], |row| row.get(0))?)
    }

    /// Whether there is no attempt at all.
    pub(super) fn is_empty(&self) -> Result<bool, Error> {
        let ask = "SELECT NOT EXISTS (SELECT 1 FROM packed) AND NOT EXISTS (SELECT 1 FROM loose)";
        Ok(self.connection.query_row(ask, [], |row| row.get(0))?)
    }

    /// The attempts that have a file of their own and are in one of many too: by its name.
    pub(super) fn in_both(&self) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let mut ask = self.connection.prepare(
            "SELECT name, loose.id FROM loose JOIN packed ON packed.id = loose.id \
             JOIN pack ON number = pack",
        )?;
        let mut rows = ask.query([])?;
        let mut by_pack = BTreeMap::<String, Vec<String>>::new();
        while let Some(row) = rows.next()? {
            by_pack.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        Ok(by_pack)
    }

    /// The ids that begin so, at most so many: each with the file of many and the row in it, or
    /// nothing for one that has a file of its own.
    pub(super) fn find(&self, prefix: &str, most: usize) -> Result<Vec<Found>, Error> {
        let mut ask = self.connection.prepare(
            "SELECT id, name, row FROM packed JOIN pack ON number = pack \
             WHERE id >= ?1 AND id < ?2 \
             UNION SELECT id, NULL, NULL FROM loose WHERE id >= ?1 AND id < ?2 \
             AND NOT EXISTS (SELECT 1 FROM packed WHERE packed.id = loose.id) \
             ORDER BY id LIMIT ?3",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        // No digit of an id is behind `f`.
        let rows = ask.query_map(params![prefix, format!("{prefix}g"), most], |row| {
            let name: Option<String> = row.get(1)?;
            let place: Option<i64> = row.get(2)?;
            Ok(Found {
                id: row.get(0)?,
                packed: name.zip(place.map(i64::unsigned_abs)),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Files that cannot be understood.
    pub(super) fn damaged(&self) -> Result<Vec<Damaged>, Error> {
        let mut ask = self
            .connection
            .prepare("SELECT path, why FROM damaged ORDER BY path")?;
        let rows = ask.query_map([], |row| {
            Ok(Damaged {
                path: row.get(0)?,
                why: row.get(1)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Which catalogue it is, and how often what it says of attempts has changed.
    pub(super) fn revision(&self) -> Result<(String, i64), Error> {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let ask = "SELECT name, changes FROM revision";
        Ok(self.connection.query_row(ask, [], row)?)
    }

    /// How many attempts are there: packed ones, and those with a file of their own.
    pub(super) fn count(&self) -> Result<(u64, u64), Error> {
        let count = |question: &str| -> Result<u64, Error> {
            let number: i64 = self.connection.query_row(question, [], |row| row.get(0))?;
            Ok(number.unsigned_abs())
        };
        let packed = count("SELECT count(*) FROM packed")?;
        let loose = count(
            "SELECT count(*) FROM loose WHERE NOT EXISTS \
             (SELECT 1 FROM packed WHERE packed.id = loose.id)",
        )?;
        Ok((packed, loose))
    }
}

/// Where an attempt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) packed: Option<(String, u64)>,
}

fn refresh_loose(
    transaction: &Transaction<'_>,
    folder: &Folder,
    now: SystemTime,
    is_wanted: &mut dyn FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let shards = folder.shards()?;
    let there: BTreeSet<&str> = shards.iter().map(|shard| shard.name.as_str()).collect();
    let mut ask = transaction.prepare("SELECT name FROM shard")?;
    let known = ask.query_map([], |row| row.get::<_, String>(0))?;
    for name in known.collect::<Result<Vec<_>, _>>()? {
        if !there.contains(name.as_str()) {
            transaction.execute("DELETE FROM shard WHERE name = ?1", [&name])?;
            transaction.execute("DELETE FROM loose WHERE shard = ?1", [&name])?;
        }
    }
    for shard in &shards {
        refresh_shard(transaction, folder, shard, now, is_wanted)?;
    }
    Ok(())
}

fn refresh_shard(
    transaction: &Transaction<'_>,
    folder: &Folder,
    shard: &Shard,
    now: SystemTime,
    is_wanted: &mut dyn FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let nanos = shard.changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = i64::try_from(nanos.as_nanos()).unwrap_or(i64::MAX);
    let mut ask = transaction.prepare_cached("SELECT changed FROM shard WHERE name = ?1")?;
    let before: Option<i64> = ask.query_row([&shard.name], |row| row.get(0)).optional()?;
    if before == Some(changed) {
        return Ok(());
    }
    let there: BTreeSet<String> = folder.ids(&shard.name)?.into_iter().collect();
    let mut ask = transaction.prepare_cached("SELECT id FROM loose WHERE shard = ?1")?;
    let known = ask.query_map([&shard.name], |row| row.get::<_, String>(0))?;
    let known: BTreeSet<String> = known.collect::<Result<_, _>>()?;
    for id in known.difference(&there) {
        transaction.execute("DELETE FROM loose WHERE id = ?1", [id])?;
    }
    for id in there.difference(&known) {
        is_wanted(1)?;
        match folder.read(id) {
            Ok(Some(stored)) => insert_loose(transaction, shard, &stored)?,
            Ok(None) => {}
            Err(error) => damaged(transaction, &folder.path_of(id), &error)?,
        }
    }
    let age = now.duration_since(shard.changed);
    match age.is_ok_and(|age| age >= SETTLED) {
        true => transaction.execute(
            "INSERT OR REPLACE INTO shard VALUES (?1, ?2)",
            params![shard.name, changed],
        )?,
        // Looked at again next time.
        false => transaction.execute(
            "INSERT OR REPLACE INTO shard VALUES (?1, -1)",
            params![shard.name],
        )?,
    };
    Ok(())
}

fn insert_loose(
    transaction: &Transaction<'_>,
    shard: &Shard,
    stored: &Stored,
) -> Result<(), Error> {
    let text = serde_json::to_string(&stored.attempt).map_err(|source| Error::Encode {
        format: "json",
        source,
    })?;
    let mut insert =
        transaction.prepare_cached("INSERT OR REPLACE INTO loose VALUES (?1, ?2, ?3, ?4)")?;
    let one = &stored.attempt;
    insert.execute(params![one.id, shard.name, one.category, text])?;
    Ok(())
}

fn refresh_packs(
    transaction: &Transaction<'_>,
    folder: &Folder,
    is_wanted: &mut dyn FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let there: BTreeSet<String> = folder.packs()?.into_iter().collect();
    let mut ask = transaction.prepare("SELECT name FROM pack")?;
    let known = ask.query_map([], |row| row.get::<_, String>(0))?;
    let known: BTreeSet<String> = known.collect::<Result<_, _>>()?;
    // The new ones first: what these have of a file that goes is then known to be there.
    for name in there.difference(&known) {
        match add_pack(transaction, folder, name, is_wanted) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error @ Error::Read { .. }) => {
                damaged(transaction, &folder.packed().join(name), &error)?;
            }
            other => other?,
        }
    }
    for name in known.difference(&there) {
        remove_pack(transaction, name)?;
    }
    Ok(())
}

fn add_pack(
    transaction: &Transaction<'_>,
    folder: &Folder,
    name: &str,
    is_wanted: &mut dyn FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let pack = Pack::open(&folder.packed().join(name))?;
    let columns = Columns::named(&["id"]);
    let mut ids: Vec<(String, u64)> = Vec::new();
    pack.all(&columns, &mut |batch| {
        for row in 0..batch.rows() {
            let id = batch.text(0, row).unwrap_or_default();
            ids.push((id.to_owned(), batch.first + row as u64));
        }
        Ok(())
    })?;
    let rows = i64::try_from(pack.rows()).unwrap_or(i64::MAX);
    let mut insert = transaction.prepare("INSERT INTO pack (name, rows) VALUES (?1, ?2)")?;
    let number = insert.insert(params![name, rows])?;
    // In their order they go into the index without many pages being read.
    ids.sort_unstable();
    let mut insert = transaction.prepare("INSERT OR IGNORE INTO packed VALUES (?1, ?2, ?3)")?;
    let mut again = transaction.prepare("INSERT INTO again VALUES (?1, ?2, ?3)")?;
    for (place, (id, row)) in ids.iter().enumerate() {
        if place.is_multiple_of(PROGRESS) {
            is_wanted(PROGRESS as u64)?;
        }
        let row = i64::try_from(*row).unwrap_or(i64::MAX);
        if insert.execute(params![id, number, row])? == 0 {
            again.execute(params![number, row, id])?;
        }
    }
    transaction.execute(
        "DELETE FROM damaged WHERE path = ?1",
        [folder.packed().join(name).display().to_string()],
    )?;
    Ok(())
}

/// Rows between two looks at whether anybody still wants it.
const PROGRESS: usize = 4096;

/// A file went: what another has of its attempts counts from now on.
fn remove_pack(transaction: &Transaction<'_>, name: &str) -> Result<(), Error> {
    let mut ask = transaction.prepare("SELECT number FROM pack WHERE name = ?1")?;
    let number: i64 = ask.query_row([name], |row| row.get(0))?;
    transaction.execute("DELETE FROM again WHERE pack = ?1", [number])?;
    let mut ask = transaction.prepare(
        "SELECT again.rowid, again.id, again.pack, again.row FROM again \
         JOIN packed ON packed.id = again.id WHERE packed.pack = ?1",
    )?;
    let heirs = ask.query_map([number], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, i64>(2)?,
            row.get::<_, i64>(3)?,
        ))
    })?;
    let heirs = heirs.collect::<Result<Vec<_>, _>>()?;
    transaction.execute("DELETE FROM packed WHERE pack = ?1", [number])?;
    for (rowid, id, pack, row) in heirs {
        let mut insert =
            transaction.prepare_cached("INSERT OR IGNORE INTO packed VALUES (?1, ?2, ?3)")?;
        if insert.execute(params![id, pack, row])? == 1 {
            transaction.execute("DELETE FROM again WHERE rowid = ?1", [rowid])?;
        }
    }
    transaction.execute("DELETE FROM pack WHERE number = ?1", [number])?;
    Ok(())
}

/// Files that could not be understood and are gone.
fn forget_damaged(transaction: &Transaction<'_>) -> Result<(), Error> {
    let mut ask = transaction.prepare("SELECT path FROM damaged")?;
    let paths = ask.query_map([], |row| row.get::<_, String>(0))?;
    for path in paths.collect::<Result<Vec<_>, _>>()? {
        if !Path::new(&path).exists() {
            transaction.execute("DELETE FROM damaged WHERE path = ?1", [path])?;
        }
    }
    Ok(())
}

fn damaged(transaction: &Transaction<'_>, path: &Path, error: &Error) -> Result<(), Error> {
    let Damaged { path, why } = Damaged::of(path, error);
    transaction.execute(
        "INSERT OR REPLACE INTO damaged VALUES (?1, ?2)",
        params![path, why],
    )?;
    Ok(())
}
