//! Exit statuses of other tools, for those who know them.

/// Whose exit statuses are used instead of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// Those of CCTools' `resource_monitor`.
    Cctools,
}

/// Those of CCTools' `resource_monitor`.
pub mod cctools {
    use crate::cmd::Status;

    /// The task exited with a status other than 0, or a signal ended it.
    pub const TASK_ERROR: Status = 1;
    /// A limit was exceeded.
    pub const OVERFLOW: Status = 2;
    /// The time was over.
    pub const TIME_EXPIRE: Status = 3;
    /// The task could not be run.
    pub const MONITOR_ERROR: Status = 4;
}
