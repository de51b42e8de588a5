//! Mechanisms that see every file and socket of a task, and the table of them.

use crate::notify::Mechanism;

pub mod bpf;

/// Every mechanism, best first.
pub const MECHANISMS: &[Mechanism] = &[bpf::MECHANISM];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_can_be_probed_and_says_what_to_do() {
        for mechanism in MECHANISMS {
            match (mechanism.probe)() {
                Ok(()) => println!("{}: usable", mechanism.name),
                Err((reason, why)) => {
                    println!("skipped: {}: {reason:?}: {why}", mechanism.name);
                    assert!(!why.is_empty());
                }
            }
        }
    }
}
