//! Ready-made reports: one file each, one row in [`REPORTS`].

mod completeness;
mod dialect;
mod efficiency;
mod errors;
mod filesystems;
mod interactive;
mod known;
mod life;
mod params;
mod program;
mod top_cpu;
mod top_wall;
mod tree;

use crate::error::Error;
use crate::output::Kind;
use crate::session::Session;
pub use dialect::Dialect;
pub(crate) use known::Known;
pub use params::{Category, Params};

/// One report.
#[derive(Debug)]
pub struct Report {
    /// Its name.
    pub name: &'static str,
    /// What it tells.
    pub doc: &'static str,
    /// It is of one job, which has to be named.
    pub needs_job: bool,
    /// What the numbers of its columns are.
    pub kinds: &'static [(&'static str, Kind)],
    /// What has to be known to read it right, a sentence each.
    pub notes: &'static [&'static str],
    /// Its text, in the words of [`fill`] and of [`Dialect`].
    sql: &'static str,
}

impl Report {
    /// Its text for an engine, as one question.
    pub fn sql(&self, params: &Params, dialect: Dialect) -> String {
        dialect.spell(&fill(self.sql, params, &Known::default()))
    }

    /// Its text for our own engine, once what it builds upon is found out.
    pub(crate) fn text(&self, params: &Params, session: &mut Session<'_>) -> Result<String, Error> {
        session.of_reports();
        let known = match self.sql.contains("{{life}}") {
            true => Known::of(session, params, self.sql)?,
            false => Known::default(),
        };
        Ok(Dialect::DataFusion.spell(&fill(self.sql, params, &known)))
    }
}

/// The text with the words in double braces that are ours in the place of what they stand for; the
/// others are left to [`Dialect::spell`].
pub(crate) fn fill(template: &str, params: &Params, known: &Known) -> String {
    let mut out = String::with_capacity(template.len() * 4);
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        out.push_str(before);
        let (word, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        let (name, of) = word.split_once(' ').unwrap_or((word, ""));
        let text = params.word(name, of).or_else(|| known.word(name));
        match text.or_else(|| life::word(name, of)) {
            Some(text) => out.push_str(&fill(&text, params, known)),
            None => out.extend(["{{", word, "}}"]),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Every report, in the order of the help.
pub const REPORTS: &[&Report] = &[
    &top_cpu::REPORT,
    &top_wall::REPORT,
    &filesystems::REPORT,
    &interactive::REPORT,
    &efficiency::REPORT,
    &tree::REPORT,
    &completeness::REPORT,
    &errors::REPORT,
];

/// The report of this name.
pub fn by_name(name: &str) -> Option<&'static Report> {
    REPORTS.iter().find(|report| report.name == name).copied()
}
