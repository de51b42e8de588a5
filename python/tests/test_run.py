"""Commands under `plimsoll run`, whose use is known by construction."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import plimsoll
import workshop

MIB = 1 << 20
FILL = "b = bytearray({} << 20)\nfor i in range(0, len(b), 4096): b[i] = 1"


def filling(mib):
    """A program that fills so many MiB."""
    return [sys.executable, "-c", FILL.format(mib)]


class Watched(workshop.InFolder):
    def test_a_program_that_fills_memory_is_told_so(self):
        peaks = {}
        for mib in (0, 200):
            status, report = plimsoll.run(filling(mib), category="fill")
            self.assertEqual(status, 0)
            self.assertEqual(report.category, "fill")
            self.assertIsInstance(report.memory_peak, plimsoll.Amount)
            self.assertEqual(report.memory_peak.unit, "bytes")
            # A bound or a sample, as well as an exact value, is near what was filled.
            peaks[mib] = report.memory_peak.upper or report.memory_peak.value
        filled = peaks[200] - peaks[0]
        self.assertTrue(0.97 * 200 * MIB <= filled <= 1.03 * 200 * MIB, peaks)

    def test_what_it_wrote_and_how_long_it_took(self):
        status, report = plimsoll.run(["dd", "if=/dev/zero", "of=out", "bs=1M", "count=8", "status=none"])
        self.assertEqual(status, 0)
        self.assertGreaterEqual(report.usage.bytes_written.value, 8 * MIB)
        self.assertLess(report.usage.bytes_written.value, 9 * MIB)
        lasted = (report.end - report.begin).total_seconds()
        self.assertAlmostEqual(report.wall_time.value / 1e9, lasted, delta=0.5)
        self.assertEqual(report.command[0], "dd")
        self.assertEqual(os.stat("out").st_size, 8 * MIB)

    def test_the_status_is_the_commands_own(self):
        for words, status, type_ in (
            (["sh", "-c", "exit 7"], 7, "normal"),
            (["sh", "-c", "exit 125"], 125, "normal"),
            (["sh", "-c", "kill -9 $$"], 137, "signal"),
            (["no-such-command"], 127, "not_started"),
        ):
            with self.subTest(words):
                told = plimsoll.run(words, stderr=subprocess.DEVNULL)
                self.assertEqual((told.status, told.report.exit.type), (status, type_))
                self.assertEqual(told.report.exit.status, status)
                self.assertEqual(told.report.exit.is_success, False)
        self.assertFalse(plimsoll.run(["no-such"], stderr=subprocess.DEVNULL).report.memory_peak)

    def test_a_limit_ends_it_and_why_knows(self):
        status, report = plimsoll.run(filling(300), limits={"memory": 50 * MIB}, output="killed")
        self.assertEqual((status, report.exit.type), (137, "limit"))
        self.assertEqual(report.exceeded[0].resource, "memory")
        self.assertEqual(report.exceeded[0].limit, 50 * MIB)
        self.assertTrue(report.exceeded[0].enforced)
        self.assertEqual(plimsoll.report("killed").id, report.id)
        told = plimsoll.why("killed")
        self.assertEqual((told.cause, told.certainty), ("limit", "known"))
        self.assertGreater(told.requests[0].after, 50 * MIB)
        (self.folder / "limits.json").write_text('{"wall": "1h", "memory": "50MiB"}')
        status, _ = plimsoll.run(filling(300), limits=self.folder / "limits.json")
        self.assertEqual(status, 137)

    def test_it_is_in_the_archive_and_advice_knows_it(self):
        for attempt in (1, 2):
            plimsoll.run(
                ["true"],
                archive="history",
                category="it",
                set="run 1",
                attempt=attempt,
                inputs_bytes=5,
                labels={"sample": "a=b"},
            )
        kept = list(plimsoll.attempts("history"))
        self.assertEqual(sorted(one.attempt for one in kept), [1, 2])
        self.assertEqual({one.set for one in kept}, {"run 1"})
        self.assertEqual(kept[0].labels, {"sample": "a=b"})
        self.assertEqual(kept[0].input_size, 5)
        self.assertEqual(plimsoll.advise("it", archive="history").attempts, 2)
        self.assertEqual(plimsoll.why(kept[0].id, archive="history").cause, "success")
        plimsoll.run(["true"], archive=True, category="it")
        self.assertEqual(plimsoll.advise("it").attempts, 1)

    def test_words_that_are_no_text(self):
        name = b"caf\xe9"
        status, report = plimsoll.run(["touch", name], cwd=self.folder)
        self.assertEqual(status, 0)
        self.assertIn(name, os.listdir(os.fsencode(self.folder)))
        self.assertEqual(len(report.command), 2)
        status, report = plimsoll.run(["sh", "-c", "exit 3"], output=b"r" + name)
        self.assertEqual(plimsoll.report(b"r" + name).exit.code, 3)

    def test_streams_and_environment_are_the_callers(self):
        with tempfile.TemporaryFile() as out:
            environment = dict(os.environ, WORD="said")
            plimsoll.run(["sh", "-c", "echo $WORD; cat"], env=environment, stdout=out, stdin=subprocess.DEVNULL)
            out.seek(0)
            self.assertEqual(out.read(), b"said\n")

    def test_what_plimsoll_cannot_do_starts_nothing(self):
        with self.assertRaisesRegex(plimsoll.RunError, "status 125"):
            plimsoll.run(["touch", "started"], limits={"memory": "much"}, stderr=subprocess.DEVNULL)
        with self.assertRaises(plimsoll.RunError):
            plimsoll.run(["touch", "started"], options=["--no-such"], stderr=subprocess.DEVNULL)
        with self.assertRaisesRegex(plimsoll.RunError, "no-such-folder"):
            plimsoll.run(["touch", "started"], cwd="no-such-folder")
        # A report that is there from before is not taken for its own.
        plimsoll.run(["true"], output="report")
        with self.assertRaises(plimsoll.RunError):
            plimsoll.run(["touch", "started"], output="report", limits={"cpu": "?"}, stderr=subprocess.DEVNULL)
        for wrong in ([], "touch started", ["touch", "a\0b"]):
            with self.subTest(wrong), self.assertRaises(plimsoll.Refused):
                plimsoll.run(wrong)
        self.assertFalse(os.path.exists("started"))

    def test_threads_run_at_once(self):
        def one(number):
            told = plimsoll.run(["sh", "-c", f"exit {number}"], archive="history", category=f"c{number % 4}")
            return told.status, told.report.exit.code

        with ThreadPoolExecutor(6) as pool:
            self.assertEqual(list(pool.map(one, range(24))), [(number, number) for number in range(24)])
        self.assertEqual(len({one.id for one in plimsoll.attempts("history")}), 24)

    def test_an_interrupt_waits_for_the_report(self):
        script = (
            "import plimsoll, sys\n"
            "try:\n"
            "    plimsoll.run(['sh', '-c', 'trap \"exit 5\" INT; touch ready; while :; do sleep 0.05; done'],"
            " output='report')\n"
            "except KeyboardInterrupt:\n"
            "    sys.exit(9)\n"
        )
        path = os.path.dirname(plimsoll.__path__[0])
        environment = dict(os.environ, PYTHONPATH=path)
        # A group of its own, to which the interrupt goes as from a terminal.
        child = subprocess.Popen([sys.executable, "-c", script], env=environment, start_new_session=True)
        until = time.monotonic() + 60
        while not os.path.exists("ready") and time.monotonic() < until and child.poll() is None:
            threading.Event().wait(0.01)
        os.killpg(child.pid, signal.SIGINT)
        self.assertEqual(child.wait(60), 9)
        self.assertEqual(plimsoll.report("report").exit.code, 5)
