"""Attempts of an archive, and what is made of them."""

import datetime
import json
import math
import os
import statistics

import plimsoll
import workshop

MANY = 20000


def has_pandas():
    try:
        import pandas  # noqa: F401
    except ImportError:
        workshop.skip("pandas is not installed")


class History(workshop.InFolder):
    def test_each_attempt_is_told_as_it_is_kept(self):
        archive = workshop.fill("archive")
        kept = {one.task: one for one in plimsoll.attempts(archive)}
        self.assertEqual(len(kept), 20)
        one = kept["t3"]
        self.assertEqual(one.memory, plimsoll.Amount(1012 * 10**6, "bytes", "claimed"))
        self.assertEqual((one.wall.value, one.wall.unit), (60 * 10**9, "ns"))
        self.assertEqual((one.category, one.host, one.end), ("align", "node7", "done"))
        self.assertIsNone(one.began)
        self.assertIsNone(one.exit_code)
        self.assertNotIn("cpu", one.used)
        self.assertEqual(dict(one.requested), {})

    def test_instants_and_choices(self):
        began = datetime.datetime.now(datetime.timezone.utc)
        for category in ("a", "b"):
            plimsoll.run(["true"], archive="archive", category=category, set=category * 2)
        (one,) = plimsoll.attempts("archive", category="a")
        self.assertLess(abs((one.began - began).total_seconds()), 60)
        self.assertLessEqual(one.began, one.ended)
        self.assertEqual(one.raw["began"] // 10**9, math.floor(one.began.timestamp()))

        def count(**words):
            return sum(1 for _ in plimsoll.attempts("archive", **words))

        self.assertEqual(count(set="bb"), 1)
        self.assertEqual(count(end="failed"), 0)
        self.assertEqual(count(begin="1h"), 2)
        self.assertEqual(count(begin=began - datetime.timedelta(hours=1)), 2)
        east = datetime.timezone(datetime.timedelta(hours=5))
        self.assertEqual(count(until=(began - datetime.timedelta(hours=1)).astimezone(east)), 0)
        self.assertEqual(count(until=datetime.date(2000, 1, 1)), 0)
        self.assertEqual(count(where=["memory>1B", "wall<1h"]), 2)
        with self.assertRaisesRegex(TypeError, "not chosen by 'color'"):
            count(color="red")
        with self.assertRaises(plimsoll.Refused):
            count(where="memory>much")

    def test_statistics_are_those_of_the_attempts(self):
        archive = workshop.fill("archive")
        memory = plimsoll.stats("align", archive=archive).memory
        values = [one.memory.value for one in plimsoll.attempts(archive)]
        self.assertEqual((memory.count, memory.min, memory.max), (20, min(values), max(values)))
        self.assertAlmostEqual(memory.mean, statistics.mean(values), delta=1)
        self.assertAlmostEqual(memory.sd, statistics.pstdev(values), delta=1)
        self.assertAlmostEqual(memory.quantiles[0.5] / statistics.median(values), 1, delta=0.02)
        self.assertEqual(sum(bar.count for bar in memory.histogram), 20)
        self.assertEqual(dict(memory.known), {"claimed": 20})
        self.assertEqual(list(plimsoll.stats("align", archive=archive, resource="wall")), ["wall"])
        none = plimsoll.stats("unheard", archive=archive)
        self.assertEqual((none.attempts, len(none)), (0, 0))
        with self.assertRaisesRegex(AttributeError, "no attempt tells 'memory'"):
            none.memory

    def test_a_large_archive_is_read_as_far_as_it_is_wanted(self):
        lines = ["task,category,memory,wall,host,end"]
        lines += [f"t{n},c{n % 7},{100 + n % 50},{n + 1},,done" for n in range(MANY)]
        archive = workshop.fill("archive", lines)
        self.assertEqual(sum(1 for _ in plimsoll.attempts(archive)), MANY)
        for _ in range(20):
            # What is left is not waited for; were it not ended, its pipe would be reported open.
            rows = iter(plimsoll.attempts(archive))
            next(rows)
            rows.close() if hasattr(rows, "close") else None
        self.assertEqual(plimsoll.advise("c3", archive=archive).attempts, len(range(3, MANY, 7)))
        self.assertEqual(plimsoll.stats("c3", archive=archive).wall.max, (3 + 7 * ((MANY - 4) // 7) + 1) * 1e9)

    def test_a_damaged_file_is_named(self):
        for _ in range(2):
            plimsoll.run(["true"], archive="archive", category="a")
        damaged = next((self.folder / "archive/tasks").glob("*/*.json"))
        damaged.write_text("{")
        for ask in (
            lambda: len(list(plimsoll.attempts("archive"))),
            lambda: plimsoll.advise("a", archive="archive", fresh=0).attempts,
            lambda: plimsoll.stats("a", archive="archive").attempts,
        ):
            with self.assertWarnsRegex(plimsoll.ArchiveWarning, damaged.name):
                self.assertEqual(ask(), 1)

    def test_a_frame_has_a_row_an_attempt(self):
        has_pandas()
        workshop.fill("archive")
        plimsoll.run(["sh", "-c", "exit 3"], archive="archive", category="b", labels={"a": "b"}, attempt=2)
        table = plimsoll.frame("archive")
        self.assertEqual(len(table), 21)
        types = {name: str(kind) for name, kind in table.dtypes.items()}
        self.assertEqual(types["used_memory"], "Int64")
        self.assertEqual(types["used_cores"], "Float64")
        self.assertEqual(types["used_memory_known"], "string")
        self.assertTrue(types["began"].endswith("UTC]"), types["began"])
        ours = table[table.category == "b"].iloc[0]
        (kept,) = plimsoll.attempts("archive", category="b")
        self.assertEqual(ours.used_memory, kept.memory.value)
        self.assertEqual(ours.ended.value // 1000, kept.raw["ended"] // 1000)
        self.assertEqual((ours.exit_code, ours.attempt, ours.labels), (3, 2, {"a": "b"}))
        self.assertEqual(list(ours.command), ["sh", "-c", "exit 3"])
        # What is not known is missing.
        self.assertEqual(table.exit_code.isna().sum(), 20)
        self.assertEqual(table.used_cpu.isna().sum(), 20)
        self.assertEqual(len(plimsoll.frame("archive", category="unheard")), 0)

    def test_without_pandas_it_is_named(self):
        import sys
        from unittest import mock

        workshop.fill("archive")
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(plimsoll.PandasMissing, r"pip install 'plimsoll\[pandas\]'"):
                plimsoll.frame("archive")


class Dataset(workshop.InFolder):
    def test_a_dataset_is_asked_in_sql(self):
        try:
            rows = plimsoll.query("no-such", "SELECT 1")
        except plimsoll.ProgramUnfit as error:
            workshop.skip(f"this plimsoll has no engine for SQL: {error}")
        except plimsoll.Error as error:
            self.assertIn("no-such", str(error))
        else:
            self.fail(rows)
        select = f"pid:{os.getpid()}"
        workshop.call("agent", "--dataset", "d", "--interval", "1s", "--duration", "2s", "--select", select)
        (row,) = plimsoll.query("d", "SELECT count(*) AS n FROM sample")
        self.assertGreater(row["n"], 0)
        with self.assertRaises(plimsoll.Error):
            plimsoll.query("d", "SELECT nonsense FROM sample")
        json.dumps(row)
