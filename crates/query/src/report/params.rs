//! Of which part of a dataset a report is.

use record::timestamp::rfc3339;
use record::unit::Nanos;

/// Programs that are one to whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// What they are called together.
    pub name: String,
    /// Names of programs, with `*` for any letters and `?` for one.
    pub programs: Vec<String>,
}

/// Of which part of a dataset a report is; all of it by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Params {
    /// From this instant on, since 1970.
    pub from: Option<Nanos>,
    /// Up to this one, itself left out.
    pub to: Option<Nanos>,
    /// A user's name, or the number of one without a name.
    pub user: Option<String>,
    /// A job's identifier, or `ARRAY_TASK`.
    pub job: Option<String>,
    /// A host.
    pub host: Option<String>,
    /// So many rows, where a report is a ranking.
    pub limit: Option<u64>,
    /// What is counted together, the first that fits.
    pub categories: Vec<Category>,
}

impl Params {
    /// What a word of the templates stands for.
    pub(super) fn word(&self, name: &str, of: &str) -> Option<String> {
        Some(match name {
            "hosts" => self.hosts(),
            "window" => self.window(),
            "ends" => self.ends(),
            // A process is told with each segment, so not long before it is needed.
            "days" => self.days(1),
            "chosen" => self.chosen(),
            "category" => self.category(),
            "rows" => self
                .limit
                .map_or_else(|| of.to_owned(), |rows| rows.to_string()),
            "job_is" => self
                .job
                .as_ref()
                .map_or_else(everything, |job| job_is(of, job)),
            "user_is" => self
                .user
                .as_ref()
                .map_or_else(everything, |user| format!("{of} = {}", literal(user))),
            _ => return None,
        })
    }

    /// The rows of the hosts that are meant.
    fn hosts(&self) -> String {
        match &self.host {
            Some(host) => format!("host = {}", literal(host)),
            None => everything(),
        }
    }

    /// The rows that were read in between.
    fn window(&self) -> String {
        let mut all = vec![self.days(0)];
        let micros = |at: Nanos| at.0 / 1000;
        let from = self.from.map(micros);
        let to = self.to.map(micros);
        all.extend(from.map(|at| format!("time >= {{{{instant {at}}}}}")));
        all.extend(to.map(|at| format!("time < {{{{instant {at}}}}}")));
        all.join(" AND ")
    }

    /// The rows of `exit` that tell of an end in between: a row is written at the reading after it.
    fn ends(&self) -> String {
        let mut all = vec![self.days(0)];
        let end = "({{micros time}} * 1000 + end_ns - at_ns)";
        all.extend(self.from.map(|at| format!("{end} >= {}", at.0)));
        all.extend(self.to.map(|at| format!("{end} < {}", at.0)));
        all.join(" AND ")
    }

    /// The folders of the days, and of so many before them.
    fn days(&self, before: u64) -> String {
        let day = |at: u64| rfc3339(at).chars().take(10).collect::<String>();
        let from = self.from.map(|at| {
            let early = at.0.saturating_sub(before * DAY_NS);
            format!("date >= DATE '{}'", day(early))
        });
        let to = self.to.map(|at| {
            // What belongs to a reading may be written a little later.
            format!(
                "date <= DATE '{}'",
                day(at.0.saturating_add(before * DAY_NS))
            )
        });
        let all: Vec<_> = from.into_iter().chain(to).collect();
        match all.is_empty() {
            true => everything(),
            false => all.join(" AND "),
        }
    }

    /// The processes that are meant, of `life`.
    fn chosen(&self) -> String {
        let user = self.user.as_ref();
        let user = user.map(|user| format!("person = {}", literal(user)));
        let job = self.job.as_ref().map(|job| job_is("identifier", job));
        let all: Vec<_> = user.into_iter().chain(job).collect();
        match all.is_empty() {
            true => everything(),
            false => all.join(" AND "),
        }
    }

    /// The category of a program, an expression; `other` for those in none.
    fn category(&self) -> String {
        let mut cases = String::from("CASE");
        for category in &self.categories {
            for program in &category.programs {
                cases.push_str(&format!(
                    " WHEN {{{{has}}}}(program, {}) THEN {}",
                    literal(&pattern(program)),
                    literal(&category.name)
                ));
            }
        }
        match self.categories.is_empty() {
            true => "'other'".to_owned(),
            false => format!("{cases} ELSE 'other' END"),
        }
    }
}

/// A condition that everything fulfils.
fn everything() -> String {
    "1 = 1".to_owned()
}

/// Whether a column is the identifier of the job; an element of an array has a name beside it.
fn job_is(column: &str, job: &str) -> String {
    let element = job.split_once('_').map(|(array, task)| {
        format!(
            " OR {column} IN (SELECT identifier FROM job WHERE array_job = {} \
             AND CAST(array_task AS {{{{string}}}}) = {})",
            literal(array),
            literal(task)
        )
    });
    let element = element.unwrap_or_default();
    format!("({column} = {}{element})", literal(job))
}

const DAY_NS: u64 = 86_400_000_000_000;

/// A text that somebody else chose, as a literal of any engine.
fn literal(text: &str) -> String {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{{{{bytes {bytes}}}}}")
}

/// `gcc-*` as a pattern.
fn pattern(glob: &str) -> String {
    let mut out = String::from("^");
    for letter in glob.chars() {
        match letter {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            _ if letter.is_alphanumeric() || letter == ' ' || letter == '_' => out.push(letter),
            _ => out.extend(['\\', letter]),
        }
    }
    out.push('$');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_a_pattern() {
        assert_eq!(pattern("gcc-*.?"), "^gcc\\-.*\\..$");
    }

    #[test]
    fn folders_are_told_by_the_days() {
        let params = Params {
            from: Some(Nanos(86_400_000_000_000 * 3)),
            to: Some(Nanos(86_400_000_000_000 * 4)),
            ..Params::default()
        };
        let days = params.days(1);
        assert_eq!(
            days,
            "date >= DATE '1970-01-03' AND date <= DATE '1970-01-06'"
        );
        assert!(params.window().contains("time >= {{instant 259200000000}}"));
    }
}
