//! What came of a trial: it works, or why not, in words and as a typed reason.

use super::Probe;
use record::value::Absent;
use std::io;

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It works; a remark where there is one.
    Usable(Option<String>),
    /// It does not.
    Unusable {
        /// Why, for programs.
        reason: Absent,
        /// Why, for people.
        why: String,
        /// What would allow it, if the probe's own words do not fit.
        remedy: Option<String>,
    },
}

impl Outcome {
    /// It works.
    pub const fn usable() -> Self {
        Outcome::Usable(None)
    }

    /// It works, with a remark.
    pub fn with(remark: impl Into<String>) -> Self {
        Outcome::Usable(Some(remark.into()))
    }

    /// It does not work, for `reason`.
    pub fn not(reason: Absent, why: impl Into<String>) -> Self {
        Outcome::Unusable {
            reason,
            why: why.into(),
            remedy: None,
        }
    }

    /// The same, with its own remedy.
    #[must_use]
    pub fn remedied_by(self, words: impl Into<String>) -> Self {
        match self {
            Outcome::Unusable { reason, why, .. } => Outcome::Unusable {
                reason,
                why,
                remedy: Some(words.into()),
            },
            usable => usable,
        }
    }

    /// What a system call's result says.
    pub fn of(result: io::Result<()>) -> Self {
        match result {
            Ok(()) => Outcome::usable(),
            Err(error) => {
                let outcome = Outcome::not(reason(&error), words(&error));
                match used_up(&error) {
                    Some(remedy) => outcome.remedied_by(remedy),
                    None => outcome,
                }
            }
        }
    }

    /// Whether it works.
    pub const fn is_usable(&self) -> bool {
        matches!(self, Outcome::Usable(_))
    }

    /// Why it does not work, for programs.
    pub const fn reason(&self) -> Option<Absent> {
        match self {
            Outcome::Usable(_) => None,
            Outcome::Unusable { reason, .. } => Some(*reason),
        }
    }

    /// Why it does not work, or the remark on what works.
    pub fn why(&self) -> Option<&str> {
        match self {
            Outcome::Usable(remark) => remark.as_deref(),
            Outcome::Unusable { why, .. } => Some(why),
        }
    }

    /// What would make it work, out of the probe's words where the trial had no own.
    pub fn remedy<'a>(&'a self, probe: &'a Probe) -> Option<&'a str> {
        match self {
            Outcome::Usable(_) => None,
            Outcome::Unusable {
                remedy: Some(words),
                ..
            } => Some(words.as_str()),
            Outcome::Unusable {
                reason: Absent::NoPermission,
                ..
            } => Some(probe.allow),
            Outcome::Unusable { .. } => Some(probe.needs),
        }
        .filter(|words| !words.is_empty())
    }
}

/// The reason for which a system call failed.
pub(super) fn reason(error: &io::Error) -> Absent {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Absent::NoPermission,
        _ if used_up(error).is_some() => Absent::NoPermission,
        _ => Absent::NoKernelSupport,
    }
}

/// What to raise, if the trial failed because a limit of this user is used up.
fn used_up(error: &io::Error) -> Option<&'static str> {
    // EMFILE, which has no kind of its own.
    const TOO_MANY_OPEN_FILES: i32 = 24;
    if error.kind() == io::ErrorKind::WouldBlock {
        Some("a higher limit of processes: ulimit -u")
    } else if error.raw_os_error() == Some(TOO_MANY_OPEN_FILES) {
        Some("a higher limit of open files: ulimit -n")
    } else if error.kind() == io::ErrorKind::FileTooLarge {
        Some("a higher limit on the size of files: ulimit -f")
    } else {
        None
    }
}

/// An error without its number: `operation not permitted`.
pub(super) fn words(error: &io::Error) -> String {
    // The kernel's own ENOTSUPP, which no user should see and no library has words for.
    const NOT_SUPPORTED: i32 = 524;
    if error.raw_os_error() == Some(NOT_SUPPORTED) {
        return "operation not supported".to_owned();
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_become_reasons_and_words() {
        let denied = Outcome::of(Err(io::Error::from_raw_os_error(1)));
        assert_eq!(denied.reason(), Some(Absent::NoPermission));
        assert_eq!(denied.why(), Some("operation not permitted"));
        let missing = Outcome::of(Err(io::Error::from_raw_os_error(38)));
        assert_eq!(missing.reason(), Some(Absent::NoKernelSupport));
        let full = Outcome::of(Err(io::Error::from_raw_os_error(24)));
        assert_eq!(full.reason(), Some(Absent::NoPermission));
        let large = Outcome::of(Err(io::Error::from_raw_os_error(27)));
        assert_eq!(large.reason(), Some(Absent::NoPermission));
        let unsupported = Outcome::of(Err(io::Error::from_raw_os_error(524)));
        assert_eq!(unsupported.reason(), Some(Absent::NoKernelSupport));
        assert_eq!(unsupported.why(), Some("operation not supported"));
    }

    #[test]
    fn the_remedy_fits_the_reason() {
        let probe = Probe {
            name: "x",
            gives: "x",
            allow: "be root",
            needs: "Linux 9",
            attempt: |_| Outcome::usable(),
        };
        let remedy = |reason| Outcome::not(reason, "w").remedy(&probe).map(str::to_owned);
        assert_eq!(remedy(Absent::NoPermission).as_deref(), Some("be root"));
        assert_eq!(remedy(Absent::NoKernelSupport).as_deref(), Some("Linux 9"));
        assert_eq!(Outcome::usable().remedy(&probe), None);
        let own = Outcome::not(Absent::Off, "w").remedied_by("do it");
        assert_eq!(own.remedy(&probe), Some("do it"));
    }
}
