//! What the page asks for.

/// A question, as `docs/page.md` lists them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// `api/overview`: all sets and categories.
    Overview,
    /// `api/category`: one category, in all sets or in one.
    Category {
        /// Its name.
        name: String,
        /// The set.
        set: Option<String>,
    },
    /// `api/set`: who ran when in a set.
    Set {
        /// Its name.
        name: String,
    },
    /// `api/attempts`: a part of the table of attempts.
    Attempts(Rows),
    /// `api/attempt`: all that is known of one.
    Attempt {
        /// Its id, or the beginning of it.
        id: String,
    },
}

/// Which attempts, in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    /// Of this set alone.
    pub set: Option<String>,
    /// Of this category alone.
    pub category: Option<String>,
    /// That ended so: `done`, `failed`, `limit`, `cancelled`, `unknown`.
    pub end: Option<String>,
    /// With this text in its category, task, command, description or host.
    pub text: Option<String>,
    /// Conditions as of `plimsoll archive query --where`.
    pub conditions: Vec<String>,
    /// How they are sorted; else by the end, the last one first.
    pub sort: Option<Order>,
    /// So many are left out at the front.
    pub offset: u64,
    /// So many at most.
    pub limit: u64,
}

/// By which column they are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Order {
    /// The column, by its name in a row.
    pub column: String,
    /// The largest first.
    pub is_descending: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is not there.
    #[error("{0}")]
    NotFound(String),
    /// The question makes no sense.
    #[error("{0}")]
    Question(String),
    /// The archive cannot be read.
    #[error("{0}")]
    Archive(String),
}
