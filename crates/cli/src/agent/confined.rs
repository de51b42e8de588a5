//! What the agent gives up once all is open that it reads.

use super::keeper::Answer;
use super::listener::Listener;
use super::reader::Reader;
use super::say;
use sys::confine::{self, Capability, Forbidden, Held, Rules};

/// To read what `/proc` has of every process, and the kernel's log.
const THROUGH_PROC: &[Capability] = &[
    Capability::DacReadSearch,
    Capability::SysPtrace,
    Capability::Syslog,
];
/// To use programs in the kernel, and to read what they do not tell.
const BY_PROGRAMS: &[Capability] = &[
    Capability::DacReadSearch,
    Capability::SysPtrace,
    Capability::Syslog,
    Capability::Bpf,
    Capability::Perfmon,
];

/// From here on this process reads, and writes to nothing but what the keeper gives it. Landlock is
/// not for it: who is held by that may not look into the processes of others.
pub(super) fn reader(reader: &Reader, listener: &Listener) {
    let mut forbidden = vec![
        Forbidden::Processes,
        Forbidden::Sockets,
        Forbidden::Writing,
        Forbidden::Machine,
    ];
    let by_programs = reader.name() == "bpf" || listener.hears();
    if !by_programs {
        forbidden.push(Forbidden::Programs);
    }
    let held = confine::confine(&Rules {
        user: None,
        keep: if by_programs {
            BY_PROGRAMS
        } else {
            THROUGH_PROC
        },
        files: None,
        forbidden: &forbidden,
    });
    if let Err(error) = held {
        say(&format!("warning: who reads keeps all privileges: {error}"));
    }
}

/// Says where the keeper is not held to the dataset.
pub(super) fn tell_keeper(answer: Answer) {
    match answer {
        Ok(Held::Wholly | Held::InPart) => {}
        Ok(Held::NotAtAll | Held::NotAsked) => {
            say("this kernel has no Landlock: who writes the dataset is held by its user alone");
        }
        Err(error) => {
            say(&format!(
                "warning: who writes the dataset keeps privileges: {error}"
            ));
        }
    }
}
