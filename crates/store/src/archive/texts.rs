//! What an attempt brings with it as texts, which the archive keeps and does not look into.

use crate::export::series;
use reduce::series::Series;
use std::io;

/// Instants of a series at most: a file of a million attempts holds them too.
const INSTANTS_MAX: usize = 120;

/// The texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// Its report, as it was added: a JSON object.
    pub report: Option<String>,
    /// What it used over time, as [`crate::export::series`] writes it.
    pub series: Option<String>,
}

impl Texts {
    /// With a report alone.
    pub fn report(text: impl Into<String>) -> Self {
        Self {
            report: Some(text.into()),
            series: None,
        }
    }

    /// And what it used over time, shortened; nothing by process.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn with_series(mut self, series: &Series) -> io::Result<Self> {
        if !series.by_process() && !series.instants().is_empty() {
            self.series = Some(series::text(&series.shortened(INSTANTS_MAX))?);
        }
        Ok(self)
    }

    /// Bytes of both.
    #[cfg(feature = "archive")]
    pub(super) fn bytes(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        of(&self.report) + of(&self.series)
    }
}

/// Each of them as a column of a file of many.
#[cfg(feature = "archive")]
#[derive(Debug, Clone, Copy)]
pub(super) struct TextField {
    pub(super) name: &'static str,
    pub(super) get: fn(&Texts) -> Option<&str>,
    pub(super) set: fn(&mut Texts, Option<String>),
}

/// The columns, behind those of the attempt.
#[cfg(feature = "archive")]
pub(super) const TEXT_FIELDS: &[TextField] = &[
    TextField {
        name: "report",
        get: |texts| texts.report.as_deref(),
        set: |texts, text| texts.report = text,
    },
    TextField {
        name: "series",
        get: |texts| texts.series.as_deref(),
        set: |texts, text| texts.series = text,
    },
];
