//! Tables with a header, of any columns: which are which fields the caller says, or the header
//! does, where it is that of published tables of tasks. Fields may be quoted.

use super::Format;
use super::amount::Bad;
use super::columns::{BUILT_IN_COLUMNS, ColumnMap, Entry};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, end_of, tail};
use super::lines::LINE_MAX;
use crate::Error;
use crate::category::{category_of_command, program_of_command};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use record::attempt::{Attempt, End};
use std::borrow::Cow;
use std::io::{BufRead, ErrorKind};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    doc: "a table with a header; which column is which field is told, or built in",
    detects,
    read,
};

const NAME: &str = "csv";

/// Fields of a record.
const FIELDS_MAX: usize = 1 << 16;

/// Fields that mean that there is nothing.
const NOTHING: &[&str] = &["", "-", "NA", "N/A", "NaN", "nan", "null", "None"];

fn detects(look: &Look<'_>) -> bool {
    let has = |name: &&str| look.has_field(',', name);
    let is_table = [',', ';', '\t']
        .iter()
        .any(|separator| look.fields(*separator).count() > 1);
    BUILT_IN_COLUMNS.iter().all(has) || is_table && look.name.ends_with(".csv")
}

/// Records of a table, each held up to a bound.
struct Records<'r> {
    input: &'r mut dyn BufRead,
    reader: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    fields: usize,
    /// The line that the record begins with.
    line: u64,
    is_whole: bool,
}

impl<'r> Records<'r> {
    fn new(input: &'r mut dyn BufRead) -> Result<Self, Halt> {
        let separator = separator(fill(input)?);
        Ok(Self {
            input,
            reader: ReaderBuilder::new().delimiter(separator).build(),
            bytes: vec![0; 1 << 12],
            ends: vec![0; 1 << 6],
            fields: 0,
            line: 0,
            is_whole: true,
        })
    }

    /// Goes to the next record, if there is one.
    fn next(&mut self) -> Result<bool, Halt> {
        let (mut filled, mut ended) = (0, 0);
        self.line = self.reader.line();
        self.is_whole = true;
        loop {
            let chunk = fill(self.input)?;
            let bytes = self.bytes.get_mut(filled..).unwrap_or_default();
            let ends = self.ends.get_mut(ended..).unwrap_or_default();
            let (result, taken, more, fields) = self.reader.read_record(chunk, bytes, ends);
            self.input.consume(taken);
            filled += more;
            ended += fields;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.bytes.len() < LINE_MAX => {
                    self.bytes.resize(self.bytes.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() < FIELDS_MAX => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                // The rest goes where the beginning was, behind what is shown of it.
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    self.is_whole = false;
                    filled = filled.min(1 << 10);
                    ended = 0;
                }
                ReadRecordResult::Record => {
                    self.fields = ended;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    /// The fields of a record that is whole.
    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.ends.get(..self.fields).unwrap_or_default();
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let places = begins.zip(ends);
        places.map(|(begin, end)| self.bytes.get(begin..*end).unwrap_or_default())
    }

    /// What is shown of a record.
    fn text(&self) -> Vec<u8> {
        match self.is_whole {
            true => self.fields().collect::<Vec<_>>().join(&b','),
            false => self.bytes.get(..1 << 10).unwrap_or(&self.bytes).to_vec(),
        }
    }
}

fn fill(input: &mut dyn BufRead) -> Result<&[u8], Halt> {
    loop {
        match input.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(input.fill_buf()?)
}

/// What the first line has most of.
fn separator(first: &[u8]) -> u8 {
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or(first);
    let count = |separator: u8| line.iter().filter(|byte| **byte == separator).count();
    let mut best = b',';
    for other in [b';', b'\t'] {
        if count(other) > count(best) {
            best = other;
        }
    }
    best
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let mut records = Records::new(input)?;
    if !records.next()? {
        return Ok(());
    }
    let header: Vec<String> = records
        .fields()
        .map(|name| String::from_utf8_lossy(name).trim().to_owned())
        .collect();
    let is_built_in = BUILT_IN_COLUMNS
        .iter()
        .all(|name| header.iter().any(|column| column == *name));
    let map = match &intake.options().columns {
        Some(map) => Cow::Borrowed(map),
        None if is_built_in => Cow::Owned(ColumnMap::built_in()?),
        None => {
            let why = "it is not known which column is which field".to_owned();
            return Err(Halt::Failed(Error::NotOfFormat { format: NAME, why }));
        }
    };
    let columns = columns(&map, &header)?;
    let tail = tail(intake.options());
    let tail = tail.filter(|_| !map.tells_rows_apart()).unwrap_or("");
    if !columns.iter().flatten().any(|entry| entry.tells_the_end()) {
        intake.suppose_done();
    }
    while records.next()? {
        intake.met();
        let place = Place::Line(records.line);
        match attempt(
            &records,
            header.len(),
            &columns,
            intake.options().utc_offset_seconds,
        ) {
            Ok(attempt) => {
                let identity = intake.identity().with(tail.as_bytes());
                let identity = records.fields().fold(identity, |id, field| id.with(field));
                intake.attempt(attempt, identity)?;
            }
            Err(why) => intake.reject(place, &records.text(), why)?,
        }
    }
    Ok(())
}

/// For each column of the header what becomes of it.
fn columns<'m>(map: &'m ColumnMap, header: &[String]) -> Result<Vec<Vec<&'m Entry>>, Error> {
    let mut columns = vec![Vec::new(); header.len()];
    for entry in &map.entries {
        let place = header.iter().position(|name| *name == entry.column);
        match place.and_then(|place| columns.get_mut(place)) {
            Some(column) => column.push(entry),
            None if map.is_loose => {}
            None => {
                let why = format!(
                    "no column `{}`: there are {}",
                    entry.column,
                    header.join(", ")
                );
                return Err(Error::Columns { why });
            }
        }
    }
    Ok(columns)
}

fn attempt(
    records: &Records<'_>,
    count: usize,
    columns: &[Vec<&Entry>],
    utc_offset_seconds: i32,
) -> Result<Attempt, String> {
    if !records.is_whole {
        return Err(format!("longer than {LINE_MAX} bytes"));
    }
    if records.fields != count {
        let fields = records.fields;
        return Err(format!("has {fields} fields where the header has {count}"));
    }
    let mut attempt = Attempt::default();
    for (field, entries) in records.fields().zip(columns) {
        let field = String::from_utf8_lossy(field);
        let field = field.trim();
        if NOTHING.contains(&field) {
            continue;
        }
        for entry in entries {
            entry
                .put(&mut attempt, field, utc_offset_seconds)
                .map_err(|Bad(why)| {
                    let field: String = field.chars().take(40).collect();
                    format!("{}: `{field}` {why}", entry.column)
                })?;
        }
    }
    if attempt.end == End::Unknown {
        attempt.end = end_of(attempt.exit_code, attempt.signal);
    }
    if attempt.tool.is_none() {
        attempt.tool = program_of_command(&attempt.command);
    }
    if attempt.category.is_empty() {
        attempt.category = match attempt.command.is_empty() {
            true => attempt.tool.clone().unwrap_or_else(|| "unnamed".to_owned()),
            false => category_of_command(&attempt.command, attempt.image.as_deref()),
        };
    }
    Ok(attempt)
}
