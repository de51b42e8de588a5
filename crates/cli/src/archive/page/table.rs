//! `api/attempts`: a part of the table, sorted. No more rows are kept than are told of and come
//! before these.

use super::{Asked, millis, number};
use crate::cmd::similar::did_you_mean;
use crate::view::style::printable;
use anyhow::Result;
use record::attempt::End;
use serde_json::{Map, Value, json};
use serve::{Refusal, Rows};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use store::archive::{Batch, Condition, Filter, end_word};

/// Rows of one answer.
pub(super) const LIMIT_MAX: u64 = 1000;

/// Rows before these: about 400 bytes of memory each.
pub(super) const OFFSET_MAX: u64 = 100_000;

/// How a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    /// Tells of people and places.
    Name,
    /// Said of its end, in words that may tell anything.
    Words,
    At,
    Number,
}

/// The fields of a row, with the columns of the archive.
const FIELDS: [(&str, &str, Kind); 17] = [
    ("id", "id", Kind::Word),
    ("set", "set", Kind::Name),
    ("category", "category", Kind::Word),
    ("task", "task", Kind::Name),
    ("host", "host", Kind::Name),
    ("end", "end", Kind::Word),
    ("cause", "cause", Kind::Words),
    ("ended", "ended", Kind::At),
    ("memory", "used_memory", Kind::Number),
    ("memory_requested", "requested_memory", Kind::Number),
    ("wall", "used_wall", Kind::Number),
    ("wall_requested", "requested_wall", Kind::Number),
    ("cores", "used_cores", Kind::Number),
    ("cores_requested", "requested_cores", Kind::Number),
    ("cpu", "used_cpu", Kind::Number),
    ("disk", "used_disk", Kind::Number),
    ("input_size", "input_size", Kind::Number),
];

/// Which of them are texts: those at the front.
const TEXTS: usize = 7;
const ENDED: usize = 7;

/// Where a text is looked for; the last one is a list.
const SEARCHED: [&str; 5] = ["category", "task", "description", "host", "command"];

/// What rows are sorted by: what is not known comes last.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Number(f64),
    Text(String),
    Absent,
}

/// A row and its place in the order.
struct Ranked {
    key: Key,
    is_descending: bool,
    texts: [Option<Box<str>>; TEXTS],
    numbers: [Option<f64>; FIELDS.len() - TEXTS],
}

impl Ranked {
    fn id(&self) -> &str {
        self.texts
            .first()
            .and_then(Option::as_deref)
            .unwrap_or_default()
    }

    fn order(&self, key: &Key, id: &str) -> Ordering {
        order(&self.key, key, self.is_descending).then_with(|| self.id().cmp(id))
    }
}

fn order(one: &Key, other: &Key, is_descending: bool) -> Ordering {
    let turned = |order: Ordering| {
        if is_descending {
            order.reverse()
        } else {
            order
        }
    };
    match (one, other) {
        (Key::Number(one), Key::Number(other)) => turned(one.total_cmp(other)),
        (Key::Text(one), Key::Text(other)) => turned(one.cmp(other)),
        (one, other) => (*one == Key::Absent).cmp(&(*other == Key::Absent)),
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(&other.key, other.id())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// That nobody asks for more than is kept.
pub(super) fn check(rows: &Rows) -> Result<(), Refusal> {
    let words = if rows.limit > LIMIT_MAX {
        format!("limit={}: at most {LIMIT_MAX} rows at once", rows.limit)
    } else if rows.offset > OFFSET_MAX {
        format!(
            "offset={}: at most {OFFSET_MAX}: sort the other way round, or ask for fewer by set, \
             category, end, text or where",
            rows.offset
        )
    } else {
        return Ok(());
    };
    Err(Refusal::Question(words))
}

pub(super) fn of(asked: &Asked<'_>, rows: &Rows) -> Result<Value> {
    let filter = filter(asked, rows)?;
    let (place, is_descending) = sorting(rows)?;
    let text = rows.text.as_deref().map(str::to_lowercase);
    let text = text.filter(|text| !text.is_empty());
    let mut columns: Vec<&str> = FIELDS.iter().map(|(_, column, _)| *column).collect();
    if text.is_some() {
        columns.extend(SEARCHED);
    }
    let most = usize::try_from(rows.offset.saturating_add(rows.limit)).unwrap_or(usize::MAX);
    let mut of = 0_u64;
    let mut kept: BinaryHeap<Ranked> = BinaryHeap::new();
    let without_set = rows.set.as_deref() == Some("");
    asked.scan(&columns, &filter, without_set, &mut |batch, row| {
        if text.as_deref().is_some_and(|text| !has(batch, row, text)) {
            return;
        }
        of += 1;
        let key = key(batch, row, place);
        let id = batch.text(0, row).unwrap_or_default();
        let is_behind = kept.len() >= most
            && kept.peek().is_none_or(|last| {
                order(&last.key, &key, is_descending)
                    .then_with(|| last.id().cmp(id))
                    .is_le()
            });
        if is_behind {
            return;
        }
        kept.push(Ranked {
            key,
            is_descending,
            texts: std::array::from_fn(|place| batch.text(place, row).map(Box::from)),
            numbers: std::array::from_fn(|place| match place + TEXTS {
                ENDED => millis(batch.int(ENDED, row)).map(|at| at as f64),
                place => batch.number(place, row),
            }),
        });
        if kept.len() > most {
            kept.pop();
        }
    })?;
    let offset = usize::try_from(rows.offset).unwrap_or(usize::MAX);
    let told = kept.into_sorted_vec().into_iter().skip(offset);
    Ok(json!({
        "schema": serve::SCHEMA,
        "of": of,
        "offset": rows.offset,
        "rows": told.map(|one| json_of(&one, asked)).collect::<Vec<_>>(),
    }))
}

fn filter(asked: &Asked<'_>, rows: &Rows) -> Result<Filter> {
    let mut filter = asked.filter(rows.set.as_deref(), rows.category.as_deref())?;
    if let Some(word) = &rows.end {
        const ENDS: [End; 5] = [
            End::Done,
            End::Failed,
            End::Limit,
            End::Cancelled,
            End::Unknown,
        ];
        let words = ENDS.map(end_word);
        let found = ENDS.into_iter().find(|end| end_word(*end) == word);
        let end = found.ok_or_else(|| {
            Refusal::Question(format!(
                "end={}: it is one of {}{}",
                printable(word),
                words.join(", "),
                did_you_mean(word, words.into_iter())
            ))
        })?;
        if filter.end.is_some_and(|base| base != end) {
            let words = format!("the page has no attempts that ended so: {word}");
            return Err(Refusal::NotFound(words).into());
        }
        filter.end = Some(end);
    }
    for text in &rows.conditions {
        let condition = Condition::parse(text);
        let condition = condition.map_err(|words| Refusal::Question(printable(&words)))?;
        filter.conditions.push(condition);
    }
    Ok(filter)
}

/// The place of the field that is sorted by, and whether the largest comes first.
fn sorting(rows: &Rows) -> Result<(usize, bool), Refusal> {
    let Some(sort) = &rows.sort else {
        return Ok((ENDED, true));
    };
    let names = || FIELDS.iter().map(|(name, _, _)| *name);
    match names().position(|name| name == sort.column) {
        Some(place) => Ok((place, sort.is_descending)),
        None => Err(Refusal::Question(format!(
            "sort={}: there is no such column{}; there is {}",
            printable(&sort.column),
            did_you_mean(&sort.column, names()),
            names().collect::<Vec<_>>().join(", ")
        ))),
    }
}

fn key(batch: &Batch<'_>, row: usize, place: usize) -> Key {
    match place < TEXTS {
        true => batch
            .text(place, row)
            .map_or(Key::Absent, |text| Key::Text(text.to_owned())),
        false => batch.number(place, row).map_or(Key::Absent, Key::Number),
    }
}

/// Whether a text in small letters is in any that is searched.
fn has(batch: &Batch<'_>, row: usize, text: &str) -> bool {
    let has = |one: &str| one.to_lowercase().contains(text);
    let (first, list) = (FIELDS.len(), FIELDS.len() + SEARCHED.len() - 1);
    (first..list).any(|place| batch.text(place, row).is_some_and(has))
        || batch.texts(list, row).any(has)
}

fn json_of(row: &Ranked, asked: &Asked<'_>) -> Value {
    let texts = row.texts.iter().zip(FIELDS).map(|(text, (name, _, kind))| {
        let text = text.as_deref();
        let told = match kind {
            Kind::Name => text.map(|text| asked.view.shown(text)),
            Kind::Words if asked.view.veil.is_some() => None,
            _ => text.map(str::to_owned),
        };
        (name.to_owned(), json!(told))
    });
    let numbers = row.numbers.iter().zip(FIELDS.iter().skip(TEXTS));
    let numbers = numbers.map(|(one, (name, _, _))| ((*name).to_owned(), number(*one)));
    let fields: Map<String, Value> = texts.chain(numbers).collect();
    Value::Object(fields)
}
