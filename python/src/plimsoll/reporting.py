"""Reports of `plimsoll run`, read from their files: schema `plimsoll.task/1`."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from .amount import Field, Fields, Number, instant
from .errors import NotFound, ReportError
from .program import Path

_SCHEMA = "plimsoll.task/1"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What speaks for how a task ended."""

    kind: str
    value: Any
    source: Optional[str]


@dataclasses.dataclass(frozen=True)
class Exit:
    """How a task ended."""

    #: `normal`, `signal`, `limit`, `not_started`, `running`, `unknown`.
    type: str
    #: The exit code; None unless it exited.
    code: Optional[int]
    #: What `plimsoll run` returned; None while it runs.
    status: Optional[int]
    #: The signal that killed it.
    signal: Optional[int]
    #: One sentence.
    cause: Optional[str]
    evidence: Tuple[Evidence, ...]

    @property
    def is_success(self) -> bool:
        """Whether it exited with code 0."""
        return self.type == "normal" and self.code == 0


@dataclasses.dataclass(frozen=True)
class Exceeded:
    """A limit that was exceeded."""

    resource: str
    limit: Number
    value: Number
    unit: str
    at_ns: Optional[int]
    pid: Optional[int]
    #: The largest part.
    process: Optional[str]
    #: Whether the task was ended for it.
    enforced: bool
    source: Optional[str]


@dataclasses.dataclass(frozen=True)
class Claim:
    """What was asked for, or provided, and who says so."""

    value: Number
    unit: str
    source: str


class Report:
    """A report. What has no attribute here is in `raw`, as docs/report.md of Plimsoll tells it.

    >>> job = report("job")
    >>> job.category, job.exit.type, job.exit.code
    ('align', 'normal', 0)
    >>> job.usage.wall_time.value, job.usage.wall_time.method
    (2352000000, 'exact')
    >>> job.usage.io_wait
    Absent(reason='off', value=None, method=None)
    >>> job["host"]["cpus"]
    2
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        #: The whole of it.
        self.raw = raw
        #: How it ended.
        self.exit = _exit(raw["exit"])
        #: What it used, each known or absent.
        self.usage = Fields(raw["usage"])
        #: What was asked for, by resource.
        self.request = _claims(raw.get("request", {}))
        #: What was provided, by resource.
        self.allocation = _claims(raw.get("allocation", {}))
        #: The limits that were exceeded.
        self.exceeded = tuple(Exceeded(**_known(Exceeded, one)) for one in raw.get("exceeded", []))

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]

    def __repr__(self) -> str:
        return f"<Report {self.id} of {self.category or self.command}: {self.exit.type}>"

    @property
    def id(self) -> str:
        """Which task it is."""
        return str(self.raw["task"]["id"])

    @property
    def command(self) -> List[str]:
        """The command and its arguments."""
        return list(self.raw["task"]["command"])

    @property
    def category(self) -> Optional[str]:
        """What kind of task."""
        return self.raw["task"].get("category")  # type: ignore[no-any-return]

    @property
    def attempt(self) -> int:
        """Which attempt, from 1."""
        return int(self.raw["task"].get("attempt", 1))

    @property
    def labels(self) -> Dict[str, str]:
        """Labels of the user's own."""
        return dict(self.raw["task"].get("labels", {}))

    @property
    def begin(self) -> Optional[datetime.datetime]:
        """When it began, UTC."""
        return instant(self.raw.get("start"))

    @property
    def end(self) -> Optional[datetime.datetime]:
        """When it ended, UTC; of a running state when that was written."""
        return instant(self.raw.get("end"))

    @property
    def host(self) -> str:
        """The name of the machine."""
        return str(self.raw["host"]["name"])

    @property
    def memory_peak(self) -> Field:
        """The most memory at once, each page once, in bytes: what to ask for goes by that."""
        return self.usage.memory_peak

    @property
    def wall_time(self) -> Field:
        """From its start to its end, in ns."""
        return self.usage.wall_time

    @property
    def cpu_time(self) -> Field:
        """CPU time of all its processes, in ns."""
        return self.usage.cpu_time

    @property
    def is_running(self) -> bool:
        """Whether it is the state of a task that had not ended."""
        return self.exit.type == "running"


def _known(kind: type, raw: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of a class; a later version may tell more."""
    return {one.name: raw.get(one.name) for one in dataclasses.fields(kind)}


def _exit(raw: Mapping[str, Any]) -> Exit:
    values = _known(Exit, raw)
    evidence = raw.get("evidence", [])
    values["evidence"] = tuple(Evidence(**_known(Evidence, one)) for one in evidence)
    return Exit(**values)


def _claims(raw: Mapping[str, Mapping[str, Any]]) -> Dict[str, Claim]:
    return {name: Claim(**_known(Claim, one)) for name, one in raw.items()}


def report(path: Path, *, id: Optional[str] = None) -> Report:
    """The report in a file, or of a prefix (`--output PREFIX`); while the task runs its running
    state. Of a file with a line for each task (`--append`) it is the last, or with `id` the last of
    that task.

    >>> report("job").exit.is_success
    True
    >>> report("no-such")
    Traceback (most recent call last):
        ...
    plimsoll.errors.NotFound: no-such: no such report, and no no-such.json either
    """
    name = _file_of(os.fsdecode(path))
    last = None
    for one in _reports(name):
        if id is None or one.id == id:
            last = one
    if last is None:
        raise NotFound(f"{name}: no report of a task {id}" if id else f"{name}: it is empty")
    return last


def reports(path: Path) -> Iterator[Report]:
    """Every report of a file with a line for each task (`--append`).

    >>> [one.category for one in reports("all.jsonl")]
    ['align', 'align']
    """
    return _reports(_file_of(os.fsdecode(path)))


def _file_of(name: str) -> str:
    whole = name if name.endswith(".json") else name + ".json"
    folder, last = os.path.split(whole)
    running = os.path.join(folder, f".{last}.running")
    for one in (name, whole, running):
        if os.path.isfile(one):
            return one
    if os.path.isdir(name):
        raise NotFound(f"{name} is a folder: a report is a file, or the PREFIX of `plimsoll run --output`")
    raise NotFound(f"{name}: no such report, and no {whole} either")


def _reports(name: str) -> Iterator[Report]:
    try:
        with open(name, encoding="utf-8") as file:
            yield from _parsed(name, file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{name} cannot be read: {error}") from error


def _parsed(name: str, text: str) -> Iterator[Report]:
    try:
        yield _checked(name, json.loads(text))
        return
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            raw = json.loads(line)
        except ValueError as error:
            raise ReportError(f"{name}: line {number} is no report: {error}") from error
        yield _checked(f"{name}: line {number}", raw)


def _checked(where: str, raw: Any) -> Report:
    said = raw.get("schema") if isinstance(raw, dict) else None
    if said != _SCHEMA:
        raise ReportError(
            f"{where} is no report that is understood here: {said or 'no schema'} instead of {_SCHEMA}"
        )
    try:
        return Report(raw)
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{where} is no whole report: {error!r}") from error
