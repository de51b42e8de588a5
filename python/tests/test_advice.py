"""What to ask for, and how long an answer is kept."""

import datetime
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import plimsoll
import workshop
from plimsoll import advice as module
from plimsoll import cache


def counted():
    """How often the program is asked."""
    return mock.patch.object(module, "_read", side_effect=module._read)


class Told(workshop.InFolder):
    def setUp(self):
        super().setUp()
        self.archive = workshop.fill("archive")

    def test_the_first_request_and_the_ladder(self):
        advice = plimsoll.advise("align", archive=self.archive)
        self.assertTrue(advice.is_known)
        self.assertEqual((advice.attempts, advice.done), (20, 20))
        memory = advice.memory
        # 20 attempts of at most 1076 MB: no less, and not much more.
        self.assertTrue(1076e6 <= memory.first <= 1300e6, memory)
        self.assertEqual(memory.max, 1076000000)
        self.assertEqual(memory.first, memory.ladder[0])
        self.assertEqual(sorted(memory.ladder), list(memory.ladder))
        self.assertEqual(advice.memory_mb(), -(-memory.first // 10**6))
        self.assertEqual([advice.memory_mb(n) for n in (1, 2)], [n // 10**6 for n in memory.ladder[:2]])
        # 1.5 times a minute, in whole minutes.
        self.assertTrue(90e9 <= advice.wall.first <= 120e9, advice.wall)
        self.assertEqual(advice.runtime(), 2)
        self.assertIsNone(advice.disk.first)
        self.assertIsNone(advice.disk_mb())
        self.assertEqual(advice.disk_mb(attempt=3, default=100), 400)
        self.assertIn("plimsoll run --limit memory=", advice.paste.lines[0])
        self.assertEqual(advice.raw["schema"], "plimsoll.advise/1")

    def test_past_the_ladder_it_doubles_and_what_may_not_be_asked_for_stays(self):
        memory = plimsoll.advise("align", archive=self.archive).memory
        last = len(memory.ladder)
        self.assertEqual(memory.at(last + 2), memory.ladder[-1] * 4)
        bounded = plimsoll.advise("align", archive=self.archive, max={"memory": "2GB"}).memory
        self.assertEqual(bounded.ladder[-1], 2 * 10**9)
        self.assertEqual(bounded.at(20), 2 * 10**9)
        for wrong in (0, -1, 1.5, True, None):
            with self.subTest(wrong), self.assertRaises(plimsoll.Refused):
                memory.at(wrong)

    def test_cores_stay(self):
        workshop.call("run", "--quiet", "--archive=busy", "--category=a", "--", "sh", "-c", "exit 0")
        advice = plimsoll.advise("a", archive="busy")
        self.assertEqual(advice.threads(), 1)
        self.assertEqual(advice.cores.at(5), advice.cores.first)
        self.assertEqual(plimsoll.advise("b", archive="busy").threads(default=4), 4)

    def test_without_a_history_nothing_is_claimed(self):
        # Neither a category that is not there nor an archive that is not there yet is an error: the
        # first run of a workflow has neither.
        (self.folder / "empty").mkdir()
        for archive in (self.archive, "not-there", "empty", None):
            with self.subTest(archive):
                advice = plimsoll.advise("unheard", archive=archive)
                self.assertFalse(advice.is_known)
                self.assertIsNone(advice.memory.first)
                self.assertIsNone(advice.memory_mb(3))
                self.assertEqual(advice.memory.by, "nothing")
                self.assertEqual([advice.memory_mb(n, default=100) for n in (1, 2, 3)], [100, 200, 400])
                asked = plimsoll.advise("unheard", archive=archive, request={"memory": 64 * 10**6})
                self.assertEqual(asked.memory.first, 64 * 10**6)
                self.assertEqual(asked.memory.by, "request")
        self.assertFalse(os.path.exists("not-there"))
        self.assertEqual(os.listdir("empty"), [])

    def test_the_default_archive_is_the_users(self):
        workshop.fill(self.folder / ".local/share/plimsoll/archive")
        self.assertEqual(plimsoll.advise("align").memory.runs, 20)
        with mock.patch.dict(os.environ, {"XDG_DATA_HOME": "relative", "HOME": ""}):
            with self.assertRaisesRegex(plimsoll.ArchiveError, "archive= says where"):
                plimsoll.advise("align")

    def test_what_is_asked_reaches_the_rule(self):
        asked = plimsoll.advise("align", archive=self.archive, max={"wall": datetime.timedelta(seconds=70)})
        self.assertEqual(asked.wall.first, 70 * 10**9)
        sibling = plimsoll.advise("unheard", archive=self.archive, sibling="align")
        self.assertEqual(sibling.memory.by, "sibling")
        slurm = plimsoll.advise("align", archive=self.archive, target="slurm")
        self.assertEqual(slurm.paste.target, "slurm")
        wide = plimsoll.advise("align", archive=self.archive, quantile=0.5, input_size="3GiB")
        self.assertEqual(wide.memory.runs, 20)
        user = plimsoll.advise("align", archive=self.archive, request={"memory": "8GiB"})
        self.assertGreater(user.memory.waste.user, user.memory.waste.advised)

    def test_what_is_not_understood_is_refused(self):
        for wrong in (
            {"quantile": 2},
            {"max": {"memory": "much"}},
            {"max": {"moon": "1GiB"}},
            {"max": {"memory": True}},
            {"max": {"memory": datetime.timedelta(1)}},
            {"max": {"memory": float("nan")}},
            {"input_size": "big"},
            {"target": "nobody"},
            {"category": None},
        ):
            with self.subTest(wrong), self.assertRaises(plimsoll.Refused) as caught:
                plimsoll.advise(**{"category": "align", "archive": self.archive, **wrong})
            self.assertTrue(str(caught.exception))

    def test_after_a_failure_the_ladder_begins_behind_it(self):
        status, _ = plimsoll.run(
            ["python3", "-c", "b = bytearray(200 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"],
            limits={"memory": "40MiB"},
            output="killed",
        )
        self.assertEqual(status, 137)
        after = plimsoll.advise("align", archive=self.archive, after="killed")
        self.assertGreater(after.memory.first, 40 << 20)
        with self.assertRaises(plimsoll.NotFound):
            plimsoll.advise("align", archive=self.archive, after="no-such")

    def test_a_later_attempt_begins_further_up(self):
        first = plimsoll.advise("align", archive=self.archive)
        third = plimsoll.advise("align", archive=self.archive, attempt=3)
        self.assertEqual(third.memory.first, first.memory.at(3))
        self.assertEqual(third.memory.ladder[:4], first.memory.ladder[2:])
        self.assertEqual(third.memory_mb(attempt=2), first.memory_mb(attempt=4))
        self.assertEqual(third.runtime(), first.runtime(attempt=3))
        bounded = plimsoll.advise("align", archive=self.archive, attempt=3, max={"memory": "2GB"})
        self.assertEqual(bounded.memory.ladder, (2 * 10**9,))
        unheard = plimsoll.advise("unheard", archive=self.archive, attempt=3)
        self.assertEqual(unheard.memory_mb(default=100), 400)
        self.assertIsNone(unheard.memory_mb())
        with self.assertRaises(plimsoll.Refused):
            plimsoll.advise("align", archive=self.archive, attempt=0)

    def small(self):
        """A history of attempts that hold 60 MB for a minute."""
        lines = [workshop.ALIGN[0]] + [f"s{number},small,60,60,node7,done" for number in range(20)]
        workshop.fill(self.archive, lines)

    def end_by(self, task, words, **limits):
        """The first attempt of a task, which ends badly."""
        told = plimsoll.run(
            words, archive=self.archive, category="small", limits=limits, options=["--id", task]
        )
        self.assertNotEqual(told.status, 0)

    def test_the_attempt_before_tells_what_was_too_little(self):
        self.small()
        fill = "b = bytearray(600 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"
        self.end_by("large", ["python3", "-c", fill], memory=300 * 10**6, wall="10m")
        self.end_by("slow", ["sleep", "60"], memory="1GB", wall="200ms")
        self.end_by("wrong", ["false"], memory="1GB")

        def ask(task, attempt=2, **words):
            return plimsoll.advise("small", archive=self.archive, task=task, attempt=attempt, **words)

        first = ask("large", 1)
        # A rung up would be less than what was too little already.
        self.assertLess(first.memory.at(2), 300 * 10**6)
        large = ask("large")
        self.assertGreater(large.memory.first, 300 * 10**6)
        self.assertEqual(large.wall, first.wall)
        slow = ask("slow")
        self.assertEqual(slow.memory, first.memory)
        self.assertGreater(slow.wall.first, 200 * 10**6)
        # That one failed by itself, and of another nothing is known: all climbs.
        for task in ("wrong", "unheard", None):
            other = ask(task)
            self.assertEqual((other.memory.first, other.wall.first), (first.memory.at(2), first.wall.at(2)))
        # The attempt before the third is not there.
        self.assertEqual(ask("large", 3).memory.first, first.memory.at(3))
        # No more may be asked for than it had.
        bounded = ask("large", max={"memory": 300 * 10**6})
        self.assertEqual(bounded.memory.ladder, (300 * 10**6,))

    def test_a_broken_archive_is_an_error(self):
        (self.folder / "file").write_text("")
        wrong = {"file": "Not a directory"}
        for name, text in {"later": '{"schema":"plimsoll.archive/9"}', "torn": "{"}.items():
            (self.folder / name).mkdir()
            (self.folder / name / "archive.json").write_text(text)
            wrong[name] = "later version|no archive"
        for name, words in wrong.items():
            for ask in (plimsoll.advise, plimsoll.stats):
                with self.subTest(name), self.assertRaisesRegex(plimsoll.ArchiveError, words):
                    ask("align", archive=name)
            with self.subTest(name), self.assertRaisesRegex(plimsoll.ArchiveError, words):
                list(plimsoll.attempts(name))

    def test_names_that_are_no_text(self):
        folder = os.fsencode(self.folder) + b"/caf\xe9"
        workshop.fill(os.fsdecode(folder))
        self.assertEqual(plimsoll.advise("align", archive=folder).memory.runs, 20)
        self.assertEqual(plimsoll.advise("align", archive=os.fsdecode(folder)).memory.runs, 20)
        with self.assertRaises(plimsoll.Refused):
            plimsoll.advise("caf\udce9", archive=self.archive)
        self.assertEqual(plimsoll.advise("--help", archive=self.archive).attempts, 0)


class Kept(workshop.InFolder):
    def setUp(self):
        super().setUp()
        self.archive = workshop.fill("archive")

    def test_an_answer_is_kept_while_the_archive_stays_as_it_is(self):
        with counted() as read:
            first = plimsoll.advise("align", archive=self.archive)
            self.assertIs(plimsoll.advise("align", archive=self.archive), first)
            # Looked at again, and nothing is new.
            with mock.patch.object(time, "monotonic", return_value=time.monotonic() + 100):
                self.assertIs(plimsoll.advise("align", archive=self.archive), first)
            self.assertEqual(read.call_count, 1)
            plimsoll.advise("align", archive=self.archive, fresh=0)
            plimsoll.advise("align", archive=self.archive, input_size=7)
            self.assertEqual(read.call_count, 3)

    def test_an_attempt_that_is_added_makes_it_another(self):
        before = plimsoll.advise("a", archive=self.archive)
        workshop.call("run", "--quiet", f"--archive={self.archive}", "--category=a", "--", "true")
        # Within the time nobody looks; after it, the archive is seen to be another.
        self.assertIs(plimsoll.advise("a", archive=self.archive), before)
        with mock.patch.object(time, "monotonic", return_value=time.monotonic() + 100):
            self.assertEqual(plimsoll.advise("a", archive=self.archive).attempts, 1)
        # One of our own is seen at once.
        plimsoll.run(["true"], archive=self.archive, category="a")
        self.assertEqual(plimsoll.advise("a", archive=self.archive).attempts, 2)
        workshop.call("archive", "pack", "--quiet", "--archive", self.archive)
        before = cache.state(self.archive)
        plimsoll.run(["true"], archive=self.archive, category="a")
        self.assertNotEqual(cache.state(self.archive), before)

    def test_an_error_is_no_answer_for_later(self):
        os.rename("archive", "aside")
        (self.folder / "archive").write_text("")
        for _ in range(2):
            with self.assertRaises(plimsoll.ArchiveError):
                plimsoll.advise("align", archive=self.archive)
        os.remove("archive")
        os.rename("aside", "archive")
        self.assertEqual(plimsoll.advise("align", archive=self.archive).memory.runs, 20)

    def test_threads_ask_once_for_each_question(self):
        gate = threading.Barrier(8)

        def ask(number):
            if number < 8:
                gate.wait()
            return plimsoll.advise("align", archive=self.archive, input_size=number % 4 + 1)

        with counted() as read, ThreadPoolExecutor(8) as pool:
            told = list(pool.map(ask, range(200)))
        self.assertEqual(read.call_count, 4)
        self.assertEqual({advice.memory.runs for advice in told}, {20})

    def test_there_is_a_bound_on_what_is_kept(self):
        answers = cache.Answers()
        with mock.patch.object(cache, "ANSWERS_MAX", 3):
            for number in (1, 2, 3, 1, 4, 5):
                self.assertEqual(answers.get(self.archive, number, 9, lambda: number), number)
        self.assertEqual([key for _, key in answers._answers], [1, 4, 5])

    def test_a_child_of_this_process_asks_for_itself(self):
        plimsoll.advise("align", archive=self.archive)
        read, write = os.pipe()
        with module._answers._lock:
            child = os.fork()
            if child == 0:
                # The lock is held by a thread that the child does not have.
                runs = plimsoll.advise("align", archive=self.archive).memory.runs
                os.write(write, str(runs).encode())
                os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(read, 9), b"20")
        os.close(read)
        os.close(write)
