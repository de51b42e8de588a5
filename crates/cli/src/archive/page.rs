//! What the page of an archive asks, answered (docs/page.md): one file a question.

mod category;
mod input;
mod one;
mod overview;
mod remembered;
mod sample;
mod set;
mod steps;
mod table;
#[cfg(test)]
mod tests;

use super::private::Veil;
use super::{names, place};
use crate::cmd::similar::did_you_mean;
use crate::view::style::printable;
use anyhow::Result;
use remembered::Remembered;
use serde_json::{Value, json};
use serve::{Answers, Question, Refusal, Rows};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use store::Error;
use store::archive::{Archive, Batch, Filter};

/// Archives that are kept open while nobody asks.
const IDLE_MAX: usize = 8;

/// An archive as its page shows it. It may be asked from many threads; each answer is of the
/// attempts that are there then.
pub(crate) struct Page {
    view: View,
    path: PathBuf,
    idle: Mutex<Vec<Archive>>,
    remembered: Mutex<Remembered>,
}

/// How an archive is shown.
struct View {
    title: String,
    is_live: bool,
    /// The page is of these attempts alone.
    base: Filter,
    veil: Option<Veil>,
    /// Of a series at most.
    points: usize,
    /// Lines of a set at most.
    lines: usize,
    /// Categories of a set at most.
    set_categories: usize,
}

/// A question under way.
struct Asked<'a> {
    view: &'a View,
    archive: &'a Archive,
    heed: &'a dyn Fn(u64) -> bool,
}

/// What stands above an archive of which nothing else is said: the name of its folder, if that may
/// be told.
pub(crate) fn title(folder: Option<&Path>) -> String {
    let name = folder.and_then(Path::file_name);
    name.map_or_else(
        || "archive".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

impl Page {
    /// Of an archive; a live one is looked at again for each answer.
    pub(crate) fn new(archive: Archive, title: String, is_live: bool) -> Self {
        Self {
            view: View {
                title,
                is_live,
                base: Filter::default(),
                veil: None,
                points: 2000,
                lines: 5000,
                set_categories: 5000,
            },
            path: archive.folder().path().to_owned(),
            idle: Mutex::new(vec![archive]),
            remembered: Mutex::default(),
        }
    }

    /// Of these attempts alone.
    pub(crate) fn of(mut self, base: Filter) -> Self {
        self.view.base = base;
        self
    }

    /// With digests in the place of names.
    pub(crate) fn veiled(mut self, veil: Option<Veil>) -> Self {
        self.view.veil = veil;
        self
    }

    /// With so many points of a series, lines of a set, and categories of one, at most.
    pub(crate) fn at_most(mut self, points: usize, lines: usize, set_categories: usize) -> Self {
        (self.view.points, self.view.lines) = (points, lines);
        self.view.set_categories = set_categories;
        self
    }

    /// A name of a person's or place's as it is shown.
    pub(crate) fn shown(&self, name: &str) -> String {
        self.view.shown(name)
    }

    /// The answer; `heed` is told how many attempts were read, and says whether to go on.
    pub(crate) fn ask(&self, question: &Question, heed: &dyn Fn(u64) -> bool) -> Result<Value> {
        self.with(heed, |asked| asked.answer(question))
    }

    /// The names of sets and categories, those first that an overview has first.
    pub(crate) fn names(&self, heed: &dyn Fn(u64) -> bool) -> Result<(Value, overview::Names)> {
        self.with(heed, overview::of)
    }

    /// The answers of several categories, which are there, in all sets.
    pub(crate) fn categories(
        &self,
        wanted: &[category::Counted],
        heed: &dyn Fn(u64) -> bool,
    ) -> Result<HashMap<String, Value>> {
        self.with(heed, |asked| category::many(asked, wanted))
    }

    /// The answers of several sets, which are there, in their order.
    pub(crate) fn sets(&self, names: &[String], heed: &dyn Fn(u64) -> bool) -> Result<Vec<Value>> {
        self.with(heed, |asked| set::many(asked, names))
    }

    /// So many rows of the table as are asked for, however many.
    pub(crate) fn rows(&self, rows: &Rows, heed: &dyn Fn(u64) -> bool) -> Result<Value> {
        self.with(heed, |asked| table::of(asked, rows))
    }

    /// The answer as text, which is remembered.
    fn answer_once(&self, question: &Question, asked: &Asked<'_>) -> Result<String> {
        let remembered = || {
            self.remembered
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let revision = asked.archive.revision()?;
        if let Some(text) = remembered().get(&revision, question) {
            return Ok(text);
        }
        let text = serde_json::to_string(&asked.answer(question)?)?;
        remembered().keep(revision, question, &text);
        Ok(text)
    }

    fn with<T>(
        &self,
        heed: &dyn Fn(u64) -> bool,
        done: impl FnOnce(&Asked<'_>) -> Result<T>,
    ) -> Result<T> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let archive = match taken {
            Some(archive) => archive,
            None => place::again(&self.path)?,
        };
        if self.view.is_live {
            archive.refresh(SystemTime::now(), heed)?;
        }
        let told = done(&Asked {
            view: &self.view,
            archive: &archive,
            heed,
        });
        let mut idle = idle();
        if idle.len() < IDLE_MAX {
            idle.push(archive);
        }
        told
    }
}

impl Answers for Page {
    fn answer(&self, question: &Question) -> Result<String, Refusal> {
        let told = self.with(&|_| true, |asked| self.answer_once(question, asked));
        told.map_err(refusal)
    }
}

/// A refusal that was meant as one; all else is the archive's.
fn refusal(error: anyhow::Error) -> Refusal {
    match error.downcast::<Refusal>() {
        Ok(refusal) => refusal,
        Err(error) => Refusal::Archive(format!("{error:#}")),
    }
}

impl View {
    fn shown(&self, name: &str) -> String {
        match &self.veil {
            Some(veil) if !name.is_empty() => veil.digest(name),
            _ => name.to_owned(),
        }
    }
}

impl Asked<'_> {
    fn answer(&self, question: &Question) -> Result<Value> {
        match question {
            Question::Overview => Ok(overview::of(self)?.0),
            Question::Category { name, set } => category::of(self, name, set.as_deref()),
            Question::Set { name } => set::of(self, name),
            Question::Attempts(rows) => {
                table::check(rows)?;
                table::of(self, rows)
            }
            Question::Attempt { id } => one::of(self, id),
        }
    }

    /// Those of a set and a category that the page is of; `""` is no set.
    fn filter(&self, set: Option<&str>, category: Option<&str>) -> Result<Filter> {
        let base = &self.view.base;
        let narrowed = |base: &Option<String>, asked: Option<&str>| match (base, asked) {
            (Some(base), Some(asked)) if base != asked => Err(Refusal::NotFound(format!(
                "the page is of `{}` alone, not of `{}`",
                printable(base),
                printable(asked)
            ))),
            (base, asked) => Ok(asked.map(str::to_owned).or_else(|| base.clone())),
        };
        Ok(Filter {
            set: narrowed(&base.set, set.filter(|set| !set.is_empty()))?,
            category: narrowed(&base.category, category)?,
            ..base.clone()
        })
    }

    /// Gives each row that is wanted, of those without a set alone if that is asked for.
    fn scan(
        &self,
        columns: &[&str],
        filter: &Filter,
        without_set: bool,
        each: &mut dyn FnMut(&Batch<'_>, usize),
    ) -> Result<(), Error> {
        let mut names = columns.to_vec();
        names.push("set");
        let (place, mut read) = (columns.len(), 0);
        self.archive.scan(&names, filter, &mut |batch, rows| {
            read += rows.len() as u64;
            if !(self.heed)(read) {
                return Err(Error::Interrupted);
            }
            for row in rows {
                if !without_set || batch.text(place, *row).is_none() {
                    each(batch, *row);
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// That there is no set or category of this name.
    fn nothing(&self, what: &'static str, name: &str) -> Result<Refusal> {
        let names = names::all(self.archive, &self.view.base, what, self.heed)?;
        let names = names.iter().map(String::as_str);
        Ok(Refusal::NotFound(format!(
            "no {what} `{}` in {}{}",
            printable(name),
            self.archive.folder().path().display(),
            did_you_mean(name, names)
        )))
    }
}

/// A number as JSON, without a fraction that it does not have; null where it is none.
fn number(number: Option<f64>) -> Value {
    /// Above it not every whole number can be told.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    match number {
        Some(one) if one.fract() == 0.0 && one.abs() <= WHOLE_MAX => json!(one as i64),
        other => json!(other),
    }
}

/// Milliseconds of an instant in microseconds.
fn millis(micros: Option<i64>) -> Option<i64> {
    micros.map(|at| at.div_euclid(1000))
}
