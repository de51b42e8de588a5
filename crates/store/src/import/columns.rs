//! Which column of a table is which field of an attempt, as the user writes it:
//! `memory=peak_rss_mb:MB,wall=runtime_s:s,category=task`.

use super::amount::{self, Bad};
use super::instant;
use crate::Error;
use record::attempt::{Amount, Attempt, End, Known, RESOURCES, resource};
use record::quantity;
use record::unit::Unit;
use record::value::Number;

/// A map from columns to fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMap {
    pub(super) entries: Vec<Entry>,
    /// Whether a column that is not there is as if it were empty.
    pub(super) is_loose: bool,
}

/// A field of an attempt and the column that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) field: Field,
    pub(super) column: String,
    scale: Option<Scale>,
}

/// What a number of a column is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    Whole(u64),
    Share,
}

/// A field of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field {
    /// By its place in [`RESOURCES`].
    Used(usize),
    Requested(usize),
    Text(&'static str),
    Attempt,
    Exit,
    Signal,
    Instant(&'static str),
    End,
    InputSize,
    Label(String),
}

const TEXTS: &[&str] = &[
    "set",
    "category",
    "tool",
    "description",
    "command",
    "image",
    "task",
    "parents",
    "job",
    "user",
    "host",
    "host_class",
    "exceeded",
    "cause",
];

const INSTANTS: &[&str] = &["submitted", "began", "ended"];

/// The columns of published tables of tasks: MB is 10^6 bytes there.
const BUILT_IN: &str = "set=run,category=task,description=tag,host=host,attempt=attempt,\
     exit_code=exit,submitted=submit_ms:ms,began=start_ms:ms,requested.cores=req_cpus,\
     requested.memory=req_mem_mb:MB,input_size=input_mb:MB,wall=runtime_s:s,cpu=cpu_s:s,\
     rss=peak_rss_mb:MB,read=rchar_mb:MB,written=wchar_mb:MB,disk_read=read_mb:MB,\
     disk_written=write_mb:MB,disk=disk_mb:MB,label.source=src,label.workflow=workflow";

/// Columns that tell a table of the built-in map.
pub(super) const BUILT_IN_COLUMNS: &[&str] = &["src", "workflow", "run", "task"];

impl ColumnMap {
    /// Reads `FIELD=COLUMN[:UNIT],...`. A field is a resource (`memory`), one that was asked for
    /// (`requested.memory`), a field of an attempt (`category`, `began`) or `label.NAME`. Without
    /// a unit an amount has its unit in each field; a number alone is bytes or seconds.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut entries = Vec::new();
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let Some((name, column)) = pair.split_once('=') else {
                let why = format!("`{pair}` is no FIELD=COLUMN[:UNIT]");
                return Err(Error::Columns { why });
            };
            entries.push(Entry::new(name.trim(), column.trim())?);
        }
        match entries.is_empty() {
            true => Err(Error::Columns {
                why: "no FIELD=COLUMN[:UNIT] in it".to_owned(),
            }),
            false => Ok(Self {
                entries,
                is_loose: false,
            }),
        }
    }

    /// That of published tables of tasks.
    pub(super) fn built_in() -> Result<Self, Error> {
        let map = Self::parse(BUILT_IN)?;
        Ok(Self {
            is_loose: true,
            ..map
        })
    }

    /// Whether a row is told from those of other files by what it says.
    pub(super) fn tells_rows_apart(&self) -> bool {
        let tells =
            |entry: &Entry| matches!(entry.field, Field::Text("job" | "set") | Field::Instant(_));
        self.entries.iter().any(tells)
    }
}

impl Entry {
    fn new(name: &str, column: &str) -> Result<Self, Error> {
        let Some(field) = Field::of(name) else {
            let resources = RESOURCES.iter().map(|resource| resource.name);
            let known: Vec<_> = resources.chain(TEXTS.iter().copied()).collect();
            let why = format!(
                "`{name}` is no field: there are {}, attempt, exit_code, signal, end, input_size, \
                 submitted, began, ended, requested.RESOURCE and label.NAME",
                known.join(", ")
            );
            return Err(Error::Columns { why });
        };
        // A `:` may belong to the column.
        let split = column.rsplit_once(':');
        let scaled = split.and_then(|(column, unit)| Some((column, field.scale(unit)?)));
        let (column, scale) = match scaled {
            Some((column, scale)) => (column, Some(scale)),
            None => (column, None),
        };
        Ok(Self {
            field,
            column: column.to_owned(),
            scale,
        })
    }

    /// Whether the column says something of how an attempt ended.
    pub(super) fn tells_the_end(&self) -> bool {
        matches!(
            self.field,
            Field::End | Field::Exit | Field::Signal | Field::Text("exceeded")
        )
    }

    /// Puts what a row has in the column.
    pub(super) fn put(&self, attempt: &mut Attempt, text: &str, offset: i32) -> Result<(), Bad> {
        match &self.field {
            Field::Used(place) => {
                let amount = self.amount(*place, text)?;
                attempt.used.set_at(*place, Some(amount));
            }
            Field::Requested(place) => {
                let amount = self.amount(*place, text)?;
                attempt.requested.set_at(*place, Some(amount));
            }
            Field::Text(name) => put_text(attempt, name, text),
            Field::Attempt => attempt.attempt = Some(whole_number(text)?),
            Field::Exit => attempt.exit_code = Some(whole_number(text)?),
            Field::Signal => {
                attempt.signal = Some(whole_number(text)?).filter(|signal| *signal != 0);
            }
            Field::Instant(name) => {
                let instant = match self.scale {
                    Some(Scale::Whole(unit)) => instant::since_1970(text, unit)?,
                    _ => instant::either(text, amount::SECOND, offset)?,
                };
                match *name {
                    "submitted" => attempt.submitted = Some(instant),
                    "began" => attempt.began = Some(instant),
                    _ => attempt.ended = Some(instant),
                }
            }
            Field::End => attempt.end = end(text)?,
            Field::InputSize => attempt.input_size = Some(self.whole(Unit::Bytes, text)?),
            Field::Label(name) => {
                attempt.labels.insert(name.clone(), text.to_owned());
            }
        }
        Ok(())
    }

    fn amount(&self, place: usize, text: &str) -> Result<Amount, Bad> {
        let unit = RESOURCES.get(place).map_or(Unit::Count, |one| one.unit);
        let value = match (unit, self.scale) {
            (Unit::Cores, Some(Scale::Share)) => Number::Real(amount::percent(text)?),
            (Unit::Cores, _) if text.ends_with('%') => Number::Real(amount::percent(text)?),
            (Unit::Cores, _) => Number::Real(amount::real(text)?),
            (unit, _) => Number::Whole(self.whole(unit, text)?),
        };
        let known = Known::Claimed;
        Ok(Amount::new(value, known))
    }

    fn whole(&self, unit: Unit, text: &str) -> Result<u64, Bad> {
        if let Some(Scale::Whole(scale)) = self.scale {
            return amount::number(text, scale);
        }
        let is_number = !text.ends_with(|last: char| last.is_ascii_alphabetic());
        match unit {
            Unit::Nanoseconds if is_number => amount::number(text, amount::SECOND),
            _ if is_number => amount::number(text, 1),
            Unit::Bytes | Unit::Nanoseconds => quantity::parse_with_zero(text, unit)
                .map_err(|_| Bad("is no amount of that resource")),
            _ => Err(Bad("is no number")),
        }
    }
}

impl Field {
    fn of(name: &str) -> Option<Self> {
        let one = |names: &'static [&'static str]| names.iter().copied().find(|one| *one == name);
        if let Some(place) = resource(name) {
            return Some(Field::Used(place));
        }
        if let Some(place) = name.strip_prefix("requested.").and_then(resource) {
            return Some(Field::Requested(place));
        }
        if let Some(label) = name.strip_prefix("label.").filter(|name| !name.is_empty()) {
            return Some(Field::Label(label.to_owned()));
        }
        if let Some(name) = one(TEXTS) {
            return Some(Field::Text(name));
        }
        if let Some(name) = one(INSTANTS) {
            return Some(Field::Instant(name));
        }
        match name {
            "attempt" => Some(Field::Attempt),
            "exit_code" => Some(Field::Exit),
            "signal" => Some(Field::Signal),
            "end" => Some(Field::End),
            "input_size" => Some(Field::InputSize),
            _ => None,
        }
    }

    /// A unit that numbers of this field may be in.
    fn scale(&self, unit: &str) -> Option<Scale> {
        let base = match self {
            Field::Used(place) | Field::Requested(place) => RESOURCES.get(*place)?.unit,
            Field::Instant(_) => Unit::Nanoseconds,
            Field::InputSize => Unit::Bytes,
            _ => return None,
        };
        match (base, unit) {
            (Unit::Cores, "%") => Some(Scale::Share),
            (Unit::Bytes | Unit::Nanoseconds, unit) if !unit.is_empty() => {
                let one = format!("1{unit}");
                let is_unit = !unit.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                let scale = quantity::parse(&one, base).ok().filter(|_| is_unit);
                scale.map(Scale::Whole)
            }
            _ => None,
        }
    }
}

fn put_text(attempt: &mut Attempt, name: &str, text: &str) {
    let words = || text.split_whitespace().map(str::to_owned).collect();
    let slot = match name {
        "set" => &mut attempt.set,
        "category" => return text.clone_into(&mut attempt.category),
        "tool" => &mut attempt.tool,
        "description" => &mut attempt.description,
        "command" => return attempt.command = words(),
        "parents" => return attempt.parents = words(),
        "image" => &mut attempt.image,
        "task" => &mut attempt.task,
        "job" => &mut attempt.job,
        "user" => &mut attempt.user,
        "host" => &mut attempt.host,
        "host_class" => &mut attempt.host_class,
        "exceeded" => &mut attempt.exceeded,
        _ => &mut attempt.cause,
    };
    *slot = Some(text.to_owned());
}

/// A whole number, also as `1.0`, which is how tables have those of columns with gaps.
fn whole_number<T: std::str::FromStr>(text: &str) -> Result<T, Bad> {
    let text = text.strip_suffix(".0").unwrap_or(text);
    text.parse().map_err(|_| Bad("is no whole number"))
}

/// A word for how it ended.
fn end(text: &str) -> Result<End, Bad> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "done" | "completed" | "success" | "succeeded" | "ok" | "cached" => End::Done,
        "failed" | "failure" | "error" => End::Failed,
        "limit" | "timeout" | "out_of_memory" | "oom" => End::Limit,
        "cancelled" | "canceled" | "aborted" | "killed" | "node_fail" | "preempted" => {
            End::Cancelled
        }
        "unknown" => End::Unknown,
        _ => return Err(Bad("is none of done, failed, limit, cancelled, unknown")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_names_fields_columns_and_units() {
        let map =
            ColumnMap::parse("memory=peak:MB, wall=t:s,label.x=a:b,requested.cores=c:%").unwrap();
        let of = |place: usize| (map.entries[place].column.as_str(), map.entries[place].scale);
        assert_eq!(of(0), ("peak", Some(Scale::Whole(1_000_000))));
        assert_eq!(of(1), ("t", Some(Scale::Whole(1_000_000_000))));
        assert_eq!(of(2), ("a:b", None));
        assert_eq!(of(3), ("c", Some(Scale::Share)));
        for bad in ["", ",", "memory", "nothing=x", "label.=x", "requested.x=y"] {
            assert!(ColumnMap::parse(bad).is_err(), "{bad}");
        }
        assert!(ColumnMap::built_in().unwrap().entries.len() > 20);
    }

    #[test]
    fn amounts_have_the_unit_of_the_column_or_their_own() {
        let value = |map: &str, text: &str| {
            let mut attempt = Attempt::default();
            ColumnMap::parse(map).unwrap().entries[0]
                .put(&mut attempt, text, 0)
                .map(|()| attempt.used.iter().next().unwrap().1.value)
        };
        assert_eq!(value("memory=m:GiB", "1.5"), Ok(Number::Whole(3 << 29)));
        assert_eq!(value("memory=m", "4GiB"), Ok(Number::Whole(4 << 30)));
        assert_eq!(value("memory=m", "17"), Ok(Number::Whole(17)));
        assert_eq!(value("wall=m", "1.5e1"), Ok(Number::Whole(15_000_000_000)));
        assert_eq!(
            value("cpu=m:s", "1.31969e+06"),
            Ok(Number::Whole(1_319_690_000_000_000))
        );
        assert_eq!(
            value("wall=m", "1h30m"),
            Ok(Number::Whole(5_400_000_000_000))
        );
        assert_eq!(value("cores=m:%", "150"), Ok(Number::Real(1.5)));
        for text in ["-1", "nan", "inf", "x", "1e300"] {
            assert!(value("memory=m:MB", text).is_err(), "{text}");
        }
    }
}
