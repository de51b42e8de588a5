"""Reports that are read from their files."""

import copy
import json
import os
import pickle
import shutil

import plimsoll
import workshop


class Read(workshop.InFolder):
    def setUp(self):
        super().setUp()
        workshop.set_up_examples(self.folder)
        self.raw = json.loads((self.folder / "job.json").read_text())

    def test_every_field_is_known_or_absent(self):
        report = plimsoll.report("job.json")
        self.assertEqual(list(report.usage), list(self.raw["usage"]))
        for name, told in self.raw["usage"].items():
            found = getattr(report.usage, name)
            if "absent" in told:
                self.assertEqual(found, plimsoll.Absent(told["absent"]))
                self.assertFalse(found)
                self.assertIsNone(found.value)
            else:
                self.assertEqual((found.value, found.unit, found.method), (told["value"], told["unit"], told["method"]))
                self.assertTrue(found)
        with self.assertRaisesRegex(AttributeError, "no field 'memory'; there are: wall_time"):
            report.usage.memory
        with self.assertRaises(KeyError):
            report.usage["memory"]
        self.assertEqual(report.usage["io_wait"].reason, "off")
        self.assertIn("memory_peak", dir(report.usage))

    def test_the_rest_of_it(self):
        report = plimsoll.report("job")
        self.assertEqual((report.id, report.host, report.attempt, report.labels), ("job-1", "node7", 1, {}))
        self.assertEqual(report.allocation["cores"].value, 2)
        self.assertEqual(report.request, {})
        self.assertEqual(report.begin.tzinfo.utcoffset(None).total_seconds(), 0)
        self.assertEqual(report["monitor"]["level"], "events")
        self.assertIn("job-1", repr(report))
        killed = plimsoll.report("killed")
        self.assertEqual(killed.exit.type, "limit")
        self.assertEqual(killed.exceeded[0].resource, "memory")
        self.assertEqual(killed.exit.evidence[0].kind, "oom_kill")

    def test_it_can_be_copied_and_sent_to_other_processes(self):
        report = plimsoll.report("job")
        for other in (copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
            self.assertEqual(other.usage.wall_time, report.usage.wall_time)
        plimsoll.advise("align", archive="archive")
        advice = plimsoll.advise("align", archive="archive")
        self.assertEqual(pickle.loads(pickle.dumps(advice)), advice)
        statistics = plimsoll.stats("align", archive="archive")
        self.assertEqual(pickle.loads(pickle.dumps(statistics)).memory, statistics.memory)

    def test_what_a_later_version_tells_is_passed_over(self):
        self.raw["usage"]["wall_time"].update(method="guessed", new=1)
        self.raw["usage"]["io_wait"] = {"absent": "asleep"}
        self.raw["exit"].update(new=1, evidence=[{"kind": "dream", "value": 1, "source": "s", "new": 2}])
        (self.folder / "new.json").write_text(json.dumps(self.raw))
        report = plimsoll.report("new")
        self.assertEqual(report.wall_time.method, "guessed")
        self.assertFalse(report.wall_time.is_exact)
        self.assertEqual(report.usage.io_wait.reason, "asleep")
        self.assertEqual(report.exit.evidence[0].kind, "dream")

    def test_a_file_of_many(self):
        lines = [dict(self.raw, task=dict(self.raw["task"], id=f"t{number}")) for number in range(3)]
        (self.folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(plimsoll.report("all.jsonl").id, "t2")
        self.assertEqual(plimsoll.report("all.jsonl", id="t1").id, "t1")
        self.assertEqual([one.id for one in plimsoll.reports("all.jsonl")], ["t0", "t1", "t2"])
        with self.assertRaisesRegex(plimsoll.NotFound, "no report of a task t9"):
            plimsoll.report("all.jsonl", id="t9")
        with open("all.jsonl", "a") as file:
            file.write('{"schema":"plimsoll.ta')
        with self.assertRaisesRegex(plimsoll.ReportError, "line 4 is no report"):
            plimsoll.report("all.jsonl")

    def test_a_running_state(self):
        self.raw["exit"].update(type="running", code=None, status=None)
        (self.folder / ".going.json.running").write_text(json.dumps(self.raw))
        report = plimsoll.report("going")
        self.assertTrue(report.is_running)
        self.assertFalse(report.exit.is_success)

    def test_files_that_are_no_report_are_named(self):
        texts = {"empty": b"", "other": b'{"schema":"other/1"}', "list": b"[]", "torn": b'{"schema"', "bytes": b"\xff"}
        half = {name: self.raw[name] for name in ("schema", "task")}
        texts["half"] = json.dumps(half).encode()
        for name, text in texts.items():
            (self.folder / f"{name}.json").write_bytes(text)
            with self.subTest(name), self.assertRaisesRegex(plimsoll.Error, f"{name}.json"):
                plimsoll.report(name)
        with self.assertRaisesRegex(plimsoll.NotFound, "is a folder"):
            plimsoll.report(self.folder / "archive")

    def test_a_name_that_is_no_text(self):
        name = os.fsencode(self.folder) + b"/caf\xe9"
        shutil.copy("job.json", name + b".json")
        self.assertEqual(plimsoll.report(name).id, "job-1")
        self.assertEqual(plimsoll.why(name).cause, "success")

    def test_why_says_what_there_is_not(self):
        with self.assertRaisesRegex(plimsoll.NotFound, "no-such"):
            plimsoll.why("no-such")
        with self.assertRaisesRegex(plimsoll.NotFound, "no-such"):
            plimsoll.why("no-such", archive="archive")
        told = plimsoll.why("killed", target="slurm")
        self.assertEqual(told.paste[0].target, "slurm")
        self.assertTrue(all(fact.source for fact in told.evidence))
