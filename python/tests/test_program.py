"""Finding the program, and what is said where it is not there or will not do."""

import os
import shutil
import sys
from unittest import mock

import plimsoll
import workshop
from plimsoll.program import failure, json_of


class Found(workshop.InFolder):
    def without(self, path):
        """Neither the variable nor PATH name it."""
        return mock.patch.dict(os.environ, {"PLIMSOLL": "", "PATH": path})

    def test_the_argument_comes_first_then_the_variable_then_path_then_the_interpreter(self):
        path = os.environ["PLIMSOLL"]
        for place in ("path", "beside"):
            (self.folder / place).mkdir()
            os.symlink(path, self.folder / place / "plimsoll")
        beside = os.fspath(self.folder / "beside")
        self.assertEqual(plimsoll.find(path).path, path)
        with mock.patch.object(sys, "executable", beside + "/python3"):
            self.assertEqual(plimsoll.find().path, path)
            with self.without(os.fspath(self.folder / "path")):
                self.assertEqual(plimsoll.find().path, os.fspath(self.folder / "path/plimsoll"))
            with self.without("/no/such"):
                self.assertEqual(plimsoll.find().path, beside + "/plimsoll")
        with self.without("/no/such"), self.assertRaises(plimsoll.ProgramMissing) as caught:
            plimsoll.find()
        self.assertIn("PATH", str(caught.exception))
        self.assertIn("program=", str(caught.exception))

    def test_a_name_that_leads_nowhere_is_not_passed_over(self):
        plain = self.folder / "plain"
        plain.write_text("no program")
        wrong = {
            "/no/such/plimsoll": "No such file",
            "no-such-plimsoll": "not on PATH",
            os.fspath(plain): "may not be executed",
            os.fspath(self.folder) + "/": "may not be executed",
        }
        for name, words in wrong.items():
            with self.subTest(name), self.assertRaisesRegex(plimsoll.ProgramMissing, words) as caught:
                plimsoll.find(name)
            self.assertIn(name, str(caught.exception))
            with mock.patch.dict(os.environ, {"PLIMSOLL": name}):
                with self.subTest(name), self.assertRaisesRegex(plimsoll.ProgramMissing, "PLIMSOLL names"):
                    plimsoll.advise("align")

    def test_another_program_and_an_old_one_are_named(self):
        other = self.program("other", "echo other 1.0")
        with self.assertRaisesRegex(plimsoll.ProgramUnfit, "other is not Plimsoll"):
            plimsoll.find(other)
        old = self.program("old", "echo plimsoll 0.0.9")
        with self.assertRaisesRegex(plimsoll.ProgramUnfit, "0.0.9, and at least 0.1.0 is needed: update"):
            plimsoll.find(old)
        later = self.program("later", "echo plimsoll 12.3.4-rc1")
        self.assertEqual(plimsoll.find(later).version, "12.3.4-rc1")
        unreadable = self.program("unreadable", "")
        with open(unreadable, "wb") as file:
            file.write(b"\x7fELF no program")
        with self.assertRaisesRegex(plimsoll.ProgramMissing, "cannot be executed"):
            plimsoll.find(unreadable)

    def test_a_program_that_is_replaced_is_asked_again(self):
        path = self.program("it", "echo plimsoll 1.0.0")
        self.assertEqual(plimsoll.find(path).version, "1.0.0")
        os.remove(path)
        self.assertEqual(plimsoll.find(self.program("it", "echo plimsoll 1.0.10")).version, "1.0.10")

    def test_a_program_in_a_folder_that_is_no_text(self):
        folder = os.fsencode(self.folder) + b"/caf\xe9"
        os.mkdir(folder)
        shutil.copy(os.environ["PLIMSOLL"], folder + b"/plimsoll")
        self.assertEqual(plimsoll.find(folder + b"/plimsoll").version, plimsoll.__version__)


class Answered(workshop.InFolder):
    def answering(self, text, status=0):
        """A program that answers so to everything but its version."""
        (self.folder / "answer").write_text(text)
        answer = f"cat '{self.folder}/answer'; exit {status}"
        return self.program(
            f"answers{len(list(self.folder.iterdir()))}",
            f'case "$1" in --version) echo plimsoll 1.0.0;; *) {answer};; esac',
        )

    def test_an_answer_of_another_version_is_an_error(self):
        workshop.fill("archive")
        for text, words in {
            "{}": "no schema",
            '{"schema":"plimsoll.advise/9"}': "advise/9 and plimsoll.advise/1 is understood",
            "Memory: 3": "no JSON",
        }.items():
            with self.subTest(text), self.assertRaisesRegex(plimsoll.ProgramUnfit, words):
                plimsoll.advise("align", archive="archive", program=self.answering(text))

    def test_a_build_without_the_verb_says_so(self):
        told = b"plimsoll: this plimsoll was built for a node, without what asks an archive\n"
        self.assertIsInstance(failure(1, told), plimsoll.ProgramUnfit)
        told = b"error: unrecognized subcommand 'advise'\n\nUsage: plimsoll COMMAND\n"
        error = failure(2, told)
        self.assertIsInstance(error, plimsoll.ProgramUnfit)
        self.assertEqual(str(error), "unrecognized subcommand 'advise'")
        error = failure(2, b"error: unexpected argument '--set' found\n")
        self.assertRegex(str(error), "too old")

    def test_a_program_that_dies_or_says_nothing_is_told(self):
        workshop.fill("archive")
        dies = self.program("dies", 'case "$1" in --version) echo plimsoll 1.0.0;; *) kill -9 $$;; esac')
        with self.assertRaisesRegex(plimsoll.Error, "killed by signal 9"):
            plimsoll.advise("align", archive="archive", program=dies)
        with self.assertRaisesRegex(plimsoll.Error, "status 7 and did not say why"):
            plimsoll.stats("align", archive="archive", program=self.answering("", 7))
        with self.assertRaises(plimsoll.Refused):
            plimsoll.find().ask(["advise", "--category=a\0b"])

    def test_every_error_is_of_the_family(self):
        kinds = [getattr(plimsoll, name) for name in plimsoll.__all__]
        errors = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)]
        errors.remove(plimsoll.ArchiveWarning)
        self.assertEqual(len(errors), 9)
        self.assertTrue(all(issubclass(kind, plimsoll.Error) for kind in errors))
        with self.assertRaises(plimsoll.ProgramUnfit):
            json_of("[]", "plimsoll.advise/1")
