//! Mechanisms that see every file and socket of a task, and the table of them.

use crate::notify::Mechanism;
use record::file::{FileUse, Folder, PageUse};
use record::name::{Name, NamePath};
use record::socket::SocketInfo;

pub mod bpf;
mod kind;
mod paths;
pub mod preload;
pub mod ptrace;

/// Every mechanism, best first.
pub const MECHANISMS: &[Mechanism] = &[bpf::MECHANISM, preload::MECHANISM, ptrace::MECHANISM];

/// What is read of files: folders come before the files in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEvent {
    /// Where files are.
    Folder(Folder),
    /// What was done with one.
    Use(Box<FileUse>),
    /// Pages of a file that are in no use of it.
    Pages(PageUse),
    /// A name that was changed.
    Name(Name<NamePath>),
    /// What is known of a socket, of which a use was told before.
    Socket(SocketInfo),
}

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
