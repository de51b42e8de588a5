//! Settings read again while the agent goes on: all that a file says is taken, or nothing.

use super::cpus;
use super::{Agent, Options, say};
use anyhow::Result;
use source::follow::select::Selection;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use sys::affinity::Cpus;
use sys::heap;

/// What counts from the moment that it is read; all else counts when the agent starts anew.
const AT_ONCE: &[&str] = &[
    "interval",
    "offset",
    "young",
    "budget",
    "duration",
    "select",
    "compact",
    "keep",
    "keep_bytes",
    "cpus",
];

/// Settings, and the words that they were read from, by key.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) values: Values,
}

/// What is set, by key, as words of a command line.
pub(crate) type Values = BTreeMap<String, Vec<OsString>>;

/// Where settings are read again.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) read: Box<dyn Fn() -> Result<Settings>>,
}

/// The settings that count now.
pub(super) struct Running {
    file: Option<File>,
    values: Values,
}

/// What was taken of a file.
pub(super) struct Taken {
    pub(super) options: Options,
    /// Readings come at other times now.
    pub(super) is_paced: bool,
}

impl Running {
    pub(super) fn new(file: Option<File>, values: Values) -> Self {
        Self { file, values }
    }

    /// Whether there is something to read again.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Reads the file again and takes what can be taken now; nothing if it is refused. People are
    /// told.
    pub(super) fn reload(&mut self, agent: &mut Agent) -> Option<Taken> {
        let file = self.file.as_ref()?;
        let path = file.path.display().to_string();
        agent.service.reloading();
        let read = (file.read)().and_then(|settings| {
            let is_other = |key: &str| settings.values.get(key) != self.values.get(key);
            agent.take(&settings.options, is_other("select"))?;
            let is_paced = ["interval", "offset", "young", "budget"]
                .into_iter()
                .any(is_other);
            Ok((settings, is_paced))
        });
        // Reading a file needs more memory than sampling.
        heap::trim();
        let (taken, told) = match read {
            Ok((settings, is_paced)) => {
                let told = format!("{path} is read again: {}", self.changed(settings.values));
                let options = settings.options;
                (Some(Taken { options, is_paced }), told)
            }
            Err(error) => {
                let text = crate::run::chain(&error);
                (
                    None,
                    format!("{path} is refused, all stays as it is: {text}"),
                )
            }
        };
        // One line, whatever the file holds.
        let told = told.replace(char::is_control, " ");
        say(&told);
        agent.service.reloaded(&told);
        taken
    }

    /// Takes the values that count at once; says which are others than before.
    fn changed(&mut self, values: Values) -> String {
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for (key, value) in values {
            if self.values.get(&key) == Some(&value) {
                continue;
            }
            if AT_ONCE.contains(&key.as_str()) {
                now.push(key.clone());
                self.values.insert(key, value);
            } else {
                later.push(key);
            }
        }
        let mut told = match now.as_slice() {
            [] => "nothing is different".to_owned(),
            keys => format!("{} changed", keys.join(", ")),
        };
        if !later.is_empty() {
            told += &format!("; {} will when it starts anew", later.join(", "));
        }
        told
    }
}

impl Agent {
    /// Goes on with these options, as far as they may change; `is_selection`: others are wanted.
    ///
    /// # Errors
    /// They are no good here: nothing has changed.
    fn take(&mut self, options: &Options, is_selection: bool) -> Result<()> {
        let cpus = cpus::among(options.cpus.as_ref(), &self.cpus_allowed)?;
        self.keeper.set(options.upkeep, &cpus)?;
        if let Err(error) = cpus.set(0) {
            // Nobody is worse off than before.
            super::warn(&mut self.warned, &error.into());
        }
        self.reader.set_interval(options.interval);
        self.interval = options.interval;
        if is_selection {
            let selection = Selection::new(options.wanted.clone());
            self.identities.select(selection);
            self.listener.select(&options.wanted);
        }
        self.writer.set_segment_age(super::segment_age(options));
        Ok(())
    }
}

/// The CPUs that this process may use, held to those that were asked for.
///
/// # Errors
/// It may not use one of them.
pub(super) fn hold_to_cpus(options: &Options) -> Result<Cpus> {
    let allowed = Cpus::of(0)?;
    if options.cpus.is_some() {
        cpus::among(options.cpus.as_ref(), &allowed)?.set(0)?;
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        let pair = |(key, value): &(&str, &str)| (key.to_string(), vec![OsString::from(value)]);
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn what_changes_is_told_once_and_what_cannot_each_time() {
        let first = values(&[("interval", "1s"), ("dataset", "d"), ("keep", "1d")]);
        let mut running = Running::new(None, first.clone());
        assert_eq!(running.changed(first), "nothing is different");
        let second = values(&[("interval", "2s"), ("dataset", "e"), ("keep", "2d")]);
        assert_eq!(
            running.changed(second.clone()),
            "interval, keep changed; dataset will when it starts anew"
        );
        assert_eq!(
            running.changed(second),
            "nothing is different; dataset will when it starts anew"
        );
    }

    #[test]
    fn what_counts_at_once_are_options() {
        let command = crate::cmd::command();
        let agent = command.find_subcommand("agent").unwrap();
        let known = |key: &&str| agent.get_arguments().any(|arg| arg.get_id() == *key);
        let has_dataset = cfg!(feature = "dataset");
        let of_compaction = ["compact", "keep", "keep_bytes"];
        for key in AT_ONCE
            .iter()
            .filter(|key| has_dataset || !of_compaction.contains(key))
        {
            assert!(known(key), "{key}");
        }
    }
}
