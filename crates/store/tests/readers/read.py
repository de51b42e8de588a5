"""Feeds recorded texts to the programs that they are for.

    python read.py READER FOLDER...

Each FOLDER holds report.json and the expected texts. A reader that does not take one, or takes
something else out of it than the report says, is a failure. Prints how many were read.
"""

import json
import os
import subprocess
import sys
import types


class Case:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            self.report = json.load(file)

    def text(self, extension):
        path = self.path(extension)
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()

    def path(self, extension):
        return os.path.join(self.folder, "expected." + extension)

    def value(self, metric):
        return self.report["usage"][metric].get("value")

    def seconds(self, metric):
        value = self.value(metric)
        return None if value is None else value / 1e9

    def named(self):
        """Each named file, what was seen of it last, and whether it is an output."""
        inputs, outputs = (self.report.get(kind, []) for kind in ("inputs", "outputs"))
        return [(file, file["before"], False) for file in inputs] + [
            (file, file["after"], True) for file in outputs
        ]

    def started(self):
        return self.report["exit"]["type"] != "not_started"


def same(got, expected, what):
    if got != expected:
        raise SystemExit(f"{what}: {got!r} is not {expected!r}")


def near(got, expected, allowed, what):
    if expected is None or got is None:
        same(got, expected, what)
    elif abs(got - expected) > allowed:
        raise SystemExit(f"{what}: {got!r} is not {expected!r}")


def snakemake(case):
    """The row that snakemake itself writes of these numbers is ours."""
    import io

    from snakemake.benchmark import BenchmarkRecord, print_benchmark_tsv

    header, row = case.text("benchmark.tsv").splitlines()
    same(header.split("\t"), BenchmarkRecord.get_header(), case.folder)
    if case.value("memory_peak") is None or case.value("cpu_time") is None:
        same(set(row.split("\t")[2:]), {"NA", "-"}, case.folder)
        return
    mib = 1024 * 1024
    wall = case.seconds("wall_time")
    record = BenchmarkRecord(
        running_time=wall,
        max_rss=case.value("rss_peak") / mib,
        max_vms=case.value("virtual_peak") / mib,
        max_pss=case.value("memory_peak") / mib,
        io_in=case.value("disk_read") / mib,
        io_out=case.value("disk_written") / mib,
        cpu_usage=case.value("cores_mean") * 100 * wall,
        cpu_time=case.seconds("cpu_time"),
    )
    record.data_collected = True
    out = io.StringIO()
    print_benchmark_tsv([record], out, False)
    same(case.text("benchmark.tsv"), out.getvalue(), case.folder)


def kickstart(case):
    import yaml

    (record,) = yaml.safe_load(case.text("kickstart.yml"))
    command = case.report["task"]["command"]
    main = record["mainjob"]
    same(record["invocation"], True, case.folder)
    same(main["argument_vector"], command[1:], case.folder)
    same(main["executable"]["file_name"], command[0], case.folder)
    near(main["usage"].get("utime"), case.seconds("cpu_user"), 0.0005, case.folder)
    status = main["status"]
    if case.report["exit"]["signal"] is not None:
        same(status["signalled_signal"], case.report["exit"]["signal"], case.folder)
    elif case.started():
        same(status["regular_exitcode"], case.report["exit"]["code"], case.folder)
    files = record.get("files", {})
    same(len(files), len(case.named()), case.folder)
    for got, (file, look, output) in zip(files.values(), case.named()):
        same((got["lfn"], got["file_name"]), (file["name"], file["path"]), case.folder)
        same(got.get("size"), look.get("size_bytes"), case.folder)
        same("error" in got, not look["exists"], case.folder)
        same(got.get("output", False), output and look["exists"], case.folder)
    full = os.path.join(case.folder, "full.kickstart.yml")
    if os.path.exists(full):
        with open(full, encoding="utf-8") as file:
            (record,) = yaml.safe_load(file)
        same(record["files"]["stdout"]["data"], "...\n---\n- a: 'b\n\ttab\0\r\n", full)
        same(record["files"]["stderr"]["file_name"], '/home/ada/a: "b"', full)
        odd = {"HOME": "/home/ada", 'A="b"': "- c: #\n\x1b[0m"}
        same(record["environment"], odd, full)
    # Appended to one another they stay one list.
    same(len(yaml.safe_load(case.text("kickstart.yml") * 3)), 3, case.folder)


def pegasus(case):
    """Pegasus' own parser finds in the record what it looks for."""
    from Pegasus.tools.kickstart_parser import Parser

    (record,) = Parser(case.path("kickstart.yml")).parse_stampede()
    task, exit = case.report["task"], case.report["exit"]
    same(record["invocation"], True, case.folder)
    same((record["name"], record["cwd"]), (task["command"][0], task["cwd"]), case.folder)
    same((record["hostname"], record["user"]), ("n1", task["user"]), case.folder)
    same(record.get("transformation"), task["labels"].get("transformation"), case.folder)
    same((record.get("exitcode"), record.get("signal")), (exit["code"], exit["signal"]), case.folder)
    near(record.get("duration"), case.seconds("wall_time"), 0.0005, case.folder)
    near(record.get("stime"), case.seconds("cpu_system"), 0.0005, case.folder)
    sizes = {True: 0, False: 0}
    for file, look, output in case.named():
        sizes[output] += look.get("size_bytes", 0)
        if output and look["exists"] and len(file["name"]) < 1000:
            meta = record["outputs"][file["name"] + "-2" * (file["name"] == "stdout")]
            same(meta._attributes["size"], str(look["size_bytes"]), case.folder)
    for key, output in [("tot_ip_size_mb", False), ("tot_op_size_mb", True)]:
        near(record.get(key, 0), sizes[output] / 2**20, 1e-6, case.folder)
    rss = case.value("rss_peak_process")
    same(record.get("maxrss"), None if rss is None else -(-rss // 1024), case.folder)


def openmetrics(case):
    """Readers of OpenMetrics and of the older format read the same."""
    import shutil

    from prometheus_client.openmetrics.parser import text_string_to_metric_families as new
    from prometheus_client.parser import text_string_to_metric_families as old

    text = case.text("prom")
    samples = [
        {one.name: (one.value, one.labels) for family in parse(text) for one in family.samples}
        for parse in (new, old)
    ]
    same(samples[0], samples[1], case.folder)
    for value, labels in samples[0].values():
        same(labels["id"], case.report["task"]["id"], case.folder)
        same(labels.get("category"), case.report["task"]["category"], case.folder)
        same(labels.get("label_x"), case.report["task"]["labels"].get("x"), case.folder)
    for metric, name, unit in [
        ("memory_peak", "memory_peak_bytes", 1),
        ("cpu_time", "cpu_time_seconds", 1e9),
        ("bytes_read", "read_bytes", 1),
        ("processes_total", "processes", 1),
    ]:
        got = samples[0].get("plimsoll_task_" + name, (None,))[0]
        expected = case.value(metric)
        near(got, None if expected is None else expected / unit, 1e-9, case.folder)
    if shutil.which("promtool"):
        words = ["promtool", "check", "metrics"]
        done = subprocess.run(words, input=text, text=True, capture_output=True)
        # 3: it reads it, and has its own taste in names.
        same((done.returncode in (0, 3), done.stderr), (True, done.stderr), case.folder)


def runexec(case):
    """The lines that runexec itself prints of these numbers are ours."""
    import contextlib
    import datetime
    import decimal
    import io

    from benchexec import runexecutor
    from benchexec.tablegenerator.util import split_number_and_unit
    from benchexec.util import ProcessExitCode

    report, result = case.report, {}
    result["starttime"] = datetime.datetime.fromisoformat(report["start"])
    limits = {"memory": "memory", "wall": "walltime", "cpu": "cputime"}
    if report["exit"]["type"] == "limit":
        result["terminationreason"] = limits[report["exceeded"][0]["resource"]]
    if not case.started():
        result["terminationreason"] = "failed"
    if report["exit"]["signal"] is not None:
        result["exitcode"] = ProcessExitCode.create(signal=report["exit"]["signal"])
    elif report["exit"]["code"] is not None:
        result["exitcode"] = ProcessExitCode.create(value=report["exit"]["code"])
    for key, metric in [("walltime", "wall_time"), ("cputime", "cpu_time")]:
        if case.value(metric) is not None:
            result[key] = decimal.Decimal(case.value(metric)).scaleb(-9)
    memory = case.value("memory_peak")
    memory = case.value("rss_peak") if memory is None else memory
    sizes = {
        "memory": memory,
        "blkio-read": case.value("disk_read"),
        "blkio-write": case.value("disk_written"),
    }
    result.update({key: size for key, size in sizes.items() if size is not None})

    class Executor:
        def __init__(self, *args, **kwargs):
            pass

        def execute_run(self, *args, **kwargs):
            return result

        def check_for_new_files_in_home(self):
            return []

    printed = io.StringIO()
    runexecutor.RunExecutor = Executor
    with contextlib.redirect_stdout(printed):
        runexecutor.main(["runexec", "--no-container", "--output", "/dev/null", "--", "true"])

    def pairs(text):
        lines = [line.split("=", 1) for line in text.splitlines()]
        return [(key, split_number_and_unit(value)) for key, value in lines]

    def numbers(text):
        return [
            (key, (float(value), unit) if unit in ("s", "B") else value)
            for key, (value, unit) in pairs(text)
        ]

    same(numbers(case.text("runexec")), numbers(printed.getvalue()), case.folder)


def classad(case):
    import classad2

    ad = classad2.parseOne(case.text("ad"))
    rss, memory = case.value("rss_peak"), case.value("memory_peak")
    kib = None if rss is None else -(-rss // 1024)
    same(ad.get("ResidentSetSize"), kib, case.folder)
    mib = None if memory is None else -(-memory // 2**20)
    same(ad.get("MemoryUsage"), mib, case.folder)
    near(ad.get("RemoteUserCpu"), case.seconds("cpu_user"), 1e-6, case.folder)
    same(ad.get("ExitSignal"), case.report["exit"]["signal"], case.folder)
    same(ad.get("ExitCode"), case.report["exit"]["code"], case.folder)


def wfformat(case):
    """WfCommons' validator takes it; its rules are those of the schema beside this file."""
    import pathlib

    # The package itself draws and fits curves as soon as it is loaded: only this part is wanted.
    homes = [os.path.join(folder, "wfcommons") for folder in sys.path]
    home = next(folder for folder in homes if os.path.isdir(folder))
    for name, folder in [("wfcommons", home), ("wfcommons.wfinstances", home + "/wfinstances")]:
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    from wfcommons.version import __schema_version__
    from wfcommons.wfinstances.schema import SchemaValidator

    data = json.loads(case.text("wfformat.json"))
    same(data["schemaVersion"], __schema_version__, case.folder)
    here = os.path.dirname(os.path.abspath(__file__))
    # It raises at the first fault.
    validator = SchemaValidator(pathlib.Path(here, "wfformat-1.5.json"))
    if not case.started():
        same("execution" in data["workflow"], False, case.folder)
        # The rest of its checks are of executions.
        validator._syntax_validation(data)
        return
    validator.validate_instance(data)
    specification = data["workflow"]["specification"]
    (task,) = specification["tasks"]
    sizes = {file["id"]: file["sizeInBytes"] for file in specification.get("files", [])}
    files = [(look, output) for _, look, output in case.named() if look.get("type") == "file"]
    for member, output in [("inputFiles", False), ("outputFiles", True)]:
        same(len(task.get(member, [])), sum(one[1] == output for one in files), case.folder)
        same(set(task.get(member, [])) <= set(sizes), True, case.folder)
    (task,) = data["workflow"]["execution"]["tasks"]
    near(task["runtimeInSeconds"], case.seconds("wall_time"), 1e-9, case.folder)
    same(task.get("memoryInBytes"), case.value("rss_peak"), case.folder)


def otlp(case):
    from google.protobuf import json_format
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    (line,) = case.text("otlp.jsonl").splitlines()
    (resource,) = json_format.Parse(line, MetricsData()).resource_metrics
    (scope,) = resource.scope_metrics
    got = {}
    for metric in scope.metrics:
        data = getattr(metric, metric.WhichOneof("data"))
        for point in data.data_points:
            word = [one.value.string_value for one in point.attributes]
            got[(metric.name, *word)] = point.as_double or point.as_int
            same(point.time_unix_nano > 10**18, True, case.folder)
    expected = {
        ("process.cpu.time", "user"): case.seconds("cpu_user"),
        ("process.memory.usage",): case.value("memory_peak"),
        ("process.disk.io", "write"): case.value("disk_written"),
        ("process.context_switches", "involuntary"): case.value("switches_involuntary"),
    }
    for key, value in expected.items():
        same(got.get(key), value, f"{case.folder} {key}")


READERS = [snakemake, kickstart, pegasus, openmetrics, runexec, classad, wfformat, otlp]


def main(name, folders):
    reader = {one.__name__: one for one in READERS}[name]
    for folder in folders:
        reader(Case(folder))
    print(f"{name} read {len(folders)}")


main(sys.argv[1], sys.argv[2:])
