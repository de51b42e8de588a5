"""What the next attempt of a task should ask for: `plimsoll advise`."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import tempfile
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from . import words
from .amount import Number, instant
from .cache import Answers
from .errors import ArchiveError, NotFound, Refused
from .history import Attempt, attempts
from .place import usual
from .program import Path, Program, find, json_of

_SCHEMA = "plimsoll.advise/1"
_RESOURCES = ("memory", "disk", "cores", "wall")

#: The archive is looked at again after so many seconds.
SECONDS_FRESH = 5.0

_MEGA = 10**6
_MINUTE = 60 * 10**9


@dataclasses.dataclass(frozen=True)
class Waste:
    """What past attempts would have held in vain, in `unit` (`byte s`, `ns s`)."""

    runs: int
    #: By the advice.
    advised: float
    #: By `request`; None where none was given.
    user: Optional[float]
    unit: str


@dataclasses.dataclass(frozen=True)
class ResourceAdvice:
    """Advice on one resource. Amounts are in `unit`; what is not known is None."""

    #: `memory`, `disk`, `cores`, `wall`.
    resource: str
    #: `bytes`, `cores`, `ns`.
    unit: str
    #: What to ask for first; None where nothing is known.
    first: Optional[Number]
    #: The first, and what to ask for after each failure; empty where nothing is known.
    ladder: Tuple[Number, ...]
    #: The rule: `constant`, `line`, `recent`, `alike`, `quantile`, `longest`, `killed`, `request`,
    #: `sibling`, `nothing`.
    by: str
    #: That in words.
    why: str
    #: Attempts that finished and are remembered; those that a limit ended; classes of hosts.
    runs: int
    killed: int
    hosts: int
    #: When the first and the last of them ended.
    begin: Optional[datetime.datetime]
    until: Optional[datetime.datetime]
    #: Half, 95 and 99 of 100 needed no more; none needed more.
    p50: Optional[Number]
    p95: Optional[Number]
    p99: Optional[Number]
    max: Optional[Number]
    #: The share of attempts that are expected to need more than the first.
    retries_expected: Optional[float]
    waste: Optional[Waste]
    #: What makes it doubtful.
    warnings: Tuple[str, ...]
    #: Whether `max` was given: then nothing above the ladder is asked for.
    is_bounded: bool = False
    #: Attempts that failed before; the ladder begins behind them, defaults are doubled for each.
    failures: int = 0

    def at(self, attempt: int = 1, default: Optional[Number] = None) -> Optional[Number]:
        """What the attempt of this number asks for, 1 being the first.

        Past the end of the ladder the last is doubled for each further attempt, unless `max` was
        given. Where nothing is known it is `default`, doubled likewise, or None. Cores stay: with
        too few a task is slower and does not fail.

        >>> memory = advise("align", archive="archive").memory
        >>> memory.ladder[:3]
        (1152000000, 2304000000, 4608000000)
        >>> memory.at(1), memory.at(2), memory.at(7) == memory.ladder[-1] * 2
        (1152000000, 2304000000, True)
        """
        _counted(attempt)
        grows = self.resource != "cores"
        if not self.ladder:
            return default if default is None or not grows else default * 2 ** (attempt - 1 + self.failures)
        beyond = attempt - len(self.ladder)
        if beyond <= 0:
            return self.ladder[attempt - 1]
        return self.ladder[-1] * 2**beyond if grows and not self.is_bounded else self.ladder[-1]


@dataclasses.dataclass(frozen=True)
class Paste:
    """Lines for a scheduler."""

    target: str
    place: str
    lines: Tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Advice:
    """Advice on memory, disk, cores and wall time of a kind of task."""

    category: str
    #: Attempts in the history, and those of them that did what they were to do.
    attempts: int
    done: int
    memory: ResourceAdvice
    disk: ResourceAdvice
    cores: ResourceAdvice
    wall: ResourceAdvice
    paste: Paste
    #: The answer as it was told, schema `plimsoll.advise/1`.
    raw: Mapping[str, Any] = dataclasses.field(repr=False)

    @property
    def is_known(self) -> bool:
        """Whether anything can be said."""
        return any(getattr(self, name).ladder for name in _RESOURCES)

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What makes it doubtful, of all resources: `memory: only 1 run: a guess`."""
        every = [(name, one) for name in _RESOURCES for one in getattr(self, name).warnings]
        return tuple(f"{name}: {one}" for name, one in every)

    def memory_mb(self, attempt: int = 1, default: Optional[Number] = None) -> Optional[int]:
        """Memory in MB (10^6 bytes, as Snakemake's `mem_mb`), rounded up.

        >>> advice = advise("align", archive="archive")
        >>> advice.memory_mb(), advice.memory_mb(attempt=2)
        (1152, 2304)
        >>> advise("unheard", archive="archive").memory_mb(attempt=2, default=4000)
        8000
        """
        return _whole(self.memory.at(attempt), _MEGA, self.memory, attempt, default)

    def disk_mb(self, attempt: int = 1, default: Optional[Number] = None) -> Optional[int]:
        """Disk space in MB (10^6 bytes, as Snakemake's `disk_mb`), rounded up."""
        return _whole(self.disk.at(attempt), _MEGA, self.disk, attempt, default)

    def runtime(self, attempt: int = 1, default: Optional[Number] = None) -> Optional[int]:
        """Wall time in minutes (as Snakemake's `runtime`), rounded up."""
        return _whole(self.wall.at(attempt), _MINUTE, self.wall, attempt, default)

    def threads(self, default: Optional[int] = None) -> Optional[int]:
        """Whole cores (as Snakemake's `threads`)."""
        return _whole(self.cores.at(), 1, self.cores, 1, default)


def _counted(attempt: int) -> int:
    if isinstance(attempt, bool) or not isinstance(attempt, int) or attempt < 1:
        raise Refused(f"attempt={attempt!r}: attempts are counted from 1")
    return attempt


def _whole(
    amount: Optional[Number], unit: int, of: ResourceAdvice, attempt: int, default: Optional[Number]
) -> Optional[int]:
    # The default is in the unit that is asked for.
    found = of.at(attempt, default) if amount is None else None
    if amount is None:
        return None if found is None else math.ceil(found)
    return -(-amount // unit) if isinstance(amount, int) else math.ceil(amount / unit)


_answers: Answers[Advice] = Answers()
os.register_at_fork(after_in_child=_answers.forget)


def advise(
    category: Optional[str] = None,
    *,
    archive: Optional[Path] = None,
    input_size: Optional[words.Value] = None,
    quantile: Optional[float] = None,
    max: Optional[words.Values] = None,
    request: Optional[words.Values] = None,
    after: Optional[Path] = None,
    task: Optional[str] = None,
    attempt: int = 1,
    sibling: Optional[str] = None,
    host_class: Optional[str] = None,
    target: Optional[str] = None,
    fresh: float = SECONDS_FRESH,
    program: Optional[Path] = None,
) -> Advice:
    """What the next attempt of a task of this category should ask for.

    - `archive`: the folder; by default the user's own. One that is not there yet is one without a
      history.
    - `input_size`: bytes of the input: a number or `"3GiB"`.
    - `quantile`: the share of attempts that the first request is to be enough for (0.95).
    - `max`: never ask for more: `{"memory": "64GiB"}`.
    - `request`: what is asked for today, `{"memory": "8GiB"}`: to compare with, and the answer
      where there is no history.
    - `after`: the report of an attempt that a limit ended; the ladder begins behind it.
    - `attempt`: which one of this task it will be, from 1; where it is a later one the ladder begins
      behind those before. `task` is the name of the task in the archive (`plimsoll run --id`): where
      the attempt before is there and a limit ended it, that resource alone is asked more of, and
      more than it was given then.
    - `sibling`: a category of tasks that are alike, where there is no history of this one.
    - `host_class`: the kind of host that it will run on; by default this one.
    - `target`: for whom `paste` is written: `"slurm"`.
    - `fresh`: an answer is kept while the archive stays as it is, which is looked at again after
      so many seconds; 0 asks anew.

    Without a history the amounts are None. A missing program, an old one or a broken archive is an
    `Error`.

    >>> advice = advise("align", archive="archive")
    >>> advice.memory.first, advice.memory.unit, advice.memory.runs
    (1152000000, 'bytes', 20)
    >>> advise("unheard", archive="archive").memory.first is None
    True
    >>> advise("unheard", archive="archive", request={"memory": "64MB"}).memory.first
    64000000
    """
    if category is None and after is None:
        raise Refused("category= says which tasks, or after= names the report of one")
    found = find(program)
    folder = os.path.abspath(os.fsdecode(archive)) if archive is not None else usual()
    asked = words.text("--category", category) + words.text("--quantile", quantile)
    if input_size is not None:
        asked += words.text("--input-size", words.amount("memory", input_size))
    asked += words.amounts("--max", max) + words.amounts("--request", request)
    asked += words.path("--after", after) + words.text("--sibling", sibling)
    asked += words.text("--host-class", host_class) + words.text("--for", target)
    bounded = frozenset(max or ())
    question = _Question(found, folder, tuple(asked), bounded, category, task, _counted(attempt))
    # A report may be another one the next time.
    if fresh <= 0 or after is not None:
        return question.ask()
    return _answers.get(folder, question, fresh, question.ask)


def changed(folder: str) -> None:
    """An attempt was added to the archive: it is looked at before the next answer."""
    _answers.look(folder)


@dataclasses.dataclass(frozen=True)
class _Question:
    """All that an answer depends on but the archive."""

    program: Program
    folder: str
    words: Tuple[str, ...]
    bounded: "frozenset[str]"
    category: Optional[str]
    task: Optional[str]
    attempt: int

    def ask(self) -> Advice:
        if _is_nowhere(self.folder):
            # The first run of a workflow asks before it has an archive: the history of nothing,
            # told by the same rules.
            with tempfile.TemporaryDirectory(prefix="plimsoll-") as empty:
                with open(os.path.join(empty, "archive.json"), "w") as file:
                    json.dump({"schema": "plimsoll.archive/1"}, file)
                return self._climbed(_read(self.program, empty, self.words, self.bounded))
        before = self._before()
        if before is None:
            return self._climbed(_read(self.program, self.folder, self.words, self.bounded))
        with tempfile.NamedTemporaryFile(prefix="plimsoll-", suffix=".json") as file:
            file.write(before[1])
            file.flush()
            asked = (*self.words, *words.path("--after", file.name))
            return _behind(_read(self.program, self.folder, asked, self.bounded), before[0])

    def _before(self) -> Optional[Tuple[Attempt, bytes]]:
        """The attempt before, where a limit ended it of which there is advice, and its report."""
        if self.task is None or self.attempt == 1:
            return None
        told = attempts(
            self.folder, category=self.category, task=self.task, end="limit", program=self.program.path
        )
        found = [one for one in told if one.attempt == self.attempt - 1 and one.ended is not None]
        # Of an earlier run of the workflow there may be one as well.
        last = max(found, key=lambda one: one.raw["ended"], default=None)
        if last is None or last.exceeded not in _LIMITS:
            return None
        question = ["archive", "show", *words.path("--archive", self.folder), "--report", last.id]
        report = self.program.ask(question, ArchiveError)
        return (last, report.encode()) if report.strip() else None

    def _climbed(self, advice: Advice) -> Advice:
        """Nobody knows why those before failed: one rung up for each, of all that has rungs."""
        if self.attempt == 1:
            return advice
        parts: Dict[str, Any] = {name: _shifted(getattr(advice, name), self.attempt - 1) for name in _RESOURCES}
        return dataclasses.replace(advice, **parts)


#: Which advice a limit is about.
_LIMITS = {"memory": "memory", "rss": "memory", "footprint": "disk", "disk": "disk", "wall": "wall"}


def _shifted(advice: ResourceAdvice, failures: int) -> ResourceAdvice:
    rungs = [advice.at(failures + number) for number in range(1, len(advice.ladder) + 1)]
    # At a bound there are fewer.
    ladder = tuple(dict.fromkeys(rung for rung in rungs if rung is not None))
    first = ladder[0] if ladder else None
    return dataclasses.replace(advice, first=first, ladder=ladder, failures=failures)


def _behind(advice: Advice, before: Attempt) -> Advice:
    """Where no more may be asked for than there was, that is asked for again."""
    name = _LIMITS[before.exceeded or ""]
    one: ResourceAdvice = getattr(advice, name)
    given = before.requested.get(name)
    if one.ladder or given is None:
        return advice
    again: Dict[str, Any] = {name: dataclasses.replace(one, first=given.value, ladder=(given.value,))}
    return dataclasses.replace(advice, **again)


def _is_nowhere(folder: str) -> bool:
    try:
        return not os.listdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _read(program: Program, folder: str, asked: Sequence[str], bounded: "frozenset[str]") -> Advice:
    question = ["advise", "--format=json", *words.path("--archive", folder), *asked]
    status, answer, error = program.read(question, ArchiveError)
    # Without a history it says so and prints what it can.
    if status == 1 and not answer:
        raise NotFound(str(error)) if "no such report" in str(error) else error
    if status not in (0, 1):
        raise error
    return _advice(json_of(answer, _SCHEMA), bounded)


def _advice(raw: Dict[str, Any], bounded: "frozenset[str]") -> Advice:
    parts = {name: _resource(name, raw[name], name in bounded) for name in _RESOURCES}
    paste = Paste(raw["paste"]["target"], raw["paste"]["place"], tuple(raw["paste"]["lines"]))
    return Advice(raw["category"], raw["attempts"], raw["done"], paste=paste, raw=raw, **parts)


def _resource(name: str, raw: Mapping[str, Any], is_bounded: bool) -> ResourceAdvice:
    waste = raw["waste"]
    return ResourceAdvice(
        resource=name,
        unit=raw["unit"],
        first=raw["first"],
        ladder=tuple(raw["ladder"]),
        by=raw["by"],
        why=raw["why"],
        runs=raw["runs"],
        killed=raw["killed"],
        hosts=raw["hosts"],
        begin=instant(raw["from"]),
        until=instant(raw["to"]),
        p50=raw["p50"],
        p95=raw["p95"],
        p99=raw["p99"],
        max=raw["max"],
        retries_expected=raw["retries_expected"],
        waste=None if waste is None else Waste(waste["runs"], waste["advised"], waste["user"], waste["unit"]),
        warnings=tuple(raw["warnings"]),
        is_bounded=is_bounded,
    )
