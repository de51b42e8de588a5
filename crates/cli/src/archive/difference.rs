//! Two sets of an archive against one another.

use record::attempt::{End, Resource};
use reduce::moved::{self, Moved};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Filter, end_word};

/// One category and resource in both sets.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) category: String,
    pub(crate) resource: &'static Resource,
    /// Attempts that finished and tell it, in each set.
    pub(crate) counts: (usize, usize),
    /// How they compare; none where there are too few.
    pub(crate) moved: Option<Moved>,
    /// The chance of it, of all that are compared here together.
    pub(crate) chance: f64,
}

/// How many attempts of a category there are in a set, and how many did not finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ends {
    pub(crate) attempts: u64,
    pub(crate) unfinished: u64,
}

/// All that is different between two sets.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) lines: Vec<Line>,
    /// By category: in each set.
    pub(crate) ends: BTreeMap<String, (Ends, Ends)>,
}

/// Amounts by category, resource by resource.
type Amounts = BTreeMap<String, Vec<Vec<f64>>>;

impl Difference {
    pub(crate) fn of(
        archive: &Archive,
        (before, after): (&str, &str),
        resources: &[&'static Resource],
        heed: &dyn Fn(u64) -> bool,
    ) -> Result<Self, Error> {
        let mut ends: BTreeMap<String, (Ends, Ends)> = BTreeMap::new();
        let first = amounts(
            archive,
            before,
            resources,
            heed,
            &mut |category, is_done| {
                ends.entry(category.to_owned()).or_default().0.add(is_done);
            },
        )?;
        let second = amounts(archive, after, resources, heed, &mut |category, is_done| {
            ends.entry(category.to_owned()).or_default().1.add(is_done);
        })?;
        let mut lines = Vec::new();
        for (category, theirs) in &first {
            let Some(others) = second.get(category) else {
                continue;
            };
            for ((resource, one), other) in resources.iter().zip(theirs).zip(others) {
                if one.is_empty() && other.is_empty() {
                    continue;
                }
                lines.push(Line {
                    category: category.clone(),
                    resource,
                    counts: (one.len(), other.len()),
                    moved: moved::compare(one, other),
                    chance: 1.0,
                });
            }
        }
        let told = lines.iter().filter_map(|line| line.moved);
        let chances: Vec<f64> = told.map(|moved| moved.chance).collect();
        let together = moved::together(&chances);
        let compared = lines.iter_mut().filter(|line| line.moved.is_some());
        for (line, chance) in compared.zip(together) {
            line.chance = chance;
        }
        Ok(Self { lines, ends })
    }
}

impl Ends {
    fn add(&mut self, is_done: bool) {
        self.attempts += 1;
        self.unfinished += u64::from(!is_done);
    }
}

fn amounts(
    archive: &Archive,
    set: &str,
    resources: &[&'static Resource],
    heed: &dyn Fn(u64) -> bool,
    count: &mut dyn FnMut(&str, bool),
) -> Result<Amounts, Error> {
    let filter = Filter {
        set: Some(set.to_owned()),
        ..Filter::default()
    };
    let used = resources.iter().map(|one| format!("used_{}", one.name));
    let names: Vec<String> = ["category".to_owned(), "end".to_owned()]
        .into_iter()
        .chain(used)
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = Amounts::new();
    let mut rows_done = 0;
    archive.scan(&names, &filter, &mut |batch, rows| {
        rows_done += rows.len() as u64;
        if !heed(rows_done) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            let category = batch.text(0, *row).unwrap_or_default();
            let is_done = batch.text(1, *row) == Some(end_word(End::Done));
            count(category, is_done);
            if !is_done {
                continue;
            }
            let of_category = all.entry(category.to_owned());
            let of_category = of_category.or_insert_with(|| vec![Vec::new(); resources.len()]);
            for (place, numbers) in of_category.iter_mut().enumerate() {
                numbers.extend(batch.number(place + 2, *row));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}
