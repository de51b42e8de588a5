//! Answers that were given already, for as long as the archive stays as it is.

use serve::Question;
use std::collections::HashMap;
use store::archive::Revision;

/// Bytes of answers that are kept; one more, and all are forgotten.
const BYTES_MAX: usize = 32 << 20;

/// Answers of one revision.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    of: Option<Revision>,
    answers: HashMap<Question, String>,
    bytes: usize,
}

impl Remembered {
    /// The answer, if it was given of this revision.
    pub(super) fn get(&self, revision: &Revision, question: &Question) -> Option<String> {
        let is_same = self.of.as_ref() == Some(revision);
        is_same.then(|| self.answers.get(question).cloned())?
    }

    /// Keeps an answer of this revision.
    pub(super) fn keep(&mut self, revision: Revision, question: &Question, answer: &str) {
        let is_same = self.of.as_ref() == Some(&revision);
        if !is_same || self.bytes + answer.len() > BYTES_MAX {
            *self = Self {
                of: Some(revision),
                ..Self::default()
            };
        }
        if answer.len() <= BYTES_MAX {
            self.bytes += answer.len();
            self.answers.insert(question.clone(), answer.to_owned());
        }
    }
}
