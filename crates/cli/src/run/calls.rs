//! The system calls of the task, if they were asked for.

use super::facts::Facts;
use super::notifier::Notifier;
use crate::cmd::run::RunOptions;
use anyhow::Result;
use reduce::calls::CallSummary;

/// The system calls of one task.
#[derive(Default)]
pub(crate) struct Calls {
    #[cfg(feature = "bpf")]
    seen: Option<source::interpose::bpf::Calls>,
}

impl Calls {
    /// Begins to count the calls of the task that `notifier` follows, if that was asked for.
    pub(crate) fn begin(options: &RunOptions, notifier: &Notifier) -> Result<Self> {
        #[cfg(not(feature = "bpf"))]
        let _ = (options, notifier);
        Ok(Self {
            #[cfg(feature = "bpf")]
            seen: match notifier {
                Notifier::Bpf(bpf) if options.syscalls => Some(bpf.follow_calls()?),
                _ => None,
            },
        })
    }

    /// All that was counted; nothing if it was not asked for.
    #[cfg(feature = "bpf")]
    pub(crate) fn finish(&self, facts: &mut Facts) -> Option<CallSummary> {
        let mut table = reduce::calls::CallTable::default();
        let read = self.seen.as_ref()?.read(&mut |used| table.take(used));
        match read {
            Ok(true) => {}
            Ok(false) => facts.note(
                "system calls of programs that ran with another user's privilege are not counted: \
                 the agent does not tell of them"
                    .to_owned(),
            ),
            Err(error) => {
                let why = super::chain(&error.into());
                facts.note(format!("system calls could not be read: {why}"));
            }
        }
        Some(table.finish())
    }

    /// Nothing was counted.
    #[cfg(not(feature = "bpf"))]
    pub(crate) fn finish(&self, _: &mut Facts) -> Option<CallSummary> {
        None
    }
}
