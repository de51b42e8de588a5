"""Runs the tests and prints what the test programs of Rust print: `python3 python/tests`.

The program under test is the one that `plimsoll.find` finds: set PLIMSOLL to name it.
"""

import sys
import unittest


class Result(unittest.TestResult):
    """A line a test; what was skipped and what failed at the end."""

    ended_well = 0

    def _end(self, test, word):
        print(f"test {test.id()} ... {word}", flush=True)

    def addSuccess(self, test):
        self.ended_well += 1
        self._end(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        # As there: who counts takes those off that say that they were skipped.
        self.ended_well += 1
        self._end(test, "ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._end(test, "FAILED")

    def addError(self, test, error):
        super().addError(test, error)
        self._end(test, "FAILED")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._end(subtest, "FAILED")

    def tell(self):
        print("\nsuccesses:\n")
        for test, reason in self.skipped:
            print(f"---- {test.id()} stdout ----\nskipped: {reason}\n")
        faults = self.failures + self.errors
        print("failures:\n")
        for test, text in faults:
            print(f"---- {test.id()} stdout ----\n{text}")
        word = "FAILED" if faults else "ok"
        print(f"test result: {word}. {self.ended_well} passed; {len(faults)} failed; 0 ignored;")
        return not faults


def main():
    suite = unittest.defaultTestLoader.discover(sys.path[0])
    wanted = sys.argv[1:]
    result = Result()
    for test in _each(suite):
        if not wanted or any(word in test.id() for word in wanted):
            test.run(result)
    return 0 if result.tell() else 1


def _each(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from _each(one)
        else:
            yield one


if __name__ == "__main__":
    sys.exit(main())
