"""The workflow of examples/snakemake/advised, run by Snakemake itself."""

import importlib.util
import os
import shutil
import subprocess
import sys

import plimsoll
import workshop

EXAMPLE = workshop.HERE.parent.parent / "examples/snakemake/advised"

#: Names the interpreter that has Snakemake, where that is another one.
VARIABLE = "PLIMSOLL_TEST_SNAKEMAKE"


def interpreter():
    named = os.environ.get(VARIABLE)
    if named:
        return named
    if importlib.util.find_spec("snakemake") is None:
        workshop.skip("snakemake is not installed")
    return sys.executable


class Workflow(workshop.InFolder):
    def setUp(self):
        python = interpreter()
        super().setUp()
        shutil.copytree(EXAMPLE, "workflow")
        os.chdir("workflow")
        self.words = [python, "-m", "snakemake", "--cores", "2", "--nocolor"]
        os.environ["PYTHONPATH"] = os.path.dirname(plimsoll.__path__[0])

    def snakemake(self, *words):
        done = subprocess.run(
            self.words + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def attempts(self, known):
        """The attempts that are new, in their order."""
        new = [one for one in plimsoll.attempts("history") if one.id not in known]
        known.update(one.id for one in new)
        return sorted(new, key=lambda one: one.began)

    def test_each_run_asks_for_what_the_last_used_and_climbs_where_that_was_too_little(self):
        known = set()
        status, said = self.snakemake()
        self.assertEqual(status, 0, said)
        first = self.attempts(known)
        self.assertEqual(len(first), 3)
        # There was no history: as it is asked for today, 500 MB in multiples of 64.
        self.assertEqual({one.requested["memory"].value for one in first}, {512 * 10**6})
        self.assertEqual({one.requested["wall"].value for one in first}, {600 * 10**9})
        self.assertTrue(all(one.end == "done" and one.input_size for one in first))

        status, said = self.snakemake("--forceall")
        self.assertEqual(status, 0, said)
        second = self.attempts(known)
        self.assertEqual([one.attempt for one in second], [1, 1, 1])
        for one in second:
            self.assertLess(one.requested["memory"].value, 512 * 10**6)
            self.assertLess(one.requested["wall"].value, 600 * 10**9)

        # More than was ever held: the limit ends it, and it is asked for again, one rung up.
        with open("samples/c.txt", "w") as file:
            file.write("400")
        status, said = self.snakemake("--forceall")
        self.assertEqual(status, 0, said)
        third = [one for one in self.attempts(known) if "samples/c.txt" in one.command]
        ends = [one.end for one in third]
        self.assertEqual(ends, ["limit"] * (len(ends) - 1) + ["done"])
        self.assertGreater(len(ends), 1)
        self.assertEqual([one.attempt for one in third], list(range(1, len(third) + 1)))
        asked = [one.requested["memory"].value for one in third]
        self.assertEqual(asked, sorted(set(asked)))
        self.assertGreaterEqual(asked[-1], 400 * 10**6)
        # The time was enough each time.
        self.assertEqual(len({one.requested["wall"].value for one in third}), 1)
        with open("held/c.txt") as file:
            self.assertEqual(file.read().strip(), "400000000")

    def test_a_broken_archive_stops_the_workflow_and_says_why(self):
        with open("history", "w") as file:
            file.write("no archive")
        status, said = self.snakemake()
        self.assertNotEqual(status, 0)
        self.assertIn("Not a directory", said)
        self.assertFalse(os.path.exists("held/a.txt"))
