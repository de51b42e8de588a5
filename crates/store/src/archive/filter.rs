//! Which attempts are wanted.

use super::batch::Batch;
use super::fields::end_word;
use record::attempt::{End, RESOURCES, resource};
use record::quantity;
use record::unit::Unit;

/// How an amount is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// More than that.
    Above,
    /// That or more.
    AtLeast,
    /// Less than that.
    Below,
    /// That or less.
    AtMost,
}

/// A condition on what was used: `memory>4GiB`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    resource: usize,
    relation: Relation,
    value: f64,
}

impl Condition {
    /// From its text.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let place = text
            .find(['<', '>'])
            .ok_or_else(|| format!("`{text}` has neither < nor >: memory>4GiB, wall<=2h"))?;
        let (name, rest) = text.split_at(place);
        let (relation, amount) = match rest.as_bytes() {
            [b'>', b'=', ..] => (Relation::AtLeast, rest.get(2..)),
            [b'<', b'=', ..] => (Relation::AtMost, rest.get(2..)),
            [b'>', ..] => (Relation::Above, rest.get(1..)),
            _ => (Relation::Below, rest.get(1..)),
        };
        let name = name.trim();
        let names = || {
            let all: Vec<_> = RESOURCES.iter().map(|one| one.name).collect();
            all.join(", ")
        };
        let resource =
            resource(name).ok_or_else(|| format!("no resource `{name}`: there is {}", names()))?;
        let amount = amount.unwrap_or_default().trim();
        let unit = RESOURCES.get(resource).map_or(Unit::Count, |one| one.unit);
        let value = match unit {
            // No quantity elsewhere may be nothing.
            _ if amount == "0" => Some(0.0),
            Unit::Cores | Unit::Ratio => {
                amount.parse().ok().filter(|value: &f64| value.is_finite())
            }
            unit => quantity::parse(amount, unit).ok().map(|value| value as f64),
        };
        let value = value.ok_or_else(|| format!("`{amount}` is no amount of {name}"))?;
        Ok(Self {
            resource,
            relation,
            value,
        })
    }

    fn holds(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| match self.relation {
            Relation::Above => value > self.value,
            Relation::AtLeast => value >= self.value,
            Relation::Below => value < self.value,
            Relation::AtMost => value <= self.value,
        })
    }
}

/// Which attempts are wanted: those for which all of it holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// Of this category.
    pub category: Option<String>,
    /// Of the categories from one to another, both among them, by the bytes of their names.
    pub categories: Option<(String, String)>,
    /// In this set.
    pub set: Option<String>,
    /// Of this program.
    pub tool: Option<String>,
    /// With this in the description, in whichever case.
    pub description: Option<String>,
    /// On this host.
    pub host: Option<String>,
    /// By this user.
    pub user: Option<String>,
    /// Of the task with this name.
    pub task: Option<String>,
    /// That ended then or later, nanoseconds since 1970.
    pub from: Option<i64>,
    /// That ended before, nanoseconds since 1970.
    pub to: Option<i64>,
    /// That ended so.
    pub end: Option<End>,
    /// What was used.
    pub conditions: Vec<Condition>,
}

impl Filter {
    /// The first and the last category that may be wanted.
    pub(super) fn category_range(&self) -> Option<(&str, &str)> {
        let range = self.categories.as_ref();
        match (&self.category, range) {
            (Some(one), _) => Some((one, one)),
            (None, range) => range.map(|(from, to)| (from.as_str(), to.as_str())),
        }
    }
}

/// A test of one column.
enum Test<'a> {
    Is(&'a str),
    Within(&'a str, &'a str),
    Has(String),
    Between(Option<i64>, Option<i64>),
    Holds(Condition),
}

/// The tests of a filter, with the places of their columns.
pub(super) struct Tests<'a>(Vec<(usize, Test<'a>)>);

impl Filter {
    /// The category, if it is all that is asked for.
    pub(super) fn category_alone(&self) -> Option<&str> {
        let alone = Self {
            category: self.category.clone(),
            ..Self::default()
        };
        self.category.as_deref().filter(|_| *self == alone)
    }

    /// The columns that it looks at, behind those that are asked for anyway; and the tests.
    pub(super) fn tests(&self, columns: &mut Vec<String>) -> Tests<'_> {
        let mut tests = Vec::new();
        let mut add = |name: &str, test| {
            let place = columns.iter().position(|one| one == name);
            let place = place.unwrap_or_else(|| {
                columns.push(name.to_owned());
                columns.len() - 1
            });
            tests.push((place, test));
        };
        let texts = [
            ("category", &self.category),
            ("set", &self.set),
            ("tool", &self.tool),
            ("host", &self.host),
            ("user", &self.user),
            ("task", &self.task),
        ];
        for (name, wanted) in texts {
            if let Some(wanted) = wanted {
                add(name, Test::Is(wanted));
            }
        }
        if let Some((from, to)) = &self.categories {
            add("category", Test::Within(from, to));
        }
        if let Some(text) = &self.description {
            add("description", Test::Has(text.to_lowercase()));
        }
        if let Some(end) = self.end {
            add("end", Test::Is(end_word(end)));
        }
        if self.from.is_some() || self.to.is_some() {
            let micros = |at: Option<i64>| at.map(|at| at.div_euclid(1000));
            add("ended", Test::Between(micros(self.from), micros(self.to)));
        }
        for condition in &self.conditions {
            if let Some(resource) = RESOURCES.get(condition.resource) {
                add(&format!("used_{}", resource.name), Test::Holds(*condition));
            }
        }
        Tests(tests)
    }
}

impl Tests<'_> {
    pub(super) fn hold(&self, batch: &Batch<'_>, row: usize) -> bool {
        self.0.iter().all(|(column, test)| match test {
            Test::Is(wanted) => batch.text(*column, row) == Some(*wanted),
            Test::Within(from, to) => batch
                .text(*column, row)
                .is_some_and(|text| *from <= text && text <= *to),
            Test::Has(part) => batch
                .text(*column, row)
                .is_some_and(|text| text.to_lowercase().contains(part)),
            Test::Between(from, to) => batch.int(*column, row).is_some_and(|at| {
                from.is_none_or(|from| at >= from) && to.is_none_or(|to| at < to)
            }),
            Test::Holds(condition) => condition.holds(batch.number(*column, row)),
        })
    }
}
