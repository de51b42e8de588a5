"""The package as it is built, installed and typed."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile

import plimsoll
import workshop

PACKAGE = workshop.HERE.parent


def needs(*names):
    """Skips a test where these are not installed."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        workshop.skip(f"{' and '.join(missing)} not installed")


class Package(workshop.InFolder):
    def python(self, *words, **environment):
        words = [sys.executable, *map(os.fspath, words)]
        done = subprocess.run(
            words, env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said = done.stdout.decode("utf-8", "replace")
        self.assertEqual(done.returncode, 0, said)
        return said

    def test_a_wheel_is_built_and_installed_without_a_compiler(self):
        needs("setuptools", "wheel", "pip")
        # Beside the sources nothing is left.
        shutil.copytree(PACKAGE, "source", ignore=shutil.ignore_patterns("tests", "__pycache__"))
        pip = ["-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
        local = ["--no-index", "--no-deps"]
        nowhere = {"PATH": "/nowhere", "CC": "/nowhere/cc"}
        self.python(*pip, "wheel", *local, "--no-build-isolation", "-w", "out", "./source", **nowhere)
        name = f"plimsoll-{plimsoll.__version__}-py3-none-any.whl"
        self.assertEqual(os.listdir("out"), [name])
        with zipfile.ZipFile(f"out/{name}") as wheel:
            files = set(wheel.namelist())
        ours = {f"plimsoll/{path.name}" for path in (PACKAGE / "src/plimsoll").iterdir() if path.is_file()}
        self.assertIn("plimsoll/py.typed", ours)
        self.assertLessEqual(ours, files)
        self.assertEqual(sum("LICENSE" in file for file in files), 2)
        self.python(*pip, "install", *local, "--target", "installed", f"out/{name}")
        said = self.python("-m", "plimsoll", PYTHONPATH="installed")
        self.assertIn(f"for Python {plimsoll.__version__}", said)
        self.assertIn(plimsoll.find().path, said)

    def test_every_line_is_typed(self):
        needs("mypy")
        words = ["--strict", "--cache-dir", self.folder / "cache", PACKAGE / "src/plimsoll"]
        config = self.folder / "mypy.ini"
        config.write_text("[mypy]\n[mypy-pandas.*]\nignore_missing_imports = True\n")
        self.python("-m", "mypy", "--config-file", config, *words)

    def test_it_holds_to_the_rules_of_the_house(self):
        for path in sorted(PACKAGE.rglob("*.py")):
            lines = path.read_text().split("\n")
            with self.subTest(path.name):
                self.assertLessEqual(len(lines), 500)
                self.assertTrue(lines[0].startswith('"""'), lines[0])
                self.assertLessEqual(max(map(len, lines)), 120)

    def test_both_licences_are_those_of_the_project(self):
        for name in ("LICENSE-APACHE", "LICENSE-MIT"):
            self.assertEqual((PACKAGE / name).read_text(), (PACKAGE.parent / name).read_text())
