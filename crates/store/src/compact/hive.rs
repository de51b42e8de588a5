//! The folders of a dataset: `kind=TABLE/date=YYYY-MM-DD/hour=H`, and the files in them.

use crate::error::Error;
use record::timestamp::{parse_rfc3339, rfc3339};
use record::unit::{Bytes, Nanos};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The nanoseconds of an hour.
pub(super) const HOUR: Nanos = Nanos::from_secs(3600);

/// What the name of a file begins with.
const PART: &str = "part-";

/// The files of one table and one hour.
#[derive(Debug)]
pub(super) struct Hour {
    /// The table's name.
    pub(super) table: String,
    /// When the hour began, since 1970.
    pub(super) begin: Nanos,
    pub(super) files: Vec<Part>,
}

/// A file, and what it takes.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
}

impl Hour {
    /// Hours since 1970.
    pub(super) const fn number(&self) -> i64 {
        (self.begin.0 / HOUR.0) as i64
    }
}

/// The file of a table and an hour (since 1970) that holds what has this digest. Files of several
/// nodes can be copied into one folder: what is another's has another name, and what is the same
/// has the same.
pub(super) fn place(dataset: &Path, table: &str, hour: i64, digest: u64) -> PathBuf {
    folder(dataset, table, hour).join(format!("{PART}{digest:016x}.parquet"))
}

/// The table and the hour that a file lies under, by its place within the dataset.
pub(super) fn hour_of(place: &Path) -> Option<(&str, Nanos)> {
    let mut folders = place.components().map(|part| part.as_os_str().to_str());
    let mut next = |prefix| folders.next()??.strip_prefix(prefix);
    let (table, date, hour) = (next("kind=")?, next("date=")?, next("hour=")?);
    Some((table, begin_of(date, hour)?))
}

/// The files of a table and an hour (since 1970).
pub(super) fn files(dataset: &Path, table: &str, hour: i64) -> Result<Vec<PathBuf>, Error> {
    let files = named(&folder(dataset, table, hour), PART)?;
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

fn folder(dataset: &Path, table: &str, hour: i64) -> PathBuf {
    let (date, hour) = date_and_hour(hour);
    dataset
        .join(format!("kind={table}"))
        .join(format!("date={date}"))
        .join(format!("hour={hour}"))
}

/// Every table's hours, each with its files in order.
pub(super) fn hours(dataset: &Path) -> Result<Vec<Hour>, Error> {
    let mut hours = Vec::new();
    for table in named(dataset, "kind=")? {
        for date in named(&table.1, "date=")? {
            for (hour, folder) in named(&date.1, "hour=")? {
                // What is called otherwise is nobody's here.
                let Some(begin) = begin_of(&date.0, &hour) else {
                    continue;
                };
                let mut files: Vec<_> = named(&folder, PART)?
                    .into_iter()
                    .map(|(_, path)| Part {
                        bytes: Bytes(fs::metadata(&path).map_or(0, |data| data.len())),
                        path,
                    })
                    .collect();
                files.sort_by(|one, other| one.path.cmp(&other.path));
                hours.push(Hour {
                    table: table.0.clone(),
                    begin,
                    files,
                });
            }
        }
    }
    Ok(hours)
}

/// `2026-11-22` and 13, of so many hours since 1970.
pub(super) fn date_and_hour(hours: i64) -> (String, i64) {
    let seconds = u64::try_from(hours).unwrap_or(0) * 3600;
    let text = rfc3339(seconds * 1_000_000_000);
    let date = text.split('T').next().unwrap_or_default().to_owned();
    (date, hours.rem_euclid(24))
}

fn begin_of(date: &str, hour: &str) -> Option<Nanos> {
    let hour: u8 = hour.parse().ok()?;
    parse_rfc3339(&format!("{date}T{hour:02}:00:00Z")).map(Nanos)
}

/// What in a folder begins with `prefix`: the rest of its name, and its path. Nothing if there is
/// no such folder.
fn named(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, Error> {
    let failed = |source| Error::Read {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(rest) = name.and_then(|name| name.strip_prefix(prefix)) {
            found.push((rest.to_owned(), path));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_have_folders() {
        assert_eq!(date_and_hour(0), ("1970-01-01".to_owned(), 0));
        assert_eq!(date_and_hour(24 * 365 + 13), ("1971-01-01".to_owned(), 13));
        let begin = begin_of("1971-01-01", "13").unwrap();
        assert_eq!(begin, Nanos((24 * 365 + 13) * HOUR.0));
        let place = Path::new("kind=node/date=1971-01-01/hour=13/part-7.parquet");
        assert_eq!(hour_of(place), Some(("node", begin)));
        assert_eq!(hour_of(Path::new("live/a")), None);
    }
}
