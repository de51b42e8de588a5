//! Attempts for others: what may tell of people and their data is replaced.

use anyhow::{Context, Result};
use record::attempt::Attempt;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

/// Replaces words by digests that are the same for the same word within one export.
#[derive(Debug)]
pub(crate) struct Veil {
    salt: [u8; 16],
}

impl Veil {
    /// With a secret that goes with it: nobody finds a word by trying.
    fn new(salt: [u8; 16]) -> Self {
        Self { salt }
    }

    /// With one that nobody knows, from the kernel.
    pub(crate) fn secret() -> Result<Self> {
        let mut salt = [0; 16];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut salt));
        read.context("/dev/urandom")?;
        Ok(Self::new(salt))
    }

    /// What stands in the place of a word.
    pub(crate) fn digest(&self, word: &str) -> String {
        let mut hasher = DefaultHasher::new();
        self.salt.hash(&mut hasher);
        word.hash(&mut hasher);
        format!("x{:016x}", hasher.finish())
    }

    /// Hides who ran it and where, paths, arguments, names and what was said of the end. The
    /// program, the category and all amounts stay.
    pub(crate) fn hide(&self, attempt: &mut Attempt) {
        for field in [
            &mut attempt.source,
            &mut attempt.set,
            &mut attempt.description,
            &mut attempt.task,
            &mut attempt.job,
            &mut attempt.user,
            &mut attempt.host,
        ] {
            *field = field.as_deref().map(|text| self.digest(text));
        }
        attempt.cause = None;
        for word in attempt.command.iter_mut().skip(1) {
            if !is_option(word) {
                *word = self.digest(word);
            }
        }
        if let Some(first) = attempt.command.first_mut() {
            *first = base_name(first).to_owned();
        }
        attempt.tool = attempt
            .tool
            .as_deref()
            .map(|tool| base_name(tool).to_owned());
        for parent in &mut attempt.parents {
            *parent = self.digest(parent);
        }
        let labels = std::mem::take(&mut attempt.labels).into_iter();
        let labels: BTreeMap<_, _> = labels
            .map(|(k, v)| (self.digest(&k), self.digest(&v)))
            .collect();
        attempt.labels = labels;
    }
}

/// Only the name of an option: what stands behind its `=` is an argument.
fn is_option(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('-') && letters.all(|c| c.is_ascii_alphabetic() || c == '-')
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_people_and_paths_is_left() {
        let mut one = Attempt {
            id: "1".to_owned(),
            category: "sort".to_owned(),
            tool: Some("/home/secret/bin/sort".to_owned()),
            ..Attempt::default()
        };
        let words = [
            "/home/secret/bin/sort",
            "--key",
            "--file=secret",
            "-k",
            "secret.txt",
        ];
        one.command = words.map(str::to_owned).to_vec();
        for field in [
            &mut one.source,
            &mut one.set,
            &mut one.description,
            &mut one.task,
            &mut one.job,
            &mut one.user,
            &mut one.host,
            &mut one.cause,
        ] {
            *field = Some("secret".to_owned());
        }
        one.parents.push("secret".to_owned());
        one.labels.insert("secret".to_owned(), "secret".to_owned());
        let veil = Veil::new([7; 16]);
        veil.hide(&mut one);
        let text = serde_json::to_string(&one).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(one.command[0], "sort");
        assert_eq!(
            (one.command[1].as_str(), one.command[3].as_str()),
            ("--key", "-k")
        );
        assert_eq!(one.user, one.host, "the same word");
        assert_ne!(Veil::new([8; 16]).digest("a"), veil.digest("a"));
    }
}
