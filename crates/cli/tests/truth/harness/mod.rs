//! What the tests of the truth stand on: programs whose use is known, runs of `plimsoll`,
//! judgement.

pub(crate) mod expect;
pub(crate) mod mechanism;
pub(crate) mod process;
pub(crate) mod run;
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
