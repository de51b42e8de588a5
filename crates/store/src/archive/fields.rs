//! The columns of an attempt in a file of many: one row of a table each.

use super::cell::{Cell, Kind};
use record::attempt::{Amount, Attempt, End, Known, RESOURCES};
use record::timestamp::rfc3339;
use record::unit::Unit;
use record::value::Number;
use std::borrow::Cow;

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    from: From,
}

#[derive(Debug, Clone, Copy)]
enum From {
    Fixed(Get, Set),
    Requested(usize),
    Used(usize),
    Known(usize),
    /// What the amount cannot exceed.
    Upper(usize),
}

type Get = for<'a> fn(&'a Attempt) -> Cell<'a>;
type Set = fn(&mut Attempt, Cell<'_>);

const TEXT: Kind = Kind::Text;
const INT: Kind = Kind::Int;
const TIME: Kind = Kind::Time;

/// Those that do not depend on resources.
const FIXED: &[(&str, Kind, Get, Set)] = &[
    ("id", TEXT, |a| text(&a.id), |a, c| a.id = word(c)),
    (
        "format",
        TEXT,
        |a| text(&a.format),
        |a, c| a.format = word(c),
    ),
    (
        "source",
        TEXT,
        |a| some(&a.source),
        |a, c| a.source = c.text(),
    ),
    ("set", TEXT, |a| some(&a.set), |a, c| a.set = c.text()),
    (
        "category",
        TEXT,
        |a| text(&a.category),
        |a, c| a.category = word(c),
    ),
    ("tool", TEXT, |a| some(&a.tool), |a, c| a.tool = c.text()),
    (
        "description",
        TEXT,
        |a| some(&a.description),
        |a, c| a.description = c.text(),
    ),
    (
        "command",
        Kind::List,
        |a| list(&a.command),
        |a, c| a.command = c.list(),
    ),
    ("image", TEXT, |a| some(&a.image), |a, c| a.image = c.text()),
    ("task", TEXT, |a| some(&a.task), |a, c| a.task = c.text()),
    (
        "attempt",
        INT,
        |a| int(a.attempt),
        |a, c| a.attempt = number(c),
    ),
    (
        "parents",
        Kind::List,
        |a| list(&a.parents),
        |a, c| a.parents = c.list(),
    ),
    ("job", TEXT, |a| some(&a.job), |a, c| a.job = c.text()),
    ("user", TEXT, |a| some(&a.user), |a, c| a.user = c.text()),
    ("host", TEXT, |a| some(&a.host), |a, c| a.host = c.text()),
    (
        "host_class",
        TEXT,
        |a| some(&a.host_class),
        |a, c| a.host_class = c.text(),
    ),
    (
        "submitted",
        TIME,
        |a| micros(a.submitted),
        |a, c| a.submitted = nanos(c),
    ),
    (
        "began",
        TIME,
        |a| micros(a.began),
        |a, c| a.began = nanos(c),
    ),
    (
        "ended",
        TIME,
        |a| micros(a.ended),
        |a, c| a.ended = nanos(c),
    ),
    (
        "end",
        TEXT,
        |a| text(end_word(a.end)),
        |a, c| a.end = end_of(c),
    ),
    (
        "exit_code",
        INT,
        |a| int(a.exit_code),
        |a, c| a.exit_code = number(c),
    ),
    (
        "signal",
        INT,
        |a| int(a.signal),
        |a, c| a.signal = number(c),
    ),
    (
        "exceeded",
        TEXT,
        |a| some(&a.exceeded),
        |a, c| a.exceeded = c.text(),
    ),
    ("cause", TEXT, |a| some(&a.cause), |a, c| a.cause = c.text()),
    (
        "input_size",
        INT,
        |a| int(a.input_size),
        |a, c| a.input_size = number(c),
    ),
    ("labels", TEXT, labels, |a, c| a.labels = labels_of(c)),
];

/// Every column of an attempt, in its order in a file; the report is behind them.
pub(super) fn fields() -> Vec<Field> {
    let fixed = FIXED.iter().map(|(name, kind, get, set)| Field {
        name: (*name).to_owned(),
        kind: *kind,
        from: From::Fixed(*get, *set),
    });
    let mut fields: Vec<Field> = fixed.collect();
    for (place, resource) in RESOURCES.iter().enumerate() {
        let kind = match resource.unit {
            Unit::Cores | Unit::Ratio => Kind::Real,
            _ => INT,
        };
        let mut push = |name: String, kind, from| fields.push(Field { name, kind, from });
        let name = resource.name;
        push(format!("requested_{name}"), kind, From::Requested(place));
        push(format!("used_{name}"), kind, From::Used(place));
        push(format!("used_{name}_known"), TEXT, From::Known(place));
        push(format!("used_{name}_upper"), INT, From::Upper(place));
    }
    fields
}

/// The names of all columns, as a table of texts has them.
pub fn column_names() -> Vec<String> {
    fields().into_iter().map(|field| field.name).collect()
}

/// The values of all columns as texts: nothing for what is not known, instants in RFC 3339, lists
/// as JSON.
pub fn words(attempt: &Attempt) -> Vec<String> {
    let word = |field: &Field| match field.get(attempt) {
        Cell::Absent => String::new(),
        Cell::Text(text) => text.into_owned(),
        Cell::Int(micros) if field.kind == Kind::Time => {
            rfc3339(u64::try_from(micros).unwrap_or(0).saturating_mul(1000))
        }
        Cell::Int(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::List(list) if list.is_empty() => String::new(),
        // A list of texts is always JSON.
        Cell::List(list) => serde_json::to_string(&list).unwrap_or_default(),
    };
    fields().iter().map(word).collect()
}

impl Field {
    /// Its value of an attempt.
    pub(super) fn get<'a>(&self, attempt: &'a Attempt) -> Cell<'a> {
        let amount = |amount: Option<Amount>| match (amount.map(|amount| amount.value), self.kind) {
            (None, _) => Cell::Absent,
            (Some(Number::Whole(whole)), Kind::Int) => int(Some(whole)),
            (Some(number), Kind::Int) => Cell::Int(number.as_f64() as i64),
            (Some(number), _) => Cell::Real(number.as_f64()),
        };
        match self.from {
            From::Fixed(get, _) => get(attempt),
            From::Requested(place) => amount(attempt.requested.at(place)),
            From::Used(place) => amount(attempt.used.at(place)),
            From::Known(place) => match attempt.used.at(place) {
                Some(amount) => text(known_word(amount.known)),
                None => Cell::Absent,
            },
            From::Upper(place) => int(attempt.used.at(place).and_then(|amount| amount.upper)),
        }
    }

    /// Gives an attempt its value. What is known of an amount comes behind the amount.
    pub(super) fn set(&self, attempt: &mut Attempt, cell: Cell<'_>) {
        let value = match &cell {
            Cell::Int(value) => u64::try_from(*value).ok().map(Number::Whole),
            Cell::Real(value) => Some(Number::Real(*value)),
            _ => None,
        };
        let amount = value.map(|value| Amount::new(value, Known::Claimed));
        match self.from {
            From::Fixed(_, set) => set(attempt, cell),
            From::Requested(place) => attempt.requested.set_at(place, amount),
            From::Used(place) => attempt.used.set_at(place, amount),
            From::Known(place) => {
                let known = cell.text().and_then(|word| known_of(&word));
                if let Some((amount, known)) = attempt.used.at(place).zip(known) {
                    let amount = Amount { known, ..amount };
                    attempt.used.set_at(place, Some(amount));
                }
            }
            From::Upper(place) => {
                let upper = cell.int().and_then(|upper| u64::try_from(upper).ok());
                if let Some(amount) = attempt.used.at(place).filter(|_| upper.is_some()) {
                    let amount = Amount { upper, ..amount };
                    attempt.used.set_at(place, Some(amount));
                }
            }
        }
    }
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

fn some(one: &Option<String>) -> Cell<'_> {
    one.as_deref().map_or(Cell::Absent, text)
}

fn list(words: &[String]) -> Cell<'_> {
    Cell::List(Cow::Borrowed(words))
}

fn int<T: TryInto<i64>>(value: Option<T>) -> Cell<'static> {
    let value = value.and_then(|value| value.try_into().ok());
    value.map_or(Cell::Absent, Cell::Int)
}

fn micros(at: Option<i64>) -> Cell<'static> {
    int(at.map(|at| at.div_euclid(1000)))
}

fn nanos(cell: Cell<'_>) -> Option<i64> {
    cell.int().map(|micros| micros.saturating_mul(1000))
}

fn number<T: TryFrom<i64>>(cell: Cell<'_>) -> Option<T> {
    cell.int().and_then(|value| T::try_from(value).ok())
}

fn word(cell: Cell<'_>) -> String {
    cell.text().unwrap_or_default()
}

fn labels(attempt: &Attempt) -> Cell<'_> {
    match attempt.labels.is_empty() {
        true => Cell::Absent,
        // A map of texts is always JSON.
        false => serde_json::to_string(&attempt.labels)
            .map_or(Cell::Absent, |text| Cell::Text(text.into())),
    }
}

fn labels_of(cell: Cell<'_>) -> std::collections::BTreeMap<String, String> {
    let text = cell.text().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

const ENDS: [(End, &str); 5] = [
    (End::Done, "done"),
    (End::Failed, "failed"),
    (End::Limit, "limit"),
    (End::Cancelled, "cancelled"),
    (End::Unknown, "unknown"),
];

/// The word of an end in files.
pub fn end_word(end: End) -> &'static str {
    let found = ENDS.iter().find(|(one, _)| *one == end);
    found.map_or("unknown", |(_, word)| *word)
}

fn end_of(cell: Cell<'_>) -> End {
    let word = cell.text().unwrap_or_default();
    let found = ENDS.iter().find(|(_, one)| *one == word);
    found.map_or(End::Unknown, |(end, _)| *end)
}

const KNOWN: [(Known, &str); 6] = [
    (Known::Exact, "exact"),
    (Known::Sampled, "sampled"),
    (Known::LowerBound, "lower_bound"),
    (Known::UpperBound, "upper_bound"),
    (Known::Scaled, "scaled"),
    (Known::Claimed, "claimed"),
];

/// The word of how an amount is known in files.
pub fn known_word(known: Known) -> &'static str {
    let found = KNOWN.iter().find(|(one, _)| *one == known);
    found.map_or("claimed", |(_, word)| *word)
}

fn known_of(word: &str) -> Option<Known> {
    let found = KNOWN.iter().find(|(_, one)| *one == word);
    found.map(|(known, _)| *known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_comes_back_from_its_cells() {
        let mut one = Attempt {
            id: "0123456789abcdef0123456789abcdef".to_owned(),
            format: "time".to_owned(),
            category: "sort".to_owned(),
            command: vec!["sort".to_owned(), String::new()],
            attempt: Some(2),
            began: Some(1_795_179_540_000_001_000),
            end: End::Limit,
            exceeded: Some("memory".to_owned()),
            input_size: Some(7),
            ..Attempt::default()
        };
        one.labels.insert("a".to_owned(), "b".to_owned());
        for (place, known) in KNOWN.iter().enumerate() {
            let value = Number::Whole(place as u64 + 1);
            let upper = (known.0 == Known::LowerBound).then_some(99);
            let amount = Amount {
                upper,
                ..Amount::new(value, known.0)
            };
            one.used.set_at(place, Some(amount));
        }
        let cores = Amount::new(Number::Real(1.5), Known::Sampled);
        one.used.set("cores", cores);
        one.requested.set("memory", Amount::claimed(1 << 33));
        let mut back = Attempt::default();
        for field in fields() {
            field.set(&mut back, field.get(&one));
        }
        assert_eq!(back, one);
    }
}
