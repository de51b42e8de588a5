//! What the tests of the truth stand on: programs whose use is known, runs of `plimsoll`,
//! judgement.

pub(crate) mod cpu;
#[cfg(feature = "dataset")]
pub(crate) mod dataset;
pub(crate) mod executable;
pub(crate) mod expect;
pub(crate) mod mechanism;
pub(crate) mod process;
pub(crate) mod run;
#[cfg(feature = "dataset")]
pub(crate) mod served;
pub(crate) mod workload;

/// Words of a command line out of texts and paths.
macro_rules! words {
    ($($word:expr),* $(,)?) => { vec![$(std::ffi::OsString::from(&$word)),*] };
}
pub(crate) use words;

/// Ends a test that cannot be done here, saying why.
macro_rules! skip {
    ($($reason:tt)*) => {{
        println!("skipped: {}", format!($($reason)*));
        return;
    }};
}
pub(crate) use skip;

/// Makes one test a mechanism of a function that takes a `Mechanism`.
macro_rules! each_mechanism {
    ($($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::harness::mechanism::{Mechanism, with};
            #[test]
            fn by_default() {
                with(Mechanism::Default, super::$check);
            }
            #[test]
            fn bpf() {
                with(Mechanism::Bpf, super::$check);
            }
            #[test]
            fn agent() {
                with(Mechanism::Agent, super::$check);
            }
            #[test]
            fn connector() {
                with(Mechanism::Connector, super::$check);
            }
            #[test]
            fn ptrace() {
                with(Mechanism::Ptrace, super::$check);
            }
            #[test]
            fn procfs() {
                with(Mechanism::Procfs, super::$check);
            }
            #[test]
            fn preload() {
                with(Mechanism::Preload, super::$check);
            }
        }
    )* };
}
pub(crate) use each_mechanism;

/// Makes tests of functions that take a `Mechanism` by which an agent reads processes.
#[cfg(feature = "dataset")]
macro_rules! each_reader {
    ($($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::harness::mechanism::{Mechanism, with};
            #[test]
            fn bpf() {
                with(Mechanism::Bpf, super::$check);
            }
            #[test]
            fn procfs() {
                with(Mechanism::Procfs, super::$check);
            }
        }
    )* };
}
#[cfg(feature = "dataset")]
pub(crate) use each_reader;

/// Makes tests of level io of functions that take a `Mechanism` and the name of a workload: of the
/// dynamic program and of the static one.
macro_rules! each_io_mechanism {
    ($workload:literal: $($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::harness::mechanism::{Mechanism, with};
            const STATIC: &str = concat!($workload, ".static");
            #[test]
            fn bpf() {
                with(Mechanism::Bpf, |it| super::$check(it, $workload));
            }
            #[test]
            fn bpf_static() {
                with(Mechanism::Bpf, |it| super::$check(it, STATIC));
            }
            #[test]
            fn agent() {
                with(Mechanism::Agent, |it| super::$check(it, $workload));
            }
            #[test]
            fn agent_static() {
                with(Mechanism::Agent, |it| super::$check(it, STATIC));
            }
            #[test]
            fn preload() {
                with(Mechanism::Preload, |it| super::$check(it, $workload));
            }
            #[test]
            fn ptrace() {
                with(Mechanism::Ptrace, |it| super::$check(it, $workload));
            }
            #[test]
            fn ptrace_static() {
                with(Mechanism::Ptrace, |it| super::$check(it, STATIC));
            }
        }
    )* };
}
pub(crate) use each_io_mechanism;
