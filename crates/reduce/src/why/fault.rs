//! What a program did that the kernel sent it a signal for: `si_code` of sigaction(2).

/// One of them.
#[derive(Debug)]
pub(super) struct Fault {
    signal: i32,
    code: u32,
    name: &'static str,
    /// Completes "the kernel sent it, for it ".
    pub(super) what: &'static str,
}

const fn fault(signal: i32, code: u32, name: &'static str, what: &'static str) -> Fault {
    Fault {
        signal,
        code,
        name,
        what,
    }
}

/// `SI_KERNEL`: the kernel tells no more. Of SIGSEGV that may be a pointer that was spoilt, a stack
/// without room for a handler or a program that could not be loaded, so it is no row below.
const ANY: u32 = 128;
const ANY_NAME: &str = "SI_KERNEL";

const NOT_THERE: &str = "used an address where it has no memory (a fault of the program, or a \
                         stack too small for it: `ulimit -s`)";
const FLOAT: &str = "calculated with floating-point numbers what it had asked to be stopped at";
const INSTRUCTION: &str = "came to an instruction that this processor does not have or refuses, \
                           as of a program built for another one, or to one that a compiler puts \
                           where nothing may come";
const MACHINE: &str = "used memory of this machine that is broken (a machine check)";
const BREAKPOINT: &str =
    "came to a breakpoint outside a debugger, or to a trap that a compiler put there";

const FAULTS: &[Fault] = &[
    fault(4, 1, "ILL_ILLOPC", INSTRUCTION),
    fault(4, 2, "ILL_ILLOPN", INSTRUCTION),
    fault(4, 3, "ILL_ILLADR", INSTRUCTION),
    fault(4, 4, "ILL_ILLTRP", INSTRUCTION),
    fault(4, 5, "ILL_PRVOPC", INSTRUCTION),
    fault(5, 1, "TRAP_BRKPT", BREAKPOINT),
    fault(5, ANY, ANY_NAME, BREAKPOINT),
    fault(7, 1, "BUS_ADRALN", "used memory that is not aligned"),
    fault(
        7,
        2,
        "BUS_ADRERR",
        "used a page of a mapped file that is beyond its end, that its file system had no room for \
         or could not read, or a huge page of which none was left",
    ),
    fault(7, 4, "BUS_MCEERR_AR", MACHINE),
    fault(7, 5, "BUS_MCEERR_AO", MACHINE),
    fault(
        8,
        1,
        "FPE_INTDIV",
        "divided whole numbers by zero, or the smallest by -1",
    ),
    fault(8, 2, "FPE_INTOVF", "calculated a whole number too large"),
    fault(8, 3, "FPE_FLTDIV", FLOAT),
    fault(8, 4, "FPE_FLTOVF", FLOAT),
    fault(8, 5, "FPE_FLTUND", FLOAT),
    fault(8, 6, "FPE_FLTRES", FLOAT),
    fault(8, 7, "FPE_FLTINV", FLOAT),
    fault(11, 1, "SEGV_MAPERR", NOT_THERE),
    fault(
        11,
        2,
        "SEGV_ACCERR",
        "used memory in a way that is not allowed there, as writing what may only be read, or the \
         guard below a stack",
    ),
    fault(11, 3, "SEGV_BNDERR", "used an address beyond its bounds"),
    fault(
        11,
        4,
        "SEGV_PKUERR",
        "used memory that a key of its own protects",
    ),
    fault(
        31,
        1,
        "SYS_SECCOMP",
        "made a system call that a filter (seccomp) forbids",
    ),
];

/// The name of an `si_code` of a signal, as sigaction(2) has it.
pub fn name(signal: i32, code: u32) -> String {
    let mut all = FAULTS.iter();
    let found = all.find(|one| (one.signal, one.code) == (signal, code));
    match found {
        Some(one) => one.name.to_owned(),
        None if code == ANY => ANY_NAME.to_owned(),
        None => format!("si_code {code}"),
    }
}

/// The one of a signal that has this name.
pub(super) fn named(signal: i32, name: &str) -> Option<&'static Fault> {
    let mut all = FAULTS.iter();
    all.find(|one| one.signal == signal && one.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::signals::crash;

    #[test]
    fn every_code_has_one_name_and_leads_to_advice() {
        for one in FAULTS {
            assert_eq!(name(one.signal, one.code), one.name);
            assert_eq!(named(one.signal, one.name).unwrap().code, one.code);
            assert!(crash(one.signal).is_some(), "{one:?}");
        }
        assert_eq!(name(11, 77), "si_code 77");
        assert_eq!(name(11, ANY), ANY_NAME);
        assert!(named(11, ANY_NAME).is_none());
        assert!(named(11, "FPE_INTDIV").is_none());
    }
}
