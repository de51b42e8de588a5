//! Places that may break a rule, each with its reason. One that is no longer needed is a fault
//! itself.

use super::Fault;

/// A place that may break a rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exception {
    /// The name of the check.
    pub(crate) check: &'static str,
    /// The file, relative to the root.
    pub(crate) path: &'static str,
    /// A part of the fault's message, such as the name of the function; empty covers the whole
    /// file.
    pub(crate) what: &'static str,
    /// Why the rule is worse than the exception here.
    pub(crate) reason: &'static str,
}

/// Every exception.
pub(crate) const EXCEPTIONS: &[Exception] = &[];

impl Exception {
    /// Whether it excuses this fault of the named check.
    pub(crate) fn covers(&self, check: &str, fault: &Fault) -> bool {
        self.check == check && self.path == fault.path && fault.message.contains(self.what)
    }

    /// The fault that it is when it excuses nothing.
    pub(crate) fn stale(&self) -> Fault {
        let Self {
            check,
            path,
            what,
            reason,
        } = self;
        let message = format!("nothing to excuse from {check} ({what:?}, {reason}): drop it");
        Fault::new(path, 1, message)
    }
}
