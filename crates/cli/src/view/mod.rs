//! What people see.

pub mod stdout;
