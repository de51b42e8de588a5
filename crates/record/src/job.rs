//! What is known of a job: its names, what it asked for, what it was given, how it ended. Each fact
//! has its source.

use crate::context::Trust;
use crate::table::job::TABLE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A number in the unit of its column, or a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JobValue {
    /// In the unit of the column.
    Int(i64),
    /// A name.
    Text(String),
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFact {
    /// What is so.
    pub value: JobValue,
    /// Who says so.
    pub source: String,
    /// How far that may be believed.
    pub trust: Trust,
}

/// Facts by the columns of the table `job`; what is not known is not there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobRecord(BTreeMap<String, JobFact>);

impl JobRecord {
    /// Says that `column` is `value`, unless something that is believed no less says otherwise.
    /// What is no column of the table is left out.
    pub fn tell(&mut self, column: &str, value: JobValue, source: &str, trust: Trust) {
        let mut columns = TABLE.key.iter().chain(TABLE.columns);
        let is_better = self.0.get(column).is_none_or(|known| trust < known.trust);
        if is_better && columns.any(|one| one.name == column) {
            let fact = JobFact {
                value,
                source: source.to_owned(),
                trust,
            };
            self.0.insert(column.to_owned(), fact);
        }
    }

    /// The same for a number, if there is one that fits.
    pub fn tell_int(&mut self, column: &str, value: Option<u64>, source: &str, trust: Trust) {
        if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
            self.tell(column, JobValue::Int(value), source, trust);
        }
    }

    /// The same for a text, if there is one.
    pub fn tell_text(&mut self, column: &str, value: Option<&str>, source: &str, trust: Trust) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.tell(column, JobValue::Text(value.to_owned()), source, trust);
        }
    }

    /// Takes over what `other` knows better.
    pub fn merge(&mut self, other: Self) {
        for (column, fact) in other.0 {
            self.tell(&column, fact.value, &fact.source, fact.trust);
        }
    }

    /// Takes what was read anew: what the kernel keeps counts as it is now, of all else what was
    /// told first stays. Whether anything is another.
    pub fn renew(&mut self, fresh: Self) -> bool {
        let before = self.clone();
        let kept = fresh
            .0
            .iter()
            .filter(|(_, fact)| fact.trust == Trust::Enforced);
        let kept: Vec<_> = kept
            .map(|(column, fact)| (column.clone(), fact.clone()))
            .collect();
        self.0.extend(kept);
        self.merge(fresh);
        *self != before
    }

    /// What is known of a column.
    pub fn fact(&self, column: &str) -> Option<&JobFact> {
        self.0.get(column)
    }

    /// The text of a column.
    pub fn text(&self, column: &str) -> Option<&str> {
        match &self.fact(column)?.value {
            JobValue::Text(text) => Some(text),
            JobValue::Int(_) => None,
        }
    }

    /// Every fact with its column, in the order of their names.
    pub fn facts(&self) -> impl Iterator<Item = (&str, &JobFact)> {
        self.0.iter().map(|(column, fact)| (column.as_str(), fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_trusted_fact_stays_whoever_comes_first() {
        let mut job = JobRecord::default();
        job.tell_text("user", Some("mallory"), "USER", Trust::Claimed);
        job.tell_text("user", Some("bob"), "sacct", Trust::Enforced);
        job.tell_text("user", Some("eve"), "other", Trust::Enforced);
        job.tell_text("account", Some(""), "sacct", Trust::Enforced);
        assert_eq!((job.text("user"), job.text("account")), (Some("bob"), None));
        let mut claims = JobRecord::default();
        claims.tell_text("user", Some("mallory"), "USER", Trust::Claimed);
        claims.tell_int("nodes", Some(2), "NNODES", Trust::Claimed);
        job.merge(claims);
        assert_eq!(job.text("user"), Some("bob"));
        assert_eq!(
            job.fact("nodes").map(|it| &it.value),
            Some(&JobValue::Int(2))
        );
    }

    #[test]
    fn what_the_kernel_keeps_is_renewed_and_claims_stay() {
        let told = |limit, name: &str| {
            let mut job = JobRecord::default();
            job.tell_int("memory_limit", Some(limit), "x", Trust::Enforced);
            job.tell_text("name", Some(name), "x", Trust::Claimed);
            job
        };
        let mut job = told(1, "first");
        assert!(!job.renew(told(1, "second")));
        assert!(job.renew(told(2, "second")));
        assert_eq!(job, told(2, "first"));
        let mut more = told(2, "first");
        more.tell_int("nodes", Some(3), "x", Trust::Claimed);
        assert!(job.renew(more.clone()));
        assert_eq!(job, more);
    }

    #[test]
    fn only_columns_are_kept() {
        let mut job = JobRecord::default();
        job.tell_text("nonsense", Some("x"), "x", Trust::Enforced);
        job.tell_int("nodes", Some(u64::MAX), "x", Trust::Enforced);
        assert_eq!(job, JobRecord::default());
    }
}
