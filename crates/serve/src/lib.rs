//! The page of an archive: as one file, and by HTTP. What it asks for is a [`Question`]; who
//! answers is another's affair (`docs/page.md` has the shapes).

#![deny(missing_docs)]

pub mod http;
pub mod page;
mod question;

pub use question::{Order, Question, Refusal, Rows};

/// The version of the shapes of all answers.
pub const SCHEMA: &str = "plimsoll.page/1";

/// Who knows the archive.
pub trait Answers: Send + Sync {
    /// The answer, a JSON text. May take a while and is called from many threads.
    ///
    /// # Errors
    /// What was asked for is not there, or cannot be read.
    fn answer(&self, question: &Question) -> Result<String, Refusal>;
}
