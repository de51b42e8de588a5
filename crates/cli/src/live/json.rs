//! Live records as lines of JSON, one a record, with the names of the dataset's columns.

use super::client::See;
use super::wire::{Mark, is_private};
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::{Part, parts};
use record::codec::series::Row;
use record::table::{Column, Shape, Table, job, node};
use record::value::Absent;
use serde::{Serialize, Serializer};
use serde_json::Value;
use store::segment::{Origin, Take};

/// Why a column has no value where that is not the user's privilege: the agent recorded none.
const NOT_RECORDED: &str = "not_recorded";

/// Makes the lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// What is not printed yet.
    pub(super) text: String,
    is_part: bool,
}

/// A line, its fields in their order.
#[derive(Debug, Default)]
struct Line(Vec<(&'static str, Value)>);

impl Line {
    /// Of this kind, with its time: since boot, and of the day.
    fn at(kind: &'static str, header: &Header) -> Self {
        let time = i128::from(header.at_ns) + i128::from(header.real_offset_ns);
        let time = i64::try_from(time).unwrap_or(i64::MAX);
        Self(vec![
            ("record", kind.into()),
            ("at_ns", header.at_ns.into()),
            ("time_ns", time.into()),
        ])
    }

    fn put(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.push((name, value.into()));
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (*name, value)))
    }
}

impl Lines {
    fn line(&mut self, line: &Line) {
        // Names and values are texts and numbers: it cannot fail.
        self.text += &serde_json::to_string(line).unwrap_or_default();
        self.text.push('\n');
    }

    /// Who tells.
    pub(super) fn begin(&mut self, origin: &Origin) {
        let mut line = Line(vec![("record", "agent".into())]);
        line.put("host", origin.host.as_str());
        line.put("boot_id", origin.boot_id.as_str());
        line.put("version", origin.version.as_str());
        self.line(&line);
    }

    /// A reading is whole.
    pub(super) fn end(&mut self, mark: Mark, header: &Header) {
        let mut line = Line::at("reading", header);
        line.put("span_ns", header.span_ns);
        line.put("full", mark.is_full);
        line.put("restricted", mark.is_restricted);
        line.put("readings_lost", mark.readings_lost);
        line.put("rows_lost", mark.rows_lost);
        self.line(&line);
    }

    /// Why the columns of `table` that are not among `there` have no value.
    fn put_absent(&self, table: &Table, there: u128, line: &mut Line) {
        if [job::TABLE.id, node::TABLE.id].contains(&table.id) {
            return;
        }
        let missing = table.columns.iter().enumerate();
        let missing = missing.filter(|(place, _)| there >> place & 1 == 0);
        let is_hidden = |column: &&Column| self.is_part && is_private(column);
        let (hidden, other): (Vec<&Column>, Vec<_>) =
            missing.map(|(_, column)| column).partition(is_hidden);
        let mut absent = Line::default();
        for (why, columns) in [(Absent::NoPermission.name(), hidden), (NOT_RECORDED, other)] {
            let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
            if !names.is_empty() {
                absent.put(why, names);
            }
        }
        let absent = serde_json::to_value(absent);
        line.put("absent", absent.unwrap_or_default());
    }
}

impl See for Lines {
    fn show(&mut self, is_part: bool) {
        self.is_part = is_part;
    }
}

impl Take for Lines {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        let mut line = Line::at(table.name, header);
        let key = parts(table.key, row.key).unwrap_or_default();
        for (column, part) in table.key.iter().zip(key) {
            match part {
                Part::Int(value) => line.put(column.name, number(column, value)),
                Part::Text(text) => line.put(column.name, String::from_utf8_lossy(&text)),
            }
        }
        for (place, (column, value)) in table.columns.iter().zip(row.values).enumerate() {
            if row.present >> place & 1 == 1 {
                line.put(column.name, number(column, *value));
            }
        }
        self.put_absent(table, row.present, &mut line);
        self.line(&line);
    }

    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        let mut line = Line::at(table.name, header);
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let mut there = 0;
        for (place, cell) in row {
            let place = usize::from(*place);
            let Some(column) = table.key.iter().chain(table.columns).nth(place) else {
                continue;
            };
            there |= place
                .checked_sub(table.key.len())
                .map_or(0, |place| 1 << place);
            match cell {
                Cell::Int(value) => line.put(column.name, number(column, *value)),
                Cell::Text(one) => line.put(column.name, text(one)),
                Cell::List(list) => {
                    line.put(
                        column.name,
                        list.iter().map(|one| text(one)).collect::<Vec<_>>(),
                    );
                }
            }
        }
        self.put_absent(table, there, &mut line);
        self.line(&line);
    }
}

fn number(column: &Column, value: i64) -> Value {
    let letter = u32::try_from(value).ok().and_then(char::from_u32);
    match (column.shape, letter) {
        (Shape::Letter, Some(letter)) => letter.to_string().into(),
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::table::{exit, sample};
    use serde_json::json;

    fn header() -> Header {
        Header {
            at_ns: 5,
            real_offset_ns: 10,
            ..Header::default()
        }
    }

    #[test]
    fn what_a_user_may_not_have_is_said_to_be_so() {
        let mut lines = Lines::default();
        let mut key = Vec::new();
        record::codec::key::put_int(&mut key, 7);
        record::codec::key::put_int(&mut key, 8);
        let place = |name| sample::TABLE.columns.iter().position(|it| it.name == name);
        let mut values = [0; sample::COLUMN_COUNT];
        values[place("state").unwrap()] = i64::from(b'R');
        values[place("rss").unwrap()] = 4096;
        let row = Row {
            key: &key,
            present: 1 << place("state").unwrap() | 1 << place("rss").unwrap(),
            values: &values,
        };
        for is_part in [true, false] {
            lines.show(is_part);
            lines.series(&sample::TABLE, &header(), row, true);
        }
        let all: Vec<Value> = lines.text.lines().map(|it| it.parse().unwrap()).collect();
        let [part, whole] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!(
            (&part["record"], &part["state"]),
            (&json!("sample"), &json!("R"))
        );
        assert_eq!((&part["pid"], &part["start_ns"]), (&json!(7), &json!(8)));
        assert_eq!((&part["at_ns"], &part["time_ns"]), (&json!(5), &json!(15)));
        assert_eq!((&part["rss"], part.get("bytes_read")), (&json!(4096), None));
        let has = |line: &Value, why: &str, column: &str| {
            let names = line["absent"].get(why).and_then(Value::as_array);
            names.is_some_and(|names| names.contains(&column.into()))
        };
        assert!(has(part, "no_permission", "bytes_read"));
        assert!(has(part, "not_recorded", "cpu_time"));
        assert!(has(whole, "not_recorded", "bytes_read"));
        assert!(!has(whole, "no_permission", "bytes_read"));
    }

    #[test]
    fn hostile_texts_stay_in_their_line() {
        let mut lines = Lines::default();
        let cells = [
            (0, Cell::Int(7)),
            (5, Cell::Text(b"a\n\x1b\"\xff")),
            (200, Cell::Int(1)),
        ];
        lines.cells(&exit::TABLE, &header(), &cells);
        assert_eq!(lines.text.lines().count(), 1);
        let line: Value = lines.text.parse().unwrap();
        assert_eq!(line["comm"], "a\n\u{1b}\"\u{fffd}");
    }
}
