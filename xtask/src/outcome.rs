//! What tests said: passed, failed, skipped, over any number of runs.

use std::collections::BTreeMap;
use std::fmt;

/// The mark of a line by which a test says that it could not be done here.
const SKIPPED: &str = "skipped: ";

/// A sum over runs of tests and other steps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Reason to number of tests.
    reasons: BTreeMap<String, usize>,
    /// What failed.
    failures: Vec<String>,
}

impl Outcome {
    /// Counts a step that succeeded or failed as a whole.
    pub(crate) fn step(&mut self, name: &str, result: anyhow::Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(error) => {
                eprintln!("{name}: {error:#}");
                self.fail(name);
            }
        }
    }

    /// Counts something that failed.
    pub(crate) fn fail(&mut self, name: &str) {
        self.failed += 1;
        self.failures.push(name.to_owned());
    }

    /// Counts something that could not be done here.
    pub(crate) fn skip(&mut self, reason: &str) {
        self.skipped += 1;
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
    }

    /// Adds another sum.
    pub(crate) fn add(&mut self, other: Outcome) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
    }

    /// Whether nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        self.failed == 0
    }

    /// How many tests and steps were seen.
    pub(crate) fn seen(&self) -> usize {
        self.passed + self.failed + self.skipped
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reason, count) in &self.reasons {
            writeln!(f, "skipped {count}: {reason}")?;
        }
        for name in &self.failures {
            writeln!(f, "failed: {name}")?;
        }
        let Self {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Reads the output of test programs that were started with `--show-output`, line by line.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    /// Set before the names of failed tests.
    label: &'a str,
    section: Section,
    /// The test whose output is being read has said that it was skipped.
    test_skipped: bool,
    /// Tests of this run that said so.
    skipped: usize,
    outcome: Outcome,
}

#[derive(Debug, PartialEq, Eq)]
enum Section {
    Tests,
    Successes,
    Failures,
}

impl<'a> Reader<'a> {
    /// A reader that sets `label` before the names of failed tests.
    pub(crate) fn new(label: &'a str) -> Self {
        Self {
            label,
            section: Section::Tests,
            test_skipped: false,
            skipped: 0,
            outcome: Outcome::default(),
        }
    }

    /// Takes one line; says whether a person wants to see it.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.result(counts);
            return true;
        }
        match line {
            "successes:" => self.section = Section::Successes,
            "failures:" => self.section = Section::Failures,
            _ if self.section == Section::Successes => self.success(line),
            _ => {}
        }
        if let Some(name) = line.strip_suffix(" ... FAILED") {
            let name = name.strip_prefix("test ").unwrap_or(name);
            self.outcome.failures.push(format!("{}{name}", self.label));
        }
        let quiet = line.ends_with(" ... ok") || line.is_empty();
        self.section == Section::Failures || (self.section == Section::Tests && !quiet)
    }

    fn success(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.test_skipped = false;
        } else if let Some(reason) = line.strip_prefix(SKIPPED) {
            *self.outcome.reasons.entry(reason.to_owned()).or_default() += 1;
            if !std::mem::replace(&mut self.test_skipped, true) {
                self.skipped += 1;
            }
        }
    }

    /// The end of one test program: `ok. 5 passed; 0 failed; 1 ignored; ...`.
    fn result(&mut self, counts: &str) {
        let count = |what: &str| {
            counts
                .split([';', '.'])
                .find_map(|part| part.trim().strip_suffix(what)?.trim().parse::<usize>().ok())
                .unwrap_or(0)
        };
        self.outcome.passed += count("passed").saturating_sub(self.skipped);
        self.outcome.failed += count("failed");
        self.outcome.skipped += self.skipped + count("ignored");
        self.section = Section::Tests;
        self.skipped = 0;
        self.test_skipped = false;
    }

    /// What was read, when the runs have ended; a failure that no test explains counts as one.
    pub(crate) fn end(mut self, success: bool) -> Outcome {
        if !success && self.outcome.failed == 0 {
            self.outcome
                .fail(&format!("{}did not run to its end", self.label));
        }
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 4 tests
test a ... ok
test b ... ok
test c ... FAILED
test d ... ok

successes:

---- a stdout ----
skipped: no kernel support
skipped: no kernel support

---- b stdout ----
fine

successes:
    a
    b
    d

failures:

---- c stdout ----
skipped: not counted
thread 'c' panicked

failures:
    c

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
running 1 test
test e ... ok
test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn tests_are_counted_once_and_a_skipped_one_has_not_passed() {
        let mut reader = Reader::new("truth: ");
        let shown: Vec<_> = OUTPUT.lines().filter(|line| reader.line(line)).collect();
        assert!(shown.contains(&"thread 'c' panicked") && !shown.contains(&"test a ... ok"));
        let outcome = reader.end(false);
        assert!(!outcome.is_good());
        assert_eq!(
            outcome.to_string(),
            "skipped 2: no kernel support\nfailed: truth: c\n3 passed, 1 failed, 3 skipped"
        );
        assert_eq!(outcome.seen(), 7);
    }

    #[test]
    fn a_run_that_broke_off_is_a_failure() {
        let mut reader = Reader::new("truth: ");
        reader.line("test a ... ok");
        let mut all = Outcome::default();
        all.add(reader.end(false));
        all.step("fmt", Ok(()));
        all.step("clippy", Err(anyhow::anyhow!("no")));
        all.skip("cargo-deny is not installed");
        assert_eq!(
            all.to_string().lines().last(),
            Some("1 passed, 2 failed, 1 skipped")
        );
    }
}
