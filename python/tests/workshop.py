"""A folder with an archive and reports whose numbers are known, and the program under test."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import plimsoll

HERE = pathlib.Path(__file__).resolve().parent
KILLED = HERE.parent.parent / "crates/reduce/tests/fixtures/why/memory_limit.json"

#: The attempts of `align`: memory from 1000 to 1076 MB in steps of 4, a minute each.
ALIGN = ["task,category,memory,wall,host,end"]
ALIGN += [f"t{number},align,{1000 + 4 * number},60,node7,done" for number in range(20)]


def call(*words):
    """Asks the program itself, and gives back what it prints."""
    words = [plimsoll.find().path, *words]
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.decode()


def fill(archive, lines=ALIGN):
    """Makes an archive of a table; memory is in MB, wall in seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write("\n".join(lines) + "\n")
        table.flush()
        columns = "task=task,category=category,memory=memory:MB,wall=wall:s,host=host,end=end"
        words = ["--quiet", "--from", "csv", "--map", columns, "--archive", os.fspath(archive)]
        call("archive", "import", *words, table.name)
    return os.fspath(archive)


@contextlib.contextmanager
def folder():
    """A folder that the test is in, with homes of its own, gone afterwards."""
    before, environment = os.getcwd(), dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="plimsoll-python-") as path:
        os.environ["HOME"] = path
        os.environ.pop("XDG_DATA_HOME", None)
        os.environ["XDG_CACHE_HOME"] = os.path.join(path, "cache")
        os.environ["PLIMSOLL"] = plimsoll.find().path
        os.chdir(path)
        try:
            yield pathlib.Path(path)
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def set_up_examples(path):
    """What the examples in the documentation speak of."""
    fill(path / "archive")
    shutil.copy(HERE / "data/job.json", path / "job.json")
    shutil.copy(KILLED, path / "killed.json")
    line = json.dumps(json.loads((HERE / "data/job.json").read_text()))
    (path / "all.jsonl").write_text(f"{line}\n{line}\n")


class InFolder(unittest.TestCase):
    """A test in a folder of its own."""

    def setUp(self):
        opened = folder()
        self.folder = opened.__enter__()
        self.addCleanup(opened.__exit__, None, None, None)

    def program(self, name, text):
        """A program of the shell."""
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return os.fspath(path)


def skip(reason):
    """Ends a test that cannot be done here."""
    raise unittest.SkipTest(reason)
