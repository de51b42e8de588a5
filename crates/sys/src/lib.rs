//! Kernel interfaces: the only unsafe code, the only C.

pub mod probe;
