//! `/proc/PID/environ`: the environment that the process was started with, each variable ended by
//! NUL. The process may have written over it.

use super::source::Source;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_environ",
    file: "/proc/PID/environ",
    metrics: &[],
    digest: |text| {
        let names = ["SLURM_JOB_ID", "JOB_ID", "PBS_JOBID", "EMPTY"];
        format!("{:#?}", names.map(|name| value(text, name)))
    },
};

/// A value is cut here.
const VALUE_BYTES_MAX: usize = 4096;

/// The value of the variable `name`, the first if there are several, as `getenv` takes it. Bytes
/// that are no UTF-8 are replaced.
pub fn value(text: &[u8], name: &str) -> Option<String> {
    value_of(named(text, name)?, name)
}

fn value_of(variable: &[u8], name: &str) -> Option<String> {
    let value = variable.get(name.len() + 1..)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The variable `name` with its name, the first if there are several, its value cut, raw.
pub fn named<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    first(variables(text), name)
}

fn first<'a>(mut all: impl Iterator<Item = &'a [u8]>, name: &str) -> Option<&'a [u8]> {
    let variable = all.find(|variable| {
        let rest = variable.strip_prefix(name.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"="))
    })?;
    let most = name.len() + 1 + VALUE_BYTES_MAX;
    Some(variable.get(..most).unwrap_or(variable))
}

fn variables(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(0, rest).unwrap_or(rest.len());
        let (variable, tail) = rest.split_at_checked(end).filter(|_| !rest.is_empty())?;
        rest = tail.get(1..).unwrap_or_default();
        Some(variable)
    })
}

/// The variables of an environment, apart: for whoever asks for many of them.
#[derive(Debug)]
pub struct Variables<'a>(Vec<&'a [u8]>);

impl<'a> Variables<'a> {
    /// Those of a raw environment.
    pub fn of(text: &'a [u8]) -> Self {
        Self(variables(text).collect())
    }

    /// As [`value`].
    pub fn value(&self, name: &str) -> Option<String> {
        value_of(first(self.0.iter().copied(), name)?, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_counts_and_names_are_whole() {
        let text = b"XJOB_ID=1\0JOB_ID\0JOB_ID=7\0JOB_ID=8\0EMPTY=\0A=b=c\0";
        assert_eq!(value(text, "JOB_ID").as_deref(), Some("7"));
        assert_eq!(value(text, "EMPTY").as_deref(), Some(""));
        let all = Variables::of(text);
        for name in ["JOB_ID", "EMPTY", "A", "JOB", "XJOB_ID"] {
            assert_eq!(all.value(name), value(text, name));
        }
        assert_eq!(value(text, "A").as_deref(), Some("b=c"));
        assert_eq!(value(text, "JOB"), None);
        assert_eq!(named(text, "A"), Some(&b"A=b=c"[..]));
        assert_eq!(named(text, "EMPTY"), Some(&b"EMPTY="[..]));
        let long = [b"A=".as_slice(), &[b'x'; 2 * VALUE_BYTES_MAX]].concat();
        assert_eq!(value(&long, "A").map(|it| it.len()), Some(VALUE_BYTES_MAX));
    }
}
