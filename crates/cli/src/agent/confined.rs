//! What the agent gives up once all is open that it reads.

use super::keeper::Answer;
use super::listener::Listener;
use super::reader::Reader;
use super::say;
use source::everyone::Everyone;
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
    let mut forbidden = vec![Forbidden::Processes, Forbidden::Writing, Forbidden::Machine];
    let everyone = listener.everyone();
    let by_netlink = everyone.is_some_and(Everyone::needs_sockets);
    let by_programs = reader.name() == "bpf" || everyone.is_some() && !by_netlink;
    if !by_programs {
        forbidden.push(Forbidden::Programs);
    }
    if !by_netlink {
        forbidden.push(Forbidden::Sockets);
    }
    let mut keep = if by_programs {
        BY_PROGRAMS.to_vec()
    } else {
        THROUGH_PROC.to_vec()
    };
    if by_netlink {
        // A subscription that lost something is made anew.
        keep.push(Capability::NetAdmin);
    }
    let held = confine::confine(&Rules {
        user: None,
        keep: &keep,
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
