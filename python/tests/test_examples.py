"""The examples of the package and of its documents are true."""

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
import unittest

import plimsoll
import workshop

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


class Examples(workshop.InFolder):
    def run_all(self, finder):
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        said = []
        for test in finder:
            runner.run(test, out=said.append)
        self.assertEqual(runner.failures, 0, "".join(said))
        self.assertGreater(runner.tries, 0)

    def test_every_module(self):
        workshop.set_up_examples(self.folder)
        found = []
        for module in pkgutil.iter_modules(plimsoll.__path__, "plimsoll."):
            if module.name != "plimsoll.__main__":
                found += self.examples_of(importlib.import_module(module.name))
        found += self.examples_of(plimsoll)
        self.assertGreater(len(found), 10)
        self.run_all(found)

    def examples_of(self, module):
        finder = doctest.DocTestFinder(exclude_empty=True)
        tests = [test for test in finder.find(module) if test.examples]
        if not has_pandas():
            tests = [test for test in tests if not re.search("to_pandas|frame$", test.name)]
        return tests

    def test_the_readme(self):
        self.run_document("README.md")

    def test_the_page(self):
        self.run_document("../docs/python.md")

    def run_document(self, name):
        workshop.set_up_examples(self.folder)
        text = (workshop.HERE.parent / name).read_text()
        blocks = re.findall(r"^```\n(>>> .*?)^```$", text, re.M | re.S)
        if not has_pandas():
            blocks = [block for block in blocks if "frame" not in block]
        self.assertTrue(blocks, name)
        names = {"plimsoll": plimsoll}
        self.run_all([doctest.DocTestParser().get_doctest("\n".join(blocks), names, name, name, 0)])


def has_pandas():
    return importlib.util.find_spec("pandas") is not None


class Versions(workshop.InFolder):
    def test_the_package_and_the_program_have_one_version(self):
        self.assertEqual(plimsoll.__version__, plimsoll.find().version)

    def test_python_m_tells_both(self):
        words = [sys.executable, "-m", "plimsoll"]
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(plimsoll.__path__[0]))
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
        said = done.stdout.decode()
        self.assertIn(f"for Python {plimsoll.__version__}", said)
        self.assertIn(plimsoll.find().path, said)
        environment["PLIMSOLL"] = "/no/such/program"
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/no/such/program", done.stderr)


if __name__ == "__main__":
    unittest.main()
