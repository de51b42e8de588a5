//! plimsoll
fn main() {}
